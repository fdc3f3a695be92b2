"""Functions of one array, element by element.

What MXNet computes of integers in float64, and cuts to their type, is computed so here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TypeAlias

import onnx_ir as ir
import torch

from ....params import Params
from ..node_writer import NodeWriter
from ..translations import translation
from .pieces import arithmetic, filled, with_integers_as

__all__ = ["clip", "hard_sigmoid", "of_floats", "smooth_l1", "with_sign_of"]

#: From the writer, and an array of a floating type with that type, to the function of it.
Compute: TypeAlias = Callable[[NodeWriter, ir.Value, torch.dtype], ir.Value]

#: One operator of ONNX, with the same name for each number.
_SAME = {
    "sigmoid": "Sigmoid",
    "reciprocal": "Reciprocal",
    "sqrt": "Sqrt",
    "exp": "Exp",
    "log": "Log",
    "erf": "Erf",
    "sin": "Sin",
    "cos": "Cos",
    "tanh": "Tanh",
}

#: Those whose integers may be computed in float32: but for -1, 0 and 1 they have no value, or one far from all others.
_SAME_IN_FLOAT32 = {"arcsin": "Asin", "arccos": "Acos", "arctan": "Atan", "arctanh": "Atanh"}


def of_floats(name: str) -> Callable[[Compute], Compute]:
    """Declare an operator whose integers are computed in float64."""

    def declare(compute: Compute) -> Compute:
        @translation(name)
        def translate(writer: NodeWriter, data: ir.Value) -> ir.Value:
            dtype = writer.dtype() if writer.dtype().is_floating_point else torch.float64
            return with_integers_as(
                writer, data, torch.float64, lambda floats: compute(writer, floats, dtype)
            )

        return compute

    return declare


def of_steps(name: str) -> Callable[[Compute], Compute]:
    """Declare an operator that leaves integers as they are."""

    def declare(compute: Compute) -> Compute:
        @translation(name)
        def translate(writer: NodeWriter, data: ir.Value) -> ir.Value:
            dtype = writer.dtype()
            if not dtype.is_floating_point:
                return writer.op("Identity", data)
            return compute(writer, data, dtype)

        return compute

    return declare


def _declare(name: str, kind: str) -> None:
    of_floats(name)(lambda writer, data, dtype: writer.op(kind, data))


for _name, _kind in _SAME.items():
    _declare(_name, _kind)


def _declare_in_float32(name: str, kind: str) -> None:
    translation(name)(
        lambda writer, data: with_integers_as(writer, data, torch.float32, lambda x: writer.op(kind, x))
    )


for _name, _kind in _SAME_IN_FLOAT32.items():
    _declare_in_float32(_name, _kind)


@translation("abs")
def absolute(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write absolute values."""
    return writer.op("Abs", data)


