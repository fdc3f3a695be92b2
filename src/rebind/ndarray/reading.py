"""Numbers, lists and arrays of other kinds as tensors: what `nd.array` reads."""

from __future__ import annotations

import sys

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from .. import dtypes
from ..device import Device
from ..dtypes import DTypeLike
from ..errors import ArgumentError, StateError, shown
from ..mode import mode
from .base import ArrayBase, wrap_tensor
from .sending import sent

__all__ = ["array_like", "check_not_exported", "copied", "is_scipy_matrix", "read_numbers"]


def copied(
    source_array: ArrayLike | Tensor | ArrayBase, device: Device, dtype: DTypeLike | None = None
) -> Tensor:
    """Return what `nd.array` holds: a new tensor with the numbers of `source_array`.

    >>> copied([1, 2, 3], Device("cpu", 0))
    tensor([1., 2., 3.])
    """
    if isinstance(source_array, (ArrayBase, Tensor)):
        check_not_exported("nd.array")
        tensor = (source_array.tensor if isinstance(source_array, ArrayBase) else source_array).detach()
        wanted = tensor.dtype if dtype is None else dtypes.torch_dtype(dtype, "nd.array: dtype")
    else:
        wanted = torch.float32 if dtype is None else dtypes.torch_dtype(dtype, "nd.array: dtype")
        tensor = read_numbers(source_array, "nd.array: source_array")
        if tensor.ndim == 0 and not mode.numpy_shapes:
            tensor = tensor.reshape(1)
    return sent(tensor, device.torch, wanted, copy=True)


def array_like(values: np.ndarray, like: ArrayBase) -> ArrayBase:
    """Return a NumPy array as one of ours, in the type of `like` and on its device: the other operand.

    >>> import rebind as mx
    >>> array_like(np.array([1.5]), mx.nd.ones((2,), dtype="int32")).asnumpy()
    array([1], dtype=int32)
    """
    return wrap_tensor(copied(values, like.device, like.storage.dtype), like.device)


#: What can be exported and traced.
_THE_MODULE = "mx.to_torch(symbol, arg_params, aux_params), which is a torch.nn.Module"


def check_not_exported(who: str) -> None:
    """Raise a StateError while torch.export follows a program: an array would hold a tensor that has no numbers.

    >>> check_not_exported("nd.from_torch")
    """
    if torch.compiler.is_exporting():
        raise StateError(f"{who}: torch.export does not follow arrays and executors. Export {_THE_MODULE}.")


def read_numbers(source: ArrayLike, who: str) -> Tensor:
    """Return numbers, lists or NumPy arrays as a tensor, which may share memory; it is for reading only.

    >>> read_numbers([["1", "2.5"], [3, 4]], "nd.array: source_array")
    tensor([[1.0000, 2.5000],
            [3.0000, 4.0000]], dtype=torch.float64)
    """
    if isinstance(source, Tensor):
        check_not_exported(who)
        if torch.jit.is_tracing():
            raise StateError(
                f"{who} must be an NDArray while torch.jit.trace records: the trace would hold the numbers of the "
                f"tensor as constants. Give nd.from_torch(tensor), or trace {_THE_MODULE}."
            )
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


def is_scipy_matrix(value: object) -> bool:
    """Return whether a value is a sparse matrix or array of SciPy.

    >>> is_scipy_matrix(np.zeros((2, 3)))
    False
    """
    # Who has one has imported the package, which rebind does not need.
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(value))
