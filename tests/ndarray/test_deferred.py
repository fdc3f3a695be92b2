"""Arrays whose values are in another order of memory, or not in memory at all: nothing of that shows."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.ndarray.deferred import DeferredStorage, memory_of
from rebind.ndarray.order import reorder
from rebind.ndarray.released import ReleasedStorage, release, values_of
from rebind.ndarray.same_memory import SameMemory
from rebind.ndarray.storage import DenseStorage

VALUES = np.arange(2 * 3 * 4 * 5, dtype="float32").reshape(2, 3, 4, 5)


def reordered() -> Any:
    array = mx.nd.array(VALUES)
    assert reorder(array.storage)
    return array


def released() -> Any:
    array = mx.nd.array(VALUES)
    half = array.tensor / 2
    release(array.storage, lambda: half * 2)
    return array


KINDS = [reordered, released]
of_every_kind = pytest.mark.parametrize("make", KINDS, ids=lambda each: each.__name__)


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


@of_every_kind
@pytest.mark.parametrize("look", LOOKS)
def test_values_are_found_in_order(look: str, make: Callable[[], Any]) -> None:
    found, expected = LOOKS[look](make()), LOOKS[look](mx.nd.array(VALUES))
    assert found.tensor.is_contiguous()
    np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy())


@of_every_kind
def test_views_share_memory(make: Callable[[], Any]) -> None:
    array = make()
    row, flat = array[0], array.reshape((-1,))
    row[:] = 7
    flat[-1] = 8
    assert array.asnumpy()[0].min() == 7 and array.asnumpy()[-1, -1, -1, -1] == 8
    assert not reorder(array.storage), "a view would be left behind"


@of_every_kind
def test_what_is_known_without_the_values_leaves_it(make: Callable[[], Any]) -> None:
    array = make()
    assert (array.shape, array.size, array.ndim) == (VALUES.shape, VALUES.size, 4)
    assert (array.dtype, array.stype, array.context) == (np.float32, "default", mx.cpu())
    assert array.storage.kind is DenseStorage
    assert array.storage.device == torch.device("cpu")
    assert isinstance(array.storage, DeferredStorage)
    assert array.tensor is array.tensor  # made once
    assert type(array.storage) is DenseStorage


@of_every_kind
def test_a_new_tensor_is_taken_over(make: Callable[[], Any]) -> None:
    array, new = make(), torch.zeros(VALUES.shape)
    array.exchange(new)
    assert array.tensor is new
    other = mx.nd.zeros(VALUES.shape)
    assert other.storage.exchange(make().storage)
    np.testing.assert_array_equal(other.asnumpy(), VALUES)


def test_a_write_does_not_come_back() -> None:
    array = released()
    array[:] = 3
    assert type(array.storage) is DenseStorage
    assert float(array.asnumpy().min()) == float(array.asnumpy().max()) == 3


def test_values_that_are_only_looked_at_do_not_come_back() -> None:
    array = released()
    stand_in = memory_of(array.storage)
    assert stand_in is not None
    np.testing.assert_array_equal(values_of(stand_in).numpy(), VALUES)
    assert isinstance(array.storage, ReleasedStorage)
    assert values_of(plain := torch.ones(2)) is plain


def test_values_that_come_back_in_inference_mode_can_be_written() -> None:
    array = released()
    with torch.inference_mode():
        assert not array.tensor.is_inference()
    array += 1
    np.testing.assert_array_equal(array.asnumpy(), VALUES + 1)


def test_memory_that_is_the_same_may_be_none() -> None:
    arrays = [released(), mx.nd.ones((2,))]
    assert SameMemory.of(arrays) is None
    same = SameMemory.of(arrays, released=True)
    assert same is not None and same.holds()
    assert isinstance(arrays[0].storage, ReleasedStorage)
    arrays[0].asnumpy()
    assert not same.holds()


def test_threads_get_the_same_memory() -> None:
    for _ in range(20):
        array = released()
        with ThreadPoolExecutor(4) as pool:
            found = [*pool.map(lambda _, array=array: array.storage.tensor, range(8))]
        assert all(each is array.tensor for each in found)
