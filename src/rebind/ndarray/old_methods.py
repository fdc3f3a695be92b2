"""What old programs call on an array beside its public methods."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import torch

from ..absent import absent_function
from ..errors import BoundsError, ShapeError
from .selection import Selections

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["OldMethods"]


class OldMethods(Selections):
    """Methods under the names by which MXNet's own code calls them, which programs took over; with selections."""

    __slots__ = ()

    def as_np_ndarray(self) -> NoReturn:
        """Raise: the arrays of `mx.np` are not part of rebind. `asnumpy` gives a NumPy array."""
        absent_function("NDArray.as_np_ndarray", "Use asnumpy() for a NumPy array, or mx.nd.")()

    @property
    def handle(self) -> ctypes.c_void_p:
        """A number that tells this object from others while it lives; there is no C library to hand it to.

        >>> import rebind as mx
        >>> x = mx.nd.ones((2,))
        >>> x.handle.value == x.handle.value, x.handle.value == x.copy().handle.value
        (True, False)
        """
        return ctypes.c_void_p(id(self))

    def _at(self, idx: int) -> Self:
        # A row, on the same memory.
        length = self.shape[0]
        if not -length <= idx < length:
            raise BoundsError(f"NDArray: index {idx} must be within the first axis, of size {length}")
        return self[idx]

    def _slice(self, start: int | None, stop: int | None) -> Self:
        # Rows, on the same memory.
        return self[start:stop]

    def _full(self, value: float) -> Self:
        # A new array of the same kind.
        return self.alias(torch.full_like(self.tensor.detach(), value))

    def _sync_copyfrom(self, source_array: object) -> None:
        # From what NumPy takes for an array, of just this shape.
        source = np.ascontiguousarray(source_array)
        if source.shape != self.shape:
            raise ShapeError(
                f"NDArray._sync_copyfrom: the source must have shape {self.shape}; got {source.shape}"
            )
        self[:] = source
