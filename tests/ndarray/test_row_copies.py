"""Copies of rows, of every type and layout."""

from __future__ import annotations

import pytest
import torch

from rebind.ndarray.row_copies import copy_rows


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int8, torch.bool])
@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 2, 3), (5, 0)], ids=str)
@pytest.mark.parametrize("rows", [[], [4], [3, 0, 1]], ids=str)
def test_copies_of_rows(dtype, shape, rows):
    target, values, indices = (
        torch.zeros(shape, dtype=dtype),
        torch.ones(shape, dtype=dtype),
        torch.tensor(rows).long(),
    )
    expected = target.index_copy(0, indices, values[indices])
    transposed = torch.zeros((*shape[1:], 5), dtype=dtype).movedim(-1, 0)  # not in one piece
    for tensor in (target, transposed):
        copy_rows(tensor, indices, values[indices])
        assert torch.equal(tensor, expected)


def test_a_copy_of_rows_is_seen_by_autograd():
    x = torch.ones(3, 2, requires_grad=True)
    y = (x * x).sum()
    copy_rows(x, torch.tensor([1]), torch.zeros(1, 2))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
