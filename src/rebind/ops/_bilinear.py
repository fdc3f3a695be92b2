"""Bilinear interpolation of images at any points, as weighted sums of the rows of a table.

What the operators on regions and the deformable convolutions share. An image becomes a table with a row of channels
for each pixel; a result is a weighted sum of a few rows, so that many points need neither copies of the image nor one
kernel for each.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ._clamp import clamp

__all__ = ["corners", "taps", "weighted_rows"]


def taps(position: Tensor, size: int, *, zeros: bool = False, dim: int = -1) -> tuple[Tensor, Tensor]:
    """Return the two pixels around each position on an axis and their weights, in a further axis: the last, or `dim`.

    Outside the image are zeros, with `zeros`; else the pixels of the border are repeated, and the weights there do
    not depend on the position. They are differentiable with respect to it everywhere else.

    >>> taps(torch.tensor([0.25]), 4)
    (tensor([[0, 1]]), tensor([[0.7500, 0.2500]]))
    """
    last = max(size - 1, 0)
    # Otherwise the border goes on outside.
    if not zeros:
        position = clamp(position, 0, last)
    # Detached: the gradient of a position goes through the fraction alone.
    low = position.detach().floor().nan_to_num(0.0)
    fraction = position - low
    index = torch.stack((low, low + 1), dim)
    weight = torch.stack((1 - fraction, fraction), dim)
    if zeros:
        # A pixel outside counts as 0, also when the other of the two is inside.
        weight = torch.where((index >= 0) & (index < size), weight, 0.0)
    # Clamped before the conversion: a position far outside does not fit into an integer.
    return index.clamp(0, last).long(), weight


def corners(y: Tensor, x: Tensor, height: int, width: int, *, zeros: bool = False) -> tuple[Tensor, Tensor]:
    """Return the four pixels around points, as ``y * width + x``, and their weights, in a further last axis.

    >>> corners(torch.tensor([0.5]), torch.tensor([0.0]), 2, 2)
    (tensor([[0, 1, 2, 3]]), tensor([[0.5000, 0.0000, 0.5000, 0.0000]]))
    """
    rows, row_weights = taps(y, height, zeros=zeros)
    columns, column_weights = taps(x, width, zeros=zeros)
    # All pairs of two rows and two columns, each for all points: an axis of two would be a loop of two steps for each.
    index = [row + column for row in (rows * width).unbind(-1) for column in columns.unbind(-1)]
    weight = [row * column for row in row_weights.unbind(-1) for column in column_weights.unbind(-1)]
    return torch.stack(index, -1), torch.stack(weight, -1)


def weighted_rows(table: Tensor, index: Tensor, weight: Tensor, counts: Tensor | None = None) -> Tensor:
    """Return ``sum_k weight[b, k] * table[index[b, k]]``, without an array of all those rows.

    Where sums have different numbers of terms, all terms follow each other, and `counts` says how many each sum has.

    Shapes
    ------
    table : (M, C)
    index, weight : (B, K)      with `counts`: (T,)
    counts : (B,)               T in all; of the type of `index`
    out : (B, C)

    >>> table = torch.tensor([[1.0, 10.0], [2.0, 20.0]])
    >>> weighted_rows(table, torch.tensor([[0, 1]]), torch.tensor([[0.5, 0.5]]))
    tensor([[ 1.5000, 15.0000]])
    """
    if not (index.numel() and table.numel()):
        # Nothing to sum, but still a function of its inputs.
        zeros = table.new_zeros(len(index if counts is None else counts), table.shape[1])
        return zeros + table.sum() * 0 + weight.sum().to(dtype=table.dtype) * 0
    weight = weight.to(dtype=table.dtype)
    if torch.compiler.is_compiling():  # compiled code is differentiated once
        return _fused(table, index, weight, counts)
    return _WeightedRows.apply(table, index, weight, counts)


class _WeightedRows(torch.autograd.Function):
    """`embedding_bag` with a second derivative, which torch's own lacks."""

    @staticmethod
    def forward(ctx, table, index, weight, counts):  # type: ignore[no-untyped-def]  # as weighted_rows
        ctx.save_for_backward(table, index, weight, counts)
        return _fused(table, index, weight, counts)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]  # as above
        table, index, weight, counts = ctx.saved_tensors
        needed = ctx.needs_input_grad[0], ctx.needs_input_grad[2]
        # Enabled in backward only under ``create_graph=True``: then, and only then, the slower plain form is needed.
        again = torch.is_grad_enabled()
        if not again:
            table, weight = (
                t.detach().requires_grad_(need) for t, need in zip((table, weight), needed, strict=True)
            )
        with torch.enable_grad():
            out = (_plain if again else _fused)(table, index, weight, counts)
            wanted = [t for t, need in zip((table, weight), needed, strict=True) if need]
            found = iter(torch.autograd.grad(out, wanted, grad, create_graph=again))
        return next(found) if needed[0] else None, None, next(found) if needed[1] else None, None


def _fused(table: Tensor, index: Tensor, weight: Tensor, counts: Tensor | None) -> Tensor:
    # Where the terms of each sum begin, as `embedding_bag` wants them.
    starts = None if counts is None else counts.cumsum(0, dtype=counts.dtype) - counts
    return F.embedding_bag(index, table, starts, mode="sum", per_sample_weights=weight)


def _plain(table: Tensor, index: Tensor, weight: Tensor, counts: Tensor | None) -> Tensor:
    # (B, K, C), or (T, C) with `counts`: the array of all rows that the fused form does without.
    terms = F.embedding(index, table) * weight.unsqueeze(-1)
    if counts is None:
        return terms.sum(1)
    sums = torch.arange(len(counts), device=counts.device).repeat_interleave(counts)
    return terms.new_zeros(len(counts), terms.shape[1]).index_add(0, sums, terms)
