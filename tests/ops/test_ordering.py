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


@pytest.mark.parametrize("k", [1, 3, 70])
@pytest.mark.parametrize("is_ascend", [False, True])
@pytest.mark.parametrize(
    "dtype",
    [
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.float64,
        torch.int32,
        torch.int8,
        torch.uint8,
        torch.int64,
    ],
    ids=str,
)
def test_of_many_equal_elements_the_first_are_chosen(dtype: torch.dtype, is_ascend: bool, k: int) -> None:
    generator = torch.Generator().manual_seed(0)
    data = torch.randint(-2, 3, (3, 90), generator=generator).to(dtype)
    if dtype.is_floating_point:
        special = torch.tensor([NAN, -NAN, INF, -INF, -0.0], dtype=dtype)
        data[:, ::4] = special[torch.randint(5, data[:, ::4].shape, generator=generator)]
    else:
        ends = torch.iinfo(dtype)
        data[:, ::4] = torch.tensor([ends.min, ends.max, ends.max], dtype=dtype)[:, None]
    positions = torch.sort(data, dim=1, descending=not is_ascend, stable=True)[1]
    found = ordering.topk(data, k=k, is_ascend=is_ascend, dtype=torch.int32)
    assert torch.equal(found.long(), positions[:, :k])


@pytest.mark.parametrize("is_ascend", [False, True])
@pytest.mark.parametrize("special", [(), (INF, -INF), (NAN, INF)], ids=("finite", "infinite", "nan"))
@pytest.mark.parametrize("levels", [4, 10**6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32], ids=str)
def test_the_best_of_many_are_found_in_blocks(
    dtype: torch.dtype, levels: int, special: tuple[float, ...], is_ascend: bool
) -> None:
    generator = torch.Generator().manual_seed(0)
    data = torch.randint(levels, (2, 20011), generator=generator).to(dtype)  # does not divide into blocks
    if dtype is torch.float32 and special:
        data[:, torch.randint(20011, (30,), generator=generator)] = torch.tensor(special).repeat(15)
    positions = torch.sort(data, dim=1, descending=not is_ascend, stable=True)[1]
    for k in (1, 2, 16):
        found = ordering.topk(data, k=k, is_ascend=is_ascend, dtype=torch.int64)
        assert torch.equal(found, positions[:, :k])
