"""Sums, products and comparisons: of two arrays of one shape, with a number, with a vector that broadcasts.

A result is sparse where 0 and 0, or 0 and the number, give 0: MXNet's results have these storage types.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ....errors import DTypeError, ShapeError
from ....ops import Operator, find
from ....ops.storage_types import storage_kernel
from ....params import Params
from ...storage import DenseStorage, Storage, storage_kind
from ..csr import CSRStorage
from ..row_sparse import RowSparseStorage
from .stored import Gradients, Sparse, dense_gradients, values_at

__all__ = ["add_n"]

SPARSE = ("csr", "row_sparse")


def _check(lhs: Storage, rhs: Storage) -> None:
    if tuple(lhs.shape) != tuple(rhs.shape):
        raise ShapeError(f"rhs must have the shape of lhs, {tuple(lhs.shape)}; got {tuple(rhs.shape)}")
    if lhs.dtype is not rhs.dtype:
        raise DTypeError(f"rhs must be of the type of lhs, {lhs.dtype}; got {rhs.dtype}")


# Two sparse arrays: where one of them has a value.


def _on_union(op: Operator) -> Callable[..., Sparse]:
    """Return the form of an operator with 0 for 0 and 0: it computes where one of the arrays has a value."""
    compute = op.kernels.function

    def function(lhs: Sparse, rhs: Sparse, **keywords: Any) -> Sparse:
        _check(lhs, rhs)
        lhs, rhs = lhs.in_order(), rhs.in_order()
        if isinstance(lhs, CSRStorage) and isinstance(rhs, CSRStorage):
            positions, left, right = _aligned(lhs.positions(), lhs.data, rhs.positions(), rhs.data)
            values = compute(left, right, **keywords)
            stored = values != 0  # as in MXNet what cancels is not stored, in a csr matrix
            return CSRStorage.from_positions(values[stored], positions[stored], lhs.shape)
        if lhs.is_whole and rhs.is_whole:  # type: ignore[union-attr]  # both are row_sparse
            return lhs.with_data(compute(lhs.data, rhs.data, **keywords))
        indices, left, right = _aligned(lhs.indices, lhs.data, rhs.indices, rhs.data)
        return RowSparseStorage(compute(left, right, **keywords), indices, lhs.shape)

    return function


def _aligned(left_at: Tensor, left: Tensor, right_at: Tensor, right: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return all places, ascending, and both arrays' values there, 0 where one has none.

    >>> at, ones = torch.tensor([1, 3]), torch.ones(2)
    >>> _aligned(at, ones, torch.tensor([3, 4]), ones)
    (tensor([1, 3, 4]), tensor([1., 1., 0.]), tensor([0., 1., 1.]))
    """
    places, which = torch.cat([left_at, right_at]).unique(return_inverse=True)

    def spread(values: Tensor, where: Tensor) -> Tensor:
        return values.new_zeros((len(places), *values.shape[1:])).index_copy_(0, where, values)

    return places, spread(left, which[: len(left_at)]), spread(right, which[len(left_at) :])


def _signed_heads(stype: str, sign: Callable[[Tensor], Tensor]) -> Callable[..., Gradients]:
    """Return the gradient of a sum or difference: that of the output, and itself or its negative."""

    def gradient(
        p: Params, inputs: Sequence[Storage], outputs: Sequence[Storage], heads: Sequence[Storage]
    ) -> Gradients:
        head = _in_storage(stype, heads[0])
        return [head.copy(), head.with_data(sign(head.data))]

    return gradient


def _in_storage(stype: str, storage: Storage) -> Any:
    """Return a sparse storage with the values of one of any kind."""
    if storage.stype == stype:
        return storage
    return storage_kind(stype, "gradient").from_dense(storage.to_dense())


for _stype in SPARSE:
    for _name, _sign in (
        ("elemwise_add", torch.clone),
        ("elemwise_sub", torch.neg),
        ("_grad_add", torch.clone),
    ):
        storage_kernel(
            _name,
            [_stype, _stype],
            (_stype,),
            gradient=_signed_heads(_stype, _sign),
            gradients=(_stype, _stype),
        )(_on_union(find(_name)))


for _name in ("_maximum", "_minimum", "_hypot"):
    for _stype in SPARSE:
        storage_kernel(
            _name,
            [_stype, _stype],
            (_stype,),
            gradient=dense_gradients(find(_name)),
            gradients=("default", "default"),
        )(_on_union(find(_name)))


def _add_n_gradient(
    p: Params, inputs: Sequence[Storage], outputs: Sequence[Storage], heads: Sequence[Storage]
) -> Gradients:
    head = _in_storage("row_sparse", heads[0])
    return [head.copy() for _ in inputs]


@storage_kernel(
    "add_n",
    ["row_sparse"],
    ("row_sparse",),
    repeats=True,
    gradient=_add_n_gradient,
    gradients=("row_sparse",),
)
def add_n(*args: RowSparseStorage, **_: object) -> RowSparseStorage:
    """Return the sum of arrays: of the rows of one index."""
    for other in args[1:]:
        _check(args[0], other)
    data, indices = (torch.cat([getattr(each, name) for each in args]) for name in ("data", "indices"))
    return RowSparseStorage(data, indices, args[0].shape).in_order()


# Products: where the sparse array has values.


