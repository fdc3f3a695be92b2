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
from rebind.ndarray.storage import CONTIGUOUS, DenseStorage
from rebind.optimizer.arrays import tensors_of

VALUES = np.arange(2 * 3 * 4 * 5, dtype="float32").reshape(2, 3, 4, 5)


def reordered() -> Any:
    array = mx.nd.array(VALUES)
    assert array.storage.put_channels_last()
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
    assert not array.storage.put_channels_last(), "a view would be left behind"


def test_what_is_known_without_the_values_leaves_the_layout() -> None:
    array = reordered()
    assert (array.shape, array.size, array.ndim) == (VALUES.shape, VALUES.size, 4)
    assert (array.dtype, array.stype, array.context) == (np.float32, "default", mx.cpu())
    assert array.storage.device == torch.device("cpu")
    assert array.storage.layout is torch.channels_last
    assert array.tensor is array.tensor  # put in order once
    assert array.storage.layout is CONTIGUOUS


@pytest.mark.parametrize("value", [VALUES, 7.0, VALUES[0, 0]], ids=["whole", "number", "broadcast"])
def test_values_that_are_all_written_leave_the_layout(value: Any) -> None:
    array, new = reordered(), mx.nd.array(value)
    memory = array.storage.memory
    array.write(new.tensor)
    assert array.storage.memory is memory and array.storage.layout is torch.channels_last
    np.testing.assert_array_equal(array.asnumpy(), np.broadcast_to(value, VALUES.shape))


def test_a_copy_into_an_array_leaves_the_layout() -> None:
    array, source = reordered(), reordered()
    source += 1
    memory = array.storage.memory
    source.copyto(array)
    assert array.storage.memory is memory
    np.testing.assert_array_equal(array.asnumpy(), VALUES + 1)


def test_a_recorded_value_is_written_in_order() -> None:
    array, source = reordered(), mx.nd.array(VALUES)
    source.attach_grad()
    with mx.autograd.record():
        array[:] = source * 2
        total = array.sum()
    total.backward()
    assert source.grad.asnumpy().min() == source.grad.asnumpy().max() == 2
    np.testing.assert_array_equal(array.asnumpy(), 2 * VALUES)


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
    ],
    ids=["matrix", "shared", "recorded"],
)
def test_what_stays_as_it_is(storage: Any) -> None:
    before = storage.memory
    assert not storage.put_channels_last()
    assert storage.memory is before


def test_filters_of_one_element_have_both_layouts() -> None:
    storage = DenseStorage(torch.ones(2, 3, 1, 1))
    assert storage.put_channels_last()
    assert storage.layout is CONTIGUOUS


def test_an_update_finds_the_memory() -> None:
    array = reordered()
    other = mx.nd.ones((2,))
    memory = array.storage.memory
    tensors = tensors_of([array, other], {0})
    assert [each.is_contiguous() for each in tensors] == [True, True]
    for each in tensors:
        each.mul_(2)
    assert array.storage.memory is memory
    np.testing.assert_array_equal(array.asnumpy(), 2 * VALUES)
    np.testing.assert_array_equal(other.asnumpy(), [2, 2])
    assert tensors_of([array])[0] is array.tensor
