"""Sums, means, extremes and their positions, along axes."""

from __future__ import annotations

import math
from typing import Any

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading
from ..sizes import is_free

__all__ = ["variance"]

_DIRECT = {"sum": "sum", "mean": "mean", "amax": "max", "amin": "min", "prod": "prod"}


def _reduced(reader: NodeReader, kind: str, data: Symbol, axes: tuple[int, ...] | None) -> Symbol:
    return reader.op(kind, data, axis=axes, keepdims=bool(reader.argument("keepdim", False)))


def _kind(reader: NodeReader) -> str:
    return str(reader.node.target).split(".")[1]


@reading(*_DIRECT)
def direct(reader: NodeReader) -> Symbol:
    """Reductions that MXNet has."""
    data, dtype = reader.input(), reader.output_dtype()
    if reader.dtype() != dtype:
        data = reader.cast(data, dtype)
    found = _reduced(reader, _DIRECT[_kind(reader)], data, reader.axes())
    return found if dtype.startswith("float") else reader.cast(found, dtype)


@reading("max", "min")
def extreme(reader: NodeReader) -> Any:
    """The greatest or least element of all, or along an axis with its position; or of two tensors."""
    kind = _kind(reader)
    if reader.has("other"):
        return reader.op(f"broadcast_{kind}imum", reader.input(), reader.input("other"))
    if not reader.has("dim"):
        return reader.op(kind, reader.input())
    value = _reduced(reader, kind, reader.input(), reader.axes())
    return [value, _position(reader, f"arg{kind}")] if reader.wanted(1) else [value, None]


@reading("argmax", "argmin")
def position(reader: NodeReader) -> Symbol:
    """Where the greatest or least element is."""
    return _position(reader, _kind(reader))


def _position(reader: NodeReader, kind: str) -> Symbol:
    axis, data = reader.argument("dim"), reader.input()
    if axis is None:  # of all elements, as if they were one axis
        data, axis = reader.op("Reshape", data, shape=(-1,)), 0
    found = reader.op(kind, data, axis=axis, keepdims=bool(reader.argument("keepdim", False)))
    return reader.cast(found, "int64")


@reading("any", "all")
def any_or_all(reader: NodeReader) -> Symbol:
    """Whether any or all elements are set."""
    kind = {"any": "max", "all": "min"}[_kind(reader)]
    data = reader.cast(
        reader.op("_not_equal_scalar", reader.cast(reader.input(), "float32"), scalar=0.0), "uint8"
    )
    return reader.cast(_reduced(reader, kind, data, reader.axes()), "bool")


def variance(
    reader: NodeReader, data: Symbol, axes: tuple[int, ...], keepdims: bool, correction: float
) -> Symbol:
    """Return the mean square distance from the mean, divided by a number of elements less `correction`."""
    mean = reader.op("mean", data, axis=axes, keepdims=True)
    square = reader.op("square", reader.op("broadcast_sub", data, mean))
    if not correction:
        return reader.op("mean", square, axis=axes, keepdims=keepdims)
    total = reader.op("sum", square, axis=axes, keepdims=keepdims)
    count = math.prod(reader.shape()[axis] for axis in axes)
    if not is_free(count):
        return reader.op("_div_scalar", total, scalar=float(max(count - correction, 0)))
    elements = reader.op("sum", reader.op("ones_like", square), axis=axes, keepdims=keepdims)
    return reader.op("broadcast_div", total, reader.op("_minus_scalar", elements, scalar=float(correction)))


@reading("var", "std", "var_mean", "std_mean")
def spread(reader: NodeReader) -> Any:
    """The variance or the standard deviation, and perhaps the mean."""
    kind = _kind(reader)
    correction = reader.argument("correction", 1 if reader.argument("unbiased", True) else 0)
    axes = reader.axes() or tuple(range(reader.rank()))
    keepdims = bool(reader.argument("keepdim", False))
    found = variance(reader, reader.input(), axes, keepdims, float(correction))
    if kind.startswith("std"):
        found = reader.op("sqrt", found)
    if not kind.endswith("_mean"):
        return found
    return [found, reader.op("mean", reader.input(), axis=axes, keepdims=keepdims)]


@reading("logsumexp")
def log_sum_exp(reader: NodeReader) -> Symbol:
    """The logarithm of a sum of exponentials."""
    return _reduced(reader, "_onnx_log_sum_exp", reader.input(), reader.axes())


@reading("linalg_vector_norm", "norm")
def norm(reader: NodeReader) -> Symbol:
    """The norm of vectors along axes."""
    order = float(reader.argument("ord", reader.argument("p", 2)))
    data, axes = reader.input(), reader.axes()
    if order == 2:
        return reader.op("sqrt", _reduced(reader, "sum", reader.op("square", data), axes))
    size = reader.op("abs", data)
    if math.isinf(order):
        return _reduced(reader, "max" if order > 0 else "min", size, axes)
    if order == 1:
        return _reduced(reader, "sum", size, axes)
    total = _reduced(reader, "sum", reader.op("_power_scalar", size, scalar=order), axes)
    return reader.op("_power_scalar", total, scalar=1 / order)


@reading("cumsum", "cumprod")
def cumulative(reader: NodeReader) -> Symbol:
    """Running sums or products."""
    data, dtype = reader.input(), reader.output_dtype()
    data = data if reader.dtype() == dtype else reader.cast(data, dtype)
    return reader.op(
        "_onnx_cumulative",
        data,
        axis=reader.axis(reader.argument("dim")),
        kind=_kind(reader).removeprefix("cum"),
    )


@reading("softmax", "_softmax", "log_softmax", "_log_softmax")
def softmax(reader: NodeReader) -> Symbol:
    """Softmax along an axis, or its logarithm."""
    kind = "log_softmax" if "log" in _kind(reader) else "softmax"
    found = reader.op(kind, reader.input(), axis=reader.argument("dim"))
    return found if reader.dtype() == reader.output_dtype() else reader.cast(found, reader.output_dtype())


@reading("topk")
def top_k(reader: NodeReader) -> list[Symbol]:
    """The greatest or least elements along an axis, and where they are."""
    axis, ascending = reader.argument("dim", -1), not reader.argument("largest", True)
    return list(
        reader.op(
            "topk", reader.input(), axis=axis, k=reader.argument("k"), ret_typ="both", is_ascend=ascending,
            dtype="int64",
        )
    )  # fmt: skip


@reading("sort")
def sort(reader: NodeReader) -> list[Symbol | None]:
    """Elements in order along an axis, and where they were."""
    axis, ascending = reader.argument("dim", -1), not reader.argument("descending", False)
    found = reader.op("sort", reader.input(), axis=axis, is_ascend=ascending)
    return [found, argsort(reader) if reader.wanted(1) else None]


@reading("argsort")
def argsort(reader: NodeReader) -> Symbol:
    """Positions of elements in order along an axis."""
    axis, ascending = reader.argument("dim", -1), not reader.argument("descending", False)
    return reader.op("argsort", reader.input(), axis=axis, is_ascend=ascending, dtype="int64")
