"""Probability densities, from their logarithms, which are computed in float64; outside of its support one is 0."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import onnx_ir as ir
import torch

from ..node_writer import NodeWriter
from ..translations import translation
from .special_functions import log_gamma

__all__ = ["dirichlet"]


class Terms:
    """Writes the terms of a logarithm of a density, in float64."""

    def __init__(self, writer: NodeWriter) -> None:
        self.writer = writer
        self.op = writer.op
        self.number = functools.partial(writer.constant, dtype=torch.float64)

    def sum(self, first: ir.Value, *others: ir.Value) -> ir.Value:
        """Write a sum."""
        return functools.reduce(functools.partial(self.op, "Add"), others, first)

    def less(self, value: ir.Value, *others: ir.Value) -> ir.Value:
        """Write a value less others."""
        return functools.reduce(functools.partial(self.op, "Sub"), others, value)

    def times_log(self, factor: ir.Value, x: ir.Value) -> ir.Value:
        """Write ``factor * log(x)``: 0 where the factor is 0, whatever the logarithm."""
        none = self.op("Equal", factor, self.number(0))
        return self.op("Mul", factor, self.op("Log", self.op("Where", none, self.number(1), x)))

    def log_gamma(self, x: ir.Value) -> ir.Value:
        """Write the logarithm of the gamma function."""
        return log_gamma(self.writer, x)

    def not_negative(self, sample: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return a sample, with 1 where it is below 0, and where it is not."""
        inside = self.op("GreaterOrEqual", sample, self.number(0))
        return self.op("Where", inside, sample, self.number(1)), inside

    def ways(self, count: ir.Value, k: ir.Value) -> ir.Value:
        """Write the logarithm of in how many orders `count` failures come before the k-th success."""
        one = self.number(1)
        both, failures = self.log_gamma(self.sum(count, k)), self.log_gamma(self.sum(count, one))
        return self.less(both, failures, self.log_gamma(k))

    def poisson(self, count: ir.Value, mean: ir.Value) -> ir.Value:
        """Write the logarithm of the probability of a count with a mean."""
        factorial = self.log_gamma(self.sum(count, self.number(1)))
        return self.less(self.times_log(count, mean), mean, factorial)


#: From the terms, a sample and the parameters to the logarithm of the density, and where it holds (None: everywhere).
Density = Callable[..., "tuple[ir.Value, ir.Value | None]"]


def _declare(kind: str, density: Density) -> None:
    @translation(f"_random_pdf_{kind}")
    def translate(writer: NodeWriter, sample: ir.Value, *parameters: ir.Value) -> ir.Value:
        terms, own = Terms(writer), writer.dtype()
        spread = [writer.cast(each, torch.float64) for each in parameters]
        missing = writer.rank(0) - writer.rank(1)
        if missing:  # parameters come first in the shape of a sample
            axes = range(writer.rank(1), writer.rank(0))
            spread = [writer.unsqueeze(each, list(axes)) for each in spread]
        logarithm, inside = density(terms, writer.cast(sample, torch.float64), *spread)
        found = logarithm if writer.params.is_log else writer.op("Exp", logarithm)
        if inside is not None:
            outside = terms.number(-math.inf if writer.params.is_log else 0)
            found = writer.op("Where", inside, found, outside)
        return writer.cast(found, own)


def _uniform(t: Terms, sample: ir.Value, low: ir.Value, high: ir.Value) -> tuple[ir.Value, ir.Value]:
    inside = t.op("And", t.op("LessOrEqual", low, sample), t.op("LessOrEqual", sample, high))
    logarithm = t.op("Neg", t.op("Log", t.less(high, low)))
    # In the shape of the sample.
    return t.sum(t.op("Where", inside, t.number(0), t.number(0)), logarithm), inside


def _normal(t: Terms, sample: ir.Value, mu: ir.Value, sigma: ir.Value) -> tuple[ir.Value, None]:
    away = t.op("Div", t.less(sample, mu), sigma)
    parabola = t.op("Mul", t.op("Mul", away, away), t.number(-0.5))
    return t.less(parabola, t.op("Log", sigma), t.number(0.5 * math.log(2 * math.pi))), None


def _gamma(t: Terms, sample: ir.Value, alpha: ir.Value, beta: ir.Value) -> tuple[ir.Value, ir.Value]:
    x, inside = t.not_negative(sample)
    scale = t.less(t.times_log(alpha, beta), t.log_gamma(alpha))
    power = t.times_log(t.less(alpha, t.number(1)), x)
    return t.less(t.sum(scale, power), t.op("Mul", beta, x)), inside


def _exponential(t: Terms, sample: ir.Value, lam: ir.Value) -> tuple[ir.Value, ir.Value]:
    x, inside = t.not_negative(sample)
    return t.less(t.op("Log", lam), t.op("Mul", lam, x)), inside


def _poisson(t: Terms, sample: ir.Value, lam: ir.Value) -> tuple[ir.Value, ir.Value]:
    count, inside = t.not_negative(sample)
    return t.poisson(count, lam), inside


def _negative_binomial(t: Terms, sample: ir.Value, k: ir.Value, p: ir.Value) -> tuple[ir.Value, ir.Value]:
    count, inside = t.not_negative(sample)
    failures = t.times_log(count, t.less(t.number(1), p))
    return t.sum(t.ways(count, k), t.times_log(k, p), failures), inside


def _generalized(t: Terms, sample: ir.Value, mu: ir.Value, alpha: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Write the negative binomial density with ``k = 1 / alpha``; an alpha of 0 makes it that of Poisson."""
    count, inside = t.not_negative(sample)
    spread, one = t.op("Greater", alpha, t.number(0)), t.number(1)
    safe = t.op("Where", spread, alpha, one)
    k, more = t.op("Reciprocal", safe), t.op("Mul", mu, safe)
    total = t.sum(one, more)
    successes = t.op("Mul", k, t.op("Log", total))
    failures = t.times_log(count, t.op("Div", more, total))
    found = t.sum(t.less(t.ways(count, k), successes), failures)
    return t.op("Where", spread, found, t.poisson(count, mu)), inside


_declare("uniform", _uniform)
_declare("normal", _normal)
_declare("gamma", _gamma)
_declare("exponential", _exponential)
_declare("poisson", _poisson)
_declare("negative_binomial", _negative_binomial)
_declare("generalized_negative_binomial", _generalized)


@translation("_random_pdf_dirichlet")
def dirichlet(writer: NodeWriter, sample: ir.Value, alpha: ir.Value) -> ir.Value:
    """Write the density of vectors in the last axis."""
    t = Terms(writer)
    sample, alpha = (writer.cast(each, torch.float64) for each in (sample, alpha))
    rank, lead = writer.rank(0), writer.rank(1) - 1
    if lead < rank - 1:
        alpha = writer.unsqueeze(alpha, list(range(lead, rank - 1)))
    total = functools.partial(writer.reduce, "ReduceSum", axes=[-1])
    scale = t.less(t.log_gamma(total(alpha)), total(t.log_gamma(alpha)))
    logarithm = t.sum(scale, total(t.times_log(t.less(alpha, t.number(1)), sample)))
    found = logarithm if writer.params.is_log else writer.op("Exp", logarithm)
    return writer.cast(found, writer.dtype())
