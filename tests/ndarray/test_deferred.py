"""Arrays whose values are in another order of memory: nothing of that shows."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.ndarray.deferred import DeferredStorage
from rebind.ndarray.order import reorder
from rebind.ndarray.storage import DenseStorage

VALUES = np.arange(2 * 3 * 4 * 5, dtype="float32").reshape(2, 3, 4, 5)


def reordered() -> Any:
    array = mx.nd.array(VALUES)
    assert reorder(array.storage)
    return array


KINDS = [reordered]
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
