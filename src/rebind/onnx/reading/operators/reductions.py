"""Sums, means, extremes and their positions, along axes."""

from __future__ import annotations

from collections.abc import Callable

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading
from .shapes import flattened

__all__ = ["reduction_axes"]

#: From which version on the axes of a reduction are an input.
_AXES_ARE_INPUT = {"ReduceSum": 13}
_DIRECT = {
    "ReduceSum": "sum", "ReduceMean": "mean", "ReduceProd": "prod", "ReduceMax": "max", "ReduceMin": "min",
}  # fmt: skip


def reduction_axes(reader: NodeReader) -> list[int] | None:
    """Return the axes that are reduced: None for all, an empty list where the data stays as it is."""
    axes = reader.attribute_or_input("axes", 1, _AXES_ARE_INPUT.get(reader.node.op_type, 18))
    if not axes and reader.attribute("noop_with_empty_axes", 0):
        return []
    return axes or None


def _reduce(reader: NodeReader, kind: str, data: Symbol) -> Symbol:
    axes = reduction_axes(reader)
    if axes == []:
        return data
    keepdims = bool(reader.attribute("keepdims", 1))
    found = reader.op(kind, data, axis=None if axes is None else tuple(axes), keepdims=keepdims)
    return found


@reading(*_DIRECT)
def direct(reader: NodeReader) -> Symbol:
    """Reductions that MXNet has; booleans as integers."""
    data = reader.input(0)
    kind = _DIRECT[reader.node.op_type]
    if reduction_axes(reader) == []:
        return reader.op("_copy", data)
    if reader.dtype() == "bool":
        return reader.cast(_reduce(reader, kind, reader.cast(data, "uint8")), "bool")
    return _typed(reader, _reduce(reader, kind, data))


def _typed(reader: NodeReader, data: Symbol) -> Symbol:
    """Give integers the type of the input: MXNet has types of its own for sums of them."""
    return data if reader.is_float() else reader.cast(data, reader.dtype())


def _composed(before: str, after: str | None) -> Callable[[NodeReader], Symbol]:
    def function(reader: NodeReader) -> Symbol:
        data = reader.input(0)
        if before:
            data = reader.op(before, data)
        found = _reduce(reader, "sum", data)
        found = reader.op(after, found) if after else found
        return _typed(reader, found)

    return function


reading("ReduceL1")(_composed("abs", None))
reading("ReduceL2")(_composed("square", "sqrt"))
reading("ReduceSumSquare")(_composed("square", None))
reading("ReduceLogSum")(_composed("", "log"))


@reading("ReduceLogSumExp")
def log_sum_exp(reader: NodeReader) -> Symbol:
    """The logarithm of a sum of exponentials, with the greatest taken out so that none is infinite."""
    data = reader.input(0)
    if reduction_axes(reader) == []:
        return reader.op("_copy", data)
    axes = reduction_axes(reader)
    axis = None if axes is None else tuple(axes)
    return reader.op("_onnx_log_sum_exp", data, axis=axis, keepdims=bool(reader.attribute("keepdims", 1)))


@reading("ArgMax", "ArgMin")
def position(reader: NodeReader) -> Symbol:
    """Where the greatest or least element is: the first of equal ones, or the last."""
    axis, keepdims = reader.attribute("axis", 0), bool(reader.attribute("keepdims", 1))
    kind = reader.node.op_type.lower()
    data = reader.input(0)
    if not reader.attribute("select_last_index", 0):
        return reader.cast(reader.op(kind, data, axis=axis, keepdims=keepdims), "int64")
    size = reader.known_shape()[reader.axis(axis)]
    back = reader.op(kind, reader.op("reverse", data, axis=axis), axis=axis, keepdims=keepdims)
    return reader.cast(reader.op("_rminus_scalar", back, scalar=float(size - 1)), "int64")


@reading("CumSum", "CumProd")
def cumulative(reader: NodeReader) -> Symbol:
    """Running sums or products."""
    return reader.op(
        "_onnx_cumulative",
        reader.input(0),
        axis=reader.ints(1, "axis")[0],
        kind=reader.node.op_type.removeprefix("Cum").lower(),
        exclusive=bool(reader.attribute("exclusive", 0)),
        reverse=bool(reader.attribute("reverse", 0)),
    )


@reading("LpNormalization")
def lp_normalization(reader: NodeReader) -> Symbol:
    """Elements divided by the norm along an axis; 0 where that is 0."""
    data, axis, p = reader.input(0), reader.attribute("axis", -1), reader.attribute("p", 2)
    powers = reader.op("abs" if p == 1 else "square", data)
    norm = reader.op("sum", powers, axis=axis, keepdims=True)
    norm = norm if p == 1 else reader.op("sqrt", norm)
    # 0 / 1 is 0, where 0 / 0 would be no number.
    is_zero = reader.op("_equal_scalar", norm, scalar=0.0)
    return reader.op("broadcast_div", data, reader.op("broadcast_add", norm, is_zero))


@reading("Hardmax")
def hardmax(reader: NodeReader) -> Symbol:
    """1 at the first greatest element along an axis, and 0; before version 13 of all axes from that one on."""
    data, rank = reader.input(0), reader.rank()
    if reader.opset < 13:
        return _rows(reader, lambda flat: _one_at_greatest(reader, flat, 1, 2))
    return _one_at_greatest(reader, data, reader.axis(reader.attribute("axis", -1)), rank)


def _one_at_greatest(reader: NodeReader, data: Symbol, axis: int, rank: int) -> Symbol:
    greatest = reader.op("argmax", data, axis=axis, keepdims=True)
    numbers = reader.op("_contrib_arange_like", data, axis=axis)
    shape = [1] * rank
    shape[axis] = -1
    numbers = reader.op("Reshape", numbers, shape=tuple(shape))
    return reader.cast(reader.op("broadcast_equal", numbers, greatest), reader.dtype())


@reading("Softmax", "LogSoftmax")
def softmax(reader: NodeReader) -> Symbol:
    """Softmax along an axis; before version 13 of all axes from that one on, as if they were one."""
    kind = "softmax" if reader.node.op_type == "Softmax" else "log_softmax"
    if reader.opset >= 13:
        return reader.op(kind, reader.input(0), axis=reader.attribute("axis", -1))
    if reader.axis(reader.attribute("axis", 1)) == reader.rank() - 1:
        return reader.op(kind, reader.input(0), axis=-1)
    return _rows(reader, lambda flat: reader.op(kind, flat, axis=-1))


def _rows(reader: NodeReader, function: Callable[[Symbol], Symbol]) -> Symbol:
    """Apply a function to data whose axes from one on are one, as before version 13."""
    data = reader.input(0)
    flat = flattened(reader, data, reader.axis(reader.attribute("axis", 1)))
    return reader.op("reshape_like", function(flat), data)


@reading("MeanVarianceNormalization")
def mean_variance_normalization(reader: NodeReader) -> Symbol:
    """Elements less their mean, divided by their standard deviation."""
    data, axes = reader.input(0), tuple(reader.attribute("axes", [0, 2, 3]))
    centred = reader.op("broadcast_sub", data, reader.op("mean", data, axis=axes, keepdims=True))
    variance = reader.op("mean", reader.op("square", centred), axis=axes, keepdims=True)
    deviation = reader.op("sqrt", reader.op("_plus_scalar", variance, scalar=1e-9))
    return reader.op("broadcast_div", centred, deviation)
