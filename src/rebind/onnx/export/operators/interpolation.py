"""Bilinear interpolation of images at any points, as weighted sums of the rows of a table."""

from __future__ import annotations

import torch

from ..expressions import Expression, Operand, concat, stack, where

__all__ = ["corners", "pixel_table", "taps", "weighted_rows"]


def taps(position: Expression, size: Operand, *, zeros: bool = False) -> tuple[Expression, Expression]:
    """Return the two pixels around each position on an axis and their weights, in a further last axis.

    Outside of the image are zeros, with `zeros`; else the pixels of the border are repeated.
    """
    last = size - 1
    if not zeros:
        position = position.clamp(0.0, last)
    low = position.floor()
    fraction = position - low
    index, weight = stack([low, low + 1.0], -1), stack([1.0 - fraction, fraction], -1)
    if zeros:
        weight = where((index >= 0.0) & (index <= last), weight, 0.0)
    return index.clamp(0.0, last).to(torch.int64), weight


def corners(
    y: Expression, x: Expression, height: Operand, width: Operand, *, zeros: bool = False
) -> tuple[Expression, Expression]:
    """Return the four pixels around points, as ``y * width + x``, and their weights, in a further last axis."""
    rows, row_weights = taps(y, height, zeros=zeros)
    columns, column_weights = taps(x, width, zeros=zeros)
    whole = width.to(torch.int64) if isinstance(width, Expression) else width
    first, second = columns.slice(-1, 0, 1), columns.slice(-1, 1, 2)
    one, other = (rows.slice(-1, i, i + 1) * whole for i in (0, 1))
    index = concat([one + first, one + second, other + first, other + second], -1)
    first, second = column_weights.slice(-1, 0, 1), column_weights.slice(-1, 1, 2)
    one, other = (row_weights.slice(-1, i, i + 1) for i in (0, 1))
    return index, concat([one * first, one * second, other * first, other * second], -1)


def pixel_table(data: Expression, channels: int) -> Expression:
    """Return images (N, C, H, W) as a table with a row of channels for each pixel."""
    return data.permute(0, 2, 3, 1).reshape(-1, channels)


def weighted_rows(table: Expression, index: Expression, weight: Expression) -> Expression:
    """Return sums of rows of a table with weights: of `index` and `weight` (..., K) and a table (M, C), (..., C)."""
    return weight.to(table.dtype).unsqueeze(-2).matmul(table.take(index)).squeeze(-2)
