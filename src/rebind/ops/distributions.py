"""Random numbers of distributions: one distribution, like an array, or one for each element of arrays.

A distribution is one `Distribution` below, from which its three operators are made. Every operator draws from the
`generator` that it is given. A fixed seed gives the same numbers again, though not those of MXNet. Half-precision
numbers are drawn in float32 and rounded.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypeAlias

import torch
from torch import Tensor

from .. import draws, dtypes
from ..draws import Source
from ..errors import ShapeError
from ..params import AtLeast, Between, Params
from ..shapes import Shape
from ._signatures import array, setting, with_signature
from ._types import DrawnType, Sizes, SizesOrNone, made_shape
from .declaration import Shapes, TypeSlots, operator

__all__ = ["DISTRIBUTIONS", "Distribution"]

Generator: TypeAlias = "Source | None"


#: Fills an array with draws: ``(generator, *parameters)``, which are broadcast to the result.
Draw: TypeAlias = Callable[..., Tensor]


Check: TypeAlias = Callable[[Params], "str | None"]


def _uniform(generator: Generator, low: Tensor, high: Tensor) -> Tensor:
    # Scaled here rather than in the draw: each element has bounds of its own.
    return low + (high - low) * draws.uniform(low.shape, generator, dtype=low.dtype, device=low.device)


def _normal(generator: Generator, mean: Tensor, deviation: Tensor) -> Tensor:
    return mean + deviation * draws.normal(mean.shape, generator, dtype=mean.dtype, device=mean.device)


def _exponential(generator: Generator, rate: Tensor) -> Tensor:
    return draws.exponential(rate.shape, generator, dtype=rate.dtype, device=rate.device) / rate


def _gamma(generator: Generator, alpha: Tensor, beta: Tensor) -> Tensor:
    return draws.gamma(alpha, generator) * beta  # beta is a scale here, not a rate


def _poisson(generator: Generator, rate: Tensor) -> Tensor:
    return draws.poisson(rate, generator)


def _negative_binomial(generator: Generator, k: Tensor, p: Tensor) -> Tensor:
    # A Poisson distribution whose mean has a gamma distribution is the negative binomial one.
    return _poisson(generator, _gamma(generator, k, (1 - p) / p))


def _generalized_negative_binomial(generator: Generator, mu: Tensor, alpha: Tensor) -> Tensor:
    spread = alpha > 0  # an alpha of 0 makes it a Poisson distribution
    # The branch that is not selected must not divide by 0.
    safe = torch.where(spread, alpha, 1)
    # A Poisson distribution whose mean has a gamma distribution of mean `mu`.
    return _poisson(generator, torch.where(spread, _gamma(generator, 1 / safe, safe * mu), mu))


@dataclass(frozen=True)
class Distribution:
    """A distribution, and how its operators present it.

    Attributes
    ----------
    kind
        The name that is in those of its operators, ``_random_<kind>``, ``_random_<kind>_like``, ``_sample_<kind>``.
    draw
        What draws, given an array for each parameter.
    settings
        The parameters as numbers.
    doc, doc_like
        What one draws from, for the first two operators.
    arrays
        The names of the parameters as arrays.
    doc_each
        What one draws from, and for each of what, for the third operator.
    check
        What must hold between the parameters as numbers.
    fill
        A form for numbers that is quicker than `draw`: ``(shape, generator, dtype=, device=, **parameters)``.
    aliases
        Further names of the first operator.
    counts
        Whether it draws whole numbers, for which every type will do.
    """

    kind: str
    draw: Draw
    settings: Sequence[inspect.Parameter]
    doc: str
    doc_like: str
    arrays: Sequence[str]
    doc_each: str
    check: Check
    fill: Callable[..., Tensor] | None = None
    aliases: Sequence[str] = field(default=())
    counts: bool = False

    def check_type(self, p: Params) -> str | None:
        """Return what is wrong with the type of the numbers: fractions in whole numbers would all be 0.

        >>> uniform = next(each for each in DISTRIBUTIONS if each.kind == "uniform")
        >>> uniform.check_type(Params(dtype=torch.int32))
        'dtype must be a floating type; got int32'
        """
        if self.counts or p.dtype is None or p.dtype.is_floating_point:
            return None
        return f"dtype must be a floating type; got {dtypes.name(p.dtype)}"

    @functools.cached_property
    def defaults(self) -> dict[str, float]:
        """The parameters in order, with their defaults: read once, since `inspect` is slow beside a small draw.

        >>> next(each for each in DISTRIBUTIONS if each.kind == "normal").defaults
        {'loc': 0.0, 'scale': 1.0}
        """
        return {entry.name: entry.default for entry in self.settings}

    def numbers(self, given: dict[str, float]) -> list[float]:
        """Return the parameters in order, with defaults for those that are not given.

        >>> next(each for each in DISTRIBUTIONS if each.kind == "normal").numbers({"scale": 2.0})
        [0.0, 2.0]
        """
        return list({**self.defaults, **given}.values())


def _compute_type(dtype: torch.dtype | None) -> torch.dtype:
    """Return the type to draw in: half types have too few values near the bounds."""
    return dtype if dtype is torch.float64 else torch.float32


def _draw(
    draw: Draw,
    shape: Shape,
    dtype: torch.dtype | None,
    device: torch.device | None,
    generator: Generator,
    parameters: Sequence[float],
) -> Tensor:
    """Return an array of draws from one distribution."""
    compute = _compute_type(dtype)
    filled = (
        # Parameters are broadcast, so that one `draw` serves numbers and arrays.
        torch.tensor(value, dtype=compute, device=device).expand(shape).contiguous()
        for value in parameters
    )
    return draw(generator, *filled).to(dtype=dtype or torch.float32)


def _draw_for_each(
    draw: Draw, shape: Shape, dtype: torch.dtype | None, generator: Generator, parameters: Sequence[Tensor]
) -> Tensor:
    """Return an array of draws of `shape` for each element of arrays of parameters."""
    # Parameters do not broadcast against each other, as in MXNet.
    first = parameters[0].shape
    if any([parameter.shape != first for parameter in parameters]):
        given = ", ".join(str(tuple(parameter.shape)) for parameter in parameters)
        raise ShapeError(f"arrays of parameters must have one shape; got {given}")
    compute = _compute_type(dtype)
    spread = [_constant(parameter, compute) for parameter in parameters]
    if shape:
        # Each parameter gets the axes of `shape` after its own, and is repeated along them.
        ones = (1,) * len(shape)
        spread = [each.reshape(*first, *ones).expand(*first, *shape) for each in spread]
    return draw(generator, *[each.contiguous() for each in spread]).to(dtype=dtype or torch.float32)


def _constant(parameter: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a parameter in a type, with no gradient to it."""
    if parameter.requires_grad:
        parameter = parameter.detach()
    return parameter if parameter.dtype is dtype else parameter.to(dtype=dtype)


