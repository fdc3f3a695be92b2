"""Arrays of an ONNX graph with Python's operators: long translations read like formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import onnx_ir as ir
import torch

from .node_writer import NodeWriter
from .operator_writer import OperatorWriter

__all__ = [
    "Expression", "Operand", "arange", "concat", "full", "numbers", "real", "size", "stack", "where", "widened",
]  # fmt: skip

#: What an expression is combined with: a number becomes a constant of the expression's type.
Operand: TypeAlias = "Expression | float"


@dataclass(frozen=True, eq=False)
class Expression:
    """An array while a graph is written.

    Each operator and method writes a node and returns what it gives; methods have the names of torch's.

    Attributes
    ----------
    writer
        What the nodes are written with.
    value
        The array in the graph.
    dtype
        The type of its elements.
    """

    writer: OperatorWriter
    value: ir.Value
    dtype: torch.dtype

    def __add__(self, other: Operand) -> Expression:
        return self._binary("Add", other)

    def __radd__(self, other: float) -> Expression:
        return self._binary("Add", other)

    def __sub__(self, other: Operand) -> Expression:
        return self._binary("Sub", other)

    def __rsub__(self, other: float) -> Expression:
        return self._constant(other)._binary("Sub", self)

    def __mul__(self, other: Operand) -> Expression:
        return self._binary("Mul", other)

    def __rmul__(self, other: float) -> Expression:
        return self._binary("Mul", other)

    def __truediv__(self, other: Operand) -> Expression:
        return self._binary("Div", other)

    def __rtruediv__(self, other: float) -> Expression:
        return self._constant(other)._binary("Div", self)

    def __gt__(self, other: Operand) -> Expression:
        return self._binary("Greater", other, torch.bool)

    def __ge__(self, other: Operand) -> Expression:
        return self._binary("GreaterOrEqual", other, torch.bool)

    def __lt__(self, other: Operand) -> Expression:
        return self._binary("Less", other, torch.bool)

    def __le__(self, other: Operand) -> Expression:
        return self._binary("LessOrEqual", other, torch.bool)

    def __and__(self, other: Expression) -> Expression:
        return self._binary("And", other)

    def __or__(self, other: Expression) -> Expression:
        return self._binary("Or", other)

    def __invert__(self) -> Expression:
        return self.apply("Not")

    def equals(self, other: Operand) -> Expression:
        """Return where both are equal."""
        return self._binary("Equal", other, torch.bool)

    def minimum(self, other: Operand) -> Expression:
        """Return the smaller of both, element by element."""
        return self._binary("Min", other)

    def maximum(self, other: Operand) -> Expression:
        """Return the larger of both, element by element."""
        return self._binary("Max", other)

    def clamp(self, low: Operand | None = None, high: Operand | None = None) -> Expression:
        """Return the array held within bounds."""
        above = self if low is None else self.maximum(low)
        return above if high is None else above.minimum(high)

    def floor(self) -> Expression:
        """Return the next whole numbers below."""
        return self.apply("Floor")

    def ceil(self) -> Expression:
        """Return the next whole numbers above."""
        return self.apply("Ceil")

    def round_half_away(self) -> Expression:
        """Return the nearest whole numbers, halves away from 0."""
        return self.apply("Sign") * (self.apply("Abs") + 0.5).floor()

    def apply(self, kind: str, *others: ir.Value, **attributes: object) -> Expression:
        """Return what an operator of ONNX that leaves the type gives."""
        return self._new(self.writer.op(kind, self.value, *others, **attributes))

    def to(self, dtype: torch.dtype) -> Expression:
        """Return the array in a type."""
        if dtype == self.dtype:
            return self
        return Expression(self.writer, self.writer.cast(self.value, dtype), dtype)

    def reshape(self, *sizes: int) -> Expression:
        """Return the array in a shape: 0 leaves a size as it is, -1 is what remains."""
        return self.apply("Reshape", self.writer.ints(sizes))

    def permute(self, *axes: int) -> Expression:
        """Return the array with its axes in another order."""
        return self.apply("Transpose", perm=axes)

    def unsqueeze(self, *axes: int) -> Expression:
        """Return the array with further axes of size 1."""
        return self.apply("Unsqueeze", self.writer.ints(axes))

    def squeeze(self, *axes: int) -> Expression:
        """Return the array without axes of size 1."""
        return self.apply("Squeeze", self.writer.ints(axes))

    def slice(self, axis: int, start: int, stop: int = 2**62, step: int = 1) -> Expression:
        """Return part of an axis."""
        ints = self.writer.ints
        return self.apply("Slice", ints([start]), ints([stop]), ints([axis]), ints([step]))

    def slice_from(self, axis: int, start: Expression) -> Expression:
        """Return what follows on an axis from a position on, an array of one element."""
        return self.apply("Slice", start.value, self.writer.ints([2**62]), self.writer.ints([axis]))

    def select(self, axis: int, index: int) -> Expression:
        """Return one slice of an axis, without that axis."""
        return self.apply("Gather", self.writer.ints(index), axis=axis)

    def take(self, index: Expression, axis: int = 0) -> Expression:
        """Return slices of an axis, at positions in an array of any shape."""
        return self.apply("Gather", index.value, axis=axis)

    def gather(self, axis: int, index: Expression) -> Expression:
        """Return elements along an axis, as `torch.gather`."""
        return self.apply("GatherElements", index.value, axis=axis)

    def expand_as(self, other: Expression) -> Expression:
        """Return the array repeated to the shape of another."""
        return self.apply("Expand", other.shape().value)

    def matmul(self, other: Expression) -> Expression:
        """Return the product of matrices."""
        return self.apply("MatMul", other.value)

    def sum(self, *axes: int, keepdim: bool = False) -> Expression:
        """Return sums along axes."""
        return self._new(self.writer.reduce("ReduceSum", self.value, axes, keepdims=keepdim))

    def amax(self, *axes: int, keepdim: bool = False) -> Expression:
        """Return maxima along axes."""
        return self._new(self.writer.reduce("ReduceMax", self.value, axes, keepdims=keepdim))

    def mean(self, *axes: int, keepdim: bool = False) -> Expression:
        """Return means along axes."""
        return self._new(self.writer.reduce("ReduceMean", self.value, axes, keepdims=keepdim))

    def cumsum(self, axis: int) -> Expression:
        """Return sums of all elements up to each along an axis."""
        return self.apply("CumSum", self.writer.ints(axis))

    def argmax(self, axis: int, keepdim: bool = False) -> Expression:
        """Return where the first maximum along an axis is."""
        return Expression(
            self.writer,
            self.writer.op("ArgMax", self.value, axis=axis, keepdims=int(keepdim)),
            torch.int64,
        )

    def topk(self, count: Expression, axis: int) -> tuple[Expression, Expression]:
        """Return the highest elements along an axis, the best first, and where they are; of equals the first."""
        values, index = self.writer.op_of_many(
            "TopK", 2, self.value, count.value, axis=axis, largest=1, sorted=1
        )
        return self._new(values), Expression(self.writer, index, torch.int64)

    def shape(self) -> Expression:
        """Return the sizes of the array."""
        return Expression(self.writer, self.writer.shape_of(self.value), torch.int64)

    def length(self, axis: int) -> Expression:
        """Return the size of an axis, as an array of one element."""
        return Expression(self.writer, self.writer.size_of(self.value, axis), torch.int64)

    def full_like(self, number: float, dtype: torch.dtype | None = None) -> Expression:
        """Return an array of this shape, full of a number."""
        return full(self.shape(), number, dtype or self.dtype)

    def _binary(self, kind: str, other: Operand, dtype: torch.dtype | None = None) -> Expression:
        right = other if isinstance(other, Expression) else self._constant(other)
        return Expression(self.writer, self.writer.op(kind, self.value, right.value), dtype or self.dtype)

    def _constant(self, number: float) -> Expression:
        return self._new(self.writer.constant(number, self.dtype))

    def _new(self, value: ir.Value) -> Expression:
        return Expression(self.writer, value, self.dtype)


def real(writer: NodeWriter, value: ir.Value, index: int = 0) -> Expression:
    """Return an input as an expression in float32, or float64 if it is that: half precision has too few digits."""
    return widened(Expression(writer, value, writer.dtype(index)))


def widened(array: Expression) -> Expression:
    """Return an array in float32, or float64 if it is that."""
    return array.to(torch.float64 if array.dtype == torch.float64 else torch.float32)


def numbers(writer: OperatorWriter, values: object, dtype: torch.dtype = torch.float32) -> Expression:
    """Return constant numbers."""
    return Expression(writer, writer.constant(values, dtype), dtype)


def full(shape: Expression, number: float, dtype: torch.dtype) -> Expression:
    """Return an array full of a number, of a shape that may be known later."""
    return numbers(shape.writer, number, dtype).apply("Expand", shape.value)


def size(data: Expression, shape: Sequence[int], axis: int) -> Operand:
    """Return a size of an array in its type, which a shape may know: a number, or else an array without axes."""
    return shape[axis] or data.length(axis).squeeze(0).to(data.dtype)


def arange(writer: OperatorWriter, count: Operand, dtype: torch.dtype) -> Expression:
    """Return the whole numbers from 0 up to a count."""
    if not isinstance(count, Expression):
        return numbers(writer, np.arange(int(count)), dtype)
    whole = count.to(torch.int64)
    start, step = writer.ints(0), writer.ints(1)
    return whole._new(writer.op("Range", start, whole.value, step)).to(dtype)


def where(condition: Expression, first: Expression, second: Operand) -> Expression:
    """Return the elements of `first` where a condition holds, else those of `second`."""
    other = second if isinstance(second, Expression) else numbers(first.writer, second, first.dtype)
    return first._new(first.writer.op("Where", condition.value, first.value, other.value))


def concat(arrays: Sequence[Expression], axis: int) -> Expression:
    """Return arrays joined along an axis."""
    writer = arrays[0].writer
    return arrays[0]._new(writer.op("Concat", *[each.value for each in arrays], axis=axis))


def stack(arrays: Sequence[Expression], axis: int) -> Expression:
    """Return arrays joined along a further axis."""
    return concat([each.unsqueeze(axis) for each in arrays], axis)
