"""Tensors that are made of numbers."""

from __future__ import annotations

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading
from ..sizes import is_free

__all__ = ["full"]

_VALUES = {"zeros": 0, "ones": 1, "empty": 0}


@reading("fill", "full", "zeros", "ones", "empty", "new_full", "new_zeros", "new_ones", "new_empty")
@reading("full_like", "zeros_like", "ones_like", "empty_like", "scalar_tensor")
def full(reader: NodeReader) -> Symbol:
    """One number in a shape; free sizes are those of inputs."""
    kind = str(reader.node.target).split(".")[1].removeprefix("new_").removesuffix("_like")
    value = reader.argument("s") if kind == "scalar_tensor" else _VALUES.get(kind)
    if value is None:
        name = "value" if kind == "fill" else "fill_value"
        value = reader.scalar(name)
        if value is None:
            raise reader.refuse(f"{name} must be a constant number")
    return reader.filled(float(value), reader.output_shape(), reader.output_dtype())


@reading("arange")
def arange(reader: NodeReader) -> Symbol:
    """Numbers from a start, in steps, as many as an axis of an input has elements."""
    (size,) = reader.output_shape()
    start, step = reader.argument("start", 0), reader.argument("step", 1)
    if is_free(start) or is_free(step):
        raise reader.refuse(f"start and step must be constant numbers; got {start} and {step}")
    found = reader.scaled(reader.counted(size), step)
    if start:
        found = reader.op("_plus_scalar", found, scalar=float(start))
    return reader.cast(found, reader.output_dtype())
