"""Types that several families share: annotations of parameters, and a check of an array's type."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from torch import Tensor

from .. import dtypes
from ..errors import DTypeError
from ..params import AtLeast

__all__ = ["Sizes", "require_floating"]

#: A shape in which a size may be 0, which inference fills in.
Sizes: TypeAlias = tuple[Annotated[int, AtLeast(0)], ...]


def require_floating(array: Tensor, name: str = "data") -> None:
    """Raise a DTypeError unless an input is of a floating type.

    Where torch would answer in another type, or not at all.

    >>> import torch
    >>> require_floating(torch.ones(2, dtype=torch.int32), "label")
    Traceback (most recent call last):
      ...
    rebind.errors.DTypeError: label must be of a floating type; got int32. Convert it with astype().
    """
    if not array.is_floating_point():
        raise DTypeError(
            f"{name} must be of a floating type; got {dtypes.name(array.dtype)}. Convert it with astype().",
            argument=name,
        )
