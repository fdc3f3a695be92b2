"""ONNX's operators as methods: those that every family needs have one form here, whatever the opset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import torch

from ...dtypes import numpy_type
from .context import GraphContext

__all__ = ["OperatorWriter", "onnx_type"]

#: Since when a reduction takes its axes as an input; all others: 18.
_REDUCE_AXES_INPUT = {"ReduceSum": 13}


def onnx_type(dtype: torch.dtype) -> ir.DataType:
    """Return ONNX's name of a type.

    >>> onnx_type(torch.float16).name
    'FLOAT16'
    """
    if dtype == torch.bfloat16:
        return ir.DataType.BFLOAT16
    return ir.DataType.from_numpy(np.dtype(numpy_type(dtype)))


class OperatorWriter:
    """Writes operators of ONNX.

    Attributes
    ----------
    graph
        The graph that they are written to.
    name
        What the names of nodes and values begin with.
    opset
        The version of ONNX's operators that are written.
    """

    def __init__(self, graph: GraphContext, name: str) -> None:
        self.graph = graph
        self.name = name
        self.opset = graph.opset

    def op(self, kind: str, *inputs: ir.Value | None, **attributes: Any) -> ir.Value:
        """Write an operator of one output, and return that; an attribute that is None is left out."""
        return self.op_of_many(kind, 1, *inputs, **attributes)[0]

    def op_of_many(
        self, kind: str, outputs: int, *inputs: ir.Value | None, **attributes: Any
    ) -> Sequence[ir.Value]:
        """Write an operator of several outputs."""
        values = self.graph.tape.op_multi_out(
            kind, _without_absent(inputs), _attributes(attributes), num_outputs=outputs
        )
        for value in values:
            value.name = self.graph.unique(f"{self.name}/{kind}")
        self.graph.tape.nodes[-1].name = self.graph.unique_node(f"{self.name}/{kind}")
        return values

    # Constants

    def constant(self, value: object, dtype: torch.dtype | np.dtype | type | None = None) -> ir.Value:
        """Return a constant; without a type, of the type that NumPy gives the value."""
        if isinstance(dtype, torch.dtype):
            array = np.asarray(value, numpy_type(dtype))
        else:
            array = np.asarray(value, dtype)
        return self.graph.initializer(array)

    def ints(self, values: Sequence[int] | int) -> ir.Value:
        """Return a constant of 64-bit integers: axes, shapes, repeats."""
        return self.constant(values, np.int64)

    # Shapes

    def shape_of(self, data: ir.Value, start: int = 0, end: int | None = None) -> ir.Value:
        """Return the sizes of the axes from `start` to `end`, as integers of one axis."""
        if self.opset >= 15:
            return self.op("Shape", data, start=start or None, end=end)
        sizes = self.op("Shape", data)
        if start == 0 and end is None:
            return sizes
        return self.slice(sizes, [start], [np.iinfo(np.int64).max if end is None else end], [0])

    def size_of(self, data: ir.Value, axis: int) -> ir.Value:
        """Return the size of one axis, as integers of one axis and one element."""
        return self.shape_of(data, axis, None if axis == -1 else axis + 1)

    def reshape(self, data: ir.Value, shape: Sequence[int] | ir.Value) -> ir.Value:
        """Give other axes; in a list, 0 is the size that the axis of that number has, -1 the rest."""
        return self.op("Reshape", data, shape if isinstance(shape, ir.Value) else self.ints(shape))

    def squeeze(self, data: ir.Value, axes: Sequence[int]) -> ir.Value:
        """Drop axes of one element."""
        return self.op("Squeeze", data, self.ints(axes))

    def unsqueeze(self, data: ir.Value, axes: Sequence[int]) -> ir.Value:
        """Insert axes of one element; the numbers are those that the axes have then."""
        return self.op("Unsqueeze", data, self.ints(axes))

    def transpose(self, data: ir.Value, axes: Sequence[int]) -> ir.Value:
        """Order the axes as `axes` says; nothing is written where they are in that order."""
        return data if list(axes) == list(range(len(axes))) else self.op("Transpose", data, perm=axes)

    def concat(self, *parts: ir.Value, axis: int = 0) -> ir.Value:
        """Join along an axis."""
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=axis)

    def split(self, data: ir.Value, sizes: Sequence[int], axis: int) -> Sequence[ir.Value]:
        """Cut along an axis into parts of the given sizes."""
        return self.op_of_many("Split", len(sizes), data, self.ints(sizes), axis=axis)

    # Elements

    def slice(
        self,
        data: ir.Value,
        starts: Sequence[int],
        ends: Sequence[int],
        axes: Sequence[int],
        steps: Sequence[int] | None = None,
    ) -> ir.Value:
        """Return a part of each of the axes."""
        return self.op(
            "Slice",
            data,
            self.ints(starts),
            self.ints(ends),
            self.ints(axes),
            None if steps is None else self.ints(steps),
        )

    def gather(self, data: ir.Value, indices: ir.Value | Sequence[int] | int, axis: int = 0) -> ir.Value:
        """Take elements along an axis; a single number drops the axis."""
        return self.op(
            "Gather", data, indices if isinstance(indices, ir.Value) else self.ints(indices), axis=axis
        )

    def cast(self, data: ir.Value, dtype: torch.dtype) -> ir.Value:
        """Give another type."""
        return self.op("Cast", data, to=onnx_type(dtype).value)

    def clip(self, data: ir.Value, low: float | None, high: float | None, dtype: torch.dtype) -> ir.Value:
        """Bound from below and above; `dtype` is that of `data`."""
        bounds = (None if bound is None else self.constant(bound, dtype) for bound in (low, high))
        return self.op("Clip", data, *bounds)

    def pad(
        self,
        data: ir.Value,
        widths: Sequence[tuple[int, int]],
        dtype: torch.dtype,
        *,
        mode: str = "constant",
        value: float = 0,
    ) -> ir.Value:
        """Add elements before and after each axis; `widths` has a pair for each, `dtype` is that of `data`."""
        before, after = zip(*widths, strict=True)
        fill = self.constant(value, dtype) if mode == "constant" else None
        return self.op("Pad", data, self.ints([*before, *after]), fill, mode=mode)

    # Arithmetic

    def reduce(
        self, kind: str, data: ir.Value, axes: Sequence[int] | None = None, *, keepdims: bool = False
    ) -> ir.Value:
        """Write a reduction, such as ``ReduceSum``, over some axes or all: their input or attribute, by opset."""
        if axes is None:
            return self.op(kind, data, keepdims=int(keepdims))
        if self.opset >= _REDUCE_AXES_INPUT.get(kind, 18):
            return self.op(kind, data, self.ints(axes), keepdims=int(keepdims))
        return self.op(kind, data, axes=axes, keepdims=int(keepdims))

    def resize(
        self,
        data: ir.Value,
        *,
        scales: Sequence[float] | None = None,
        sizes: Sequence[int] | ir.Value | None = None,
        mode: str = "nearest",
        coordinates: str = "half_pixel",
        nearest: str | None = None,
    ) -> ir.Value:
        """Resample all axes by scales or to sizes.

        Parameters
        ----------
        data
            What is resampled.
        scales, sizes
            One of the two, a number for each axis.
        mode
            ``nearest``, ``linear`` or ``cubic``.
        coordinates
            ONNX's ``coordinate_transformation_mode``.
        nearest
            ONNX's ``nearest_mode``.
        """
        if isinstance(sizes, Sequence):
            sizes = self.ints(sizes)
        return self.op(
            "Resize",
            data,
            None,
            None if scales is None else self.constant(scales, np.float32),
            sizes,
            mode=mode,
            coordinate_transformation_mode=coordinates,
            nearest_mode=nearest,
        )


def _without_absent(inputs: Sequence[ir.Value | None]) -> list[ir.Value | None]:
    """Return inputs without the absent ones at their end."""
    found = list(inputs)
    while found and found[-1] is None:
        found.pop()
    return found


def _attributes(given: dict[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, (list, tuple)) else value
        for name, value in given.items()
        if value is not None
    }
