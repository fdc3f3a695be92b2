"""Arrays as NumPy arrays, Python numbers, torch tensors and DLPack capsules."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import DTypeLike
from torch import Tensor

from .. import dtypes
from ..errors import ArgumentError, ParameterError, ShapeError
from .base import ArrayBase, Scalar

if TYPE_CHECKING:
    from typing_extensions import CapsuleType


__all__ = ["Conversions"]


class Conversions(ArrayBase):
    """Methods that hand an array's content to other libraries."""

    __slots__ = ()

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        size = "x".join(map(str, self.shape))
        return f"\n{self.asnumpy()}\n<{type(self).__name__} {size} @{self.device}>"

    def _repr_html_(self) -> str:
        size = "×".join(map(str, self.shape))
        title = f"<b>{type(self).__name__}</b> {size} {dtypes.name(self.storage.dtype)} on {self.device}"
        return f"<div>{title}<pre>{html.escape(str(self.asnumpy()))}</pre></div>"

    def __bool__(self) -> bool:
        if self.size == 0:
            return False
        if self.size > 1:
            raise ShapeError(
                f"NDArray: the truth of {self.size} elements is ambiguous; use (a > 0).sum() or such"
            )
        return bool(self.asscalar())

    def asnumpy(self) -> np.ndarray:
        """Return a copy as a NumPy array; bfloat16 becomes float32, which holds it exactly.

        >>> import rebind as mx
        >>> mx.nd.array([1, 2]).asnumpy()
        array([1., 2.], dtype=float32)
        """
        tensor = self.tensor.detach()
        # NumPy has no bfloat16.
        if tensor.dtype is torch.bfloat16:
            tensor = tensor.float()
        # A CPU tensor shares its memory with `numpy()`; MXNet always copies.
        return tensor.cpu().numpy().copy()

    def asscalar(self) -> np.generic:
        """Return the only element as a NumPy scalar.

        >>> import rebind as mx
        >>> float(mx.nd.array([[3]]).asscalar())
        3.0
        """
        if self.size != 1:
            raise ShapeError(f"NDArray.asscalar: the array must have one element; got shape {self.shape}")
        return self.asnumpy().reshape(-1)[0]

    def item(self) -> Scalar:
        """Return the only element as a Python number.

        >>> import rebind as mx
        >>> mx.nd.array([[3]], dtype="int32").item()
        3
        """
        return self.asscalar().item()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if not np.issubdtype(np.dtype(self.dtype), np.integer):
            raise ArgumentError(
                f"NDArray: only an array of a whole-number type is an index; got {self.dtype.__name__}"
            )
        return int(self.item())

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ParameterError("NDArray: NumPy gets a copy; to share memory use np.from_dlpack(array)")
        found = self.asnumpy()
        return found if dtype is None else found.astype(dtype)

    def to_torch(self) -> Tensor:
        """Return the array's tensor; the two share memory from now on.

        >>> import rebind as mx
        >>> x = mx.nd.zeros((2,))
        >>> _ = x.to_torch().fill_(1)
        >>> x.asnumpy().tolist()
        [1.0, 1.0]
        """
        # From now on the memory must not be exchanged: somebody else sees it.
        self.storage.shared = True
        return self.tensor.detach()

    def __dlpack__(self, **keywords: Any) -> CapsuleType:
        return self.to_torch().__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()

    @property
    def writable(self) -> bool:
        """Whether the array can be written to: every array can.

        >>> import rebind as mx
        >>> mx.nd.ones((2,)).writable
        True
        """
        return True

    def to_dlpack_for_read(self) -> CapsuleType:
        """Return a DLPack capsule that shares the memory.

        >>> import rebind as mx
        >>> x = mx.nd.zeros((2,))
        >>> _ = torch.from_dlpack(x.to_dlpack_for_read()).fill_(1)
        >>> x.asnumpy().tolist()
        [1.0, 1.0]
        """
        return torch.utils.dlpack.to_dlpack(self.to_torch())

    to_dlpack_for_write = to_dlpack_for_read

    def wait_to_read(self) -> None:
        """Wait until the array is computed."""
        if self.storage.device.type == "cuda":
            torch.cuda.synchronize(self.storage.device)

    wait_to_write = wait_to_read