@translation("negative")
def negative(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write numbers with the other sign; ONNX's `Neg` takes none of a type without signs, where they wrap around."""
    if writer.dtype() is torch.uint8:
        return arithmetic(writer, "Sub", writer.like(0), data, torch.uint8)
    return writer.op("Neg", data)


def _with_decomposition(name: str, kind: str) -> Callable[[Compute], Compute]:
    """Declare an operator that onnxruntime has for float32 and float16, and what it consists of for float64."""

    def declare(decomposed: Compute) -> Compute:
        @of_floats(name)
        def compute(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
            return decomposed(writer, data, dtype) if dtype is torch.float64 else writer.op(kind, data)

        return decomposed

    return declare


@_with_decomposition("softsign", "Softsign")
def softsign(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write ``data / (1 + |data|)``."""
    return writer.op("Div", data, writer.op("Add", writer.constant(1, dtype), writer.op("Abs", data)))


@_with_decomposition("tan", "Tan")
def tan(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write the quotient of sine and cosine."""
    return writer.op("Div", writer.op("Sin", data), writer.op("Cos", data))


@_with_decomposition("cosh", "Cosh")
def cosh(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write the mean of ``e ** data`` and ``e ** -data``."""
    both = writer.op("Add", writer.op("Exp", data), writer.op("Exp", writer.op("Neg", data)))
    return writer.op("Mul", both, writer.constant(0.5, dtype))


@_with_decomposition("sinh", "Sinh")
def sinh(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write ``tanh(data) * cosh(data)``, exact near 0."""
    return writer.op("Mul", writer.op("Tanh", data), cosh(writer, data, dtype))


def _area(kind: str, *, odd: bool) -> Compute:
    def compute(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
        if writer.dtype().is_floating_point:
            return writer.op(kind, data)
        # Of integers, which are far enough from 0: sign(x) * log(|x| + sqrt(x**2 + 1)), or log(x + sqrt(x**2 - 1)).
        size = writer.op("Abs", data)
        root = writer.op(
            "Sqrt", writer.op("Add", writer.op("Mul", data, data), writer.constant(1 if odd else -1, dtype))
        )
        found = writer.op("Log", writer.op("Add", size if odd else data, root))
        return writer.op("Mul", writer.op("Sign", data), found) if odd else found

    return compute


of_floats("arcsinh")(_area("Asinh", odd=True))
of_floats("arccosh")(_area("Acosh", odd=False))


def with_sign_of(writer: NodeWriter, data: ir.Value, found: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write what is `found` with the sign of `data`, that of a zero too: `Sign` and `Where` lose it."""
    near = writer.clip(data, -1, 1, dtype)  # whose reciprocal is never 0
    return writer.op("Mul", writer.op("Abs", found), writer.op("Sign", writer.op("Reciprocal", near)))


@translation("relu")
def relu(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the larger of an array and 0."""
    return (
        writer.op("Relu", data)
        if writer.dtype().is_floating_point
        else writer.op("Max", data, writer.like(0))
    )


@translation("sign", "_contrib_sign_ste")
def sign(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write -1, 0 or 1; 0 for what is not a number, of which ONNX's `Sign` says nothing."""
    dtype = writer.dtype()
    if not dtype.is_floating_point:
        return writer.op("Sign", data)
    zero = writer.constant(0, dtype)
    above, below = (writer.cast(writer.op(kind, data, zero), dtype) for kind in ("Greater", "Less"))
    return writer.op("Sub", above, below)


@translation("square")
def square(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the product of an array with itself."""
    return arithmetic(writer, "Mul", data, data, writer.dtype())


@translation("logical_not")
def logical_not(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write 1 where an array is 0, else 0."""
    return writer.cast(writer.op("Equal", data, writer.like(0)), writer.dtype())


@of_floats("rsqrt")
def rsqrt(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write ``1 / sqrt(data)``."""
    return writer.op("Reciprocal", writer.op("Sqrt", data))


@of_floats("cbrt")
def cbrt(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write the cube root, of negative numbers too."""
    op, size = writer.op, writer.op("Abs", data)
    root = op("Pow", size, writer.constant(1 / 3, dtype))
    if not writer.dtype().is_floating_point:
        # Roots of cubes are whole; as powers they may be a rounding error below, which would be cut off.
        nearest = op("Round", root)
        cube = op("Mul", op("Mul", nearest, nearest), nearest)
        root = op("Where", op("Equal", cube, size), nearest, root)
    return with_sign_of(writer, data, root, dtype)


@of_floats("rcbrt")
def rcbrt(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write ``1 / cbrt(data)``."""
    return writer.op("Reciprocal", cbrt(writer, data, dtype))


@of_floats("expm1")
def expm1(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write ``e ** data - 1``, exact near 0: it is ``tanh(data / 2) * (e ** data + 1)``."""
    half = writer.op("Tanh", writer.op("Mul", data, writer.constant(0.5, dtype)))
    return writer.op("Mul", half, writer.op("Add", writer.op("Exp", data), writer.constant(1, dtype)))


@of_floats("log1p")
def log1p(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write ``log(1 + data)``, exact near 0: what the sum has lost by rounding goes into a factor."""
    one = writer.constant(1, dtype)
    total = writer.op("Add", data, one)
    logarithm, rounded = writer.op("Log", total), writer.op("Sub", total, one)
    # Where nothing is lost, also at infinity, there is no factor; where all is lost it would be 0 / 0.
    factor = writer.op("Div", data, writer.op("Where", writer.op("Equal", total, one), one, rounded))
    corrected = writer.op("Mul", logarithm, factor)
    corrected = writer.op("Where", writer.op("Equal", total, one), data, corrected)
    found = writer.op("Where", writer.op("Equal", rounded, data), logarithm, corrected)
    return with_sign_of(writer, data, found, dtype)


def _logarithm(base: float) -> Compute:
    def compute(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
        found = writer.op("Div", writer.op("Log", data), writer.constant(math.log(base), dtype))
        if writer.dtype().is_floating_point:
            return found
        # Powers of the base must not end below the whole number: it would be cut off.
        nearest = writer.op("Round", found)
        distance = writer.op("Abs", writer.op("Sub", found, nearest))
        return writer.op("Where", writer.op("Less", distance, writer.constant(1e-12, dtype)), nearest, found)

    return compute


of_floats("log2")(_logarithm(2))
of_floats("log10")(_logarithm(10))


def _factor(number: float) -> Compute:
    return lambda writer, data, dtype: writer.op("Mul", data, writer.constant(number, dtype))


of_floats("degrees")(_factor(180 / math.pi))
of_floats("radians")(_factor(math.pi / 180))


@of_steps("floor")
def floor(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write the largest integer not above."""
    return writer.op("Floor", data)


@of_steps("ceil")
def ceil(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write the smallest integer not below."""
    return writer.op("Ceil", data)


@of_steps("trunc")
@of_steps("fix")
def trunc(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write the integer part."""
    return with_sign_of(writer, data, writer.op("Floor", writer.op("Abs", data)), dtype)


@of_steps("round")
@of_steps("_contrib_round_ste")
def round_(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write the nearest integer; halves go away from 0, where ONNX's `Round` takes them to even numbers."""
    # In float32 halves of the shorter types are added exactly. In a type of its own it is the number before 0.5: with
    # 0.5 itself the one before that would become 1, and large odd numbers the next ones.
    wide = torch.float32 if dtype.itemsize == 2 else dtype
    half = writer.constant(0.5 - (torch.finfo(dtype).eps / 4 if wide is dtype else 0), wide)
    data = writer.cast(data, wide) if wide is not dtype else data
    found = with_sign_of(
        writer, data, writer.op("Floor", writer.op("Add", writer.op("Abs", data), half)), wide
    )
    return writer.cast(found, dtype) if wide is not dtype else found


@of_steps("rint")
def rint(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write the nearest integer; halves go down."""
    # Neg(Floor(0.5 - data)) is the ceiling of data - 0.5; the floor is more where numbers have no half between them.
    below = writer.op("Neg", writer.op("Floor", writer.op("Sub", writer.constant(0.5, dtype), data)))
    return with_sign_of(writer, data, writer.op("Max", below, writer.op("Floor", data)), dtype)


@translation("hard_sigmoid")
def hard_sigmoid(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write ``alpha * data + beta`` cut to [0, 1]."""
    p, dtype = writer.params, writer.dtype()

    def compute(x: ir.Value) -> ir.Value:
        if dtype is not torch.float64:
            return writer.op("HardSigmoid", x, alpha=p.alpha, beta=p.beta)
        line = writer.op("Add", writer.op("Mul", x, writer.like(p.alpha)), writer.like(p.beta))
        return writer.clip(line, 0, 1, dtype)

    return with_integers_as(writer, data, torch.float32, compute)


@translation("clip")
def clip(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write an array cut to a range."""
    low, high = _bounds(writer.params, writer.dtype())
    return writer.op("Clip", data, writer.like(low), writer.like(high))


def _bounds(p: Params, dtype: torch.dtype) -> tuple[float, float]:
    """Return bounds within a type: beyond it those of integers would wrap around."""
    if not dtype.is_floating_point:
        ends = torch.iinfo(dtype)
        low, high = (int(max(ends.min, min(ends.max, bound))) for bound in (p.a_min, p.a_max))
        return low, high
    limit = torch.finfo(dtype).max
    low, high = (
        bound if math.isinf(bound) else max(-limit, min(limit, bound)) for bound in (p.a_min, p.a_max)
    )
    return low, high


@translation("smooth_l1")
def smooth_l1(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write a parabola near 0, and absolute values beyond."""
    squared = writer.params.scalar**2
    dtype = writer.dtype() if writer.dtype().is_floating_point else torch.float64
    op, number = writer.op, functools.partial(writer.constant, dtype=dtype)

    def compute(x: ir.Value) -> ir.Value:
        size = op("Abs", x)
        parabola = op("Mul", op("Mul", x, x), number(0.5 * squared))
        if not squared:
            return parabola
        near = op("Less", size, number(1 / squared))
        return op("Where", near, parabola, op("Sub", size, number(0.5 / squared)))

    return with_integers_as(writer, data, torch.float64, compute)


@translation("zeros_like")
def zeros_like(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write zeros in the shape of an array."""
    return filled(writer, writer.shape_of(data), 0, writer.dtype())


@translation("ones_like")
def ones_like(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write ones in the shape of an array."""
    return filled(writer, writer.shape_of(data), 1, writer.dtype())


@translation("shape_array")
def shape_array(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the shape of an array."""
    return writer.op("Shape", data)


@translation("size_array")
def size_array(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write how many elements an array has."""
    return writer.reshape(writer.op("Size", data), [1])
