"""`sym.random`: functions that draw random numbers.

Written by ``make stubs`` from the table of operators; not to be edited.
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict
from typing_extensions import Unpack
from ..dtypes import DTypeLike
from .symbol import Symbol

class _Attributes(TypedDict, total=False):
    """Attributes of a node that need no underscores."""

    ctx_group: str | float
    force_mirroring: str | float
    lr_mult: str | float
    mirror_stage: str | float
    wd_mult: str | float

from .drawing import multinomial as multinomial
from .drawing import rand_zipfian as rand_zipfian

def uniform(
    low: float | Symbol = 0,
    high: float | Symbol = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
    **attributes: Unpack[_Attributes],
) -> Symbol:
    """Draw from the uniform distribution on ``[low, high)``."""

def normal(
    loc: float | Symbol = 0,
    scale: float | Symbol = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
    **attributes: Unpack[_Attributes],
) -> Symbol:
    """Draw from the normal distribution with mean `loc` and standard deviation `scale`."""

def poisson(
    lam: float | Symbol = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
    **attributes: Unpack[_Attributes],
) -> Symbol:
    """Draw from the Poisson distribution with rate `lam`."""

def exponential(
    scale: float | Symbol = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
    **attributes: Unpack[_Attributes],
) -> Symbol:
    """Draw from the exponential distribution with mean `scale`."""

def gamma(
    alpha: float | Symbol = 1,
    beta: float | Symbol = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
    **attributes: Unpack[_Attributes],
) -> Symbol:
    """Draw from the gamma distribution with shape `alpha` and scale `beta`."""

def negative_binomial(
    k: float | Symbol = 1,
    p: float | Symbol = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
    **attributes: Unpack[_Attributes],
) -> Symbol:
    """Draw the number of failures before `k` successes of probability `p`."""

def generalized_negative_binomial(
    mu: float | Symbol = 1,
    alpha: float | Symbol = 1,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
    **attributes: Unpack[_Attributes],
) -> Symbol:
    """Draw from the negative binomial distribution with mean `mu` and dispersion `alpha`."""

def randint(
    low: int | Symbol,
    high: int | Symbol,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
    **attributes: Unpack[_Attributes],
) -> Symbol:
    """Draw whole numbers from ``[low, high)``; int32 by default."""

def uniform_like(
    data: Symbol,
    low: float = 0.0,
    high: float = 1.0,
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol:
    """Draw from the uniform distribution on ``[low, high)``, in the shape and type of `data`."""

def normal_like(
    data: Symbol,
    loc: float = 0.0,
    scale: float = 1.0,
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol:
    """Draw from the normal distribution, in the shape and type of `data`."""

def exponential_like(
    data: Symbol,
    lam: float = 1.0,
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol:
    """Draw from the exponential distribution with rate `lam`, in the shape and type of `data`."""

def gamma_like(
    data: Symbol,
    alpha: float = 1.0,
    beta: float = 1.0,
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol:
    """Draw from the gamma distribution with shape `alpha` and scale `beta`, in the shape and type of `data`."""

def poisson_like(
    data: Symbol,
    lam: float = 1.0,
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol:
    """Draw from the Poisson distribution with rate `lam`, in the shape and type of `data`."""

def negative_binomial_like(
    data: Symbol,
    k: int = 1,
    p: float = 1.0,
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol:
    """Draw the number of failures before `k` successes, in the shape and type of `data`."""

def generalized_negative_binomial_like(
    data: Symbol,
    mu: float = 1.0,
    alpha: float = 1.0,
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol:
    """Draw from the negative binomial distribution with mean `mu`, in the shape and type of `data`."""

def randn(
    *shape: int,
    loc: float | Symbol = 0,
    scale: float | Symbol = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
    **attributes: Unpack[_Attributes],
) -> Symbol:
    """Draw an array of shape `shape` from the normal distribution."""

def shuffle(
    data: Symbol,
    *,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol:
    """Return the rows of `data` in random order."""
