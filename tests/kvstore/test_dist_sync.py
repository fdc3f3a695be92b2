"""`DistSyncStore` in real processes: what MXNet's own tests of it check, and equality with one process."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tests.distributed.workers import run_job

import rebind as mx
from rebind.distributed import cores

SHAPE, BIG = (2, 2), (300, 300)  # BIG is divided over the workers


def push_ranks(kind: str) -> list[np.ndarray]:
    """Push ``rank + 1`` for keys of both sizes, and return what is pulled."""
    store = mx.kv.create(kind)
    keys, shapes = ["3", "5", "99"], [SHAPE, SHAPE, BIG]
    store.init(keys, [mx.nd.ones(shape) * (store.rank + 1) for shape in shapes])
    found = [mx.nd.zeros(shape) for shape in shapes]
    store.pull(keys, out=found)
    first = [array.asnumpy() for array in found]
    for _ in range(3):
        store.push(keys, [mx.nd.ones(shape) * (store.rank + 1) for shape in shapes])
        store.pull(keys, out=found)
    return first + [array.asnumpy() for array in found]


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["dist", "dist_sync", "dist_device_sync", "dist_sync_device"])
@pytest.mark.parametrize("count", [2, 3])
def test_pull_returns_the_sum_of_what_all_workers_pushed(kind, count):
    for first, second, big, *sums in run_job(push_ranks, count, kind):
        for array in (first, second, big):
            assert (array == 1).all()  # the value of worker 0
        for array in sums:
            assert (array == count * (count + 1) / 2).all()


def push_with_optimizer(devices: int, steps: int) -> list[np.ndarray]:
    """Push to a store that adds twice the gradients to its values."""
    store = mx.kv.create("dist_sync")
    store.init([3, 99], [mx.nd.ones(SHAPE), mx.nd.ones(BIG)])
    store.set_optimizer(mx.optimizer.create("test", rescale_grad=2.0))
    for _ in range(steps):
        pushed = [[mx.nd.ones(shape) * (store.rank + 1)] * devices for shape in (SHAPE, BIG)]
        store.push([3, 99], pushed)
    found = [mx.nd.zeros(SHAPE), mx.nd.zeros(BIG)]
    store.pull([3, 99], out=found)
    return [array.asnumpy() for array in found]


def test_the_store_updates_by_the_sum_over_workers_and_devices():
    for arrays in run_job(push_with_optimizer, 3, 2, 4):
        for array in arrays:
            assert (array == 1 + 4 * 2.0 * 2 * (1 + 2 + 3)).all()


def update_by_a_function() -> list[list[float]]:
    """Update by a function that keeps the gradients it was given; return what they hold after all pushes."""
    store = mx.kv.create("dist_sync")
    kept = []

    def update(key: int | str, gradient: mx.nd.NDArray, weight: mx.nd.NDArray) -> None:
        kept.append(gradient)
        weight -= gradient

    store.init("w", mx.nd.zeros(SHAPE))
    store.set_updater(update)
    for step in range(1, 4):
        store.push("w", mx.nd.ones(SHAPE) * step)
    store.pull("w", out=(found := mx.nd.zeros(SHAPE)))
    assert (found.asnumpy() == -(2 + 4 + 6)).all()
    return [[float(each.asnumpy().min()), float(each.asnumpy().max())] for each in kept]


def test_gradients_that_a_users_function_keeps_are_not_written_into():
    kept = [each for found in run_job(update_by_a_function, 2) for each in found]
    assert kept == [[2, 2], [4, 4], [6, 6]]  # of the worker whose key it is


OPTIMIZERS = {
    "sgd": {"momentum": 0.9, "wd": 0.01},
    "adam": {"clip_gradient": 0.5},
    "nag": {"momentum": 0.9},
    "adagrad": {},
    "rmsprop": {"centered": True},
    "ftrl": {},
    "lamb": {},  # whose updates depend on the norm of the whole weight
    "lars": {"momentum": 0.9},
    "nadam": {},  # whose schedule counts the updates of all weights
    "sgd clipped by the norm over all": {"clip_global_norm": 0.05},
}


def network() -> mx.sym.Symbol:
    """Return a network with a weight that is divided, and some that are not."""
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=300, name="one")
    output = mx.sym.FullyConnected(mx.sym.Activation(hidden, act_type="tanh"), num_hidden=2, name="two")
    return mx.sym.SoftmaxOutput(output, name="softmax")


def train(workers: int, rank: int, name: str) -> dict[str, np.ndarray]:
    """Train on this worker's samples of each batch of twelve, and return the weights."""
    random = np.random.RandomState(0)
    samples = random.randn(36, 20).astype("float32")
    labels = (samples.sum(1) > 0).astype("float32")
    own = [i for i in range(36) if i % 12 // (12 // workers) == rank]
    data = mx.io.NDArrayIter(samples[own], labels[own], 12 // workers, label_name="softmax_label")
    mx.random.seed(rank)  # the store gives all the weights of worker 0
    module = mx.mod.Module(network())
    module.bind(data.provide_data, data.provide_label)
    module.init_params(mx.init.Xavier())
    if workers == 1:
        mx.random.seed(0)
        module.init_params(mx.init.Xavier(), force_init=True)
    settings = {"learning_rate": 0.05} | OPTIMIZERS[name]
    module.init_optimizer("dist_sync", name.split()[0], settings)
    for _ in range(2):
        data.reset()
        for batch in data:
            module.forward_backward(batch)
            module.update()
    return {name: array.asnumpy() for name, array in module.get_params()[0].items()}


def train_here(name: str) -> dict[str, np.ndarray]:
    """Train as a worker."""
    store = mx.kv.create("dist_sync")
    return train(store.num_workers, store.rank, name)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_workers_get_the_weights_of_one_process_on_the_merged_batch(name):
    alone = train(1, 0, name)
    for found in run_job(train_here, 3, name):
        for key, array in found.items():
            np.testing.assert_allclose(array, alone[key], rtol=2e-4, atol=2e-6, err_msg=key)


def init_with_other_shapes() -> None:
    """Give a key another shape on each worker."""
    store = mx.kv.create("dist_sync")
    store.init("w", mx.nd.zeros((2, 3 + store.rank)))


def set_other_optimizers() -> None:
    """Give the store another learning rate on each worker."""
    store = mx.kv.create("dist_sync")
    store.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.1 + store.rank))