def _multiply(lhs: Storage, rhs: Storage) -> Storage:
    """Return the product of arrays of one shape; two csr matrices give what is not 0, other pairs the sparse one's."""
    _check(lhs, rhs)
    if isinstance(lhs, CSRStorage) and isinstance(rhs, CSRStorage):
        lhs, rhs = lhs.in_order(), rhs.in_order()
        positions, left, right = _aligned(lhs.positions(), lhs.data, rhs.positions(), rhs.data)
        values = left * right
        stored = values != 0
        return CSRStorage.from_positions(values[stored], positions[stored], lhs.shape)
    sparse, other = (rhs, lhs) if isinstance(lhs, DenseStorage) else (lhs, rhs)
    assert isinstance(sparse, (CSRStorage, RowSparseStorage))
    return sparse.with_data(sparse.data * values_at(other, sparse))


for _stype in SPARSE:
    for _pair in ((_stype, "default"), ("default", _stype)):
        storage_kernel(
            "elemwise_mul",
            _pair,
            (_stype,),
            gradient=dense_gradients(find("elemwise_mul")),
            gradients=("default", "default"),
        )(_multiply)

storage_kernel(
    "elemwise_mul",
    ["csr", "csr"],
    ("csr",),
    gradient=dense_gradients(find("elemwise_mul")),
    gradients=("default", "default"),
)(_multiply)
# Rows of both: as in MXNet all rows that one of them has.
storage_kernel(
    "elemwise_mul",
    ["row_sparse", "row_sparse"],
    ("row_sparse",),
    gradient=dense_gradients(find("elemwise_mul")),
    gradients=("default", "default"),
)(_on_union(find("elemwise_mul")))


def _with_broadcast(op: Operator) -> Callable[..., CSRStorage]:
    """Return the form of a product or quotient of a csr matrix and a dense array that broadcasts to its shape."""
    compute = op.kernels.function

    def function(lhs: CSRStorage, rhs: DenseStorage, **keywords: Any) -> CSRStorage:
        if lhs.dtype is not rhs.dtype:
            raise DTypeError(f"rhs must be of the type of lhs, {lhs.dtype}; got {rhs.dtype}")
        try:
            shape = torch.broadcast_shapes(lhs.shape, rhs.shape)
        except RuntimeError:
            raise ShapeError(f"shapes must broadcast; got {lhs.shape} and {tuple(rhs.shape)}") from None
        if shape == lhs.shape:
            spread = DenseStorage(rhs.tensor.expand(shape))
            return lhs.with_data(compute(lhs.data, values_at(spread, lhs)))
        # The matrix itself is repeated.
        return CSRStorage.from_dense(compute(lhs.to_dense(), rhs.tensor, **keywords))

    return function


for _name in ("broadcast_mul", "broadcast_div"):
    storage_kernel(
        _name,
        ["csr", "default"],
        ("csr",),
        gradient=dense_gradients(find(_name)),
        gradients=("default", "default"),
    )(_with_broadcast(find(_name)))


# An array and a number.


def _on_stored(op: Operator, linear: bool) -> Callable[..., Sparse]:
    """Return the form of an operator with a number: it computes on the stored values."""

    def function(data: Sparse, **keywords: Any) -> Sparse:
        if not linear and isinstance(data, CSRStorage):
            data = data.in_order()  # elements of one place are summed first
        return data.with_data(op.kernels.function(data.data, **keywords))

    return function


def _linear_gradient(op: Operator, stype: str) -> Callable[..., Gradients]:
    """Return the gradient of a multiple: the same multiple of that of the output."""

    def gradient(
        p: Params, inputs: Sequence[Storage], outputs: Sequence[Storage], heads: Sequence[Storage]
    ) -> Gradients:
        head = _in_storage(stype, heads[0])
        return [head.with_data(op.kernels.function(head.data, **op.signature.keywords(p)))]

    return gradient


def _passed_gradient(stype: str) -> Callable[..., Gradients]:
    return lambda p, inputs, outputs, heads: [_in_storage(stype, heads[0]).copy()]


def _no_gradient(stype: str) -> Callable[..., Gradients]:
    return lambda p, inputs, outputs, heads: [inputs[0].zeros_like()]


def _is_zero(p: Params) -> bool:
    return not p.scalar


def _compares_zero(compare: Callable[[float, float], bool]) -> Callable[[Params], bool]:
    """Return for which numbers a comparison of 0 with them is false, so that its result is sparse."""
    return lambda p: not compare(0, p.scalar)


_COMPARISONS = {
    "_equal_scalar": operator.eq, "_not_equal_scalar": operator.ne, "_greater_scalar": operator.gt,
    "_greater_equal_scalar": operator.ge, "_lesser_scalar": operator.lt, "_lesser_equal_scalar": operator.le,
}  # fmt: skip

for _stype in SPARSE:
    for _name in ("_mul_scalar", "_div_scalar"):
        storage_kernel(
            _name,
            [_stype],
            (_stype,),
            gradient=_linear_gradient(find(_name), _stype),
            gradients=(_stype,),
        )(_on_stored(find(_name), linear=True))
    for _name in ("_plus_scalar", "_minus_scalar"):
        storage_kernel(
            _name, [_stype], (_stype,), when=_is_zero, gradient=_passed_gradient(_stype), gradients=(_stype,)
        )(_on_stored(find(_name), linear=True))
    # These add to what is stored, whatever the number is.
    for _name in ("_scatter_plus_scalar", "_scatter_minus_scalar"):
        storage_kernel(_name, [_stype], (_stype,), gradient=_passed_gradient(_stype), gradients=(_stype,))(
            _on_stored(find(_name), linear=False)
        )
    for _name, _compare in _COMPARISONS.items():
        storage_kernel(
            _name,
            [_stype],
            (_stype,),
            when=_compares_zero(_compare),
            gradient=_no_gradient(_stype),
            gradients=(_stype,),
        )(_on_stored(find(_name), linear=False))
