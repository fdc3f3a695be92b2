"""Random numbers: of one distribution, like an array, or one distribution for each element of arrays.

Every operator draws from the `generator` that it is given. A fixed seed gives the same numbers again, though not
those of MXNet. Half-precision numbers are drawn in float32 and rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

import torch
from torch import Tensor

from ..errors import ParameterError, ShapeError
from ..params import AtLeast, Between, Params
from ..shapes import Shape
from ._spec import Shapes, TypeSlots, operator

Sizes = tuple[Annotated[int, AtLeast(0)], ...]
Generator = torch.Generator | None

# ---- distributions: each fills an array of parameters, broadcast to the result, with draws ------------


def _uniform(generator: Generator, low: Tensor, high: Tensor) -> Tensor:
    return low + (high - low) * torch.rand(low.shape, generator=generator, dtype=low.dtype, device=low.device)


def _normal(generator: Generator, mean: Tensor, deviation: Tensor) -> Tensor:
    return mean + deviation * torch.randn(
        mean.shape, generator=generator, dtype=mean.dtype, device=mean.device
    )


def _exponential(generator: Generator, rate: Tensor) -> Tensor:
    return torch.empty_like(rate).exponential_(generator=generator) / rate


def _gamma(generator: Generator, alpha: Tensor, beta: Tensor) -> Tensor:
    return torch._standard_gamma(alpha, generator=generator) * beta  # beta is a scale here, not a rate


def _poisson(generator: Generator, rate: Tensor) -> Tensor:
    return torch.poisson(rate, generator=generator)


def _negative_binomial(generator: Generator, k: Tensor, p: Tensor) -> Tensor:
    return _poisson(generator, _gamma(generator, k, (1 - p) / p))


def _generalized_negative_binomial(generator: Generator, mu: Tensor, alpha: Tensor) -> Tensor:
    spread = alpha > 0  # an alpha of 0 makes it a Poisson distribution
    safe = torch.where(spread, alpha, 1)
    return _poisson(generator, torch.where(spread, _gamma(generator, 1 / safe, safe * mu), mu))


Draw = Callable[..., Tensor]


def _draw(
    draw: Draw, shape: Shape, dtype: torch.dtype, device: Any, generator: Generator, *parameters: float
) -> Tensor:
    """Return an array of draws from one distribution."""
    compute = dtype if dtype is torch.float64 else torch.float32
    filled = (
        torch.tensor(value, dtype=compute, device=device).expand(shape).contiguous() for value in parameters
    )
    return draw(generator, *filled).to(dtype)


def _empty(shape: Shape | None, dtype: torch.dtype | None, device: Any) -> Tensor:
    """Return an array to draw into, in the type to draw in."""
    return torch.empty(
        shape or (1,), dtype=torch.float64 if dtype is torch.float64 else torch.float32, device=device
    )


def _draw_for_each(
    draw: Draw, shape: Shape, dtype: torch.dtype | None, generator: Generator, *parameters: Tensor
) -> Tensor:
    """Return an array of draws of `shape` for each element of arrays of parameters."""
    first = parameters[0].shape
    if any(parameter.shape != first for parameter in parameters):
        given = ", ".join(str(tuple(parameter.shape)) for parameter in parameters)
        raise ShapeError(f"sample: arrays of parameters must have one shape; got {given}")
    dtype = dtype or torch.float32
    compute = dtype if dtype is torch.float64 else torch.float32
    spread = (
        parameter.detach().to(compute).reshape(*first, *(1,) * len(shape)).expand(*first, *shape).contiguous()
        for parameter in parameters
    )
    return draw(generator, *spread).to(dtype)


def _typed(p: Params) -> TypeSlots:
    return {"output": p.dtype or torch.float32}


def _positive(*names: str) -> Callable[[Params], str | None]:
    """Return a check that parameters are above 0."""

    def check(p: Params) -> str | None:
        for name in names:
            if not p[name] > 0:
                return f"{name} must be above 0; got {p[name]}"
        return None

    return check


# ---- one distribution ---------------------------------------------------------------------------------


@operator("_random_uniform", "uniform", "random_uniform", types=_typed)
def random_uniform(
    *,
    low: float = 0.0,
    high: float = 1.0,
    shape: Sizes | None = None,
    ctx: str = "",
    dtype: torch.dtype | None = None,
    generator: torch.Generator | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Draws from the uniform distribution on ``[low, high)``."""
    out = _empty(shape, dtype, device).uniform_(low, high, generator=generator)
    return out.to(dtype) if dtype else out


