"""Functions of each element, of one tensor or of several that are broadcast."""

from __future__ import annotations

import math
from typing import Any

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading

__all__ = ["binary", "broadcast", "typed"]

_UNARY = {
    "abs": "abs", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atanh": "arctanh", "ceil": "ceil", "cos": "cos", "cosh": "cosh", "erf": "erf", "exp": "exp", "expm1": "expm1",
    "floor": "floor", "log": "log", "log10": "log10", "log1p": "log1p", "log2": "log2", "neg": "negative",
    "reciprocal": "reciprocal", "relu": "relu", "rsqrt": "rsqrt", "sigmoid": "sigmoid", "sign": "sign", "sin": "sin",
    "sinh": "sinh", "sqrt": "sqrt", "square": "square", "tan": "tan", "tanh": "tanh", "trunc": "trunc",
}  # fmt: skip
#: PyTorch's name: MXNet's operator of two arrays, and those of an array and a number on its right and on its left.
_BINARY = {
    "mul": ("broadcast_mul", "_mul_scalar", "_mul_scalar"),
    "pow": ("broadcast_power", "_power_scalar", "_rpower_scalar"),
    "maximum": ("broadcast_maximum", "_maximum_scalar", "_maximum_scalar"),
    "minimum": ("broadcast_minimum", "_minimum_scalar", "_minimum_scalar"),
}
_SUM = ("broadcast_add", "_plus_scalar", "_plus_scalar")
_DIFFERENCE = ("broadcast_sub", "_minus_scalar", "_rminus_scalar")
_QUOTIENT = ("broadcast_div", "_div_scalar", "_rdiv_scalar")
_COMPARISONS = {
    "eq": ("broadcast_equal", "_equal_scalar", "_equal_scalar"),
    "ne": ("broadcast_not_equal", "_not_equal_scalar", "_not_equal_scalar"),
    "gt": ("broadcast_greater", "_greater_scalar", "_lesser_scalar"),
    "ge": ("broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar"),
    "lt": ("broadcast_lesser", "_lesser_scalar", "_greater_scalar"),
    "le": ("broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"),
}
_LOGICAL = {
    f"{family}_{kind}": f"broadcast_logical_{kind}"
    for family in ("logical", "bitwise")
    for kind in ("and", "or", "xor")
}


def broadcast(reader: NodeReader, name: str, dtype: str | None = None) -> Symbol:
    """Return an argument repeated to the output's shape, as `where` needs its arrays."""
    target = reader.output_shape()
    if not reader.is_tensor(name):
        dtype = dtype or reader.output_dtype()
        if (number := reader.scalar(name)) is not None:
            return reader.filled(number, target, dtype)
    data, shape = typed(reader, name, dtype), reader.shape(name) if reader.is_tensor(name) else [1]
    return data if shape == target else reader.broadcast_to(data, shape, target)


def typed(reader: NodeReader, name: str, dtype: str | None) -> Symbol:
    """Return an argument in a type; a free size becomes an array of one element."""
    if not reader.is_tensor(name):
        return reader.cast(reader.free_size(name), dtype or "int64")
    data = reader.input(name)
    return data if dtype is None or reader.dtype(name) == dtype else reader.cast(data, dtype)


def binary(
    reader: NodeReader, names: tuple[str, str, str], left: str = "input", right: str = "other",
    dtype: str | None = None,
) -> Symbol:  # fmt: skip
    """Apply an operator to two arguments, either of which may be a number; both get the type `dtype`."""
    dtype = dtype or reader.output_dtype()
    both, on_right, on_left = names
    if (number := reader.scalar(right)) is not None:
        return reader.op(on_right, typed(reader, left, dtype), scalar=number)
    if (number := reader.scalar(left)) is not None:
        return reader.op(on_left, typed(reader, right, dtype), scalar=number)
    return reader.op(both, typed(reader, left, dtype), typed(reader, right, dtype))


def _common_type(reader: NodeReader) -> str:
    """Return the type in which two arguments are compared: a floating one if either is."""
    tensors = [name for name in ("input", "other") if reader.is_tensor(name)]
    floating = [name for name in tensors if reader.is_float(name)]
    dtype = reader.dtype((floating or tensors)[0])
    return "int32" if dtype == "bool" else dtype


def _unary(kind: str) -> Any:
    return lambda reader: reader.op(kind, typed(reader, "input", reader.output_dtype()))


for _name, _kind in _UNARY.items():
    reading(_name)(_unary(_kind))


