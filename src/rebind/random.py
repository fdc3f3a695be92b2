"""Random numbers: `mx.random.seed`, and the functions of `mx.nd.random`."""

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
