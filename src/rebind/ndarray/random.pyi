"""`nd.random`: functions that draw random numbers.

Written by ``make stubs`` from the table of operators; not to be edited.
"""

from collections.abc import Sequence
from ..device import Device
from ..dtypes import DTypeLike
from .ndarray import NDArray

from .drawing import multinomial as multinomial
from .drawing import rand_zipfian as rand_zipfian

def uniform(
    low: float | NDArray = 0,
    high: float | NDArray = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Device | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw from the uniform distribution on ``[low, high)``."""

def normal(
    loc: float | NDArray = 0,
    scale: float | NDArray = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Device | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw from the normal distribution with mean `loc` and standard deviation `scale`."""

def poisson(
    lam: float | NDArray = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Device | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw from the Poisson distribution with rate `lam`."""

def exponential(
    scale: float | NDArray = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Device | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw from the exponential distribution with mean `scale`."""

def gamma(
    alpha: float | NDArray = 1,
    beta: float | NDArray = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Device | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw from the gamma distribution with shape `alpha` and scale `beta`."""

def negative_binomial(
    k: float | NDArray = 1,
    p: float | NDArray = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Device | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw the number of failures before `k` successes of probability `p`."""

def generalized_negative_binomial(
    mu: float | NDArray = 1,
    alpha: float | NDArray = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Device | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw from the negative binomial distribution with mean `mu` and dispersion `alpha`."""

def randint(
    low: int | NDArray,
    high: int | NDArray,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Device | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw whole numbers from ``[low, high)``; int32 by default."""

def uniform_like(
    data: NDArray,
    low: float = 0.0,
    high: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
) -> NDArray:
    """Draw from the uniform distribution on ``[low, high)``, in the shape and type of `data`."""

def normal_like(
    data: NDArray,
    loc: float = 0.0,
    scale: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
) -> NDArray:
    """Draw from the normal distribution, in the shape and type of `data`."""

def exponential_like(
    data: NDArray,
    lam: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
) -> NDArray:
    """Draw from the exponential distribution with rate `lam`, in the shape and type of `data`."""

def gamma_like(
    data: NDArray,
    alpha: float = 1.0,
    beta: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
) -> NDArray:
    """Draw from the gamma distribution with shape `alpha` and scale `beta`, in the shape and type of `data`."""

def poisson_like(
    data: NDArray,
    lam: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
) -> NDArray:
    """Draw from the Poisson distribution with rate `lam`, in the shape and type of `data`."""

def negative_binomial_like(
    data: NDArray,
    k: int = 1,
    p: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
) -> NDArray:
    """Draw the number of failures before `k` successes, in the shape and type of `data`."""

def generalized_negative_binomial_like(
    data: NDArray,
    mu: float = 1.0,
    alpha: float = 1.0,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
) -> NDArray:
    """Draw from the negative binomial distribution with mean `mu`, in the shape and type of `data`."""

def randn(
    *shape: int,
    loc: float | NDArray = 0,
    scale: float | NDArray = 1,
    dtype: DTypeLike | None = None,
    ctx: Device | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draw an array of shape `shape` from the normal distribution."""

def shuffle(
    data: NDArray,
    *,
    out: NDArray | Sequence[NDArray] | None = None,
) -> NDArray:
    """Return the rows of `data` in random order."""