@reading("add", "sub", "rsub")
def sum_or_difference(reader: NodeReader) -> Symbol:
    """Sums and differences; `alpha` times what is added or subtracted, which is the first one of ``rsub``."""
    kind = str(reader.node.target).split(".")[1]
    first, second = ("other", "input") if kind == "rsub" else ("input", "other")
    names = _SUM if kind == "add" else _DIFFERENCE
    factor = float(reader.argument("alpha", 1))
    if factor == 1:
        return binary(reader, names, first, second)
    dtype = reader.output_dtype()
    if (number := reader.scalar(second)) is not None:
        return reader.op(names[1], typed(reader, first, dtype), scalar=number * factor)
    other = reader.scaled(typed(reader, second, dtype), factor)
    if (number := reader.scalar(first)) is not None:
        return reader.op(names[2], other, scalar=number)
    return reader.op(names[0], typed(reader, first, dtype), other)


@reading(*_BINARY)
def arithmetic(reader: NodeReader) -> Symbol:
    """Products, powers and extremes; powers name their arguments otherwise."""
    kind = str(reader.node.target).split(".")[1]
    if kind == "pow":
        if reader.scalar("exponent") == 2:
            return reader.op("square", typed(reader, "input", reader.output_dtype()))
        return binary(reader, _BINARY[kind], "input", "exponent")
    return binary(reader, _BINARY[kind])


@reading("div", "true_divide", "floor_divide")
def quotient(reader: NodeReader) -> Symbol:
    """Quotients, rounded or not."""
    rounding = reader.argument("rounding_mode")
    if str(reader.node.target).startswith("aten.floor_divide"):
        rounding = "floor"
    whole = rounding is not None and not reader.output_dtype().startswith("float")
    found = binary(reader, _QUOTIENT, dtype="float64" if whole else None)
    if rounding is not None:
        found = reader.op("floor" if rounding == "floor" else "trunc", found)
    return reader.cast(found, reader.output_dtype()) if whole else found


@reading("remainder", "fmod")
def remainder(reader: NodeReader) -> Symbol:
    """Remainders with the divisor's sign, or with the dividend's."""
    number, dtype = reader.scalar("other"), reader.output_dtype()
    other = reader.filled(number, [1], dtype) if number is not None else typed(reader, "other", dtype)
    sign_of_dividend = str(reader.node.target).startswith("aten.fmod")
    return reader.op("_onnx_modulo", typed(reader, "input", dtype), other, sign_of_dividend=sign_of_dividend)


@reading("copysign")
def copy_sign(reader: NodeReader) -> Symbol:
    """The size of one number and the sign of the other; that of -0 is negative."""
    if (number := reader.scalar("other")) is not None:
        size = reader.op("abs", typed(reader, "input", reader.output_dtype()))
        return reader.op("negative", size) if math.copysign(1, number) < 0 else size
    size, other = (reader.op("abs", broadcast(reader, "input")), broadcast(reader, "other"))
    below = reader.op("_lesser_scalar", other, scalar=0.0)
    inverse = reader.op("_lesser_scalar", reader.op("reciprocal", other), scalar=0.0)  # of -0: negative
    is_negative = reader.op("broadcast_logical_or", below, inverse)
    return reader.op("where", is_negative, reader.op("negative", size), size)


@reading("round")
def round_to_even(reader: NodeReader) -> Symbol:
    """The nearest integer, the even one of two."""
    if decimals := reader.argument("decimals"):
        raise reader.refuse(f"decimals must be 0; got {decimals}")
    return reader.op("_onnx_round", reader.input())


@reading(*_COMPARISONS)
def comparison(reader: NodeReader) -> Symbol:
    """Comparisons, whose results are booleans."""
    names = _COMPARISONS[str(reader.node.target).split(".")[1]]
    return reader.cast(binary(reader, names, dtype=_common_type(reader)), "bool")


@reading(*_LOGICAL, "__and__", "__or__", "__xor__")
def logical(reader: NodeReader) -> Symbol:
    """Logical functions of two arrays; of integers, functions of bits."""
    kind = str(reader.node.target).split(".")[1]
    kind = f"bitwise_{kind.strip('_')}" if kind.startswith("__") else kind
    if kind.startswith("bitwise") and reader.output_dtype() != "bool":
        return reader.op(
            "_onnx_bitwise", reader.input(), reader.input("other"), kind=kind.removeprefix("bitwise_")
        )
    return reader.cast(reader.op(_LOGICAL[kind], reader.input(), reader.input("other")), "bool")


