"""Functions of each element, of one array or of several that are broadcast."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import onnx_ir as ir

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading

__all__ = ["broadcast", "scalar"]

_UNARY = {
    "Abs": "abs", "Acos": "arccos", "Acosh": "arccosh", "Asin": "arcsin", "Asinh": "arcsinh", "Atan": "arctan",
    "Atanh": "arctanh", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Exp": "exp", "Floor": "floor",
    "Log": "log", "Neg": "negative", "Reciprocal": "reciprocal", "Relu": "relu", "Sigmoid": "sigmoid",
    "Sign": "sign", "Sin": "sin", "Sinh": "sinh", "Softsign": "softsign", "Sqrt": "sqrt", "Tan": "tan",
    "Tanh": "tanh",
}  # fmt: skip
#: ONNX's name: MXNet's operator of two arrays, and those of an array and a number on its right and on its left.
_BINARY = {
    "Add": ("broadcast_add", "_plus_scalar", "_plus_scalar"),
    "Sub": ("broadcast_sub", "_minus_scalar", "_rminus_scalar"),
    "Mul": ("broadcast_mul", "_mul_scalar", "_mul_scalar"),
    "Div": ("broadcast_div", "_div_scalar", "_rdiv_scalar"),
    "Pow": ("broadcast_power", "_power_scalar", "_rpower_scalar"),
}
_COMPARISONS = {
    "Equal": ("broadcast_equal", "_equal_scalar", "_equal_scalar"),
    "Greater": ("broadcast_greater", "_greater_scalar", "_lesser_scalar"),
    "GreaterOrEqual": ("broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar"),
    "Less": ("broadcast_lesser", "_lesser_scalar", "_greater_scalar"),
    "LessOrEqual": ("broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"),
}
_LOGICAL = {"And": "broadcast_logical_and", "Or": "broadcast_logical_or", "Xor": "broadcast_logical_xor"}
_REPEATED = {"Sum": "broadcast_add", "Max": "broadcast_maximum", "Min": "broadcast_minimum"}


def scalar(reader: NodeReader, index: int) -> float | None:
    """Return an input as a number, if it is one that is known, of a floating type, and adds no axes to the result."""
    numbers = reader.constant(index)
    if numbers is None or numbers.size != 1 or not reader.is_float(index):
        return None
    if numbers.ndim:
        other = reader.shape(1 - index)
        if other is None or len(other) < numbers.ndim:
            return None
    return float(numbers.reshape(-1)[0])


def broadcast(reader: NodeReader, *indices: int) -> list[Symbol]:
    """Return inputs repeated to their common shape."""
    rank = max(reader.rank(i) for i in indices)
    arrays = [_with_axes(reader, i, rank) for i in indices]
    whole = reduce(
        lambda a, b: reader.op("broadcast_add", a, b),
        [reader.op("zeros_like", reader.cast(each, "float32")) for each in arrays],
    )
    return [reader.op("broadcast_like", each, whole) for each in arrays]


def _with_axes(reader: NodeReader, index: int, rank: int) -> Symbol:
    data, missing = reader.input(index), rank - max(reader.rank(index), 1)
    for _ in range(missing):
        data = reader.op("expand_dims", data, axis=0)
    return data


def _unary(kind: str) -> Any:
    return lambda reader: reader.op(kind, reader.input(0))


for _name, _kind in _UNARY.items():
    reading(_name)(_unary(_kind))


def _legacy_broadcast(reader: NodeReader) -> Symbol:
    """Return the second input, with axes added where versions before 7 say where it is broadcast."""
    second = reader.input(1)
    if reader.opset >= 7 or not reader.attribute("broadcast", 0) or "axis" not in reader.node.attributes:
        return second
    axis = reader.axis(reader.required("axis"))
    behind = reader.rank(0) - axis - reader.rank(1)
    return reader.op("Reshape", second, shape=(*[0] * reader.rank(1), *[1] * behind)) if behind else second


def _binary(reader: NodeReader, names: tuple[str, str, str]) -> Symbol:
    both, on_right, on_left = names
    if (number := scalar(reader, 1)) is not None:
        return reader.op(on_right, reader.input(0), scalar=number)
    if (number := scalar(reader, 0)) is not None:
        return reader.op(on_left, reader.input(1), scalar=number)
    return reader.op(both, reader.input(0), _legacy_broadcast(reader))


@reading(*_BINARY)
def arithmetic(reader: NodeReader) -> Symbol:
    """Arithmetic of two arrays; the quotients of integers are cut towards 0."""
    kind = reader.node.op_type
    if kind == "Div" and not reader.is_float():
        return reader.op("_onnx_integer_division", reader.input(0), _legacy_broadcast(reader))
    if kind == "Pow" and reader.dtype(0) != reader.dtype(1):
        return _power_of_two_types(reader)
    return _binary(reader, _BINARY[kind])


def _power_of_two_types(reader: NodeReader) -> Symbol:
    """A power whose exponent is of another type: the result is of the first one's."""
    common = np.promote_types(reader.dtype(0), reader.dtype(1)).name
    base, exponent = reader.cast(reader.input(0), common), reader.cast(reader.input(1), common)
    return reader.cast(reader.op("broadcast_power", base, exponent), reader.dtype(0))


