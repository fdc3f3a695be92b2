"""Arrays whose values lie in memory with their channels last: nothing of that shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.ndarray.deferred import memory_of
from rebind.ndarray.order import ReorderedStorage, as_dense, note_order, reorder, tensors_of
from rebind.ndarray.storage import DenseStorage, Storage

VALUES = np.arange(2 * 3 * 4 * 5, dtype="float32").reshape(2, 3, 4, 5)


class Negated(Storage):
    """A storage that is not dense."""

    stype, number = "negated", 91

    def __init__(self, data: torch.Tensor) -> None:
        super().__init__()
        self.data = data

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.data.shape)

    @classmethod
    def from_dense(cls, tensor: torch.Tensor) -> Negated:
        return cls(-tensor)

    def to_dense(self) -> torch.Tensor:
        return -self.data


def reordered() -> Any:
    array = mx.nd.array(VALUES)
    assert reorder(array.storage)
    assert isinstance(array.storage, ReorderedStorage)
    return array


@pytest.mark.parametrize(
    "storage",
    [
        DenseStorage(torch.ones(2, 3)),
        DenseStorage(torch.ones(2, 3, 4, 5), shared=True),
        DenseStorage(torch.ones(2, 3, 4, 5, requires_grad=True)),
        Negated.from_dense(torch.ones(2, 3, 4, 5)),
    ],
    ids=["matrix", "shared", "recorded", "another kind"],
)
def test_what_stays_as_it_is(storage: Any) -> None:
    before = memory_of(storage)
    assert not reorder(storage)
    assert memory_of(storage) is before


def test_filters_of_one_element_have_one_order() -> None:
    storage = DenseStorage(torch.ones(2, 3, 1, 1))
    assert reorder(storage)
    assert type(storage) is DenseStorage
    note_order(storage)
    assert type(storage) is DenseStorage


def test_an_update_finds_the_memory() -> None:
    array = reordered()
    other = mx.nd.ones((2,))
    memory = memory_of(array.storage)
    with as_dense([array, other], {0}) as tensors:
        assert [each.is_contiguous() for each in tensors] == [True, True]
        for each in tensors:
            each.mul_(2)
    assert memory_of(array.storage) is memory
    np.testing.assert_array_equal(array.asnumpy(), 2 * VALUES)
    np.testing.assert_array_equal(other.asnumpy(), [2, 2])
    assert tensors_of([array])[0] is array.tensor
