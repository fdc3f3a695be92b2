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
from .pieces import filled, with_integers_as

__all__ = ["clip", "hard_sigmoid", "log_gamma", "smooth_l1"]

#: From the writer, and an array of a floating type with that type, to the function of it.
Compute: TypeAlias = Callable[[NodeWriter, ir.Value, torch.dtype], ir.Value]

#: One operator of ONNX, with the same name for each number.
_SAME = {
    "sigmoid": "Sigmoid",
    "softsign": "Softsign",
    "reciprocal": "Reciprocal",
    "sqrt": "Sqrt",
    "exp": "Exp",
    "log": "Log",
    "erf": "Erf",
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "arcsin": "Asin",
    "arccos": "Acos",
    "arctan": "Atan",
    "sinh": "Sinh",
    "cosh": "Cosh",
    "tanh": "Tanh",
    "arcsinh": "Asinh",
    "arccosh": "Acosh",
    "arctanh": "Atanh",
}

#: One operator of ONNX that takes integers too.
_SAME_OF_INTEGERS = {"negative": "Neg", "abs": "Abs"}

#: The coefficients of Lanczos's approximation with g = 7: exact to 15 digits.
_LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)

#: Giles's polynomials for the inverse of the error function, near the middle and in the tails, highest power first.
_ERFINV_MIDDLE = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
    -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
_ERFINV_TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
    0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip


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
            return _zeros_signed_as(writer, data, compute(writer, data, dtype), dtype)

        return compute

    return declare


def _declare(name: str, kind: str) -> None:
    of_floats(name)(lambda writer, data, dtype: writer.op(kind, data))


for _name, _kind in _SAME.items():
    _declare(_name, _kind)


def _declare_of_integers(name: str, kind: str) -> None:
    translation(name)(lambda writer, data: writer.op(kind, data))


for _name, _kind in _SAME_OF_INTEGERS.items():
    _declare_of_integers(_name, _kind)


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
    """Write -1, 0 or 1."""
    return writer.op("Sign", data)


