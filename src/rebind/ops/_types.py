"""Types that an operator does not compute with, where torch would answer in another type."""

from __future__ import annotations

from torch import Tensor

from .. import dtypes
from ..errors import DTypeError

__all__ = ["require_floating"]


def require_floating(who: str, data: Tensor) -> None:
    """Raise a DTypeError unless `data` is of a floating type."""
    if not data.is_floating_point():
        raise DTypeError(
            f"{who}: cannot compute with arrays of this type; got data {dtypes.name(data.dtype)}. "
            "Convert with astype()."
        )
