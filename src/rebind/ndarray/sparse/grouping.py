"""Sums of rows by group: what every product with a sparse matrix and every gradient of taken rows is made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["Groups", "group", "sum_segments"]


class Groups(NamedTuple):
    """Where each of a number of indices occurs."""

    #: The indices that occur, ascending, each once.
    indices: Tensor
    #: The positions of all indices: those of the first one, of the second one, ...; of each in ascending order.
    order: Tensor
    #: Where in `order` the positions of each one begin.
    begins: Tensor


def group(indices: Tensor, size: int) -> Groups:
    """Return which of the indices from 0 to `size` - 1 occur in a vector, and where.

    >>> group(torch.tensor([7, 3, 7]), 10)
    Groups(indices=tensor([3, 7]), order=tensor([1, 0, 2]), begins=tensor([0, 1]))
    """
    count = len(indices)
    bits = count.bit_length()
    if not indices.is_cpu or size >= 1 << (63 - bits):
        sorted_indices, positions = indices.sort(stable=True)
        present, counts = torch.unique_consecutive(sorted_indices, return_counts=True)
        return Groups(present, positions, counts.cumsum(0) - counts)
    # NumPy sorts numbers five times as fast as torch, so index and position become one number.
    packed = (indices.numpy() << bits) | np.arange(count)
    packed.sort()
    order, ordered = packed & ((1 << bits) - 1), packed >> bits
    is_first = np.ones(count, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    begins = is_first.nonzero()[0]
    return Groups(torch.from_numpy(ordered[begins]), torch.from_numpy(order), torch.from_numpy(begins))


def sum_segments(rows: Tensor, order: Tensor, begins: Tensor, factors: Tensor | None = None) -> Tensor:
    """Return sums of rows of a matrix: segment `i` of `order`, from ``begins[i]`` on, says which rows sum `i` is of.

    Each sum is computed in the order of its rows, so that it has the same bits each time.

    Parameters
    ----------
    rows
        A matrix.
    order
        Which of its rows are added, by segments.
    begins
        Where each segment begins.
    factors
        What each row is multiplied by, in the order of `order`.

    Examples
    --------
    >>> sum_segments(torch.tensor([[1.0], [2.0]]), torch.tensor([0, 1, 1]), torch.tensor([0, 2])).flatten()
    tensor([3., 2.])
    """
    if rows.is_floating_point():
        return F.embedding_bag(order, rows, begins, mode="sum", per_sample_weights=factors)
    # PyTorch's kernel is for floating point only.
    counts = torch.cat([begins[1:], begins.new_tensor([len(order)])]) - begins
    segments = torch.arange(len(begins), device=rows.device).repeat_interleave(counts)
    added = rows[order] if factors is None else rows[order] * factors.unsqueeze(1)
    return rows.new_zeros((len(begins), rows.shape[1])).index_add_(0, segments, added)
