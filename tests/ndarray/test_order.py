"""Arrays whose values lie in memory with their channels last: nothing of that shows."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.ndarray.order import ReorderedStorage, as_dense, memory_of, note_order, reorder, tensors_of
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


def written(array: Any) -> Any:
    array[1, 2] = -1
    return array


def added_to(array: Any) -> Any:
    array += 1
    return array


#: Ways to look at an array, or to change it.
LOOKS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda x: x,
    "a row": lambda x: x[1],
    "a copy": lambda x: x.copy(),
    "another shape": lambda x: x.reshape((6, 20)),
    "a sum": lambda x: x + x,
    "another type": lambda x: x.astype("float64"),
    "out": lambda x: mx.nd.elemwise_add(x, x, out=x),
    "written": written,
    "added to": added_to,
    "through torch": lambda x: mx.nd.from_dlpack(x),
    "a pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "a deep copy": copy.deepcopy,
}


@pytest.mark.parametrize("look", LOOKS)
def test_values_are_found_in_order(look: str) -> None:
    found, expected = LOOKS[look](reordered()), LOOKS[look](mx.nd.array(VALUES))
    assert found.tensor.is_contiguous()
    np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy())


def test_views_share_memory() -> None:
    array = reordered()
    row, flat = array[0], array.reshape((-1,))
    row[:] = 7
    flat[-1] = 8
    assert array.asnumpy()[0].min() == 7 and array.asnumpy()[-1, -1, -1, -1] == 8
    assert not reorder(array.storage), "a view would be left behind"


def test_what_the_order_says_nothing_of_leaves_it() -> None:
    array = reordered()
    assert (array.shape, array.size, array.ndim) == (VALUES.shape, VALUES.size, 4)
    assert (array.dtype, array.stype, array.context) == (np.float32, "default", mx.cpu())
    assert array.storage.kind is DenseStorage
    assert isinstance(array.storage, ReorderedStorage)
    assert array.tensor is array.tensor  # put in order once
    assert type(array.storage) is DenseStorage


def test_a_new_tensor_is_taken_over() -> None:
    array, new = reordered(), torch.zeros(VALUES.shape)
    array.exchange(new)
    assert array.tensor is new
    other = mx.nd.zeros(VALUES.shape)
    assert other.storage.exchange(reordered().storage)
    np.testing.assert_array_equal(other.asnumpy(), VALUES)


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
