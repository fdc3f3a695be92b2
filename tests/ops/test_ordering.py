"""Choosing the best elements: of equal ones the first, as a stable sort has it, however they are found."""

import itertools

import pytest
import torch

from rebind.ops import ordering

NAN, INF = float("nan"), float("inf")
ARRAYS = [
    [[3.0, 1.0, 2.0, 5.0], [0.5, -1.0, -2.0, 4.0]],
    [[3.0, 1.0, 3.0, 3.0], [0.0, -0.0, 0.0, 1.0]],
    [[NAN, 1.0, 2.0, NAN], [INF, -INF, NAN, INF]],
]


@pytest.mark.parametrize("values", ARRAYS, ids=("different", "equal", "nan"))
@pytest.mark.parametrize("is_ascend", [False, True])
def test_topk_is_the_beginning_of_a_stable_sort(values: list[list[float]], is_ascend: bool) -> None:
    data = torch.tensor(values)
    for axis, k in itertools.product((0, 1), (1, 2, 3, 4)):
        if k > data.shape[axis]:
            continue
        ordered, positions = torch.sort(data, dim=axis, descending=not is_ascend, stable=True)
        found, where = ordering.topk(data, axis=axis, k=k, ret_typ="both", is_ascend=is_ascend)
        torch.testing.assert_close(found, ordered.narrow(axis, 0, k), equal_nan=True)
        assert torch.equal(where, positions.narrow(axis, 0, k).float())
