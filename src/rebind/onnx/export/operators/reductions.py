"""Sums, products, extremes and norms along axes; results have the type of the data, and one axis at least."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx_ir as ir
import torch

from ....ops.reduce import reduced_axes
from ..node_writer import NodeWriter
from ..translations import translation
from .pieces import arithmetic

__all__ = ["all_finite", "cumsum", "mean", "moments", "norm", "softmax_cross_entropy"]

#: From the writer, the data in a type that ONNX reduces, the axes, and whether they stay with size 1.
Compute = Callable[[NodeWriter, ir.Value, Sequence[int], bool], ir.Value]


def _wide(dtype: torch.dtype) -> torch.dtype:
    """Return the type to sum up in: that of the data, or int64 for integers, which wrap around when cast back."""
    return dtype if dtype.is_floating_point else torch.int64


def _reduced(
    writer: NodeWriter, data: ir.Value, axes: Sequence[int], keepdims: bool, compute: Compute
) -> ir.Value:
    """Write a reduction in a wide type, and the result in the type of the output; there is no array without axes."""
    dtype = writer.dtype()
    wide = _wide(dtype)
    if not axes:
        return writer.cast(compute(writer, writer.cast(data, wide), (), True), dtype)
    found = compute(writer, data if wide is dtype else writer.cast(data, wide), axes, keepdims)
    if wide is not dtype:
        found = writer.cast(found, dtype)
    return writer.reshape(found, [1]) if len(axes) == writer.rank() and not keepdims else found


def _declare(name: str, compute: Compute) -> None:
    @translation(name)
    def translate(writer: NodeWriter, data: ir.Value) -> ir.Value:
        p = writer.params
        axes = reduced_axes(writer.rank(), p.axis, p.exclude)
        return _reduced(writer, data, axes, p.keepdims, compute)


def _with(kind: str) -> Compute:
    def compute(writer: NodeWriter, data: ir.Value, axes: Sequence[int], keepdims: bool) -> ir.Value:
        return writer.reduce(kind, data, axes, keepdims=keepdims) if axes else data

    return compute


def _extreme(kind: str) -> Compute:
    """Return the largest or smallest element; what is not a number is the result, where ONNX leaves it open."""

    def compute(writer: NodeWriter, data: ir.Value, axes: Sequence[int], keepdims: bool) -> ir.Value:
        found, dtype = _with(kind)(writer, data, axes, keepdims), writer.dtype()
        if not dtype.is_floating_point or not axes:
            return found
        nan = writer.op("Where", writer.op("IsNaN", data), data, writer.constant(0, dtype))
        return writer.op("Add", found, writer.reduce("ReduceSum", nan, axes, keepdims=keepdims))

    return compute


def _without_nan(kind: str, instead: float) -> Compute:
    def compute(writer: NodeWriter, data: ir.Value, axes: Sequence[int], keepdims: bool) -> ir.Value:
        dtype = writer.dtype()
        if dtype.is_floating_point:
            data = writer.op("Where", writer.op("IsNaN", data), writer.constant(instead, dtype), data)
        return _with(kind)(writer, data, axes, keepdims)

    return compute


def _of_squares(writer: NodeWriter, data: ir.Value, axes: Sequence[int], keepdims: bool) -> ir.Value:
    return _with("ReduceSum")(writer, writer.op("Mul", data, data), axes, keepdims)


def mean(writer: NodeWriter, data: ir.Value, axes: Sequence[int], keepdims: bool) -> ir.Value:
    """Write a mean; that of integers, which come in int64, is cut towards 0."""
    if not axes:
        return data
    if writer.dtype().is_floating_point:
        return writer.reduce("ReduceMean", data, axes, keepdims=keepdims)
    count = writer.reduce("ReduceProd", writer.gather(writer.shape_of(data), axes), [0])
    return writer.op("Div", writer.reduce("ReduceSum", data, axes, keepdims=keepdims), count)


_declare("sum", _with("ReduceSum"))
_declare("mean", mean)
_declare("prod", _with("ReduceProd"))
_declare("nansum", _without_nan("ReduceSum", 0))
_declare("nanprod", _without_nan("ReduceProd", 1))
_declare("max", _extreme("ReduceMax"))
_declare("min", _extreme("ReduceMin"))
_declare("_square_sum", _of_squares)


@translation("norm")
def norm(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the sum of absolute values, or the root of the sum of squares; that of integers in float64."""
    p = writer.params
    axes = reduced_axes(writer.rank(), p.axis, False)
    if not writer.dtype().is_floating_point:
        data = writer.cast(data, torch.float64)
    found = writer.reduce(f"ReduceL{p.ord}", data, axes, keepdims=p.keepdims)
    if len(axes) == writer.rank() and not p.keepdims:
        found = writer.reshape(found, [1])
    return writer.cast(found, writer.output_dtype())


