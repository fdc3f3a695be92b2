"""Types of ONNX that no array has: their numbers lie in arrays of a wider type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from ... import dtypes
from ...errors import DTypeError
from ...params import Params
from ..declaration import operator

__all__ = ["NarrowType", "cast_through"]

NarrowType: TypeAlias = Literal[
    "uint2", "int2", "uint4", "int4", "uint16", "uint32",
    "float4e2m1", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0",
]  # fmt: skip


class _Integers(NamedTuple):
    bits: int
    has_sign: bool


class _Floats(NamedTuple):
    """What numbers a type has: with so many digits behind the first, and steps that are least from `least` on.

    `beyond` is what greater numbers become that are not cut to the greatest; None where there is no such number.
    """

    digits: int
    least: int
    greatest: float
    beyond: float | None
    has_negative_zero: bool = True


_INTEGERS = {
    "uint2": _Integers(2, False),
    "int2": _Integers(2, True),
    "uint4": _Integers(4, False),
    "int4": _Integers(4, True),
    "uint16": _Integers(16, False),
    "uint32": _Integers(32, False),
}
_FLOATS = {
    "float4e2m1": _Floats(1, 0, 6.0, None),
    "float8e4m3fn": _Floats(3, -6, 448.0, torch.nan),
    "float8e4m3fnuz": _Floats(3, -7, 240.0, torch.nan, has_negative_zero=False),
    "float8e5m2": _Floats(2, -14, 57344.0, torch.inf),
    "float8e5m2fnuz": _Floats(2, -15, 57344.0, torch.nan, has_negative_zero=False),
}
#: Types of arrays that hold all integers of so many bits.
_WIDER = {
    **dict.fromkeys((2, 4), (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)),
    16: (torch.int32, torch.int64),
    32: (torch.int64,),
}
#: Where the exponent is in the bits of a number.
_EXPONENTS = {torch.float32: (torch.int32, 0xFF << 23), torch.float64: (torch.int64, 0x7FF << 52)}
#: The range of powers of two that are numbers of 8 bits.
_LEAST_POWER, _GREATEST_POWER = 2.0**-127, 2.0**127


@operator("_onnx_cast_through", same_shape=True)
def cast_through(
    data: Tensor,
    *,
    kind: NarrowType,
    saturate: bool = True,
    rounding: Literal["up", "down", "nearest"] = "up",
) -> Tensor:
    """What `data` is after a cast to a type that arrays do not have, and back; the gradient is a cast's.

    Integers lose their higher bits. Floats are rounded to the nearest number, of two to the even one.

    Parameters
    ----------
    kind
        The type: of floats for data in float32 or float64, and of integers for integers of more bits.
    saturate
        Whether floats beyond the range become the greatest number, or what the type has for them.
    rounding
        How powers of two (``"float8e8m0"``) are chosen.

    >>> cast_through(torch.tensor([65535, 65536, -1]), kind="uint16")
    tensor([65535,     0, 65535])
    >>> cast_through(torch.tensor([1.06, 1000.0, -1000.0]), kind="float8e4m3fn")
    tensor([   1.,  448., -448.])
    """
    takes = _WIDER[_INTEGERS[kind].bits] if kind in _INTEGERS else tuple(_EXPONENTS)
    if data.dtype not in takes:
        names = " or ".join(map(dtypes.name, takes))
        raise DTypeError(
            f"data must be {names} to be cast through {kind}; got {dtypes.name(data.dtype)}", argument="data"
        )
    if kind in _INTEGERS:
        return _wrapped(data, _INTEGERS[kind])
    if kind == "float8e8m0":
        return _power_of_two(data, saturate, rounding)
    return _rounded(data, _FLOATS[kind], saturate)


@cast_through.gradient
def _(
    p: Params, inputs: Sequence[Tensor], outputs: Sequence[Tensor], head_grads: Sequence[Tensor]
) -> Sequence[Tensor]:
    return (head_grads[0],)


def _wrapped(data: Tensor, kind: _Integers) -> Tensor:
    low = data & ((1 << kind.bits) - 1)
    if not kind.has_sign:
        return low
    sign = 1 << (kind.bits - 1)
    return (low ^ sign) - sign


def _power_below(data: Tensor) -> Tensor:
    """Return the greatest power of two that is not above each number; of numbers that are not finite, infinity."""
    bits, mask = _EXPONENTS[data.dtype]
    return (data.view(bits) & mask).view(data.dtype)


def _rounded(data: Tensor, kind: _Floats, saturate: bool) -> Tensor:
    # Any finite step will do for what is beyond the greatest number.
    step = _power_below(data).clamp(2.0**kind.least, kind.greatest) * 2.0**-kind.digits
    found = torch.round(data / step) * step
    if kind.beyond is None:
        found = found.nan_to_num(0.0, torch.inf, -torch.inf)
    if saturate or kind.beyond is None:
        found = found.clamp(-kind.greatest, kind.greatest)
    else:
        found = torch.where(found.abs() > kind.greatest, found.sign() * kind.beyond, found)
    return found if kind.has_negative_zero else found + 0.0  # which makes -0 to 0


def _power_of_two(data: Tensor, saturate: bool, rounding: str) -> Tensor:
    below = _power_below(data).clamp(_LEAST_POWER, _GREATEST_POWER)
    rises = {
        "up": data > below,
        "nearest": data >= below * 1.5,
        "down": torch.zeros_like(data, dtype=torch.bool),
    }
    found = torch.where(rises[rounding], below * 2.0, below)
    if saturate:
        return torch.where(data.isnan(), data, found.clamp(max=_GREATEST_POWER))
    is_inside = (data >= _LEAST_POWER) & (found <= _GREATEST_POWER)
    return torch.where(is_inside, found, torch.nan)