@operator("_random_normal", "normal", "random_normal", types=_typed)
def random_normal(
    *,
    loc: float = 0.0,
    scale: float = 1.0,
    shape: Sizes | None = None,
    ctx: str = "",
    dtype: torch.dtype | None = None,
    generator: torch.Generator | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Draws from the normal distribution with mean `loc` and standard deviation `scale`."""
    out = _empty(shape, dtype, device).normal_(loc, scale, generator=generator)
    return out.to(dtype) if dtype else out


@operator("_random_exponential", "random_exponential", types=_typed)
def random_exponential(
    *,
    lam: float = 1.0,
    shape: Sizes | None = None,
    ctx: str = "",
    dtype: torch.dtype | None = None,
    generator: torch.Generator | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Draws from the exponential distribution with rate `lam`."""
    return _draw(_exponential, shape or (1,), dtype or torch.float32, device, generator, lam)


@operator("_random_gamma", "random_gamma", types=_typed)
def random_gamma(
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    shape: Sizes | None = None,
    ctx: str = "",
    dtype: torch.dtype | None = None,
    generator: torch.Generator | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Draws from the gamma distribution with shape `alpha` and scale `beta`."""
    return _draw(_gamma, shape or (1,), dtype or torch.float32, device, generator, alpha, beta)


@operator("_random_poisson", "random_poisson", types=_typed)
def random_poisson(
    *,
    lam: float = 1.0,
    shape: Sizes | None = None,
    ctx: str = "",
    dtype: torch.dtype | None = None,
    generator: torch.Generator | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Draws from the Poisson distribution with mean `lam`."""
    return _draw(_poisson, shape or (1,), dtype or torch.float32, device, generator, lam)


@operator("_random_negative_binomial", "random_negative_binomial", types=_typed)
def random_negative_binomial(
    *,
    k: Annotated[int, AtLeast(1)] = 1,
    p: Annotated[float, Between(0, 1)] = 1.0,
    shape: Sizes | None = None,
    ctx: str = "",
    dtype: torch.dtype | None = None,
    generator: torch.Generator | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Draws from the negative binomial distribution: failures before `k` successes of probability `p`."""
    return _draw(_negative_binomial, shape or (1,), dtype or torch.float32, device, generator, k, p)


@operator("_random_generalized_negative_binomial", "random_generalized_negative_binomial", types=_typed)
def random_generalized_negative_binomial(
    *,
    mu: float = 1.0,
    alpha: Annotated[float, AtLeast(0)] = 1.0,
    shape: Sizes | None = None,
    ctx: str = "",
    dtype: torch.dtype | None = None,
    generator: torch.Generator | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Draws from the negative binomial distribution with mean `mu` and dispersion `alpha`."""
    kind = dtype or torch.float32
    return _draw(_generalized_negative_binomial, shape or (1,), kind, device, generator, mu, alpha)


@operator(
    "_random_randint",
    "random_randint",
    types=lambda p: {"output": p.dtype or torch.int32},
    head_gradient=False,
)
def random_randint(
    *,
    low: int,
    high: int,
    shape: Sizes | None = None,
    ctx: str = "",
    dtype: torch.dtype | None = None,
    generator: torch.Generator | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Draws of whole numbers from ``[low, high)``, each as likely."""
    return torch.randint(
        low, high, shape or (1,), generator=generator, dtype=dtype or torch.int32, device=device
    )


@random_uniform.check
def _(p: Params) -> str | None:
    return None if p.low <= p.high else f"low must be at most high; got {p.low} and {p.high}"


@random_randint.check
def _(p: Params) -> str | None:
    return None if p.low < p.high else f"low must be below high; got {p.low} and {p.high}"


random_normal.check(_positive("scale"))
random_exponential.check(_positive("lam"))
random_gamma.check(_positive("alpha", "beta"))
random_poisson.check(lambda p: None if p.lam >= 0 else f"lam must be at least 0; got {p.lam}")
random_negative_binomial.check(_positive("p"))
random_generalized_negative_binomial.check(_positive("mu"))

# ---- like an array: its shape, type and device --------------------------------------------------------


def _draw_like(draw: Draw, data: Tensor, generator: Generator, *parameters: float) -> Tensor:
    return _draw(draw, tuple(data.shape), data.dtype, data.device, generator, *parameters)


@operator("_random_uniform_like", alike=True, head_gradient=False)
def random_uniform_like(
    data: Tensor, *, low: float = 0.0, high: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """Draws from the uniform distribution on ``[low, high)``, as many and of the type of `data`."""
    return _draw_like(_uniform, data, generator, low, high)


@operator("_random_normal_like", alike=True, head_gradient=False)
def random_normal_like(
    data: Tensor, *, loc: float = 0.0, scale: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """Draws from the normal distribution, as many and of the type of `data`."""
    return _draw_like(_normal, data, generator, loc, scale)


@operator("_random_exponential_like", alike=True, head_gradient=False)
def random_exponential_like(
    data: Tensor, *, lam: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """Draws from the exponential distribution with rate `lam`, as many and of the type of `data`."""
    return _draw_like(_exponential, data, generator, lam)


@operator("_random_gamma_like", alike=True, head_gradient=False)
def random_gamma_like(
    data: Tensor, *, alpha: float = 1.0, beta: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """Draws from the gamma distribution, as many and of the type of `data`."""
    return _draw_like(_gamma, data, generator, alpha, beta)


@operator("_random_poisson_like", alike=True, head_gradient=False)
def random_poisson_like(
    data: Tensor, *, lam: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """Draws from the Poisson distribution with mean `lam`, as many and of the type of `data`."""
    return _draw_like(_poisson, data, generator, lam)


@operator("_random_negative_binomial_like", alike=True, head_gradient=False)
def random_negative_binomial_like(
    data: Tensor,
    *,
    k: Annotated[int, AtLeast(1)] = 1,
    p: Annotated[float, Between(0, 1)] = 1.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draws from the negative binomial distribution, as many and of the type of `data`."""
    return _draw_like(_negative_binomial, data, generator, k, p)


@operator(
    "_random_generalized_negative_binomial_like",
    alike=True,
    head_gradient=False,
)
def random_generalized_negative_binomial_like(
    data: Tensor,
    *,
    mu: float = 1.0,
    alpha: Annotated[float, AtLeast(0)] = 1.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draws from the generalized negative binomial distribution, as many and of the type of `data`."""
    return _draw_like(_generalized_negative_binomial, data, generator, mu, alpha)


# ---- one distribution for each element of arrays ------------------------------------------------------


@operator("_sample_uniform", "sample_uniform", types=_typed, head_gradient=False)
def sample_uniform(
    low: Tensor,
    high: Tensor,
    *,
    shape: Sizes = (),
    dtype: torch.dtype | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draws of `shape` from the uniform distribution for each pair of `low` and `high`."""
    return _draw_for_each(_uniform, shape, dtype, generator, low, high)


@operator("_sample_normal", "sample_normal", types=_typed, head_gradient=False)
def sample_normal(
    mu: Tensor,
    sigma: Tensor,
    *,
    shape: Sizes = (),
    dtype: torch.dtype | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draws of `shape` from the normal distribution for each pair of `mu` and `sigma`."""
    return _draw_for_each(_normal, shape, dtype, generator, mu, sigma)


@operator("_sample_gamma", "sample_gamma", types=_typed, head_gradient=False)
def sample_gamma(
    alpha: Tensor,
    beta: Tensor,
    *,
    shape: Sizes = (),
    dtype: torch.dtype | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draws of `shape` from the gamma distribution for each pair of shape `alpha` and scale `beta`."""
    return _draw_for_each(_gamma, shape, dtype, generator, alpha, beta)


@operator("_sample_exponential", "sample_exponential", types=_typed, head_gradient=False)
def sample_exponential(
    lam: Tensor,
    *,
    shape: Sizes = (),
    dtype: torch.dtype | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draws of `shape` from the exponential distribution for each rate `lam`."""
    return _draw_for_each(_exponential, shape, dtype, generator, lam)


@operator("_sample_poisson", "sample_poisson", types=_typed, head_gradient=False)
def sample_poisson(
    lam: Tensor,
    *,
    shape: Sizes = (),
    dtype: torch.dtype | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draws of `shape` from the Poisson distribution for each mean `lam`."""
    return _draw_for_each(_poisson, shape, dtype, generator, lam)


@operator("_sample_negative_binomial", "sample_negative_binomial", types=_typed, head_gradient=False)
def sample_negative_binomial(
    k: Tensor,
    p: Tensor,
    *,
    shape: Sizes = (),
    dtype: torch.dtype | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draws of `shape` from the negative binomial distribution for each pair of `k` and `p`."""
    return _draw_for_each(_negative_binomial, shape, dtype, generator, k, p)


@operator(
    "_sample_generalized_negative_binomial",
    "sample_generalized_negative_binomial",
    types=_typed,
    head_gradient=False,
)
def sample_generalized_negative_binomial(
    mu: Tensor,
    alpha: Tensor,
    *,
    shape: Sizes = (),
    dtype: torch.dtype | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draws of `shape` from the generalized negative binomial distribution for each pair of `mu` and `alpha`."""
    return _draw_for_each(_generalized_negative_binomial, shape, dtype, generator, mu, alpha)


def _one_shape(shapes: Shapes, p: Params) -> Shapes:
    """Give all arrays of parameters the shape of the one that is known."""
    known = next((shape for shape in shapes.values() if shape), None)
    return dict.fromkeys(shapes, known)


for _op in (
    sample_uniform,
    sample_normal,
    sample_gamma,
    sample_negative_binomial,
    sample_generalized_negative_binomial,
):
    _op.fill_shapes(_one_shape)


@operator(
    "_sample_multinomial",
    "sample_multinomial",
    outputs=lambda p: ("output0", "output1") if p.get_prob else ("output",),
    types=lambda p: {"output0" if p.get_prob else "output": p.dtype},
    head_gradient=lambda p: p.get_prob,
)
def sample_multinomial(
    data: Tensor,
    *,
    shape: Sizes = (),
    get_prob: bool = False,
    dtype: torch.dtype = torch.int32,
    generator: torch.Generator | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Draws of `shape` of positions along the last axis of `data`, whose elements are their probabilities.

    With `get_prob` also the logarithms of the probabilities of what was drawn, differentiable in `data`.

    Shapes
    ------
    data : (C,) or (N, C)
    out : shape or (N, shape)
    """
    if data.ndim not in (1, 2):
        raise ShapeError(f"_sample_multinomial: data must have shape (C,) or (N, C); got {tuple(data.shape)}")
    count = 1
    for size in shape:
        count *= size
    if count == 0:
        raise ParameterError(f"_sample_multinomial: shape must hold no 0; got {shape}")
    chosen = torch.multinomial(data.detach(), count, replacement=True, generator=generator)
    target = (*data.shape[:-1], *shape) or (1,)
    positions = chosen.reshape(target).to(dtype)
    if not get_prob:
        return positions
    return positions, torch.log(torch.gather(data, -1, chosen)).reshape(target)


@operator("_shuffle", "shuffle", alike=True)
def shuffle(data: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
    """`data` with its slices along the first axis in random order."""
    order = torch.randperm(data.shape[0], generator=generator, device=data.device)
    return torch.index_select(data, 0, order)


@operator(
    "_sample_unique_zipfian",
    outputs=("output0", "output1"),
    types={"output0": torch.int64, "output1": torch.int64},
    head_gradient=False,
)
def sample_unique_zipfian(
    *,
    range_max: Annotated[int, AtLeast(1)],
    shape: Sizes | None = None,
    generator: torch.Generator | None = None,
    device: torch.device | None = None,
) -> tuple[Tensor, Tensor]:
    """Different whole numbers below `range_max`, by the approximately log-uniform (Zipfian) distribution.

    A number n is drawn with the probability ``log((n + 2) / (n + 1)) / log(range_max + 1)``, again and again until a
    row has as many different ones as asked for. The second output says how many draws that took. MXNet rounds where its
    documentation has it cut, so that its 0 comes too seldom.

    Parameters
    ----------
    range_max
        What all numbers are below.
    shape
        How many rows, and how many numbers in each, at most `range_max`.

    Shapes
    ------
    out : (N, K) and (N,)
    """
    # Let the draws come at random times, one a second on average. Then each number comes at random times of its own, at
    # a rate that is its probability, and independently of all others: the first numbers to come are the sample, in
    # order. After its first time each comes again as often as a Poisson distribution says: these are the vain draws.
    rows, count = shape or (0, 0)
    place = torch.arange(range_max, dtype=torch.float64, device=device)
    rate = (torch.log1p(1 / (place + 1)) / math.log(range_max + 1)).to(torch.float32)
    first = torch.empty(rows, range_max, device=device).exponential_(generator=generator) / rate
    times, drawn = torch.topk(first, count, dim=1, largest=False, sorted=True)
    vain = ((times[:, -1:] - times) * rate[drawn]).sum(1)
    return drawn, torch.poisson(vain, generator=generator).to(torch.int64) + count


@sample_unique_zipfian.check
def _(p: Params) -> str | None:
    if p.shape is None or len(p.shape) != 2 or 0 in p.shape:
        return f"shape must be the numbers of rows and of elements in a row, above 0; got {p.shape}"
    if p.shape[1] > p.range_max:
        return f"shape must ask for at most range_max={p.range_max} different numbers in a row; got {p.shape}"
    return None
