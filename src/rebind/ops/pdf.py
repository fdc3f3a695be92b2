"""Probability densities: how likely samples are under distributions whose parameters are arrays.

Each distribution is one function below, the logarithm of its density; `density` makes the operator of it. Outside of
a distribution's support the density is 0 (MXNet has no such bounds: its uniform density is the same everywhere).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from ..errors import DTypeError, ShapeError
from ..params import Params
from ..shapes import Shape
from ._signatures import arguments, with_signature
from .declaration import Operator, Shapes, operator

__all__ = ["DENSITIES"]

DENSITIES: list[Operator] = []

_DOC = """{first}

Parameters
----------
is_log
    Whether to return the logarithm of the density.

Shapes
------
{shapes}{example}"""
_SHAPES = """\
sample : (*shape of the parameters, ...)
out : shape of sample"""
_DIRICHLET_SHAPES = """\
sample : (..., K)
alpha : (*leading axes of sample, K)     or fewer of these axes, the first ones; (K,) for all
out : shape of sample without its last axis"""


class Supported(NamedTuple):
    """The logarithm of a density, and where it holds; elsewhere the density is 0."""

    log: Tensor
    inside: Tensor


def density(kind: str) -> Callable[[Callable[..., Tensor | Supported]], Operator]:
    """Make the logarithm of a density ``(sample, *parameters)`` the operator ``random_pdf_<kind>``."""

    def make(log_density: Callable[..., Tensor | Supported]) -> Operator:
        name = f"_random_pdf_{kind}"
        inputs = arguments(log_density)
        names = [entry.name for entry in inputs[1:]]
        # A Dirichlet draw is a vector, all others are numbers.
        axes = 1 if kind == "dirichlet" else 0  # how many axes of a sample belong to one draw

        def function(sample: Tensor, *parameters: Tensor, is_log: bool = False) -> Tensor:
            _check(sample, parameters, names, axes)
            dtype = sample.dtype
            # Half precision has too few digits for logarithms of the gamma function.
            compute = dtype if dtype is torch.float64 else torch.float32
            # Parameters come first in the shape of a sample: they get axes of size 1 for the draws.
            spread = [
                parameter.to(dtype=compute).reshape(
                    *parameter.shape[: parameter.ndim - axes],
                    *(1,) * (sample.ndim - parameter.ndim),
                    *parameter.shape[parameter.ndim - axes :],
                )
                for parameter in parameters
            ]
            out = log_density(sample.to(dtype=compute), *spread)
            if isinstance(out, Supported):
                # Outside of the support the density is 0. torch's exp would take ten times as long for infinities.
                out = torch.where(
                    out.inside, *((out.log, -math.inf) if is_log else (torch.exp(out.log), 0.0))
                )
            elif not is_log:
                out = torch.exp(out)
            return out.to(dtype=dtype)

        first, prompt, example = inspect.cleandoc(log_density.__doc__ or "").partition("\n\n>>> ")
        shapes = _DIRICHLET_SHAPES if axes else _SHAPES
        doc = _DOC.format(first=first, shapes=shapes, example=prompt + example)
        with_signature(function, f"random_pdf_{kind}", doc, inputs)
        made = operator(name, f"random_pdf_{kind}")(function)
        made.fill_shapes(_parameters_of_one_shape)
        made.half_known(lambda shapes, p: [_of_draws(shapes["sample"], axes)])
        DENSITIES.append(made)
        return made

    return make


def _of_draws(sample: Shape | None, axes: int) -> Shape | None:
    return sample and sample[: len(sample) - axes]


def _check(sample: Tensor, parameters: tuple[Tensor, ...], names: list[str], axes: int) -> None:
    if not sample.is_floating_point():
        raise DTypeError(
            f"sample must be of a floating type; got {str(sample.dtype).removeprefix('torch.')}. "
            "Convert it with astype()."
        )
    for name, parameter in zip(names, parameters, strict=True):
        shape = tuple(parameter.shape)
        if parameters[0].shape != parameter.shape:
            raise ShapeError(
                f"{name} must have the shape of {names[0]}, {tuple(parameters[0].shape)}; got {shape}"
            )
        # Axes that enumerate distributions; the rest belong to one draw.
        lead = parameter.ndim - axes
        fits = 0 <= lead <= sample.ndim - axes and parameter.shape[:lead] == sample.shape[:lead]
        if not fits or parameter.shape[lead:] != sample.shape[sample.ndim - axes :]:
            also = ", and its last axis is that of sample" if axes else ""
            raise ShapeError(
                f"the shape of {name} must be that of the leading axes of sample, "
                f"{tuple(sample.shape)}{also}; got {shape}"
            )


def _parameters_of_one_shape(shapes: Shapes, p: Params) -> Shapes:
    """Give all parameters the shape of the one that is known."""
    names = [name for name in shapes if name != "sample"]
    known = next((shapes[name] for name in names if shapes[name]), None)
    return dict.fromkeys(names, known)


def _within(sample: Tensor, inside: Tensor) -> Tensor:
    """Return `sample` with 1 where it is not inside: what is computed there is not used, and has a gradient of 0."""
    return torch.where(inside, sample, 1)


def _count(sample: Tensor) -> tuple[Tensor, Tensor]:
    """Return a count without a gradient, as in MXNet, and where it is one."""
    inside = sample >= 0
    return _within(sample.detach(), inside), inside


@density("uniform")
def random_pdf_uniform(sample: Tensor, low: Tensor, high: Tensor) -> Supported:
    """Density of the uniform distribution: ``1 / (high - low)`` in ``[low, high]``.

    >>> random_pdf_uniform(torch.tensor([1.0, 9.0]), torch.tensor(0.0), torch.tensor(4.0))
    tensor([0.2500, 0.0000])
    """
    inside = (low <= sample) & (sample <= high)
    # The same everywhere inside: one number for each distribution.
    return Supported(-torch.log(high - low), inside)


@density("normal")
def random_pdf_normal(sample: Tensor, mu: Tensor, sigma: Tensor) -> Tensor:
    """Density of the normal distribution with mean `mu` and standard deviation `sigma`.

    >>> random_pdf_normal(torch.tensor([0.0, 1.0]), torch.tensor(0.0), torch.tensor(1.0))
    tensor([0.3989, 0.2420])
    """
    away = (sample - mu) / sigma
    return -0.5 * away * away - torch.log(sigma) - 0.5 * math.log(2 * math.pi)


@density("gamma")
def random_pdf_gamma(sample: Tensor, alpha: Tensor, beta: Tensor) -> Supported:
    """Density of the gamma distribution with shape `alpha` and rate `beta` (a rate here, a scale where one draws).

    >>> random_pdf_gamma(torch.tensor([0.0]), torch.tensor(1.0), torch.tensor(2.0))
    tensor([2.])
    """
    inside = sample >= 0
    x = _within(sample, inside)
    scale = torch.xlogy(alpha, beta) - torch.lgamma(alpha)
    # xlogy: at x = 0 with an alpha of 1, 0 * log(0) counts as 0.
    return Supported(scale + torch.xlogy(alpha - 1, x) - beta * x, inside)


@density("exponential")
def random_pdf_exponential(sample: Tensor, lam: Tensor) -> Supported:
    """Density of the exponential distribution with rate `lam`.

    >>> random_pdf_exponential(torch.tensor([0.0, -1.0]), torch.tensor(2.0))
    tensor([2., 0.])
    """
    inside = sample >= 0
    return Supported(torch.log(lam) - lam * _within(sample, inside), inside)


@density("poisson")
def random_pdf_poisson(sample: Tensor, lam: Tensor) -> Supported:
    """Probability of a count under the Poisson distribution with mean `lam`, interpolated between integers.

    >>> random_pdf_poisson(torch.tensor([0.0, 1.0]), torch.tensor(1.0), is_log=True)
    tensor([-1., -1.])
    """
    count, inside = _count(sample)
    return Supported(_poisson(count, lam), inside)


def _poisson(count: Tensor, lam: Tensor) -> Tensor:
    # xlogy: no event at a rate of 0 has probability 1.
    return torch.xlogy(count, lam) - lam - torch.lgamma(count + 1)


@density("negative_binomial")
def random_pdf_negative_binomial(sample: Tensor, k: Tensor, p: Tensor) -> Supported:
    """Probability of a count under the negative binomial distribution, interpolated between integers.

    It counts failures before `k` successes of probability `p`; `k` may be any number above 0.

    >>> random_pdf_negative_binomial(torch.tensor([0.0, 1.0]), torch.tensor(1.0), torch.tensor(0.5))
    tensor([0.5000, 0.2500])
    """
    count, inside = _count(sample)
    return Supported(_ways(count, k) + torch.xlogy(k, p) + torch.xlogy(count, 1 - p), inside)


def _ways(count: Tensor, k: Tensor) -> Tensor:
    """Return the logarithm of in how many orders `count` failures come before the k-th success."""
    # By gamma functions, so that neither number need be whole.
    return torch.lgamma(count + k) - torch.lgamma(count + 1) - torch.lgamma(k)


@density("generalized_negative_binomial")
def random_pdf_generalized_negative_binomial(sample: Tensor, mu: Tensor, alpha: Tensor) -> Supported:
    """Probability of a count under the negative binomial distribution with mean `mu` and dispersion `alpha`.

    That is `random_pdf_negative_binomial` with ``k = 1 / alpha`` and ``p = 1 / (1 + mu * alpha)``; an `alpha` of 0
    makes it a Poisson distribution.

    >>> random_pdf_generalized_negative_binomial(torch.tensor([0.0]), torch.tensor(1.0), torch.tensor(1.0))
    tensor([0.5000])
    """
    count, inside = _count(sample)
    spread = alpha > 0
    # 1 where alpha is 0: `where` below chooses the Poisson form, but both have gradients.
    safe = torch.where(spread, alpha, 1)
    k, more = 1 / safe, mu * safe
    # With k = 1 / alpha successes, each of probability 1 / (1 + mu * alpha).
    out = _ways(count, k) - k * torch.log1p(more) + torch.xlogy(count, more / (1 + more))
    return Supported(torch.where(spread, out, _poisson(count, mu)), inside)


@density("dirichlet")
def random_pdf_dirichlet(sample: Tensor, alpha: Tensor) -> Tensor:
    """Density of the Dirichlet distribution with concentrations `alpha`.

    Whether the elements of a sample have the sum 1 is not looked at.

    >>> random_pdf_dirichlet(torch.tensor([0.25, 0.75]), torch.tensor([2.0, 1.0]))
    tensor(0.5000)
    """
    # The logarithm of one over the multivariate beta function.
    scale = torch.lgamma(alpha.sum(-1)) - torch.lgamma(alpha).sum(-1)
    return scale + torch.xlogy(alpha - 1, sample).sum(-1)