def _typed(p: Params) -> TypeSlots:
    return {"output": p.dtype or torch.float32}


def _one_shape(shapes: Shapes, p: Params) -> Shapes:
    """Give all arrays of parameters the shape of the one that is known."""
    known = next((shape for shape in shapes.values() if shape), None)
    return dict.fromkeys(shapes, known)


def _declare_random(d: Distribution) -> None:
    fill = d.fill

    def function(
        *,
        shape: SizesOrNone = None,
        ctx: str = "",
        dtype: DrawnType = None,
        generator: Source | None = None,
        device: torch.device | None = None,
        **settings: float,
    ) -> Tensor:
        shape = made_shape(shape, (1,))
        # A fill draws straight into the result; else parameters are broadcast to arrays first.
        if fill is None:
            return _draw(d.draw, shape, dtype, device, generator, d.numbers(settings))
        if dtype is None:
            return fill(shape, generator, device=device or "cpu", **settings)
        out = fill(shape, generator, dtype=_compute_type(dtype), device=device or "cpu", **settings)
        return out.to(dtype=dtype)

    name = f"random_{d.kind}"
    with_signature(function, name, f"Draws from {d.doc}.", d.settings)
    op = operator(f"_{name}", *d.aliases, name, types=_typed)(function)
    op.check(lambda p: d.check(p) or d.check_type(p))


def _declare_like(d: Distribution) -> None:
    def function(data: Tensor, *, generator: Source | None = None, **settings: float) -> Tensor:
        return _draw(d.draw, tuple(data.shape), data.dtype, data.device, generator, d.numbers(settings))

    name = f"random_{d.kind}_like"
    doc = f"Draws from {d.doc_like}, as many and of the type of `data`."
    op = operator(f"_{name}", same_shape=True, head_gradient=False)(
        with_signature(function, name, doc, d.settings)
    )
    op.check(d.check)


