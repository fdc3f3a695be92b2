"""Functions of each element that are 0 at 0: they are computed on what is stored, and the rest stays absent.

A row is an operator; its list says how its gradient is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ....ops import find
from ....ops.declaration import Operator
from ....ops.storage_types import storage_kernel
from ....params import Params
from ...row_copies import copy_rows
from ...storage import DenseStorage, Storage
from ..csr import CSRStorage
from ..row_sparse import RowSparseStorage
from .stored import Gradients, Sparse, dense_gradients, gradient_of, values_at

__all__ = ["DENSE_GRADIENT", "GRADIENT_AS_HEAD", "GRADIENT_AS_INPUT", "NO_GRADIENT"]

#: The gradient is 0 where the array is: it is stored where the array is.
GRADIENT_AS_INPUT = ("abs", "relu", "square")
#: The slope is the same everywhere: the gradient is stored where the output's is.
GRADIENT_AS_HEAD = ("_copy", "negative", "_scatter_plus_scalar", "_scatter_minus_scalar")
#: The slope at 0 is not 0: every element has a gradient.
DENSE_GRADIENT = (
    "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "clip", "degrees", "expm1", "log1p", "make_loss", "radians",
    "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
#: No gradient comes through; it is stored as nothing.
NO_GRADIENT = ("BlockGrad", "ceil", "fix", "floor", "rint", "round", "sign", "trunc")


def _of_stored(name: str) -> Callable[..., Sparse]:
    """Return the kernel of an operator that is 0 at 0."""
    op = find(name)

    def function(data: Sparse, **keywords: Any) -> Sparse:
        # Elements of one position, or rows of one index, are one value: their sum.
        stored = data.in_order()
        found = op.kernels.function(stored.data.detach(), **keywords)
        # Some give a view, and a result has memory of its own.
        return stored.with_data(found.clone() if found.data_ptr() == stored.data.data_ptr() else found)

    return function


def _gradient_as_input(name: str) -> Callable[..., Gradients]:
    op = find(name)

    def gradient(
        p: Params, inputs: Sequence[Sparse], outputs: Sequence[Storage], heads: Sequence[Storage]
    ) -> Gradients:
        stored, head = inputs[0].in_order(), heads[0]
        if isinstance(stored, RowSparseStorage) and isinstance(head, RowSparseStorage):
            return [_where_head_has_rows(op, p, stored, head.in_order())]
        return [stored.with_data(gradient_of(op, p, stored.data, values_at(head, stored)))]

    return gradient


def _where_head_has_rows(
    op: Operator, p: Params, stored: RowSparseStorage, head: RowSparseStorage
) -> RowSparseStorage:
    """Return the gradient of all stored rows, computed where the output's has a row: elsewhere it is 0."""
    at, present = stored.positions(head.indices)
    values = head.data
    if present is not None:
        at, values = at[present], values[present]
    found = torch.zeros_like(stored.data)
    copy_rows(found, at, gradient_of(op, p, stored.data.index_select(0, at), values))
    return stored.with_data(found)


def _gradient_as_head(name: str) -> Callable[..., Gradients]:
    op = find(name)

    def gradient(
        p: Params, inputs: Sequence[Sparse], outputs: Sequence[Storage], heads: Sequence[Storage]
    ) -> Gradients:
        head = type(inputs[0]).from_storage(heads[0])
        return [head.with_data(gradient_of(op, p, head.data, head.data).clone())]

    return gradient


def _dense_gradient(name: str) -> Callable[..., Gradients]:
    return dense_gradients(find(name))


def _no_gradient(name: str) -> Callable[..., Gradients]:
    return lambda p, inputs, outputs, heads: [None]


def _keeps_zero(name: str) -> Callable[[Params], bool] | None:
    """Return for which parameters an operator is 0 at 0; None: for all."""
    return (lambda p: bool(p.a_min <= 0 <= p.a_max)) if name == "clip" else None


for _names, _gradient, _is_dense in (
    (GRADIENT_AS_INPUT, _gradient_as_input, False),
    (GRADIENT_AS_HEAD, _gradient_as_head, False),
    (DENSE_GRADIENT, _dense_gradient, True),
    (NO_GRADIENT, _no_gradient, False),
):
    for _name in _names:
        for _stype in ("csr", "row_sparse"):
            storage_kernel(
                _name,
                [_stype],
                (_stype,),
                when=_keeps_zero(_name),
                gradient=_gradient(_name),
                gradients=("default" if _is_dense else _stype,),
            )(_of_stored(_name))


for _kind in (CSRStorage, RowSparseStorage):

    @storage_kernel(
        "zeros_like",
        [_kind.stype],
        (_kind.stype,),
        gradient=_no_gradient("zeros_like"),
        gradients=(_kind.stype,),
    )
    def zeros_like(data: Sparse) -> Sparse:
        """Return an array in which nothing is stored."""
        return data.zeros_like()

    @storage_kernel(
        "ones_like",
        [_kind.stype],
        ("default",),
        gradient=_no_gradient("ones_like"),
        gradients=(_kind.stype,),
    )
    def ones_like(data: Sparse) -> DenseStorage:
        """Return ones, which are dense."""
        return DenseStorage(torch.ones(data.shape, dtype=data.dtype, device=data.device))
