"""`StorageTensor`: a storage that is not dense, as the code of a network and autograd take it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from .._torch.tensors import disabled_torch_function, make_wrapper
from ..nested import map_leaves
from ..ops.declaration import Function, with_gradient
from ..ops.storage_types import StorageKernel
from ..params import Params
from .storage import DenseStorage, Storage

__all__ = ["StorageTensor", "as_dense", "as_storage", "as_tensor", "on_tensors"]


class StorageTensor(Tensor):
    """A tensor without memory of its own, whose values are those of a storage.

    Kernels for storage types take and give the storage (`as_storage`, `as_tensor`), and autograd adds such gradients by
    `Storage.accumulate`. Any other function of PyTorch is given a dense copy.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.ndarray.storage import DenseStorage
    >>> class Doubled(DenseStorage):
    ...     pass
    >>> tensor = StorageTensor(Doubled(torch.ones(2)))
    >>> tensor.shape, (tensor + 1).tolist()
    (torch.Size([2]), [2.0, 2.0])
    """

    stored: Storage

    def __new__(cls, stored: Storage) -> StorageTensor:
        """Return the tensor of a storage."""
        made: StorageTensor = make_wrapper(cls, stored.shape, dtype=stored.dtype, device=stored.device)
        made.stored = stored
        return made

    def __repr__(self) -> str:  # type: ignore[override]  # PyTorch's takes the contents of tensors
        return f"StorageTensor({self.stored!r})"

    # Above autograd it is a tensor like others; PyTorch's type for this name is that of its own method.
    __torch_function__: Any = disabled_torch_function

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # PyTorch's is annotated as no class method
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run a function of PyTorch on it."""
        aten = torch.ops.aten
        if func is aten.detach.default or (func is aten.view.default and tuple(args[1]) == args[0].shape):
            return cls(args[0].stored)
        if func is aten.clone.default:
            return cls(args[0].stored.copy())
        if func is aten.add.Tensor and not kwargs and _have_one_storage_type(args):
            total = args[0].stored.copy()
            total.accumulate(args[1].stored)
            return cls(total)
        return func(*map_leaves(_dense, args), **map_leaves(_dense, kwargs or {}))


def _have_one_storage_type(values: Sequence[object]) -> bool:
    return len({type(each.stored) if isinstance(each, StorageTensor) else Tensor for each in values}) == 1


def _dense(value: object) -> object:
    return value.stored.to_dense() if isinstance(value, StorageTensor) else value


def as_storage(tensor: Tensor) -> Storage:
    """Return the storage with a tensor's values.

    >>> as_storage(torch.ones(2)).stype
    'default'
    """
    return tensor.stored if isinstance(tensor, StorageTensor) else DenseStorage(tensor)


def as_tensor(storage: Storage) -> Tensor:
    """Return the tensor with a storage's values: of a dense one its own.

    >>> as_tensor(DenseStorage(torch.ones(2)))
    tensor([1., 1.])
    """
    return storage.tensor if isinstance(storage, DenseStorage) else cast(Tensor, StorageTensor(storage))


class _AsDense(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: StorageTensor) -> Tensor:
        return tensor.stored.to_dense().clone()

    @staticmethod
    def backward(ctx: Any, head_grad: Tensor) -> Tensor:
        return head_grad


def as_dense(tensor: Tensor) -> Tensor:
    """Return the values as a dense tensor, through which gradients flow.

    >>> as_dense(torch.ones(2))
    tensor([1., 1.])
    """
    return _AsDense.apply(tensor) if isinstance(tensor, StorageTensor) else tensor


@functools.cache
def on_tensors(kernel: StorageKernel) -> Function:
    """Return a kernel as a function of tensors, with its gradient.

    >>> import torch
    >>> from rebind.ndarray.storage import DenseStorage
    >>> kernel = StorageKernel(("*",), ("default",), lambda data: DenseStorage(data.to_dense() * 2))
    >>> on_tensors(kernel)(torch.ones(2))
    tensor([2., 2.])
    """
    if kernel.is_recorded:
        return kernel.function

    @functools.wraps(kernel.function)
    def function(*tensors: Tensor | None, **keywords: Any) -> Any:
        found = kernel.function(*_storages(tensors), **keywords)
        return tuple(map(as_tensor, found)) if isinstance(found, tuple) else as_tensor(found)

    if kernel.gradient is None:
        return function
    rule = kernel.gradient

    def gradient(
        p: Params,
        inputs: Sequence[Tensor | None],
        outputs: Sequence[Tensor],
        head_grads: Sequence[Tensor],
    ) -> Sequence[Tensor | None]:
        found = rule(p, _storages(inputs), _storages(outputs), _storages(head_grads))
        return [_gradient_for(each, value) for each, value in zip(inputs, found, strict=True)]

    return with_gradient(function, gradient)


def _gradient_for(tensor: Tensor | None, found: Storage | Callable[[], Storage] | None) -> Tensor | None:
    """Return the gradient of an input, which is computed here if it is a function; None where it is not needed."""
    if found is None or tensor is None or not tensor.requires_grad:
        return None
    return as_tensor(found() if callable(found) else found)


def _storages(tensors: Sequence[Tensor | None]) -> list[Storage | None]:
    # A storage is no part of a record: to detach its tensor is a call of `__torch_dispatch__` for nothing.
    return [
        each if each is None else as_storage(each if isinstance(each, StorageTensor) else each.detach())
        for each in tensors
    ]
