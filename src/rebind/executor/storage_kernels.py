"""Kernels for other storage types, as functions of the tensors that a plan's code has."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import Any

from torch import Tensor

from ..graph import Entry, Facts, Graph, Node
from ..ndarray.storage import Storage, has_storage_kind
from ..ndarray.storage_tensor import as_storage, as_tensor
from ..ops.declaration import Function, with_gradient
from ..ops.storage_types import DENSE, StorageKernel, infer_storage_types, warn_of_fallback
from ..params import Params

__all__ = ["on_tensors", "storage_kernels", "storage_of"]


def storage_of(node: Node, facts: Facts) -> str:
    """Return the storage type of a variable; dense where what it declares has no class.

    >>> import rebind as mx
    >>> storage_of(mx.sym.var("x").graph.outputs[0].node, Facts())
    'default'
    """
    stype = facts.storage.get(Entry(node), DENSE)
    return stype if has_storage_kind(stype) else DENSE


def storage_kernels(
    graph: Graph, facts: Facts, needs_gradient: Collection[Node]
) -> dict[Node, StorageKernel]:
    """Return the nodes that a kernel for the storage types of their inputs computes, with these kernels.

    >>> import rebind as mx
    >>> storage_kernels(mx.sym.exp(mx.sym.var("x")).graph, Facts(), ())
    {}
    """
    kernels: dict[Node, StorageKernel] = {}
    found = {Entry(node): storage_of(node, facts) for node in graph.variables}
    for node in graph.nodes:
        if node.operator is None:
            continue
        stypes = [found.get(entry, DENSE) for entry in node.inputs]
        outputs, kernel, falls_back = infer_storage_types(node.operator, node.params, stypes)
        if kernel is None or (kernel.gradient is None and node in needs_gradient):
            if falls_back or kernel is not None:
                warn_of_fallback(node.operator, stypes)
            continue
        kernels[node] = kernel
        found |= {Entry(node, i): stype for i, stype in enumerate(outputs)}
    return kernels


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
