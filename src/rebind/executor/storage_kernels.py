"""Which nodes of a graph are computed by kernels for other storage types."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..graph import Entry, Facts, Graph, Node
from ..ndarray.storage import has_storage_kind
from ..ops.storage_types import DENSE, StorageKernel, infer_storage_types, warn_of_fallback

__all__ = ["storage_kernels", "storage_of", "stored_entries", "uncompiled_nodes"]


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
        is_dense = {*stypes, *outputs} == {DENSE}
        if is_dense and node not in needs_gradient:
            continue  # such a kernel is there for its gradients
        if kernel is None or (not kernel.has_gradient and node in needs_gradient):
            if falls_back or kernel is not None:
                warn_of_fallback(node.operator, stypes)
            continue
        kernels[node] = kernel
        found |= {Entry(node, i): stype for i, stype in enumerate(outputs)}
    return kernels


def stored_entries(graph: Graph, facts: Facts, kernels: Mapping[Node, StorageKernel]) -> set[Entry]:
    """Return the entries that are not dense where these kernels compute these nodes.

    >>> import rebind as mx
    >>> stored_entries(mx.sym.exp(mx.sym.var("x")).graph, Facts(), {})
    set()
    """
    found = {Entry(node) for node in graph.variables if storage_of(node, facts) != DENSE}
    for node, kernel in kernels.items():
        found.update(Entry(node, i) for i, stype in enumerate(kernel.types(node.params)) if stype != DENSE)
    return found


def uncompiled_nodes(graph: Graph, facts: Facts, kernels: Mapping[Node, StorageKernel]) -> set[Node]:
    """Return the nodes that no compiler is given: those with kernels, and what these are computed from.

    What takes an array of another storage type without a kernel for it is among them.

    >>> import rebind as mx
    >>> uncompiled_nodes(mx.sym.exp(mx.sym.var("x")).graph, Facts(), {})
    set()
    """
    stored = stored_entries(graph, facts, kernels)
    found: set[Node] = set()
    for node in reversed(graph.nodes):  # what uses a node comes before it
        if node in found or node in kernels or not stored.isdisjoint(node.inputs):
            found.update((node, *(entry.node for entry in node.inputs)))
    return found