def push_other_keys() -> None:
    """Push another key on each worker."""
    store = mx.kv.create("dist_sync")
    store.init(["a", "b"], [mx.nd.zeros(SHAPE), mx.nd.zeros(SHAPE)])
    store.push("ab"[store.rank], mx.nd.zeros(SHAPE))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (init_with_other_shapes, "KVStore.init: all workers must have the same keys and shapes; worker 1 has w: "
         "(2, 4) torch.float32, and worker 0 has w: (2, 3) torch.float32"),
        (set_other_optimizers, "KVStore.set_optimizer: all workers must have the same optimizer; worker 1 has "
         "settings: lr: 1.1, and worker 0 has settings: lr: 0.1"),
        (push_other_keys, "KVStore.push: all workers must have the same keys; worker 1 has ['b'], and worker 0 has "
         "['a']"),
    ],
)  # fmt: skip
def test_workers_that_differ_are_refused_with_both_sides_named(function, message):
    _, failed = run_job(function, 2, may_fail=True)
    assert (failed.kind, failed.message) == ("WorkerError", message)


#: Whose updates may run beside backward, and in which thread they run then.
BESIDE = {"sgd": "rebind-update_0", "adam": "rebind-update_0", "ownsgd": "MainThread"}


@mx.optimizer.register
class OwnSGD(mx.optimizer.SGD):
    """An optimizer of the program's own."""


def several_buckets() -> mx.sym.Symbol:
    """Return a network whose gradients do not fit into one bucket."""
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1500, name="one")
    hidden = mx.sym.FullyConnected(mx.sym.Activation(hidden, act_type="tanh"), num_hidden=1500, name="two")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=2, name="three"), name="softmax")


def fit_or_step(by_hand: bool, optimizer: str) -> tuple[dict[str, bytes], list[int], set[str]]:
    """Train with `fit`, which sends gradients while backward runs, or by hand.

    Returns the weights, the keys that were pushed in backward, and the threads that updated.
    """
    store = mx.kv.create("dist_sync")
    samples, labels = np.random.RandomState(store.rank).rand(24, 20).astype("float32"), np.arange(24) % 2
    data = mx.io.NDArrayIter(samples, labels, 8, label_name="softmax_label")
    mx.random.seed(0)
    module = mx.mod.Module(several_buckets())
    early: list[int] = []
    threads: set[str] = set()
    push_ready, update = store.push_ready, type(store)._update
    store.push_ready = lambda key, value: (early.append(key), push_ready(key, value))
    store._update = lambda *args: (threads.add(threading.current_thread().name), update(store, *args))
    settings = {"learning_rate": 0.1}
    if by_hand:
        module.bind(data.provide_data, data.provide_label)
        module.init_params(mx.init.Xavier())
        module.init_optimizer(store, optimizer, settings)
        for batch in data:
            module.forward_backward(batch)
            module.update()
    else:
        module.fit(
            data,
            kvstore=store,
            optimizer=optimizer,
            optimizer_params=settings,
            num_epoch=1,
            initializer=mx.init.Xavier(),
            progress=False,
        )
    return {name: array.asnumpy().tobytes() for name, array in module.get_params()[0].items()}, early, threads


@pytest.mark.parametrize("optimizer", BESIDE)
def test_fit_sends_and_updates_while_backward_runs_last_layers_first(optimizer):
    by_hand, fitted = (run_job(fit_or_step, 2, by_hand, optimizer) for by_hand in (True, False))
    for (weights, none_early, _), (found, early, threads) in zip(by_hand, fitted, strict=True):
        assert none_early == [] and len(early) == 3 * 6
        assert {*early[:2]} == {"three_weight", "three_bias"}
        # Where workers share a core, all that one does is done in its main thread.
        assert threads == {BESIDE[optimizer] if len(cores()) > 1 else "MainThread"}
        assert found == weights


def fit_with_an_error(in_batch: int) -> None:
    """Train with an optimizer that fails in one of the batches."""
    update = mx.optimizer.SGD.update_group

    def failing(self: mx.optimizer.SGD, group: object) -> None:
        if self.num_update > in_batch:
            raise mx.MXNetError("the disk is full")
        update(self, group)

    mx.optimizer.SGD.update_group = failing
    fit_or_step(False, "sgd")


def test_an_error_of_an_update_beside_backward_ends_fit():
    failed = run_job(fit_with_an_error, 2, 1, may_fail=True)
    assert {(each.kind, each.message) for each in failed} == {("MXNetError", "the disk is full")}
