"""Modules, iterators and symbols can be pickled and deep-copied: the copy goes the way of the original."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rebind as mx

X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")
Y = np.arange(8) % 3

HOW = [
    pytest.param(copy.deepcopy, id="deepcopy"),
    pytest.param(lambda made: pickle.loads(pickle.dumps(made)), id="pickle"),
]


def network() -> mx.sym.Symbol:
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(mx.sym.BatchNorm(hidden, name="bn"), name="softmax")


def bucket(key: int) -> tuple[mx.sym.Symbol, tuple[str, ...], tuple[str, ...]]:
    return network(), ("data",), ("softmax_label",)


def chain() -> Any:
    head = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    made = mx.mod.SequentialModule().add(mx.mod.Module(head, label_names=None))
    tail = mx.sym.SoftmaxOutput(mx.sym.var("data"), name="softmax")
    return made.add(mx.mod.Module(tail), take_labels=True, auto_wiring=True)


MODULES = {
    "module": lambda: mx.mod.Module(network()),
    "on_two_devices": lambda: mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)]),
    "bucketing": lambda: mx.mod.BucketingModule(bucket, default_bucket_key=0),
    "sequential": chain,
}


def batches() -> Any:
    return mx.io.NDArrayIter(X, Y, 4)


def train(module: Any) -> None:
    for batch in batches():
        if isinstance(module, mx.mod.BucketingModule):
            batch.bucket_key = 0
            batch.provide_data, batch.provide_label = batches().provide_data, batches().provide_label
        module.forward_backward(batch)
        module.update()


def values(module: Any) -> dict[str, list[float]]:
    return {
        name: array.asnumpy().ravel().tolist() for part in module.get_params() for name, array in part.items()
    }


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("make", MODULES.values(), ids=MODULES)
def test_copy_of_a_module_trains_on(make: Callable[[], Any], how: Callable[[Any], Any]) -> None:
    module = make()
    source = batches()
    module.bind(source.provide_data, source.provide_label)
    mx.random.seed(0)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    train(module)
    other = how(module)
    assert values(other) == values(module)
    train(module)
    assert values(other) != values(module)  # it has arrays of its own
    train(other)
    found, wanted = values(other), values(module)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("make", MODULES.values(), ids=MODULES)
def test_copy_of_a_module_that_is_not_bound(make: Callable[[], Any], how: Callable[[Any], Any]) -> None:
    other = how(make())
    assert not other.binded and other.logger is not None
    other.bind(batches().provide_data, batches().provide_label)
    assert other.binded


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(
    "make",
    [batches, lambda: mx.io.ResizeIter(batches(), 2), lambda: mx.io.PrefetchingIter(batches())],
    ids=["arrays", "resized", "prefetched"],
)
def test_copy_of_an_iterator(make: Callable[[], Any], how: Callable[[Any], Any]) -> None:
    source = make()
    found = [batch.data[0].asnumpy().tolist() for batch in how(source)]
    assert found == [batch.data[0].asnumpy().tolist() for batch in source]


@pytest.mark.parametrize("how", HOW)
def test_copy_of_a_symbol(how: Callable[[Any], Any]) -> None:
    assert how(network()).tojson() == network().tojson()
