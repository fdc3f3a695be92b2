"""Elements by their positions, and positions by elements."""

from __future__ import annotations

import numpy as np

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading

__all__ = ["gather"]


@reading("Gather")
def gather(reader: NodeReader) -> Symbol:
    """Slices along an axis by their positions, which may be negative."""
    axis = reader.attribute("axis", 0)
    data, positions = reader.input(0), reader.constant(1)
    if positions is not None and positions.ndim == 0:
        begin = int(positions)
        found = reader.op("slice_axis", data, axis=axis, begin=begin, end=None if begin == -1 else begin + 1)
        if reader.rank() == 1:
            return found
        return reader.op("squeeze", found, axis=axis)
    indices = reader.input(1)
    shape = reader.shape(1)
    found = reader.op("take", data, indices, axis=axis, mode="wrap")
    if shape == []:  # the axis of one position, which MXNet has and ONNX has not
        return found if reader.rank() == 1 else reader.op("squeeze", found, axis=reader.axis(axis))
    return found


@reading("GatherElements")
def gather_elements(reader: NodeReader) -> Symbol:
    """Elements by their positions along one axis."""
    return reader.op("_onnx_gather_elements", *reader.inputs(), axis=reader.attribute("axis", 0))


@reading("ScatterElements", "Scatter")
def scatter_elements(reader: NodeReader) -> Symbol:
    """Elements written at positions along one axis."""
    return reader.op(
        "_onnx_scatter_elements",
        *reader.inputs(),
        axis=reader.attribute("axis", 0),
        reduction=reader.attribute("reduction", "none"),
    )


@reading("GatherND")
def gather_nd(reader: NodeReader) -> Symbol:
    """Slices by positions of several axes."""
    return reader.op("_onnx_gather_nd", *reader.inputs(), batch_dims=reader.attribute("batch_dims", 0))


@reading("ScatterND")
def scatter_nd(reader: NodeReader) -> Symbol:
    """Slices written at positions of several axes."""
    return reader.op("_onnx_scatter_nd", *reader.inputs(), reduction=reader.attribute("reduction", "none"))


@reading("TensorScatter")
def tensor_scatter(reader: NodeReader) -> Symbol:
    """New rows of a cache of keys or values, at a position for each element of the batch."""
    return reader.op(
        "_onnx_tensor_scatter",
        *reader.inputs(),
        axis=reader.attribute("axis", -2),
        circular=reader.attribute("mode", "linear") == "circular",
        has_positions=reader.has(2),
    )


@reading("OneHot")
def one_hot(reader: NodeReader) -> Symbol:
    """1 (or another number) at positions along a new axis."""
    depth = reader.ints(1, "depth")[0]
    off, on = reader.numbers(2, "values").reshape(-1)
    rank = reader.rank(0)
    axis = reader.attribute("axis", -1) % (rank + 1)
    # Negative positions count from the end; those outside give no 1.
    indices = reader.cast(reader.input(0), "float64")
    wrapped = reader.op(
        "broadcast_add",
        indices,
        reader.op("_mul_scalar", reader.op("_lesser_scalar", indices, scalar=0.0), scalar=float(depth)),
    )
    found = reader.op(
        "one_hot", wrapped, depth=depth, on_value=float(on), off_value=float(off), dtype=reader.dtype(2)
    )
    order = list(range(rank))
    order.insert(axis, rank)
    return reader.transpose(found, order)


@reading("TopK")
def top_k(reader: NodeReader) -> list[Symbol]:
    """The greatest or least elements along an axis, and where they are."""
    axis, shape = reader.attribute("axis", -1), reader.shape()
    if reader.opset < 10:
        k = reader.required("k")
    elif shape is not None and reader.sizes(1, "k") == [shape[axis]]:
        k = 0  # MXNet's word for all, however many there are
    else:
        k = reader.ints(1, "k")[0]
    found = reader.op(
        "topk",
        reader.input(0),
        axis=axis,
        k=int(k),
        ret_typ="both",
        is_ascend=not reader.attribute("largest", 1),
        dtype="int64",
    )
    return list(found)


@reading("Compress")
def compress(reader: NodeReader) -> Symbol:
    """Slices along an axis, or elements, where a condition holds."""
    data, axis = reader.input(0), reader.attribute("axis", None)
    if axis is None:
        data, axis, size = reader.op("Reshape", data, shape=(-1,)), 0, int(np.prod(reader.known_shape()))
    else:
        size = reader.known_shape()[axis]
    length = reader.known_shape(1)[0]
    if length < size:  # what follows the condition's end is left out
        data = reader.op("slice_axis", data, axis=axis, begin=0, end=length)
    return reader.op("_contrib_boolean_mask", data, reader.input(1), axis=axis)


@reading("NonZero")
def non_zero(reader: NodeReader) -> Symbol:
    """The positions of elements that are not 0, a row for each axis."""
    return reader.op("_onnx_non_zero", reader.input(0))


@reading("Unique")
def unique(reader: NodeReader) -> list[Symbol]:
    """Distinct elements or slices, where they are first, which each is, and how often each occurs."""
    return list(
        reader.op(
            "_onnx_unique",
            reader.input(0),
            axis=reader.attribute("axis", None),
            sorted=bool(reader.attribute("sorted", 1)),
        )
    )


@reading("NonMaxSuppression")
def non_max_suppression(reader: NodeReader) -> Symbol:
    """The boxes that no better one of their class covers, as triples of batch, class and box."""
    limits = [
        0.0 if not reader.has(i) else float(reader.numbers(i, what).reshape(-1)[0])
        for i, what in ((2, "max_output_boxes_per_class"), (3, "iou_threshold"))
    ]
    return reader.op(
        "_onnx_non_max_suppression",
        reader.input(0),
        reader.input(1),
        most=int(limits[0]),
        iou_threshold=limits[1],
        score_threshold=float(reader.numbers(4, "score_threshold").reshape(-1)[0]) if reader.has(4) else None,
        center_point=bool(reader.attribute("center_point_box", 0)),
    )