@translation("square")
def square(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the product of an array with itself."""
    return writer.op("Mul", data, data)


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
    root = writer.op("Pow", writer.op("Abs", data), writer.constant(1 / 3, dtype))
    return writer.op("Mul", writer.op("Sign", data), root)


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
    return writer.op("Where", writer.op("Equal", rounded, data), logarithm, corrected)


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


@of_floats("erfinv")
def erfinv(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write the inverse of the error function: Giles's approximation, and two steps of Newton's method."""
    wide = torch.float64 if dtype is torch.float64 else torch.float32
    x = writer.cast(data, wide)
    op, number = writer.op, functools.partial(writer.constant, dtype=wide)
    one = number(1)
    w = op("Neg", op("Log", op("Mul", op("Sub", one, x), op("Add", one, x))))
    middle = _polynomial(writer, op("Sub", w, number(2.5)), _ERFINV_MIDDLE, wide)
    tail = _polynomial(writer, op("Sub", op("Sqrt", w), number(3)), _ERFINV_TAIL, wide)
    y = op("Mul", op("Where", op("Less", w, number(5)), middle, tail), x)
    for _ in range(2):
        error = op("Sub", op("Erf", y), x)
        slope = op("Mul", op("Exp", op("Neg", op("Mul", y, y))), number(2 / math.sqrt(math.pi)))
        y = op("Sub", y, op("Div", error, slope))
    # At both ends it is infinite, beyond them undefined.
    end = op("Div", x, op("Sub", one, op("Abs", x)))
    inside = op("Less", op("Abs", x), one)
    at_end = op("Equal", op("Abs", x), one)
    return writer.cast(op("Where", inside, y, op("Where", at_end, end, number(math.nan))), dtype)


def _polynomial(
    writer: NodeWriter, x: ir.Value, coefficients: tuple[float, ...], dtype: torch.dtype
) -> ir.Value:
    found = writer.constant(coefficients[0], dtype)
    for each in coefficients[1:]:
        found = writer.op("Add", writer.op("Mul", found, x), writer.constant(each, dtype))
    return found


def log_gamma(writer: NodeWriter, x: ir.Value) -> ir.Value:
    """Write the logarithm of ``|gamma(x)|`` of a float64 array: Lanczos's approximation, and Euler's reflection."""
    op, number = writer.op, functools.partial(writer.constant, dtype=torch.float64)
    below = op("Less", x, number(0.5))
    z = op("Sub", op("Where", below, op("Sub", number(1), x), x), number(1))
    series = number(_LANCZOS[0])
    for i, coefficient in enumerate(_LANCZOS[1:], start=1):
        series = op("Add", series, op("Div", number(coefficient), op("Add", z, number(i))))
    t = op("Add", z, number(7.5))
    power = op("Sub", op("Mul", op("Add", z, number(0.5)), op("Log", t)), t)
    above = op("Add", op("Add", power, op("Log", series)), number(0.5 * math.log(2 * math.pi)))
    # Of the rest after the whole number, whose sine is exact; at 0, -1, ... it is 0, and the logarithm infinite.
    rest = op("Sub", x, op("Floor", x))
    sine = op("Abs", op("Sin", op("Mul", rest, number(math.pi))))
    reflected = op("Sub", number(math.log(math.pi)), op("Add", op("Log", sine), above))
    return op("Where", below, reflected, above)


@of_floats("gammaln")
def gammaln(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write the logarithm of ``|gamma(data)|``, computed in float64."""
    return writer.cast(log_gamma(writer, writer.cast(data, torch.float64)), dtype)


@of_floats("gamma")
def gamma(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write the gamma function, computed in float64; below 0 its sign changes at each whole number."""
    op, number = writer.op, functools.partial(writer.constant, dtype=torch.float64)
    x = writer.cast(data, torch.float64)
    size = op("Exp", log_gamma(writer, x))
    floor, negative = op("Floor", x), op("Less", x, number(0))
    odd = op("Equal", op("Mod", floor, number(2), fmod=1), number(-1))
    signed = op("Where", op("And", negative, odd), op("Neg", size), size)
    undefined = op("And", negative, op("Equal", floor, x))
    return writer.cast(op("Where", undefined, number(math.nan), signed), dtype)


def _zeros_signed_as(writer: NodeWriter, data: ir.Value, found: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Return what is `found`, zeros with the sign of `data`."""
    zero = writer.constant(0, dtype)
    return writer.op("Where", writer.op("Equal", found, zero), writer.op("Mul", data, zero), found)


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
    return writer.op("Mul", writer.op("Sign", data), writer.op("Floor", writer.op("Abs", data)))


@of_steps("round")
@of_steps("_contrib_round_ste")
def round_(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write the nearest integer; halves go away from 0, where ONNX's `Round` takes them to even numbers."""
    # The number before 0.5: with 0.5 itself the one before that would become 1, and large odd numbers the next ones.
    half = writer.constant(0.5 - torch.finfo(dtype).eps / 4, dtype)
    whole = writer.op("Floor", writer.op("Add", writer.op("Abs", data), half))
    return writer.op("Mul", writer.op("Sign", data), whole)


@of_steps("rint")
def rint(writer: NodeWriter, data: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Write the nearest integer; halves go down."""
    # Neg(Floor(0.5 - data)) is the ceiling of data - 0.5; the floor is more where numbers have no half between them.
    below = writer.op("Neg", writer.op("Floor", writer.op("Sub", writer.constant(0.5, dtype), data)))
    return writer.op("Max", below, writer.op("Floor", data))


@translation("hard_sigmoid")
def hard_sigmoid(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write ``alpha * data + beta`` cut to [0, 1]."""
    p = writer.params
    return with_integers_as(
        writer, data, torch.float32, lambda x: writer.op("HardSigmoid", x, alpha=p.alpha, beta=p.beta)
    )


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
