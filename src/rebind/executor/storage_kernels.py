"""Kernels for other storage types, as functions of the tensors that a plan's code has."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from ..graph import Entry, Facts, Node
from ..ndarray.storage import Storage, has_storage_kind
from ..ndarray.storage_tensor import as_storage, as_tensor
from ..ops.declaration import Function, with_gradient
from ..ops.storage_types import DENSE, StorageKernel
from ..params import Params

__all__ = ["on_tensors", "storage_of"]


def storage_of(node: Node, facts: Facts) -> str:
    """Return the storage type of a variable; dense where what it declares has no class.

    >>> import rebind as mx
    >>> storage_of(mx.sym.var("x").graph.outputs[0].node, Facts())
    'default'
    """
    stype = facts.storage.get(Entry(node), DENSE)
    return stype if has_storage_kind(stype) else DENSE


def on_tensors(kernel: StorageKernel) -> Function:
    """Return a kernel as a function of tensors, with its gradient.

    >>> import torch
    >>> from rebind.ndarray.storage import DenseStorage
    >>> kernel = StorageKernel(("*",), ("default",), lambda data: DenseStorage(data.to_dense() * 2))
    >>> on_tensors(kernel)(torch.ones(2))
    tensor([2., 2.])
    """

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
        return [None if each is None else as_tensor(each) for each in found]

    return with_gradient(function, gradient)


def _storages(tensors: Sequence[Tensor | None]) -> list[Storage | None]:
    return [None if each is None else as_storage(each.detach()) for each in tensors]