@reading(*_COMPARISONS)
def comparison(reader: NodeReader) -> Symbol:
    """Comparisons, whose results are booleans."""
    return reader.cast(_binary(reader, _COMPARISONS[reader.node.op_type]), "bool")


@reading(*_LOGICAL)
def logical(reader: NodeReader) -> Symbol:
    """Logical functions of two arrays."""
    found = reader.op(_LOGICAL[reader.node.op_type], reader.input(0), _legacy_broadcast(reader))
    return reader.cast(found, "bool")


@reading("Not")
def logical_not(reader: NodeReader) -> Symbol:
    """The opposite."""
    return reader.cast(reader.op("logical_not", reader.input(0)), "bool")


@reading(*_REPEATED)
def repeated(reader: NodeReader) -> Symbol:
    """Sums and extremes of any number of arrays."""
    kind = _REPEATED[reader.node.op_type]
    arrays = reader.inputs()
    if len(arrays) == 1:
        return reader.op("_copy", arrays[0])
    return reduce(lambda a, b: reader.op(kind, a, b), arrays)


@reading("Mean")
def mean(reader: NodeReader) -> Symbol:
    """The mean of any number of arrays."""
    total = reduce(lambda a, b: reader.op("broadcast_add", a, b), reader.inputs())
    return reader.op("_div_scalar", total, scalar=float(len(reader)))


@reading("Mod")
def modulo(reader: NodeReader) -> Symbol:
    """The remainder, with the divisor's sign, or with ``fmod`` with the dividend's."""
    sign_of_dividend = bool(reader.attribute("fmod", 0))
    return reader.op("_onnx_modulo", reader.input(0), reader.input(1), sign_of_dividend=sign_of_dividend)


@reading("Round")
def round_to_even(reader: NodeReader) -> Symbol:
    """The nearest integer, the even one of two."""
    return reader.op("_onnx_round", reader.input(0))


@reading("IsNaN")
def is_nan(reader: NodeReader) -> Symbol:
    """Whether elements are no numbers: only those differ from themselves."""
    data = reader.input(0)
    return reader.cast(reader.op("broadcast_not_equal", data, data), "bool")


@reading("IsInf")
def is_infinite(reader: NodeReader) -> Symbol:
    """Whether elements are infinite, of either sign or of one."""
    data = reader.input(0)
    negative, positive = reader.attribute("detect_negative", 1), reader.attribute("detect_positive", 1)
    if negative and positive:
        return reader.cast(reader.op("_equal_scalar", reader.op("abs", data), scalar=np.inf), "bool")
    if not negative and not positive:
        return reader.cast(reader.op("zeros_like", data), "bool")
    return reader.cast(reader.op("_equal_scalar", data, scalar=np.inf if positive else -np.inf), "bool")


