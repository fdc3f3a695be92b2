"""Attention over projections of queries, keys and values in one array."""

from __future__ import annotations

import math
from typing import Annotated

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import AtLeast
from .._signatures import array, with_signature
from ..declaration import Operator, operator

__all__ = [
    "interleaved_matmul_encdec_qk", "interleaved_matmul_encdec_valatt", "interleaved_matmul_selfatt_qk",
    "interleaved_matmul_selfatt_valatt",
]  # fmt: skip

# Projections of queries, keys and values are interleaved, head by head: (length, batch, heads * kinds * size).


def _projections(name: str, array: Tensor, heads: int, kinds: int) -> tuple[Tensor, ...]:
    """Return each kind of projection as (batch * heads, length, size)."""
    if array.ndim != 3 or array.shape[2] % (heads * kinds):
        raise ShapeError(
            f"{name} must have shape (length, batch, a multiple of {heads * kinds}); got {tuple(array.shape)}"
        )
    length, batch, _ = array.shape
    # Samples are the slower axis: all heads of the first one, then those of the second.
    apart = array.reshape(length, batch * heads, kinds, -1)  # (length, batch * heads, kinds, size)
    return tuple(each.transpose(0, 1) for each in apart.unbind(2))


def _scores(queries: Tensor, keys: Tensor) -> Tensor:
    # Scaled before the product, as MXNet documents it: products of half precision overflow less easily.
    return torch.bmm(queries / math.sqrt(queries.shape[-1]), keys.mT)


def _weighted(attention: Tensor, values: Tensor, heads: int) -> Tensor:
    """Return ``attention @ values`` with heads beside each other: (length, batch, heads * size)."""
    count, length, size = values.shape
    if attention.ndim != 3 or attention.shape[0] != count or attention.shape[2] != length:
        raise ShapeError(
            f"attention must have shape ({count}, length of the queries, {length}); got {tuple(attention.shape)}"
        )
    out = torch.bmm(attention, values).transpose(0, 1)  # (length, batch * heads, size)
    return out.reshape(out.shape[0], count // heads, heads * size)


@operator("_contrib_interleaved_matmul_selfatt_qk")
def interleaved_matmul_selfatt_qk(
    queries_keys_values: Tensor, *, heads: Annotated[int, AtLeast(1)]
) -> Tensor:
    """Products of queries and keys of self-attention, divided by the square root of their size.

    Shapes
    ------
    queries_keys_values : (L, B, heads * 3 * D)
    out : (B * heads, L, L)

    Examples
    --------
    >>> interleaved_matmul_selfatt_qk(torch.tensor([[[2.0, 3.0, 0.0]], [[1.0, 5.0, 0.0]]]), heads=1)
    tensor([[[ 6., 10.],
             [ 3.,  5.]]])
    """
    queries, keys, _ = _projections("queries_keys_values", queries_keys_values, heads, 3)
    return _scores(queries, keys)


@operator("_contrib_interleaved_matmul_encdec_qk")
def interleaved_matmul_encdec_qk(
    queries: Tensor, keys_values: Tensor, *, heads: Annotated[int, AtLeast(1)]
) -> Tensor:
    """Products of a decoder's queries and an encoder's keys, divided by the square root of their size.

    Shapes
    ------
    queries : (L, B, heads * D)
    keys_values : (S, B, heads * 2 * D)
    out : (B * heads, L, S)

    Examples
    --------
    >>> queries, keys_values = torch.tensor([[[2.0]]]), torch.tensor([[[3.0, 0.0]], [[5.0, 0.0]]])
    >>> interleaved_matmul_encdec_qk(queries, keys_values, heads=1)
    tensor([[[ 6., 10.]]])
    """
    (wanted,) = _projections("queries", queries, heads, 1)
    keys, _ = _projections("keys_values", keys_values, heads, 2)
    if queries.shape[1] != keys_values.shape[1] or wanted.shape[2] != keys.shape[2]:
        raise ShapeError(
            f"keys_values must have the batch of queries and twice their size; "
            f"got {tuple(keys_values.shape)} and {tuple(queries.shape)}"
        )
    return _scores(wanted, keys)


def _declare_weighted(kind: str, projections: str, kinds: int, length: str, what: str) -> Operator:
    """Make the operator that weights values, which are the last of so many kinds of projections."""
    name = f"_contrib_interleaved_matmul_{kind}_valatt"
    doc = f"""{what} with the weights `attention`.

Shapes
------
{projections} : ({length}, B, heads * {kinds} * D)
attention : (B * heads, L, {length})
out : (L, B, heads * D)"""

    def function(*arrays: Tensor, heads: Annotated[int, AtLeast(1)]) -> Tensor:
        mixed, attention = arrays
        return _weighted(attention, _projections(projections, mixed, heads, kinds)[-1], heads)

    with_signature(function, name.removeprefix("_contrib_"), doc, map(array, (projections, "attention")))
    return operator(name)(function)


interleaved_matmul_selfatt_valatt = _declare_weighted(
    "selfatt", "queries_keys_values", 3, "L", "Sums of the values of self-attention"
)
interleaved_matmul_encdec_valatt = _declare_weighted(
    "encdec", "keys_values", 2, "S", "Sums of an encoder's values"
)
