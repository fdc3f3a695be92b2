"""The inverse of the error function, and the gamma function, which ONNX has not: by their approximations."""

from __future__ import annotations

import functools
import math

import onnx_ir as ir
import torch

from ..node_writer import NodeWriter
from .elementwise import of_floats, with_sign_of

__all__ = ["erfinv", "gamma", "gammaln", "log_gamma"]

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
    found = op("Where", inside, y, op("Where", at_end, end, number(math.nan)))
    return writer.cast(with_sign_of(writer, x, found, wide), dtype)


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
    power = op("Sub", op("Mul", op("Add", z, number(0.5)), op("Sub", op("Log", t), number(1))), number(7))
    above = op("Add", op("Add", power, op("Log", series)), number(0.5 * math.log(2 * math.pi)))
    # Of the distance to the nearest whole number, which is exact; at 0, -1, ... it is 0, and the logarithm infinite.
    rest = op("Sub", x, op("Round", x))
    sine = op("Abs", op("Sin", op("Mul", rest, number(math.pi))))
    reflected = op("Sub", number(math.log(math.pi)), op("Add", op("Log", sine), above))
    infinite = op("Equal", x, number(-math.inf))
    return op("Where", infinite, number(math.inf), op("Where", below, reflected, above))


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
    found = op("Where", undefined, number(math.nan), signed)
    # Factorials of integers are whole: rounded, before what is behind the point is cut off.
    return writer.cast(found if writer.dtype().is_floating_point else op("Round", found), dtype)
