"""Types that an operator does not compute with, where torch would answer in another type or not at all."""

from __future__ import annotations

from torch import Tensor

from .. import dtypes
from ..errors import DTypeError

__all__ = ["require_floating"]


def require_floating(array: Tensor, name: str = "data") -> None:
    """Raise a DTypeError unless an input is of a floating type."""
    if not array.is_floating_point():
        raise DTypeError(
            f"{name} must be of a floating type; got {dtypes.name(array.dtype)}. Convert it with astype().",
            argument=name,
        )