@reading("bitwise_left_shift", "bitwise_right_shift", "__lshift__", "__rshift__")
def shift(reader: NodeReader) -> Symbol:
    """Integers whose bits are moved."""
    target, dtype = str(reader.node.target), reader.output_dtype()
    if dtype.startswith("float"):
        raise reader.refuse(f"tensors must be of an integer type; got {dtype}")
    bits, by = (
        typed(reader, name, dtype) if number is None else reader.filled(number, [1], dtype)
        for name, number in ((name, reader.scalar(name)) for name in ("input", "other"))
    )
    kind = "left" if "_left" in target or "__l" in target else "right"
    return reader.op("_onnx_bitwise", bits, by, kind=kind)


@reading("logical_not", "bitwise_not")
def logical_not(reader: NodeReader) -> Symbol:
    """The opposite of booleans."""
    if reader.output_dtype() != "bool":
        return reader.op("_rminus_scalar", reader.input(), scalar=-1.0)
    return reader.cast(reader.op("logical_not", reader.input()), "bool")


@reading("isnan")
def is_nan(reader: NodeReader) -> Symbol:
    """Whether elements are no numbers: only those differ from themselves."""
    data = reader.input()
    return reader.cast(reader.op("broadcast_not_equal", data, data), "bool")


@reading("isinf")
def is_infinite(reader: NodeReader) -> Symbol:
    """Whether elements are infinite."""
    return reader.cast(reader.op("_equal_scalar", reader.op("abs", reader.input()), scalar=math.inf), "bool")


@reading("where")
def where(reader: NodeReader) -> Symbol:
    """Elements of one tensor where a condition holds, else of another."""
    dtype = reader.output_dtype()
    chosen = [broadcast(reader, name, dtype) for name in ("input", "other")]
    return reader.op("where", broadcast(reader, "condition"), *chosen)


@reading("masked_fill")
def masked_fill(reader: NodeReader) -> Symbol:
    """One number where a mask is set."""
    number = reader.scalar("value")
    if number is None:
        raise reader.refuse("value must be a constant number")
    data = broadcast(reader, "input")
    filled = reader.scaled(reader.op("ones_like", data), number)
    return reader.op("where", broadcast(reader, "mask"), filled, data)


@reading("clamp", "clamp_min", "clamp_max", "hardtanh", "relu6")
def clip(reader: NodeReader) -> Symbol:
    """Elements within bounds, which may be tensors or free sizes."""
    kind, data = str(reader.node.target).split(".")[1], reader.input()
    if kind == "relu6":
        return reader.op("clip", data, a_min=0.0, a_max=6.0)
    names = ("min_val", "max_val") if kind == "hardtanh" else ("min", "max")
    low, high = (reader.scalar(name) for name in names)
    if all(number is not None or not reader.has(name) for name, number in zip(names, (low, high))):
        low, high = -math.inf if low is None else low, math.inf if high is None else high
        return reader.op("clip", data, a_min=low, a_max=high)
    # One after the other: where they cross, the upper one counts.
    for name, number, operator in zip(names, (low, high), ("maximum", "minimum")):
        if number is not None:
            data = reader.op(f"_{operator}_scalar", data, scalar=number)
        elif reader.has(name):
            data = reader.op(f"broadcast_{operator}", data, typed(reader, name, reader.output_dtype()))
    return data


@reading("clone", "alias", "lift_fresh_copy", "contiguous")
def identity(reader: NodeReader) -> Symbol:
    """The same values."""
    return reader.input()


@reading("detach")
def detach(reader: NodeReader) -> Symbol:
    """The same values, through which no gradient goes."""
    return reader.op("BlockGrad", reader.input())


@reading("_to_copy", "to", "type_as")
def cast(reader: NodeReader) -> Symbol:
    """Another type."""
    dtype = reader.output_dtype()
    return reader.input() if reader.dtype() == dtype else reader.cast(reader.input(), dtype)


@reading("addcmul", "addcdiv")
def sum_with_product(reader: NodeReader) -> Symbol:
    """A tensor, and a product or quotient of two others times a number."""
    kind = "broadcast_mul" if str(reader.node.target).startswith("aten.addcmul") else "broadcast_div"
    product = reader.op(kind, reader.input("tensor1"), reader.input("tensor2"))
    return reader.op(
        "broadcast_add", reader.input(), reader.scaled(product, float(reader.argument("value", 1)))
    )


@reading("lerp")
def interpolation(reader: NodeReader) -> Symbol:
    """From one tensor towards another."""
    data, other = reader.input(), reader.input("end")
    way = reader.op("broadcast_sub", other, data)
    if reader.is_tensor("weight"):
        return reader.op("broadcast_add", data, reader.op("broadcast_mul", way, reader.input("weight")))
    return reader.op("broadcast_add", data, reader.scaled(way, reader.argument("weight")))
