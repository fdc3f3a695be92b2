"""Which nodes of a graph are computed by kernels for other storage types."""

from __future__ import annotations

from collections.abc import Collection

from ..graph import Entry, Facts, Graph, Node
from ..ndarray.storage import has_storage_kind
from ..ops.storage_types import DENSE, StorageKernel, infer_storage_types, warn_of_fallback

__all__ = ["storage_kernels", "storage_of"]


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
        if kernel is None or (not kernel.has_gradient and node in needs_gradient):
            if falls_back or kernel is not None:
                warn_of_fallback(node.operator, stypes)
            continue
        kernels[node] = kernel
        found |= {Entry(node, i): stype for i, stype in enumerate(outputs)}
    return kernels
