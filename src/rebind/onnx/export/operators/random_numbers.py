"""Random numbers: the distributions that ONNX has, and those that follow from them; every run draws new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import onnx_ir as ir
import torch

from ..node_writer import NodeWriter, onnx_type
from ..translations import translation
from .pieces import filled, known_or_size, shape_from

__all__ = ["drawn_type", "random_integers", "sample_multinomial", "shuffle", "spread"]


def drawn_type(dtype: torch.dtype) -> torch.dtype:
    """Return the type to draw in: half types have too few values near the bounds."""
    return dtype if dtype is torch.float64 else torch.float32


def spread(writer: NodeWriter, arrays: Sequence[ir.Value], dtype: torch.dtype) -> list[ir.Value]:
    """Return parameters of distributions in a type, each repeated for all draws of it."""
    found, shape = [writer.cast(each, dtype) for each in arrays], writer.params.shape
    if not shape:
        return found
    rank = writer.rank()
    target = writer.ints([1] * rank + list(shape))
    return [
        writer.op("Expand", writer.unsqueeze(each, range(rank, rank + len(shape))), target) for each in found
    ]


def _uniform(writer: NodeWriter, dtype: torch.dtype, like: ir.Value | None) -> ir.Value:
    """Write draws from [0, 1) in the shape of the output, or in that of an array."""
    return _standard(writer, "RandomUniform", dtype, like)


def _normal(writer: NodeWriter, dtype: torch.dtype, like: ir.Value | None) -> ir.Value:
    """Write draws from the standard normal distribution."""
    return _standard(writer, "RandomNormal", dtype, like)


def _exponential(writer: NodeWriter, dtype: torch.dtype, like: ir.Value | None) -> ir.Value:
    """Write draws from the exponential distribution of rate 1."""
    rest = writer.op("Sub", writer.constant(1, dtype), _uniform(writer, dtype, like))
    return writer.op("Neg", writer.op("Log", rest))


def _standard(writer: NodeWriter, kind: str, dtype: torch.dtype, like: ir.Value | None) -> ir.Value:
    number = int(onnx_type(dtype))
    if like is not None:
        return writer.op(f"{kind}Like", like, dtype=number)
    sizes = writer.output_sizes()
    if 0 in sizes:
        raise writer.unknown("the shape of random numbers")
    if 0 in writer.output_shape():
        template = filled(writer, shape_from(writer, sizes), 0, dtype)
        return writer.op(f"{kind}Like", template, dtype=number)
    return writer.op(kind, dtype=number, shape=writer.output_shape())


#: From the operands of a distribution, and standard draws, to its numbers.
Scale = Callable[[NodeWriter, ir.Value, Sequence[ir.Value]], ir.Value]


def _between(writer: NodeWriter, draws: ir.Value, ends: Sequence[ir.Value]) -> ir.Value:
    low, high = ends
    return writer.op("Add", low, writer.op("Mul", draws, writer.op("Sub", high, low)))


def _around(writer: NodeWriter, draws: ir.Value, moments: Sequence[ir.Value]) -> ir.Value:
    mean, deviation = moments
    return writer.op("Add", mean, writer.op("Mul", draws, deviation))


def _at_rate(writer: NodeWriter, draws: ir.Value, rate: Sequence[ir.Value]) -> ir.Value:
    return writer.op("Div", draws, rate[0])


_DISTRIBUTIONS: dict[str, tuple[Callable[..., ir.Value], Scale, tuple[str, ...]]] = {
    "uniform": (_uniform, _between, ("low", "high")),
    "normal": (_normal, _around, ("loc", "scale")),
    "exponential": (_exponential, _at_rate, ("lam",)),
}


def _declare(kind: str, draw: Callable[..., ir.Value], scale: Scale, names: tuple[str, ...]) -> None:
    @translation(f"_random_{kind}", f"_random_{kind}_like")
    def translate(writer: NodeWriter, data: ir.Value | None = None) -> ir.Value:
        dtype = drawn_type(writer.output_dtype())
        numbers = [writer.constant(writer.params[name], dtype) for name in names]
        return writer.cast(scale(writer, draw(writer, dtype, data), numbers), writer.output_dtype())

    @translation(f"_sample_{kind}")
    def translate_each(writer: NodeWriter, *arrays: ir.Value) -> ir.Value:
        dtype = drawn_type(writer.output_dtype())
        parameters = spread(writer, arrays, dtype)
        return writer.cast(
            scale(writer, draw(writer, dtype, parameters[0]), parameters), writer.output_dtype()
        )


for _kind, _row in _DISTRIBUTIONS.items():
    _declare(_kind, *_row)


@translation("_random_randint")
def random_integers(writer: NodeWriter) -> ir.Value:
    """Write integers of a range, all equally likely."""
    p = writer.params
    draws = _uniform(writer, torch.float64, None)
    spread = writer.op("Mul", draws, writer.constant(p.high - p.low, torch.float64))
    whole = writer.op("Add", writer.cast(spread, torch.int64), writer.ints(p.low))
    return writer.cast(whole, writer.output_dtype())


@translation("_sample_multinomial")
def sample_multinomial(writer: NodeWriter, data: ir.Value) -> ir.Value | Sequence[ir.Value]:
    """Write positions drawn by probabilities, and the logarithms of these."""
    p, op, vector = writer.params, writer.op, writer.rank() == 1
    rows = writer.unsqueeze(data, [0]) if vector else data
    logarithms = op("Log", writer.cast(rows, torch.float32))
    chosen = op("Multinomial", logarithms, sample_size=prod(p.shape), dtype=ir.DataType.INT64.value)
    target = shape_from(writer, [*known_or_size(data, writer.shape())[:-1], *p.shape] or [1])
    positions = writer.cast(writer.reshape(chosen, target), writer.output_dtype())
    if not p.get_prob:
        return positions
    probabilities = op("GatherElements", rows, chosen, axis=1)
    return positions, writer.reshape(op("Log", probabilities), target)


@translation("_shuffle")
def shuffle(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write slices in random order: that of random keys."""
    length = writer.size_of(data, 0)
    template = writer.op("Expand", writer.constant(0, torch.float32), length)
    keys = writer.op("RandomUniformLike", template, dtype=ir.DataType.DOUBLE.value)
    _, order = writer.op_of_many("TopK", 2, keys, length, axis=0)
    return writer.op("Gather", data, order, axis=0)
