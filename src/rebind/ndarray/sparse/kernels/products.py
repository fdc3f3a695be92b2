"""Products of sparse and dense arrays, and the rows of a weight that indices name."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ....ops.storage_types import storage_kernel
from ....params import Params
from ...storage import DenseStorage, Storage
from ..row_sparse import RowSparseStorage

__all__ = ["embedding"]


def _embedding_gradient(
    p: Params, inputs: Sequence[Storage], outputs: Sequence[Storage], heads: Sequence[Storage]
) -> list[Storage | None]:
    """Return the gradient of the weight: the rows that were taken, each once."""
    head = heads[0].to_dense()
    rows, which = _rows_taken(inputs[0], p.input_dim).unique(return_inverse=True)
    data = head.new_zeros((len(rows), p.output_dim)).index_add_(
        0, which.flatten(), head.reshape(-1, p.output_dim)
    )
    return [None, RowSparseStorage(data, rows, inputs[1].shape)]


def _rows_taken(data: Storage, rows: int) -> Tensor:
    # As the dense form: indices beyond the table take its first or last row.
    return data.to_dense().detach().long().clamp(0, rows - 1)


for _stype in ("default", "row_sparse"):

    @storage_kernel(
        "Embedding",
        ["default", _stype],
        ("default",),
        when=lambda p: p.sparse_grad,
        gradient=_embedding_gradient,
        gradients=("default", "row_sparse"),
    )
    def embedding(data: Storage, weight: Storage, *, input_dim: int, **_: object) -> DenseStorage:
        """Return a row of the weight for each index."""
        rows = _rows_taken(data, input_dim)
        taken = weight.rows(rows.flatten())
        return DenseStorage(taken.reshape(*rows.shape, *taken.shape[1:]))
