"""What a level of a quantized array is worth, and how real numbers become levels."""

from __future__ import annotations

import torch
from torch import Tensor

from ... import dtypes
from ...errors import DTypeError

__all__ = [
    "FINE", "HIGHEST_BIT", "INT32_LEVELS", "LEVELS", "levels_per_unit", "other_sign", "per_level", "require",
    "to_levels",
]  # fmt: skip

#: Levels on each side of 0 by which `_contrib_quantize`, `_contrib_requantize` and the ranges of products count.
LEVELS = {torch.int8: 127.0, torch.uint8: 255.0, torch.int32: 2147483647.0}
#: All other operators count half a level more; that is 1.9.1's choice, and it is 0.4 % of a value.
FINE = {torch.int8: 127.5, torch.uint8: 255.5}
INT32_LEVELS = LEVELS[torch.int32]

#: What int8 and uint8 differ by: level 0 of one is level 128 of the other with the highest bit flipped.
HIGHEST_BIT = 128

_BOUNDS = {torch.int8: (-128.0, 127.0), torch.uint8: (0.0, 255.0)}


def per_level(one: Tensor, other: Tensor) -> Tensor:
    """Return ``one / other``, and 0 where a range is empty: everything is level 0 then.

    >>> per_level(torch.tensor([4.0, 4.0]), torch.tensor([2.0, 0.0]))
    tensor([2., 0.])
    """
    return torch.where(other > 0, one / other, 0.0)


def levels_per_unit(largest: Tensor, levels: float = FINE[torch.int8]) -> Tensor:
    """Return how many levels there are for a unit, where `largest` is the value of the last level; 0 where that is 0.

    >>> levels_per_unit(torch.tensor([2.0]), LEVELS[torch.uint8])
    tensor([127.5000])
    """
    return per_level(torch.full_like(largest, levels), largest)


def to_levels(data: Tensor, scale: Tensor | float, dtype: torch.dtype) -> Tensor:
    """Return `data` times `scale` as the nearest levels, halves to even, held within the type.

    >>> to_levels(torch.tensor([-0.5, 0.25, 9.0]), torch.tensor([100.0]), torch.int8)
    tensor([-50,  25, 127], dtype=torch.int8)
    """
    low, high = _BOUNDS[dtype]
    held = (data.detach() * scale).round_().clamp_(low, high)
    # PyTorch takes real numbers to uint8 one by one, and these two steps together a third of the time.
    return (held.to(dtype=torch.int16) if dtype is torch.uint8 else held).to(dtype=dtype).reshape(data.shape)


def other_sign(levels: Tensor) -> Tensor:
    """Return levels of int8 as uint8, 128 more, or those of uint8 as int8, 128 less.

    >>> other_sign(torch.tensor([-128, 0, 127], dtype=torch.int8))
    tensor([  0, 128, 255], dtype=torch.uint8)
    """
    flipped = torch.bitwise_xor(levels.view(torch.uint8), HIGHEST_BIT)
    return flipped if levels.dtype is torch.int8 else flipped.view(torch.int8)


def require(name: str, array: Tensor, *allowed: torch.dtype) -> Tensor:
    """Return an array of a type that the operator can read; any other is a DTypeError.

    Where only shapes are asked for, on the meta device, types may be unknown yet: the first one is used.

    >>> require("data", torch.zeros(1), torch.int8, torch.uint8)
    Traceback (most recent call last):
        ...
    rebind.errors.DTypeError: data must be int8 or uint8; got float32
    """
    if array.dtype in allowed:
        return array
    # Inference asks for any type that fits; a real array is never converted quietly.
    if array.is_meta:
        return array.to(allowed[0])
    raise DTypeError(
        f"{name} must be {' or '.join(map(dtypes.name, allowed))}; got {dtypes.name(array.dtype)}"
    )
