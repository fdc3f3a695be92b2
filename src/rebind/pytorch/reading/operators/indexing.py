"""Elements by their positions."""

from __future__ import annotations

import torch
from torch import fx

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading
from ..sizes import is_free, sizes_of

__all__ = ["index"]


@reading("index_select")
def index_select(reader: NodeReader) -> Symbol:
    """Slices along an axis by their positions."""
    axis = reader.axis(reader.argument("dim"))
    return reader.op("take", reader.input(), reader.input("index"), axis=axis, mode="wrap")


@reading("index")
def index(reader: NodeReader) -> Symbol:
    """Slices by positions of one axis, or elements by positions of the first axes; negative ones count from the end."""
    given: list[tuple[int, fx.Node]] = [
        (axis, node) for axis, node in enumerate(reader.sources("indices")) if node is not None
    ]
    if any(node.meta["val"].dtype is torch.bool for _, node in given):
        raise reader.refuse(
            "an index must not be boolean, as the size of the result depends on its values. Use torch.where()."
        )
    if len(given) == 1:
        ((axis, node),) = given
        found = reader.op("take", reader.input(), reader.graph.symbol(node), axis=axis, mode="wrap")
        return found if node.meta["val"].ndim else reader.op("squeeze", found, axis=axis)
    if [axis for axis, _ in given] != list(range(len(given))):
        raise reader.refuse(
            f"indices must be for one axis, or for the first axes; got axes {[axis for axis, _ in given]}"
        )
    shapes = [sizes_of(node.meta["val"]) for _, node in given]
    target = sizes_of(torch.broadcast_tensors(*[node.meta["val"] for _, node in given])[0])
    positions = [
        symbol if shape == target else reader.broadcast_to(symbol, shape, target)
        for symbol, shape in zip([reader.graph.symbol(node) for _, node in given], shapes)
    ]
    return reader.op("_onnx_gather_nd", reader.input(), reader.op("stack", *positions, axis=len(target)))


@reading("gather")
def gather(reader: NodeReader) -> Symbol:
    """Elements by their positions along one axis."""
    axis = reader.axis(reader.argument("dim"))
    return reader.op("_onnx_gather_elements", reader.input(), reader.input("index"), axis=axis)


@reading("take")
def take(reader: NodeReader) -> Symbol:
    """Elements by their positions among all."""
    data = reader.op("reshape", reader.input(), shape=(-1,))
    return reader.op("take", data, reader.input("index"), mode="wrap")


@reading("scatter", "scatter_add")
def scatter(reader: NodeReader) -> Symbol:
    """Elements, or one number, written at positions along one axis, or added there."""
    axis, shape = reader.axis(reader.argument("dim")), reader.shape("index")
    if reader.argument("reduce") is not None:
        raise reader.refuse("reduce must not be given. Use scatter_add().")
    if (number := reader.scalar("value")) is not None:
        source = reader.filled(number, shape, reader.output_dtype())
    else:
        source = reader.input("src")
        for which, (size, own) in enumerate(zip(shape, reader.shape("src"), strict=True)):
            if size != own:  # the rest of the source is not written
                if is_free(size):
                    raise reader.refuse(
                        f"index and src must have the same free sizes; got {shape} and {reader.shape('src')}"
                    )
                source = reader.slice_axis(source, which, 0, size)
    reduction = "add" if str(reader.node.target).startswith("aten.scatter_add") else "none"
    operands = reader.input(), reader.input("index"), source
    return reader.op("_onnx_scatter_elements", *operands, axis=axis, reduction=reduction)


@reading("one_hot")
def one_hot(reader: NodeReader) -> Symbol:
    """1 at positions along a new last axis."""
    depth = reader.argument("num_classes", -1)
    if depth < 0:
        raise reader.refuse("num_classes must be given")
    return reader.op("one_hot", reader.input(), depth=depth, dtype="int64")
