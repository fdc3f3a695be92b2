"""Rows of a weight that indices name, with gradients of these rows only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from torch import Tensor

from ....ops.indexing import take as take_operator
from ....ops.indexing import within
from ....ops.nn.linear import clamp_indices
from ....ops.nn.linear import embedding as embedding_operator
from ....ops.storage_types import storage_kernel
from ....params import Params
from ...storage import DenseStorage, Storage
from ..grouping import group, sum_segments
from ..row_sparse import RowSparseStorage

__all__ = ["embedding", "take"]

Gradient: TypeAlias = Callable[[Params, list[Storage], list[Storage], list[Storage]], "list[Storage | None]"]


def _gradient_of_rows(head: Storage, taken: Tensor, shape: Sequence[int]) -> RowSparseStorage:
    """Return the gradient of a weight of which rows were taken: these rows, each once."""
    rows, order, begins = group(taken.flatten(), shape[0])
    heads = head.to_dense().reshape(len(order), -1)
    return RowSparseStorage(sum_segments(heads, order, begins).reshape(-1, *shape[1:]), rows, shape)


def _indices(data: Storage) -> Tensor:
    return data.to_dense().detach().long()


def _embedding_gradient(stype: str) -> Gradient:
    def gradient(
        p: Params, inputs: Sequence[Storage], outputs: Sequence[Storage], heads: Sequence[Storage]
    ) -> list[Storage | None]:
        taken = _indices(inputs[0]).clamp(0, p.input_dim - 1)  # forward has warned
        found = _gradient_of_rows(heads[0], taken, inputs[1].shape)
        return [None, found if stype == "row_sparse" else DenseStorage(found.to_dense())]

    return gradient


def embedding(
    data: DenseStorage, weight: Storage, *, input_dim: int, output_dim: int, **_: object
) -> DenseStorage:
    """Return a row of a weight for each index."""
    if isinstance(weight, DenseStorage) or (isinstance(weight, RowSparseStorage) and weight.is_whole):
        return DenseStorage(
            embedding_operator.kernels.function(
                data.tensor, weight.to_dense(), input_dim=input_dim, output_dim=output_dim
            )
        )
    rows = clamp_indices(_indices(data), input_dim)
    return DenseStorage(weight.rows(rows.flatten()).reshape(*rows.shape, output_dim))


def _take_gradient(
    p: Params, inputs: Sequence[Storage], outputs: Sequence[Storage], heads: Sequence[Storage]
) -> list[Storage | None]:
    taken = within(_indices(inputs[1]), inputs[0].shape[0], p.mode)
    return [DenseStorage(_gradient_of_rows(heads[0], taken, inputs[0].shape).to_dense()), None]


@storage_kernel(
    "take",
    ["row_sparse", "default"],
    ("default",),
    when=lambda p: p.axis == 0 and p.mode != "raise",
    gradient=_take_gradient,
    gradients=("default", "default"),
)
def take(a: RowSparseStorage, indices: DenseStorage, *, axis: int = 0, mode: str = "clip") -> DenseStorage:
    """Return the rows of an array at indices."""
    if a.is_whole:
        return DenseStorage(take_operator.kernels.function(a.data, indices.tensor, mode=mode))
    rows = within(_indices(indices), a.shape[0], mode)
    return DenseStorage(a.rows(rows.flatten()).reshape(*rows.shape, *a.shape[1:]))


def _declare(name: str, weight: str, gradient: str, when: Callable[[Params], Any] | None = None) -> None:
    storage_kernel(
        name,
        ["default", weight],
        ("default",),
        when=when,
        gradient=_embedding_gradient(gradient),
        gradients=("default", gradient),
    )(embedding)


# As in MXNet the gradient is dense unless the program asks for rows, of a row_sparse weight too.
_declare("Embedding", "row_sparse", "default")
for _weight in ("default", "row_sparse"):
    _declare("Embedding", _weight, "row_sparse", when=lambda p: p.sparse_grad)
    _declare("_contrib_SparseEmbedding", _weight, "row_sparse")
