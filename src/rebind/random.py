"""Random numbers: `mx.random.seed`, and the functions of `mx.nd.random`."""

from typing import TYPE_CHECKING

from .absent import old_names
from .generators import seed
from .ndarray.random import (
    exponential,
    gamma,
    generalized_negative_binomial,
    multinomial,
    negative_binomial,
    normal,
    poisson,
    randint,
    randn,
    shuffle,
    uniform,
)  # fmt: skip

__all__ = [
    "exponential", "gamma", "generalized_negative_binomial", "multinomial", "negative_binomial", "normal", "poisson",
    "randint", "randn", "seed", "shuffle", "uniform",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
