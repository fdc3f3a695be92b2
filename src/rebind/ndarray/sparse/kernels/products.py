"""Products of matrices of which one is sparse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from ....errors import ShapeError
from ....ops.storage_types import DENSE, storage_kernel
from ....params import Params
from ...storage import DenseStorage, Storage, storage_kind
from ..csr import CSRStorage
from ..matrix_products import multiply, multiply_transposed

__all__ = ["dot_csr", "dot_dense_csr"]

#: A gradient, or the function that computes it where it is needed.
Gradient: TypeAlias = "Storage | Callable[[], Storage] | None"


def _as_type(storage: Storage, stype: str) -> Storage:
    return storage if storage.stype == stype else storage_kind(stype, "dot").from_dense(storage.to_dense())


def _check_sizes(lhs: Storage, rhs: Storage, transpose_a: bool, transpose_b: bool) -> None:
    left, right = lhs.shape[0 if transpose_a else -1], rhs.shape[-1 if transpose_b else 0]
    if left != right:
        raise ShapeError(
            f"the axes that the product sums over must be of one size; got {left} and {right}, of lhs and rhs of "
            f"shapes {tuple(lhs.shape)} and {tuple(rhs.shape)}"
        ).locate("dot")


# csr times an array of one axis or more.


def dot_csr(
    lhs: CSRStorage,
    rhs: Storage,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: str | None = None,
) -> Storage:
    """Return the product of a csr matrix, or of its transpose, with an array.

    That of the transpose is row_sparse, with the rows for which the matrix has a stored element.
    """
    _check_sizes(lhs, rhs, transpose_a, transpose_b)
    if transpose_b:
        rhs = DenseStorage(rhs.to_dense().movedim(-1, 0))
    product = multiply_transposed(lhs, rhs) if transpose_a else DenseStorage(multiply(lhs, rhs))
    return _as_type(product, forward_stype or ("row_sparse" if transpose_a and not transpose_b else DENSE))


def _gradient_of_dot_csr(
    p: Params, inputs: Sequence[Storage], outputs: Sequence[Storage], heads: Sequence[Storage]
) -> list[Gradient]:
    lhs, rhs, head = inputs[0], inputs[1], heads[0]
    assert isinstance(lhs, CSRStorage)

    def of_matrix() -> Storage:
        right = rhs.to_dense().movedim(-1, 0) if p.transpose_b else rhs.to_dense()
        left, right = head.to_dense().flatten(1), right.flatten(1)
        return DenseStorage(right @ left.t() if p.transpose_a else left @ right.t())

    # MXNet computes a wrong one for the matrix, and only where it is asked for: it has all elements.
    gradient = DenseStorage(multiply(lhs, head)) if p.transpose_a else multiply_transposed(lhs, head)
    if p.transpose_b:
        gradient = DenseStorage(gradient.to_dense().movedim(0, -1).contiguous())
    return [of_matrix, gradient]


def _is_transposed(p: Params) -> bool:
    return bool(p.transpose_a or p.transpose_b)


for _stype in (DENSE, "row_sparse"):
    storage_kernel(
        "dot",
        ["csr", _stype],
        lambda p: (p.forward_stype or ("row_sparse" if p.transpose_a and not p.transpose_b else DENSE),),
        when=_is_transposed,
        gradient=_gradient_of_dot_csr,
        gradients=(DENSE, DENSE),
    )(dot_csr)

# The rows that the matrix has columns for: so embeddings and linear models are trained.
for _stype in (DENSE, "row_sparse", "csr"):
    storage_kernel(
        "dot",
        ["csr", _stype],
        lambda p: (p.forward_stype or DENSE,),
        when=lambda p: not _is_transposed(p),
        gradient=_gradient_of_dot_csr,
        gradients=(DENSE, "row_sparse"),
    )(dot_csr)


# A dense matrix times csr.


def _gradient_of_dot_dense_csr(
    p: Params, inputs: Sequence[Storage], outputs: Sequence[Storage], heads: Sequence[Storage]
) -> list[Gradient]:
    rhs, head = inputs[1], heads[0]
    assert isinstance(rhs, CSRStorage)
    left = _transposed(inputs[0].to_dense(), p.transpose_a)
    if p.transpose_b:
        gradient = multiply_transposed(rhs, DenseStorage(head.to_dense().t())).to_dense().t()
    else:
        compact, columns = _without_empty_columns(rhs)
        gradient = multiply(compact, DenseStorage(_columns(head, columns).t())).t()

    def of_matrix() -> Storage:
        found = left.t() @ head.to_dense()
        return DenseStorage(_transposed(found, p.transpose_b).contiguous())

    return [DenseStorage(_transposed(gradient, p.transpose_a).contiguous()), of_matrix]


def _transposed(matrix: Tensor, is_transposed: bool) -> Tensor:
    return matrix.t() if is_transposed else matrix


def _without_empty_columns(matrix: CSRStorage) -> tuple[CSRStorage, Tensor]:
    """Return a matrix of the columns in which something is stored, and which they are."""
    columns = matrix.by_column.indices
    indices = torch.searchsorted(columns, matrix.indices)
    return CSRStorage(matrix.data, matrix.indptr, indices, (matrix.shape[0], len(columns))), columns


def _columns(storage: Storage, columns: Tensor) -> Tensor:
    """Return some columns of a matrix, ascending, as a dense tensor."""
    if not isinstance(storage, CSRStorage) or not len(columns):
        return storage.to_dense().index_select(1, columns)
    at = torch.searchsorted(columns, storage.indices).clamp_(max=len(columns) - 1)
    data = storage.data * (columns[at] == storage.indices)
    return CSRStorage(data, storage.indptr, at, (storage.shape[0], len(columns))).to_dense()


@storage_kernel(
    "dot",
    [DENSE, "csr"],
    lambda p: (p.forward_stype or (DENSE if p.transpose_a else "csr"),),
    gradient=_gradient_of_dot_dense_csr,
    gradients=(DENSE, DENSE),
)
def dot_dense_csr(
    lhs: DenseStorage,
    rhs: CSRStorage,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: str | None = None,
) -> Storage:
    """Return the product of a dense matrix with a csr matrix, or with its transpose.

    It is csr: with all elements of the columns in which any is stored, or, of the transpose, with what is not zero.
    """
    if len(lhs.shape) != 2:
        raise ShapeError(
            f"lhs must be a matrix where rhs is csr; got shape {tuple(lhs.shape)}", argument="lhs"
        ).locate("dot")
    _check_sizes(lhs, rhs, transpose_a, transpose_b)
    left = DenseStorage(_transposed(lhs.to_dense(), not transpose_a))
    if transpose_b:
        found = CSRStorage.from_dense(multiply(rhs, left).t())
    else:
        product = multiply_transposed(rhs, left)
        columns, values = product.indices, product.data
        rows = values.shape[1]
        found = CSRStorage(
            values.t().flatten(),
            torch.arange(rows + 1, device=columns.device) * len(columns),
            columns.repeat(rows),
            (rows, rhs.shape[1]),
        )
    return _as_type(found, forward_stype or (DENSE if transpose_a else "csr"))