def _declare_sample(d: Distribution) -> None:
    def function(
        *arrays: Tensor,
        shape: Sizes = (),
        dtype: DrawnType = None,
        generator: Source | None = None,
    ) -> Tensor:
        return _draw_for_each(d.draw, shape, dtype, generator, arrays)

    name = f"sample_{d.kind}"
    with_signature(function, name, f"Draws of `shape` from {d.doc_each}.", map(array, d.arrays))
    op = operator(f"_{name}", name, types=_typed, head_gradient=False)(function)
    op.check(d.check_type)
    # With one array there is nothing to infer it from.
    if len(d.arrays) > 1:
        op.fill_shapes(_one_shape)


def _positive(*names: str) -> Check:
    """Return a check that parameters are above 0."""

    def check(p: Params) -> str | None:
        for name in names:
            if not p[name] > 0:
                return f"{name} must be above 0; got {p[name]}"
        return None

    return check


def _not_negative(name: str) -> Check:
    """Return a check that a parameter is not below 0."""
    return lambda p: None if p[name] >= 0 else f"{name} must be at least 0; got {p[name]}"


def _low_to_high(p: Params) -> str | None:
    return None if p.low <= p.high else f"low must be at most high; got {p.low} and {p.high}"


DISTRIBUTIONS = (
    Distribution(
        "uniform",
        _uniform,
        (setting("low", float, 0.0), setting("high", float, 1.0)),
        doc="the uniform distribution on ``[low, high)``",
        doc_like="the uniform distribution on ``[low, high)``",
        arrays=("low", "high"),
        doc_each="the uniform distribution for each pair of `low` and `high`",
        check=_low_to_high,
        fill=draws.uniform,
        aliases=("uniform",),
    ),
    Distribution(
        "normal",
        _normal,
        (setting("loc", float, 0.0), setting("scale", float, 1.0)),
        doc="the normal distribution with mean `loc` and standard deviation `scale`",
        doc_like="the normal distribution",
        arrays=("mu", "sigma"),
        doc_each="the normal distribution for each pair of `mu` and `sigma`",
        check=_positive("scale"),
        fill=draws.normal,
        aliases=("normal",),
    ),
    Distribution(
        "exponential",
        _exponential,
        (setting("lam", float, 1.0),),
        doc="the exponential distribution with rate `lam`",
        doc_like="the exponential distribution with rate `lam`",
        arrays=("lam",),
        doc_each="the exponential distribution for each rate `lam`",
        check=_positive("lam"),
    ),
    Distribution(
        "gamma",
        _gamma,
        (setting("alpha", float, 1.0), setting("beta", float, 1.0)),
        doc="the gamma distribution with shape `alpha` and scale `beta`",
        doc_like="the gamma distribution",
        arrays=("alpha", "beta"),
        doc_each="the gamma distribution for each pair of shape `alpha` and scale `beta`",
        check=_positive("alpha", "beta"),
    ),
    Distribution(
        "poisson",
        _poisson,
        (setting("lam", float, 1.0),),
        doc="the Poisson distribution with mean `lam`",
        doc_like="the Poisson distribution with mean `lam`",
        arrays=("lam",),
        doc_each="the Poisson distribution for each mean `lam`",
        counts=True,
        check=_not_negative("lam"),
    ),
    Distribution(
        "negative_binomial",
        _negative_binomial,
        (setting("k", Annotated[int, AtLeast(0)], 1), setting("p", Annotated[float, Between(0, 1)], 1.0)),
        doc="the negative binomial distribution: failures before `k` successes of probability `p`",
        doc_like="the negative binomial distribution",
        arrays=("k", "p"),
        doc_each="the negative binomial distribution for each pair of `k` and `p`",
        counts=True,
        check=_positive("p"),
    ),
    Distribution(
        "generalized_negative_binomial",
        _generalized_negative_binomial,
        (setting("mu", float, 1.0), setting("alpha", Annotated[float, AtLeast(0)], 1.0)),
        doc="the negative binomial distribution with mean `mu` and dispersion `alpha`",
        doc_like="the generalized negative binomial distribution",
        arrays=("mu", "alpha"),
        doc_each="the generalized negative binomial distribution for each pair of `mu` and `alpha`",
        counts=True,
        check=_not_negative("mu"),
    ),
)


for _distribution in DISTRIBUTIONS:
    _declare_random(_distribution)
    _declare_like(_distribution)
    _declare_sample(_distribution)
