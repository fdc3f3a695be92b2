"""What several kernels need: the values of one array where another one has stored elements, and dense gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from ....grad_mode import grad_mode
from ....ops.declaration import Operator
from ....params import Params
from ...storage import DenseStorage, Storage
from ..csr import CSRStorage
from ..row_sparse import RowSparseStorage

__all__ = ["Gradients", "Sparse", "dense_gradients", "gradient_of", "look_up", "values_at"]

Sparse: TypeAlias = CSRStorage | RowSparseStorage
Gradients: TypeAlias = "list[Storage | None]"


def values_at(source: Storage, pattern: Sparse) -> Tensor:
    """Return the values of `source` where `pattern` has stored ones, in their order.

    >>> pattern = CSRStorage.from_dense(torch.tensor([[0.0, 5.0], [6.0, 0.0]]))
    >>> values_at(DenseStorage(torch.tensor([[1.0, 2.0], [3.0, 4.0]])), pattern)
    tensor([2., 3.])
    """
    if isinstance(pattern, RowSparseStorage):
        return source.rows(pattern.indices)
    if not isinstance(source, CSRStorage):
        return source.to_dense().detach()[pattern.row_of_each(), pattern.indices]
    if source.indptr is pattern.indptr and source.indices is pattern.indices:
        return source.data
    return look_up(source, pattern.positions(), 0)


def look_up(matrix: CSRStorage, positions: Tensor, absent: float) -> Tensor:
    """Return elements at positions, counted row after row; `absent` where nothing is stored.

    >>> matrix = CSRStorage.from_dense(torch.tensor([[0.0, 5.0], [6.0, 0.0]]))
    >>> look_up(matrix, torch.tensor([2, 0]), -1)
    tensor([ 6., -1.])
    """
    matrix = matrix.in_order()
    known = matrix.positions()
    if not len(known):
        return matrix.data.new_full(positions.shape, absent)
    at = torch.searchsorted(known, positions).clamp_(max=len(known) - 1)
    return torch.where(known[at] == positions, matrix.data[at], absent)


def gradient_of(op: Operator, p: Params, data: Tensor, head: Tensor) -> Tensor:
    """Return the gradient of an operator with one input, by its form for dense arrays.

    >>> from rebind.ops import find
    >>> gradient_of(find("square"), Params(), torch.tensor([3.0]), torch.ones(1))
    tensor([6.])
    """
    return _gradients_of(op, p, [data], head)[0]


def _gradients_of(op: Operator, p: Params, data: Sequence[Tensor], head: Tensor) -> Sequence[Tensor]:
    with grad_mode(True):
        leaves = [each.detach().requires_grad_() for each in data]
        output = op.kernels.differentiable(*leaves, **op.signature.keywords(p))
        return torch.autograd.grad(output, leaves, head)


def dense_gradients(op: Operator) -> Callable[..., Gradients]:
    """Return the rule of an operator's gradients by its form for dense arrays: they are dense for any inputs."""

    def gradients(
        p: Params, inputs: Sequence[Storage], outputs: Sequence[Storage], heads: Sequence[Storage]
    ) -> Gradients:
        found = _gradients_of(op, p, [each.to_dense() for each in inputs], heads[0].to_dense())
        return [DenseStorage(each) for each in found]

    return gradients
