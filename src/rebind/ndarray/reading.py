"""Arrays from numbers: `array`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from .. import dtypes
from ..device import Device, as_device
from ..dtypes import DTypeLike
from ..errors import ArgumentError, shown
from .base import ArrayBase, wrap
from .mode import mode
from .storage import DenseStorage

if TYPE_CHECKING:
    from .ndarray import NDArray

__all__ = ["array", "read_numbers"]


def array(
    source_array: ArrayLike | Tensor | ArrayBase, ctx: Device | None = None, dtype: DTypeLike | None = None
) -> NDArray:
    """Return a dense array made from numbers, lists, a NumPy array, or another NDArray.

    Parameters
    ----------
    source_array
        What to copy.
    ctx
        The device; the current one by default.
    dtype
        The type; by default that of an NDArray, and float32 for everything else, as in MXNet.

    Examples
    --------
    >>> array([1, 2, 3]).dtype.__name__
    'float32'
    """
    device = as_device(ctx, "nd.array: ctx")
    if isinstance(source_array, (ArrayBase, Tensor)):
        tensor = (source_array.tensor if isinstance(source_array, ArrayBase) else source_array).detach()
        wanted = tensor.dtype if dtype is None else dtypes.torch_dtype(dtype)
    else:
        wanted = torch.float32 if dtype is None else dtypes.torch_dtype(dtype)
        tensor = read_numbers(source_array, "nd.array: source_array")
        if tensor.ndim == 0 and not mode.numpy_shapes:
            tensor = tensor.reshape(1)
    return wrap(DenseStorage(tensor.to(device.torch, wanted, copy=True)), device)


def read_numbers(source: ArrayLike, who: str) -> Tensor:
    """Return numbers, lists or NumPy arrays as a tensor, which may share memory; it is for reading only.

    >>> read_numbers([["1", "2.5"], [3, 4]], "nd.array: source_array")
    tensor([[1.0000, 2.5000],
            [3.0000, 4.0000]], dtype=torch.float64)
    """
    try:
        values = np.asarray(source)
        if values.dtype.kind in "USO":  # texts of numbers, Decimal, Fraction: as NumPy converts them
            if any(value is None for value in values.flat):
                raise TypeError  # NumPy would make it nan
            values = values.astype(np.float64)
        # torch takes neither read-only memory, nor foreign byte orders, nor negative strides.
        plain = values.flags.writeable and values.dtype.isnative and min(values.strides, default=0) >= 0
        return torch.as_tensor(values if plain else values.astype(values.dtype.newbyteorder("=")))
    except (TypeError, ValueError):
        raise ArgumentError(f"{who} must be numbers in a regular shape; got {shown(source)}") from None