@reading("Identity", "Optional", "OptionalGetElement")
def identity(reader: NodeReader) -> Symbol:
    """The same values."""
    return reader.op("_copy", reader.input(0))


@reading("OptionalHasElement")
def has_element(reader: NodeReader) -> np.ndarray:
    """Whether an array is given, which the file itself says: inputs of a network are never optional."""
    return np.array(reader.has(0))


@reading("Dropout", since=1)
def dropout(reader: NodeReader) -> list[Symbol]:
    """Dropout in training; the mask that inference gives is of ones."""
    if reader.opset >= 12:
        ratio = reader.numbers(1, "ratio") if reader.has(1) else np.array(0.5)
        rate = float(ratio.reshape(-1)[0])
        # A file with `training_mode` of True asks for what `is_train` says here.
        if reader.has(2) and bool(reader.numbers(2, "training_mode").reshape(-1)[0]) and rate:
            raise reader.refuse("training_mode must be false; is_train of Module.forward chooses the mode")
    else:
        rate = reader.attribute("ratio", 0.5)
    data = reader.input(0)
    outputs = [reader.op("Dropout", data, p=rate)]
    if reader.wanted(1):
        mask = reader.op("ones_like", data)
        outputs.append(reader.cast(mask, "bool") if reader.opset >= 10 else mask)
    return outputs


@reading("Clip")
def clip(reader: NodeReader) -> Symbol:
    """Elements within bounds, attributes before version 11."""
    if reader.opset < 11:
        limits: list[Any] = [reader.attribute("min", -np.inf), reader.attribute("max", np.inf)]
    else:
        limits = [reader.constant(i) if reader.has(i) else sign * np.inf for i, sign in ((1, -1), (2, 1))]
    data = reader.input(0)
    if reader.is_float() and not any(each is None for each in limits):
        low, high = (float(np.reshape(each, -1)[0]) for each in limits)
        return reader.op("clip", data, a_min=low, a_max=high)
    for index, kind in ((1, "broadcast_maximum"), (2, "broadcast_minimum")):
        if reader.has(index):
            data = reader.op(kind, data, reader.input(index))
    return data if reader.has(1) or reader.has(2) else reader.op("_copy", data)


@reading("Where")
def where(reader: NodeReader) -> Symbol:
    """Elements of the second input where the first is true, else of the third."""
    shapes = [reader.shape(i) for i in range(3)]
    arrays = reader.inputs()
    if shapes[0] is None or None in shapes[0] or not all(shape == shapes[0] for shape in shapes):
        arrays = broadcast(reader, 0, 1, 2)
    return reader.op("where", *arrays)


