"""Products of matrices and of arrays with more axes.

`forward_stype` names the storage type of products with csr arrays; see `ndarray.sparse.kernels.products`.
"""

from __future__ import annotations

from math import prod
from typing import Literal

import torch
from torch import Tensor

from ..errors import ArgumentError, ShapeError
from ..params import Params
from ..shapes import Shape
from .declaration import Shapes, operator

__all__ = ["StorageType", "batch_dot", "dot", "khatri_rao"]

StorageType = Literal["csr", "default", "row_sparse"]


@operator("dot")
def dot(
    lhs: Tensor,
    rhs: Tensor,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: StorageType | None = None,
) -> Tensor:
    """Product over the last axis of `lhs` and the first of `rhs`.

    With `transpose_a` it is the first axis of `lhs`, with `transpose_b` the last of `rhs`. The product of two
    vectors has shape ``(1,)``.

    Shapes
    ------
    lhs : (..., K)       with ``transpose_a``: (K, ...)
    rhs : (K, ...)       with ``transpose_b``: (..., K)
    out : the other axes of lhs, then those of rhs

    >>> dot(torch.ones(2, 3), torch.ones(4, 3), transpose_b=True).shape
    torch.Size([2, 4])
    """
    # The common case first, without the reshapes of `tensordot`.
    if lhs.ndim == 2 and rhs.ndim == 2:
        left, right = lhs.t() if transpose_a else lhs, rhs.t() if transpose_b else rhs
        if left.shape[1] == right.shape[0]:
            return torch.mm(left, right)
    if not lhs.ndim or not rhs.ndim:
        raise ShapeError(
            f"lhs and rhs must have 1 axis or more; got shapes {tuple(lhs.shape)} and {tuple(rhs.shape)}"
        )
    if lhs.ndim == 1 and rhs.ndim == 1 and (transpose_a or transpose_b):
        raise ShapeError(
            f"transpose_a and transpose_b must be False for two vectors; got {transpose_a} and {transpose_b}"
        )
    # Only the ends matter: transposing reverses all axes, so that the sum is over the other end.
    over_left = 0 if transpose_a else lhs.ndim - 1
    over_right = rhs.ndim - 1 if transpose_b else 0
    if lhs.shape[over_left] != rhs.shape[over_right]:
        raise ShapeError(
            f"axis {over_left} of lhs and axis {over_right} of rhs must have the same size; "
            f"got {tuple(lhs.shape)} and {tuple(rhs.shape)}"
        )
    out = torch.tensordot(lhs, rhs, ([over_left], [over_right]))
    # MXNet has no arrays without axes.
    return out if out.ndim else out.reshape(1)


@dot.output_shapes
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    lhs, rhs = shapes["lhs"], shapes["rhs"]
    if lhs is None or rhs is None or len(lhs) != 2 or len(rhs) != 2:
        return []
    left, right = lhs[::-1] if p.transpose_a else lhs, rhs[::-1] if p.transpose_b else rhs
    # PyTorch gives the same answer for meta tensors, but its first product of them loads SymPy: 35 MB and 0.25 s.
    return [(left[0], right[1])] if left[1] == right[0] else []


@dot.products
def _(shapes: Shapes, p: Params) -> int:
    lhs, rhs = shapes["lhs"] or (), shapes["rhs"] or ()
    # Each number of `lhs` meets as many of `rhs` as that has beside the axis of the sum.
    return prod(lhs) * prod(rhs[:-1] if p.transpose_b else rhs[1:])


@dot.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    lhs, rhs = shapes["lhs"], shapes["rhs"]
    if lhs is None or rhs is None:
        return []
    return [(*(lhs[1:] if p.transpose_a else lhs[:-1]), *(rhs[:-1] if p.transpose_b else rhs[1:])) or (1,)]


@operator("batch_dot")
def batch_dot(
    lhs: Tensor,
    rhs: Tensor,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: StorageType | None = None,
) -> Tensor:
    """Product of matrices in the last two axes, for each position on the axes before.

    Shapes
    ------
    lhs : (B..., M, K)     with ``transpose_a``: (B..., K, M)
    rhs : (B..., K, N)     with ``transpose_b``: (B..., N, K)
    out : (B..., M, N)

    >>> batch_dot(torch.ones(5, 2, 3), torch.ones(5, 3, 4)).shape
    torch.Size([5, 2, 4])
    """
    left = lhs.transpose(-1, -2) if transpose_a and lhs.ndim > 1 else lhs
    right = rhs.transpose(-1, -2) if transpose_b and rhs.ndim > 1 else rhs
    # As above: `bmm` directly, checks only for the rest.
    if left.ndim == right.ndim == 3 and left.shape[0] == right.shape[0] and left.shape[2] == right.shape[1]:
        return torch.bmm(left, right)
    if left.ndim < 3 or left.shape[:-2] != right.shape[:-2] or left.shape[-1] != right.shape[-2]:
        raise ShapeError(
            "lhs and rhs must have 3 axes or more and equal leading axes, and op(lhs) as many columns as op(rhs) has "
            f"rows; got {tuple(lhs.shape)} and {tuple(rhs.shape)}, transpose_a={transpose_a}, transpose_b={transpose_b}"
        )
    return torch.matmul(left, right)


@batch_dot.products
def _(shapes: Shapes, p: Params) -> int:
    return prod(shapes["lhs"] or ()) * (shapes["rhs"] or (0,))[-2 if p.transpose_b else -1]


@operator("khatri_rao", count="num_args", listed={"num_args": None})
def khatri_rao(*args: Tensor) -> Tensor:
    """Column-wise Kronecker product of matrices.

    Shapes
    ------
    args : (M0, N), (M1, N), ...
    out : (M0 * M1 * ..., N)

    >>> khatri_rao(torch.tensor([[1, 2]]), torch.tensor([[3, 4], [5, 6]]))
    tensor([[ 3,  8],
            [ 5, 12]])
    """
    if not args:
        raise ArgumentError("needs at least one matrix; got none")
    if any(matrix.ndim != 2 or matrix.shape[1] != args[0].shape[1] for matrix in args):
        shapes = ", ".join(str(tuple(matrix.shape)) for matrix in args)
        raise ShapeError(f"all arrays must be matrices with the same number of columns; got {shapes}")
    out = args[0]
    for matrix in args[1:]:
        # (M0, 1, N) times (M1, N): every row of the one with every row of the other.
        out = (out.unsqueeze(1) * matrix).flatten(0, 1)
    return out
