"""What a network declares to be sparse, which is trained densely until there is sparse storage."""

from __future__ import annotations

from ..graph import Graph
from ..graph.storage_inference import declared_storage_type
from ..ndarray.storage import has_storage_kind
from ..ops.storage_types import SPARSE, warn_of_dense

__all__ = ["warn_of_sparse_declarations"]


def warn_of_sparse_declarations(graph: Graph) -> None:
    """Warn, once for each kind, of declarations that make MXNet update only some rows of a weight.

    >>> import warnings, rebind as mx
    >>> net = mx.sym.Embedding(mx.sym.var("x"), input_dim=4, output_dim=2, sparse_grad=True)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_sparse_declarations(net.graph)
    >>> [str(each.message).partition(":")[0] for each in caught]
    ['gradients of Embedding(sparse_grad=True)']
    """
    for node in graph.nodes:
        if node.operator is None:
            stype = declared_storage_type(node)
            if stype in SPARSE and not has_storage_kind(stype):
                warn_of_dense(f"variables of storage type {stype!r}")
        elif node.params.get("sparse_grad"):
            warn_of_dense(f"gradients of {node.operator.name}(sparse_grad=True)")
        elif node.operator.name == "_contrib_SparseEmbedding":
            warn_of_dense("gradients of contrib.SparseEmbedding")