@reading("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(reader: NodeReader) -> Symbol:
    """Logical functions of bits."""
    kind = reader.node.op_type.removeprefix("Bitwise").lower()
    return reader.op("_onnx_bitwise", *reader.inputs(), kind=kind)


@reading("BitwiseNot")
def bitwise_not(reader: NodeReader) -> Symbol:
    """All bits turned: ``-1 - x`` in two's complement, ``255 - x`` without a sign."""
    if reader.onnx_type() == ir.DataType.UINT64:
        raise reader.refuse("data must not be uint64: results of 2**63 and more do not fit in int64 arrays")
    top = 255.0 if reader.dtype() == "uint8" else -1.0
    return reader.op("_rminus_scalar", reader.input(0), scalar=top)


@reading("BitShift")
def bit_shift(reader: NodeReader) -> Symbol:
    """Bits moved to higher or lower positions."""
    return reader.op("_onnx_bitwise", *reader.inputs(), kind=reader.required("direction").lower())


# Activations


@reading("LeakyRelu")
def leaky_relu(reader: NodeReader) -> Symbol:
    """Negative elements times a number."""
    return reader.op("LeakyReLU", reader.input(0), act_type="leaky", slope=reader.attribute("alpha", 0.01))


@reading("Elu")
def elu(reader: NodeReader) -> Symbol:
    """``alpha (exp(x) - 1)`` of negative elements."""
    return reader.op("LeakyReLU", reader.input(0), act_type="elu", slope=reader.attribute("alpha", 1.0))


@reading("Selu")
def selu(reader: NodeReader) -> Symbol:
    """A scaled exponential unit, with constants of its own."""
    alpha, gamma = (
        reader.attribute("alpha", 1.67326319217681884765625),
        reader.attribute("gamma", 1.05070102214813232421875),
    )
    inner = reader.op("LeakyReLU", reader.input(0), act_type="elu", slope=alpha)
    return reader.op("_mul_scalar", inner, scalar=gamma)


@reading("PRelu")
def prelu(reader: NodeReader) -> Symbol:
    """Negative elements times a slope that is learnt, one for each channel or of any shape that is broadcast."""
    data, slope = reader.input(0), reader.input(1)
    shape = reader.shape(1)
    rank = len(reader.shape(0) or ())
    if shape is not None and rank >= 2 and len(shape) == rank - 1 and all(size == 1 for size in shape[1:]):
        numbers = reader.constant(1)
        channels = slope if numbers is None else reader.parameter(numbers.reshape(-1), "gamma")
        if numbers is None and len(shape) > 1:
            channels = reader.op("Reshape", slope, shape=(-1,))
        return reader.op("LeakyReLU", data, channels, act_type="prelu")
    positive = reader.op("relu", data)
    negative = reader.op("broadcast_mul", slope, reader.op("broadcast_sub", data, positive))
    return reader.op("broadcast_add", positive, negative)


@reading("Swish")
def swish(reader: NodeReader) -> Symbol:
    """Elements times their sigmoid."""
    data, alpha = reader.input(0), reader.attribute("alpha", 1.0)
    inner = data if alpha == 1.0 else reader.op("_mul_scalar", data, scalar=alpha)
    return reader.op("broadcast_mul", data, reader.op("sigmoid", inner))


@reading("Shrink")
def shrink(reader: NodeReader) -> Symbol:
    """Elements moved towards 0, and 0 for those near it."""
    data, limit, bias = reader.input(0), reader.attribute("lambd", 0.5), reader.attribute("bias", 0.0)
    above = reader.op("_greater_scalar", data, scalar=limit)
    below = reader.op("_lesser_scalar", data, scalar=-limit)
    high = reader.op("broadcast_mul", above, reader.op("_minus_scalar", data, scalar=bias))
    low = reader.op("broadcast_mul", below, reader.op("_plus_scalar", data, scalar=bias))
    return reader.op("broadcast_add", high, low)


@reading("HardSigmoid")
def hard_sigmoid(reader: NodeReader) -> Symbol:
    """A line between 0 and 1."""
    return reader.op(
        "hard_sigmoid",
        reader.input(0),
        alpha=reader.attribute("alpha", 0.2),
        beta=reader.attribute("beta", 0.5),
    )


@reading("Softplus")
def softplus(reader: NodeReader) -> Symbol:
    """``log(1 + exp(x))``."""
    return reader.op("Activation", reader.input(0), act_type="softrelu")


@reading("Gelu")
def gelu(reader: NodeReader) -> Symbol:
    """A Gaussian error unit, exact or by tanh."""
    data = reader.input(0)
    if reader.attribute("approximate", "none") == "none":
        return reader.op("LeakyReLU", data, act_type="gelu")
    cubed = reader.op("_mul_scalar", reader.op("_power_scalar", data, scalar=3.0), scalar=0.044715)
    inner = reader.op(
        "_mul_scalar", reader.op("broadcast_add", data, cubed), scalar=float(np.sqrt(2 / np.pi))
    )
    half = reader.op("_mul_scalar", data, scalar=0.5)
    return reader.op("broadcast_mul", half, reader.op("_plus_scalar", reader.op("tanh", inner), scalar=1.0))


@reading("ThresholdedRelu")
def thresholded_relu(reader: NodeReader) -> Symbol:
    """Elements above a threshold, and 0."""
    data = reader.input(0)
    above = reader.op("_greater_scalar", data, scalar=reader.attribute("alpha", 1.0))
    return reader.op("broadcast_mul", data, above)
