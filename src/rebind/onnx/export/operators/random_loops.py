"""Distributions that ONNX lacks, gamma, Poisson and what follows from them: loops over uniform and normal numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import onnx_ir as ir
import torch

from ..body_writer import BodyWriter
from ..expressions import Expression, numbers, where
from ..node_writer import NodeWriter, onnx_type
from ..translations import translation
from .pieces import shape_from
from .random_numbers import drawn_type, spread

__all__ = ["gamma", "poisson"]

#: From the parameters of a distribution, in the shape of the result, to its numbers.
Draw: TypeAlias = Callable[..., Expression]


def _random(kind: str, like: Expression) -> Expression:
    """Return draws of ``Uniform`` or ``Normal`` in the shape of an array."""
    return like.apply(f"Random{kind}Like", dtype=int(onnx_type(like.dtype)))


def _repeat(
    writer: NodeWriter,
    states: Sequence[Expression],
    step: Callable[..., tuple[Expression, list[Expression]]],
) -> list[Expression]:
    """Return states after steps that are repeated as long as they are open anywhere."""
    inner = BodyWriter(writer, "body")
    inner.input("step", torch.int64, ())
    inner.input("condition", torch.bool, ())
    shape = writer.output_shape()
    before = [Expression(inner, inner.input("state", each.dtype, shape), each.dtype) for each in states]
    is_open, after = step(*before)
    any_open = inner.cast(inner.reduce("ReduceMax", is_open.to(torch.int32).value), torch.bool)
    found = writer.op_of_many(
        "Loop",
        len(states),
        *(None, writer.constant(True, np.bool_), *(each.value for each in states)),
        body=inner.finish([any_open, *(each.value for each in after)]),
    )
    return [Expression(writer, value, each.dtype) for value, each in zip(found, states, strict=True)]


def gamma(writer: NodeWriter, alpha: Expression, beta: Expression) -> Expression:
    """Return draws by Marsaglia and Tsang's method: a number is drawn until it is accepted."""
    is_small = alpha < 1.0
    d = where(is_small, alpha + 1.0, alpha) - 1 / 3
    c = 1.0 / (d * 9.0).apply("Sqrt")

    def step(found: Expression, is_open: Expression) -> tuple[Expression, list[Expression]]:
        x = _random("Normal", found)
        v = x * c + 1.0
        v = v * v * v
        margin = x * x * 0.5 + d - v * d + v.maximum(1e-30).apply("Log") * d
        accepted = (v > 0.0) & (_random("Uniform", found).apply("Log") < margin)
        still = is_open & ~accepted
        return still, [where(is_open & accepted, v * d, found), still]

    found, _ = _repeat(writer, [d, d.full_like(True, torch.bool)], step)
    # Of a shape below 1 it is that of one more, times a power of a uniform number.
    less = (1.0 - _random("Uniform", d)).apply("Pow", (1.0 / alpha).value)
    return where(is_small, found * less, found) * beta


def poisson(writer: NodeWriter, rate: Expression) -> Expression:
    """Return draws: how many events there are in a time, between which are exponential times."""

    def step(time: Expression, count: Expression) -> tuple[Expression, list[Expression]]:
        time = time - (1.0 - _random("Uniform", time)).apply("Log")
        is_within = time <= rate
        return is_within, [time, count + is_within.to(count.dtype)]

    return _repeat(writer, [rate * 0.0, rate * 0.0], step)[1]


def _negative_binomial(writer: NodeWriter, k: Expression, p: Expression) -> Expression:
    return poisson(writer, gamma(writer, k, (1.0 - p) / p))


def _generalized_negative_binomial(writer: NodeWriter, mu: Expression, alpha: Expression) -> Expression:
    is_spread = alpha > 0.0
    safe = where(is_spread, alpha, 1.0)
    return poisson(writer, where(is_spread, gamma(writer, 1.0 / safe, safe * mu), mu))


def _declare(kind: str, draw: Draw, names: Sequence[str]) -> None:
    @translation(f"_random_{kind}", f"_random_{kind}_like")
    def translate(writer: NodeWriter, data: ir.Value | None = None) -> ir.Value:
        dtype, sizes = drawn_type(writer.output_dtype()), writer.output_sizes()
        if data is None and 0 in sizes:
            raise writer.unknown("the shape of random numbers")
        shape = shape_from(writer, sizes) if data is None else writer.shape_of(data)
        parameters = [numbers(writer, writer.params[name], dtype).apply("Expand", shape) for name in names]
        return draw(writer, *parameters).to(writer.output_dtype()).value

    @translation(f"_sample_{kind}")
    def translate_each(writer: NodeWriter, *arrays: ir.Value) -> ir.Value:
        dtype = drawn_type(writer.output_dtype())
        parameters = [Expression(writer, each, dtype) for each in spread(writer, arrays, dtype)]
        return draw(writer, *parameters).to(writer.output_dtype()).value


_declare("gamma", gamma, ("alpha", "beta"))
_declare("poisson", poisson, ("lam",))
_declare("negative_binomial", _negative_binomial, ("k", "p"))
_declare("generalized_negative_binomial", _generalized_negative_binomial, ("mu", "alpha"))