@translation("moments")
def moments(writer: NodeWriter, data: ir.Value) -> Sequence[ir.Value]:
    """Write the mean and the variance, which is that of the centred data."""
    p = writer.params
    axes = reduced_axes(writer.rank(), p.axes, False)
    average = _reduced(writer, data, axes, p.keepdims, mean)
    centre, dtype = _reduced(writer, data, axes, True, mean), writer.dtype()
    centred = arithmetic(writer, "Sub", data, centre, dtype)
    squared = arithmetic(writer, "Mul", centred, centred, dtype)
    return average, _reduced(writer, squared, axes, p.keepdims, mean)


def _position(writer: NodeWriter, kind: str, data: ir.Value, axis: int, keepdims: bool) -> ir.Value:
    """Write the position of the first extreme element: of the first that is not a number, where there is one."""
    op, keep = writer.op, int(keepdims)
    found = op(kind, data, axis=axis, keepdims=keep)
    if not writer.dtype().is_floating_point:
        return found
    is_nan = writer.cast(op("IsNaN", data), torch.int32)
    any_nan = writer.reduce("ReduceMax", is_nan, [axis], keepdims=keepdims)
    first_nan = op("ArgMax", is_nan, axis=axis, keepdims=keep)
    return op("Where", writer.cast(any_nan, torch.bool), first_nan, found)


def _declare_position(name: str, kind: str) -> None:
    @translation(name)
    def translate(writer: NodeWriter, data: ir.Value) -> ir.Value:
        p, rank = writer.params, writer.rank()
        if p.axis is not None:
            found = _position(writer, kind, data, p.axis, p.keepdims or rank == 1)
        else:
            found = _position(writer, kind, writer.reshape(data, [-1]), 0, True)
            found = writer.reshape(found, [1] * rank) if p.keepdims else found
        return writer.cast(found, writer.dtype())


_declare_position("argmax", "ArgMax")
_declare_position("argmin", "ArgMin")


@translation("argmax_channel")
def argmax_channel(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the position of the largest element along axis 1."""
    return writer.cast(_position(writer, "ArgMax", data, 1, False), writer.dtype())


@translation("_np_cumsum")
def cumsum(writer: NodeWriter, a: ir.Value) -> ir.Value:
    """Write a running sum; short integers are summed up in int64, and wrap around when cast back."""
    axis, dtype = writer.params.axis, writer.output_dtype()
    wide = (
        torch.float32 if dtype is torch.float16 else _wide(dtype)
    )  # ONNX has none of float16 before opset 14
    data = writer.cast(a, dtype)
    if axis is None:
        data, axis = writer.reshape(data, [-1]), 0
    found = writer.op("CumSum", writer.cast(data, wide), writer.ints(axis))
    return writer.cast(found, dtype)


def _is_finite(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write an array of one number: 1 when all of an array is finite, else 0."""
    if not dtype.is_floating_point:
        return writer.constant([1], torch.float32)
    # The difference of a number and itself is 0, unless it is infinite or none.
    difference = writer.op("Sub", data, data)
    finite = writer.cast(writer.op("Equal", difference, writer.constant(0, dtype)), torch.float32)
    return writer.reduce("ReduceMin", writer.reshape(finite, [-1]), [0], keepdims=True)


@translation("all_finite", "multi_all_finite")
def all_finite(writer: NodeWriter, *data: ir.Value) -> ir.Value:
    """Write 1 when no element of any array is infinite or not a number, else 0."""
    each = [_is_finite(writer, array, writer.dtype(i)) for i, array in enumerate(data)]
    return writer.op("Min", *each) if len(each) > 1 else writer.op("Identity", each[0])


@translation("multi_sum_sq")
def multi_sum_sq(writer: NodeWriter, *data: ir.Value) -> ir.Value:
    """Write the sum of squares of each array."""
    flat = (writer.reshape(writer.cast(each, torch.float32), [-1]) for each in data)
    sums = [writer.reduce("ReduceSumSquare", each, [0], keepdims=True) for each in flat]
    return writer.concat(*sums)


#: log(1e-8): what a smaller probability counts as.
_LEAST = -18.420680743952367


@translation("softmax_cross_entropy")
def softmax_cross_entropy(writer: NodeWriter, data: ir.Value, label: ir.Value) -> ir.Value:
    """Write the cross-entropy between the softmax of `data` and labels, summed up over the batch."""
    op, classes = writer.op, writer.shape()[1]
    logarithms = op("Max", op("LogSoftmax", data, axis=1), writer.like(_LEAST))
    index = op("Unsqueeze", writer.cast(label, torch.int64), writer.ints([1]))
    hit = op("Equal", index, writer.ints(range(classes)))
    # A label that is none of the classes counts as the least probability.
    known = writer.cast(writer.reduce("ReduceMax", writer.cast(hit, torch.int32), [1]), torch.bool)
    of_label = writer.reduce("ReduceSum", op("Where", hit, logarithms, writer.like(0)), [1])
    chosen = op("Where", known, of_label, writer.like(_LEAST))
    return op("Neg", writer.reduce("ReduceSum", chosen, [0], keepdims=True))
