"""The steps of MXNet's training loops: what they do, with which arrays, in which order."""

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind.model import (
    _create_kvstore,
    _create_sparse_kvstore,
    _initialize_kvstore,
    _multiple_callbacks,
    _update_params,
    _update_params_on_kvstore,
)


def two_by_two(first):
    """Two parameters on two devices, where they differ by one."""
    return [
        [nd.array([first] * 2), nd.array([first + 1] * 2)],
        [nd.array([10 * first] * 3) for _ in range(2)],
    ]


def values(arrays):
    return [[float(each.asnumpy()[0]) for each in on_devices] for on_devices in arrays]


# As MXNet 1.9.1 does it.
@pytest.mark.parametrize(
    ("kvstore", "devices", "kind", "updates"),
    [
        (None, 1, None, False),
        (None, 2, None, False),
        ("local", 1, None, False),
        ("local", 2, "local", True),
        ("device", 2, "device", True),
        ("local_update_cpu", 2, "local_update_cpu", True),
        ("local_allreduce_cpu", 2, "local_allreduce_cpu", True),
    ],
)
def test_the_store_of_a_run(kvstore, devices, kind, updates):
    store, on_store = _create_kvstore(kvstore, devices, {"w": nd.ones((2,))})
    assert (None if store is None else store.type, on_store) == (kind, updates)


@pytest.mark.parametrize(("size", "updates"), [(5, True), (6, False)])
def test_a_store_does_not_update_with_a_large_array(size, updates, monkeypatch):
    monkeypatch.setenv("MXNET_KVSTORE_BIGARRAY_BOUND", "5")
    assert _create_kvstore("local", 2, {"w": nd.ones((size,))})[1] is updates


@pytest.mark.parametrize(
    "create", [lambda store: _create_kvstore(store, 1, {}), _create_sparse_kvstore], ids=["dense", "sparse"]
)
def test_a_given_store_updates(create):
    store = mx.kv.create("device")
    assert create(store) == (store, True)


def test_the_store_for_sparse_parameters():
    assert _create_sparse_kvstore("device")[0].type == "device"


@pytest.mark.parametrize(
    ("create", "says"),
    [
        (lambda: _create_kvstore(7, 2, {}), "must be None, a name or a KVStore; got 7"),
        (
            lambda: _create_sparse_kvstore(None),
            "must be a name or a KVStore for row_sparse parameters; got None",
        ),
    ],
    ids=["a number", "none for sparse parameters"],
)
def test_what_is_no_store(create, says):
    with pytest.raises(TypeError, match=says):
        create()


@pytest.mark.parametrize(("updates", "after"), [(True, [[7, 7], [8, 8]]), (False, [[1, 2], [10, 10]])])
def test_a_store_that_updates_gives_the_devices_their_weights(updates, after):
    store, weights = mx.kv.create("local"), two_by_two(1)
    _initialize_kvstore(
        store, weights, {"a": nd.array([7, 7]), "b": nd.array([8, 8, 8])}, ["a", "b"], updates
    )
    assert values(weights) == after
    out = nd.zeros((3,))
    store.pull("b", out)
    assert out.asnumpy()[0] == 8


@pytest.mark.parametrize(
    ("without", "indices", "after"),
    [
        ([], [(0, 2), (1, 3)], [[99, 99], [990, 990]]),
        ([0], [(2,), (3,)], [[100, 101], [990, 990]]),
    ],
    ids=["all gradients", "a parameter without"],
)
def test_each_device_updates_with_its_own_indices(without, indices, after):
    calls = []

    def updater(index, grad, weight):
        calls.append(index)
        for each, by in zip(weight, grad, strict=True):
            each -= by

    weights, grads = two_by_two(100), two_by_two(1)
    for parameter in without:
        grads[parameter] = [None, None]
    _update_params(weights, grads, updater, 2)
    assert calls == indices  # parameter * devices + device
    assert values(weights) == after


@pytest.mark.parametrize("names", [["a", "b"], None])
def test_a_store_that_adds_up_gives_the_devices_the_sum(names):
    store, weights, grads = mx.kv.create("local"), two_by_two(100), two_by_two(1)
    for key, size in zip(names or [0, 1], (2, 3), strict=True):
        store.init(key, nd.zeros((size,)))
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=1.0))
    _update_params(weights, grads, updater, 2, store, names)
    assert values(grads) == [[3, 3], [20, 20]]
    assert values(weights) == [[97, 98], [980, 980]]


def test_a_store_that_updates():
    store, weights, grads = mx.kv.create("local"), two_by_two(100), two_by_two(1)
    store.set_optimizer(mx.optimizer.SGD(learning_rate=1.0))
    start = {"a": nd.array([7, 7]), "b": nd.array([8, 8, 8])}
    _initialize_kvstore(store, weights, start, ["a", "b"], True)
    grads[1] = [None, None]
    _update_params_on_kvstore(weights, grads, store, ["a", "b"])
    assert values(weights) == [[4, 4], [8, 8]]
    assert np.array_equal(start["a"].asnumpy(), [7, 7])


@pytest.mark.parametrize(
    ("wrap", "count"),
    [(lambda one: None, 0), (lambda one: one, 1), (lambda one: [one, one], 2)],
    ids=["none", "one", "several"],
)
def test_several_callbacks_or_one_or_none(wrap, count):
    seen = []
    _multiple_callbacks(wrap(lambda *args, **kwargs: seen.append((args, kwargs))), 1, more=2)
    assert seen == [((1,), {"more": 2})] * count
