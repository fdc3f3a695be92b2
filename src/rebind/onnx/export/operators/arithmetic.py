"""Arithmetic, comparison and logic of two arrays, and of an array and a number."""

from __future__ import annotations

import functools
from collections.abc import Callable

import onnx_ir as ir
import torch

from ....dtypes import number_in
from ..node_writer import NodeWriter
from ..translations import translation
from .pieces import arithmetic

__all__ = ["add_n", "number_as", "signed_remainder", "where"]

#: From two arrays of one type, and that type, to an array of it.
Compute = Callable[[NodeWriter, ir.Value, ir.Value, torch.dtype], ir.Value]


def _same(kind: str) -> Compute:
    return lambda writer, lhs, rhs, dtype: writer.op(kind, lhs, rhs)


def _arithmetic(kind: str) -> Compute:
    return lambda writer, lhs, rhs, dtype: arithmetic(writer, kind, lhs, rhs, dtype)


def _mod(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write the remainder, with the sign of `rhs`; 0 where that is 0."""
    zero = writer.constant(0, dtype)
    by_zero = writer.op("Equal", rhs, zero)
    divisor = writer.op("Where", by_zero, writer.constant(1, dtype), rhs)
    return writer.op("Where", by_zero, zero, signed_remainder(writer, lhs, divisor, dtype))


def signed_remainder(writer: NodeWriter, lhs: ir.Value, divisor: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write the remainder, with the sign of the divisor."""
    if not dtype.is_floating_point:
        return writer.op("Mod", lhs, divisor)
    # ONNX's remainder of floats has the sign of `lhs`, as C's.
    op, zero = writer.op, writer.constant(0, dtype)
    rest = op("Mod", lhs, divisor, fmod=1)
    other_sign = op("Xor", op("Less", rest, zero), op("Less", divisor, zero))
    wrong = op("And", other_sign, op("Not", op("Equal", rest, zero)))
    return op("Where", wrong, op("Add", rest, divisor), rest)


def _power(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write a power; of integers it is computed in float64."""
    return _in_float64(writer, lhs, rhs, dtype, functools.partial(writer.op, "Pow"))


def _hypot(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write ``sqrt(lhs**2 + rhs**2)``, in float64, where the squares of float32 are in range."""
    op = writer.op

    def compute(x: ir.Value, y: ir.Value) -> ir.Value:
        return op("Sqrt", op("Add", op("Mul", x, x), op("Mul", y, y)))

    return writer.cast(compute(*(writer.cast(each, torch.float64) for each in (lhs, rhs))), dtype)


def _in_float64(
    writer: NodeWriter,
    lhs: ir.Value,
    rhs: ir.Value,
    dtype: torch.dtype,
    compute: Callable[[ir.Value, ir.Value], ir.Value],
) -> ir.Value:
    if dtype.is_floating_point:
        return compute(lhs, rhs)
    return writer.cast(compute(*(writer.cast(each, torch.float64) for each in (lhs, rhs))), dtype)


def _test(kind: str, negated: bool = False) -> Compute:
    def compute(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value, dtype: torch.dtype) -> ir.Value:
        truth = writer.op(kind, lhs, rhs)
        return writer.cast(writer.op("Not", truth) if negated else truth, dtype)

    return compute


def _logic(kind: str) -> Compute:
    def compute(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value, dtype: torch.dtype) -> ir.Value:
        truths = (writer.cast(each, torch.bool) for each in (lhs, rhs))
        return writer.cast(writer.op(kind, *truths), dtype)

    return compute


_TWO_ARRAYS: dict[str, Compute] = {
    "add": _arithmetic("Add"),
    "sub": _arithmetic("Sub"),
    "mul": _arithmetic("Mul"),
    "div": _arithmetic("Div"),
    "mod": _mod,
    "power": _power,
    "maximum": _same("Max"),
    "minimum": _same("Min"),
    "hypot": _hypot,
    "equal": _test("Equal"),
    "not_equal": _test("Equal", negated=True),
    "greater": _test("Greater"),
    "greater_equal": _test("GreaterOrEqual"),
    "lesser": _test("Less"),
    "lesser_equal": _test("LessOrEqual"),
    "logical_and": _logic("And"),
    "logical_or": _logic("Or"),
    "logical_xor": _logic("Xor"),
}

#: The operators of arrays of one shape, which are not called after the function alone.
_ONE_SHAPE = {
    "add": ("elemwise_add", "_grad_add"),
    "sub": ("elemwise_sub",),
    "mul": ("elemwise_mul",),
    "div": ("elemwise_div", "_scatter_elemwise_div"),
}

#: Operators of an array and a number, by function; of "r..." the number is the first operand.
_WITH_NUMBER = {
    "_plus_scalar": "add",
    "_scatter_plus_scalar": "add",
    "_minus_scalar": "sub",
    "_scatter_minus_scalar": "sub",
    "_mul_scalar": "mul",
    "_div_scalar": "div",
    "_mod_scalar": "mod",
    "_power_scalar": "power",
    **{
        f"_{name}_scalar": name
        for name in _TWO_ARRAYS
        if name not in ("add", "sub", "mul", "div", "mod", "power")
    },
}
_NUMBER_FIRST = {
    "_rminus_scalar": "sub",
    "_rdiv_scalar": "div",
    "_rmod_scalar": "mod",
    "_rpower_scalar": "power",
}


def _declare_arrays(names: tuple[str, ...], compute: Compute) -> None:
    @translation(*names)
    def translate(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        return compute(writer, lhs, rhs, writer.dtype())


def _declare_number(name: str, compute: Compute, number_first: bool) -> None:
    @translation(name)
    def translate(writer: NodeWriter, data: ir.Value) -> ir.Value:
        dtype = writer.output_dtype()
        if writer.dtype() is not dtype:  # of integers, when the number is none
            data = writer.cast(data, dtype)
        number = writer.constant(number_as(dtype, writer.params.scalar), dtype)
        operands = (number, data) if number_first else (data, number)
        return compute(writer, *operands, dtype)


def number_as(dtype: torch.dtype, number: float) -> float:
    """Return a number in the range of a type; what does not fit integers wraps around, as a cast in C does."""
    if dtype.is_floating_point:
        return number_in(dtype, number)
    low, bits = torch.iinfo(dtype).min, torch.iinfo(dtype).bits
    return (int(number) - low) % (1 << bits) + low


for _name, _compute in _TWO_ARRAYS.items():
    _declare_arrays((*_ONE_SHAPE.get(_name, (f"_{_name}",)), f"broadcast_{_name}"), _compute)
for _name, _function in _WITH_NUMBER.items():
    _declare_number(_name, _TWO_ARRAYS[_function], number_first=False)
for _name, _function in _NUMBER_FIRST.items():
    _declare_number(_name, _TWO_ARRAYS[_function], number_first=True)


@translation("add_n")
def add_n(writer: NodeWriter, *data: ir.Value) -> ir.Value:
    """Write a sum; ONNX's `Sum` takes floats only."""
    if writer.dtype().is_floating_point:
        return writer.op("Sum", *data)
    first, *others = data
    total = writer.op("Identity", first)
    for each in others:
        total = arithmetic(writer, "Add", total, each, writer.dtype())
    return total


@translation("where")
def where(writer: NodeWriter, condition: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
    """Write a choice between two arrays; a condition of fewer axes chooses slices."""
    truth = writer.cast(condition, torch.bool)
    missing = writer.rank(1) - writer.rank(0)
    if missing:
        truth = writer.unsqueeze(truth, range(writer.rank(0), writer.rank(1)))
    return writer.op("Where", truth, x, y)
