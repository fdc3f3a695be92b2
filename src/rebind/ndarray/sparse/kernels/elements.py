"""Operators that look at single elements of a csr matrix: choices by a condition, and losses with such labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ....errors import ShapeError
from ....ops import find
from ....ops.storage_types import storage_kernel
from ....params import Params
from ...storage import DenseStorage, Storage
from ..csr import CSRStorage
from ..row_sparse import RowSparseStorage
from .stored import Gradients

__all__ = ["scatter_divide", "where"]


def _where_true(condition: CSRStorage) -> tuple[Tensor, Tensor]:
    """Return the rows and columns of the elements that are not 0."""
    stored = condition.in_order()
    true = stored.data != 0
    return stored.row_of_each()[true], stored.indices[true]


def _where_gradient(
    p: Params, inputs: Sequence[Storage], outputs: Sequence[Storage], heads: Sequence[Storage]
) -> Gradients:
    condition, head = inputs[0], heads[0].to_dense().detach()
    assert isinstance(condition, CSRStorage)
    true = _where_true(condition)
    of_x, of_y = torch.zeros_like(head), head.clone()
    of_x[true], of_y[true] = head[true], 0
    return [None, DenseStorage(of_x), DenseStorage(of_y)]


@storage_kernel(
    "where",
    ["csr", "default", "default"],
    ("default",),
    gradient=_where_gradient,
    gradients=("csr", "default", "default"),
)
def where(condition: CSRStorage, x: Storage, y: Storage) -> DenseStorage:
    """Return elements of `x` where the condition is not 0, of `y` elsewhere."""
    if not condition.shape == tuple(x.shape) == tuple(y.shape):
        raise ShapeError(
            f"condition, x and y must have one shape; got {condition.shape}, {tuple(x.shape)}, {tuple(y.shape)}"
        )
    true = _where_true(condition)
    chosen = y.to_dense().detach().clone()
    chosen[true] = x.to_dense().detach()[true].to(dtype=chosen.dtype)
    return DenseStorage(chosen)


def _regression(name: str) -> Callable[..., DenseStorage]:
    op = find(name)

    def function(data: Storage, label: Storage, **keywords: Any) -> DenseStorage:
        values = data.to_dense().detach()
        # The output does not depend on the label; the form for dense arrays looks at its shape.
        found = op.kernels.function(values, values.new_empty(()).expand(label.shape), **keywords)
        return DenseStorage(found.clone() if found.data_ptr() == values.data_ptr() else found)

    return function


def _regression_gradient(name: str) -> Callable[..., Gradients]:
    rule = find(name).kernels.gradient
    assert rule is not None

    def gradient(
        p: Params, inputs: Sequence[Storage], outputs: Sequence[Storage], heads: Sequence[Storage]
    ) -> Gradients:
        # The label is made dense: it has the shape of the data.
        dense = [[each.to_dense() for each in part] for part in (inputs, outputs, heads)]
        of_data = rule(p, *dense)[0]
        return [None if of_data is None else DenseStorage(of_data), None]

    return gradient


for _name in ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"):
    storage_kernel(
        _name,
        ["default", "csr"],
        ("default",),
        gradient=_regression_gradient(_name),
        gradients=("default", "default"),
    )(_regression(_name))


def _scatter_divide_gradient(
    p: Params, inputs: Sequence[Storage], outputs: Sequence[Storage], heads: Sequence[Storage]
) -> Gradients:
    dividend, divisor, head = (each.to_dense().detach() for each in (*inputs, *heads))
    return [DenseStorage(head / divisor), DenseStorage(-head * dividend / divisor.square())]


for _stype in ("default", "row_sparse"):

    @storage_kernel(
        "_scatter_elemwise_div",
        ["row_sparse", _stype],
        ("row_sparse",),
        gradient=_scatter_divide_gradient,
        gradients=("default", "default"),
    )
    def scatter_divide(lhs: RowSparseStorage, rhs: Storage) -> RowSparseStorage:
        """Return the stored rows of `lhs` divided by the rows of `rhs`."""
        if lhs.shape != tuple(rhs.shape):
            raise ShapeError(f"rhs must have the shape of lhs, {lhs.shape}; got {tuple(rhs.shape)}")
        stored = lhs.in_order()
        return stored.with_data(stored.data / rhs.rows(stored.indices))
