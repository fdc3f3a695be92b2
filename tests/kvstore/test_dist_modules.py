"""Every kind of module over `dist_sync` in real processes: it learns what one process learns from merged batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.distributed.workers import run_job

import rebind as mx
from rebind.contrib import amp
from rebind.contrib.svrg_optimization import SVRGModule

#: Samples in a batch of all workers; batches in an epoch.
BATCH, BATCHES = 12, 4
LABELS = "softmax_label"


def samples(length: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Return data and labels of all workers."""
    random = np.random.RandomState(0)
    data = random.randn(BATCH * BATCHES, length).astype("float32")
    return data, (data.sum(1) > 0).astype("float32")


def own(rank: int, workers: int) -> list[int]:
    """Return which samples are this worker's: a part of each batch."""
    return [i for i in range(BATCH * BATCHES) if i % BATCH // (BATCH // workers) == rank]


def own_iter(rank: int, workers: int) -> mx.io.NDArrayIter:
    """Return an iterator over this worker's samples."""
    data, labels = samples()
    mine = own(rank, workers)
    return mx.io.NDArrayIter(data[mine], labels[mine], BATCH // workers, label_name=LABELS)


def network(hidden: int = 256) -> mx.sym.Symbol:
    """Return a network with a weight that is divided over the workers."""
    first = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=hidden, name="one")
    output = mx.sym.FullyConnected(mx.sym.Activation(first, act_type="tanh"), num_hidden=2, name="two")
    return mx.sym.SoftmaxOutput(output, name="softmax")


class FromName(mx.init.Initializer):
    """Values that depend on the parameter's name alone."""

    def _init_weight(self, name: str, array: mx.nd.NDArray) -> None:
        random = np.random.RandomState(sum(map(ord, str(name))))
        array[:] = mx.nd.array(random.randn(*array.shape) / 4)


def store_for(workers: int) -> str | None:
    """Return the store: none for one process."""
    return "dist_sync" if workers > 1 else None


SGD = {"learning_rate": 0.3, "momentum": 0.9, "wd": 0.01}


def by_fit(rank: int, workers: int, module: mx.mod.BaseModule, **settings: object) -> dict[str, np.ndarray]:
    """Train a module with `fit`."""
    module.fit(
        own_iter(rank, workers),
        kvstore=store_for(workers),
        initializer=FromName(),
        num_epoch=2,
        **{"optimizer_params": SGD, **settings},
    )
    return {name: array.asnumpy() for name, array in module.get_params()[0].items()}


def plain(rank: int, workers: int) -> dict[str, np.ndarray]:
    """Train a `Module` on two devices."""
    return by_fit(rank, workers, mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)]))


def accumulating(rank: int, workers: int) -> dict[str, np.ndarray]:
    """Train with the sums of gradients of three batches; one is left over in each epoch."""
    return by_fit(rank, workers, mx.mod.Module(network()), accumulate=3, optimizer="adam",
                  optimizer_params={"learning_rate": 0.02})  # fmt: skip


def clipped(rank: int, workers: int) -> dict[str, np.ndarray]:
    """Train with gradients clipped by the norm over all weights, accumulated."""
    return by_fit(rank, workers, mx.mod.Module(network()), accumulate=2,
                  optimizer_params={**SGD, "clip_global_norm": 0.05})  # fmt: skip


def feed_forward(rank: int, workers: int) -> dict[str, np.ndarray]:
    """Train with the old `FeedForward`."""
    model = mx.model.FeedForward(network(), num_epoch=2, initializer=FromName(), **SGD)
    model.fit(own_iter(rank, workers), kvstore=store_for(workers) or "local")
    return {name: array.asnumpy() for name, array in model.arg_params.items()}


def sequential(rank: int, workers: int) -> dict[str, np.ndarray]:
    """Train a chain of two modules."""
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=256, name="one")
    output = mx.sym.FullyConnected(mx.sym.var("hidden"), num_hidden=2, name="two")
    chain = mx.mod.SequentialModule()
    chain.add(mx.mod.Module(mx.sym.Activation(hidden, act_type="tanh"), label_names=None), auto_wiring=True)
    chain.add(
        mx.mod.Module(mx.sym.SoftmaxOutput(output, name="softmax"), data_names=["hidden"]),
        take_labels=True,
        auto_wiring=True,
    )
    return by_fit(rank, workers, chain)


class InBuckets:
    """Batches of two lengths by turns."""

    def __init__(self, rank: int, workers: int) -> None:
        size = BATCH // workers
        self.provide_data = [mx.io.DataDesc("data", (size, 20))]
        self.provide_label = [mx.io.DataDesc(LABELS, (size,))]
        self.default_bucket_key = 20
        self._own = own(rank, workers), size

    def __iter__(self) -> Iterator[mx.io.DataBatch]:
        mine, size = self._own
        for number in range(BATCHES):
            length = (20, 10)[number % 2]
            data, labels = samples()
            rows = mine[number * size : (number + 1) * size]
            arrays = [mx.nd.array(data[rows, :length])], [mx.nd.array(labels[rows])]
            yield mx.io.DataBatch(
                *arrays,
                bucket_key=length,
                provide_data=[mx.io.DataDesc("data", (size, length))],
                provide_label=self.provide_label,
            )

    def reset(self) -> None:
        """Start over."""


def buckets(rank: int, workers: int) -> dict[str, np.ndarray]:
    """Train a network for sequences of two lengths."""

    def of_length(length: int) -> tuple[mx.sym.Symbol, list[str], list[str]]:
        mean = mx.sym.mean(mx.sym.var("data"), axis=1, keepdims=True)
        hidden = mx.sym.FullyConnected(mean, num_hidden=5000, name="one")
        output = mx.sym.FullyConnected(mx.sym.Activation(hidden, act_type="tanh"), num_hidden=2, name="two")
        return mx.sym.SoftmaxOutput(output, name="softmax"), ["data"], [LABELS]

    module = mx.mod.BucketingModule(of_length, default_bucket_key=20)
    module.fit(InBuckets(rank, workers), kvstore=store_for(workers), initializer=FromName(), num_epoch=2,
               optimizer_params={**SGD, "learning_rate": 0.02})  # fmt: skip
    return {name: array.asnumpy() for name, array in module.get_params()[0].items()}


def svrg(rank: int, workers: int) -> dict[str, np.ndarray]:
    """Train with variance-reduced gradients."""
    return by_fit(rank, workers, SVRGModule(network(), update_freq=1))


def svrg_on_devices(rank: int, workers: int) -> dict[str, np.ndarray]:
    """Train with variance-reduced gradients, each worker on two devices."""
    return by_fit(rank, workers, SVRGModule(network(), update_freq=2, context=[mx.cpu(0), mx.cpu(1)]))


def scaled(rank: int, workers: int) -> dict[str, np.ndarray]:
    """Train with scaled losses, of which none overflows."""
    module = mx.mod.Module(network())
    amp.init_trainer(module, amp.LossScaler(init_scale=64))
    return by_fit(rank, workers, module)


KINDS: dict[str, Callable[[int, int], dict[str, np.ndarray]]] = {
    each.__name__: each
    for each in (
        plain,
        accumulating,
        clipped,
        feed_forward,
        sequential,
        buckets,
        svrg,
        svrg_on_devices,
        scaled,
    )
}


def train_all() -> dict[str, dict[str, np.ndarray]]:
    """Train each kind as a worker."""
    store = mx.kv.create("dist_sync")
    return {name: train(store.rank, store.num_workers) for name, train in KINDS.items()}


@pytest.fixture(scope="module")
def found() -> list[dict[str, dict[str, np.ndarray]]]:
    """Return what three workers have learned, by kind."""
    return run_job(train_all, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_workers_learn_what_one_process_learns_from_the_merged_batches(kind, found):
    wanted = KINDS[kind](0, 1)
    for worker in found:
        for name, array in wanted.items():
            np.testing.assert_allclose(worker[kind][name], array, rtol=2e-3, atol=2e-5, err_msg=name)
            assert worker[kind][name].tobytes() == found[0][kind][name].tobytes()


def overflow_on_worker_1() -> tuple[float, int, list[bytes]]:
    """Train three batches, of which the second has infinite data on worker 1."""
    store = mx.kv.create("dist_sync")
    module, scaler = mx.mod.Module(network()), amp.LossScaler(init_scale=64)
    amp.init_trainer(module, scaler)
    data, labels = samples()
    module.bind([("data", (4, 20))], [(LABELS, (4,))])
    module.init_params(FromName())
    module.init_optimizer(store, optimizer_params=SGD)
    seen = []
    for number in range(3):
        batch = data[4 * number : 4 * number + 4].copy()
        if (number, store.rank) == (1, 1):
            batch[0, 0] = math.inf
        module.forward_backward(mx.io.DataBatch([mx.nd.array(batch)], [mx.nd.array(labels[:4])]))
        module.update()
        seen.append(module.get_params()[0]["one_weight"].asnumpy())
    assert all(np.isfinite(weight).all() for weight in seen)
    return scaler.loss_scale, scaler.skipped, [weight.tobytes() for weight in seen]


def test_an_overflow_on_one_worker_skips_the_update_on_all():
    first, second = run_job(overflow_on_worker_1, 2)
    assert first == second
    scale, skipped, (one, two, three) = first
    assert (scale, skipped) == (32, 1)
    assert one == two
    assert two != three


def resume_all(folder: str, epochs: int) -> dict[str, dict[str, np.ndarray]]:
    """Train kinds whose runs have more than weights, with checkpoints."""
    store, fit = mx.kv.create("dist_sync"), mx.mod.BaseModule.fit
    found = {}
    for name in ("accumulating", "sequential", "buckets", "svrg_on_devices", "scaled"):

        def fit_and_save(module: mx.mod.BaseModule, *args: object, **settings: object) -> object:
            given = {**settings, "num_epoch": epochs, "checkpoint": f"{folder}/{name}"}  # noqa: B023
            return fit(module, *args, **given)

        mx.mod.BaseModule.fit = fit_and_save
        found[name] = KINDS[name](store.rank, store.num_workers)
    return found


def test_every_kind_resumes_exactly(found, tmp_path):
    run_job(resume_all, 3, str(tmp_path), 1)
    for worker, wanted in zip(run_job(resume_all, 3, str(tmp_path), 2), found, strict=True):
        for kind, weights in worker.items():
            for name, array in weights.items():
                assert array.tobytes() == wanted[kind][name].tobytes(), f"{kind}: {name}"


def continue_from_one_device(path: str) -> list[bytes]:
    """Load states that a single process without a store has saved; return those of two weights."""
    store = mx.kv.create("dist_sync")
    module = mx.mod.Module(network())
    module.bind([("data", (4, 20))], [(LABELS, (4,))])
    module.init_params(FromName())
    module.preload_optimizer_states(path)
    module.init_optimizer(store, optimizer_params=SGD)
    states = store.optimizer_states()
    return [states[name].asnumpy().tobytes() for name in ("one_weight", "two_bias")] if states else []


@pytest.mark.parametrize("devices", [1, 2])
def test_states_of_devices_that_update_themselves_become_those_of_the_store(devices, tmp_path):
    module = mx.mod.Module(network(), context=[mx.cpu(k) for k in range(devices)])
    by_fit(0, 1, module)  # without a store
    path = str(tmp_path / "net.states")
    module.save_optimizer_states(path)
    states = module.policy.updater.states
    wanted = [states[i * devices].asnumpy().tobytes() for i in (0, 3)]
    assert run_job(continue_from_one_device, 2, path) == [wanted, []]


def save_in_every_way(folder: str) -> list[str]:
    """Save a module as programs do, on all workers; return what a module that loads it has."""
    store = mx.kv.create("dist_sync")
    module = mx.mod.Module(network())
    callbacks = [mx.callback.module_checkpoint(module, f"{folder}/module", save_optimizer_states=True)]
    by_fit(store.rank, store.num_workers, module, epoch_end_callback=callbacks)
    module.save_checkpoint(f"{folder}/net", 2, save_optimizer_states=True)
    store.barrier()
    loaded = mx.mod.Module.load(f"{folder}/net", 2, load_optimizer_states=True)
    by_fit(store.rank, store.num_workers, loaded, begin_epoch=1)
    states = loaded.stores()[0].optimizer_states()
    assert sorted(states) == ([] if store.rank else ["one_bias", "one_weight", "two_bias", "two_weight"])
    return [loaded.get_params()[0][name].asnumpy().tobytes() for name in ("one_weight", "two_bias")]


def test_all_workers_may_save_and_worker_0_writes(tmp_path):
    first, second = run_job(save_in_every_way, 2, str(tmp_path))
    assert first == second
    assert sorted(path.name for path in Path(tmp_path).iterdir()) == sorted([
        "net-symbol.json", "net-0002.params", "net-0002.states", "module-symbol.json", "module-0001.params",
        "module-0001.states", "module-0002.params", "module-0002.states",
    ])  # fmt: skip


def train_asynchronously(folder: str, kind: str, epochs: int) -> dict[str, np.ndarray]:
    """Train over `dist_async`, with checkpoints; return the weights and how the data are classified."""
    store = mx.kv.create("dist_async")
    module = (
        SVRGModule(network(), update_freq=2, context=[mx.cpu(0), mx.cpu(1)])
        if kind == "svrg"
        else mx.mod.Module(network())
    )
    data = own_iter(store.rank, store.num_workers)
    module.fit(data, kvstore=store, initializer=FromName(), num_epoch=epochs, checkpoint=f"{folder}/net",
               optimizer_params={"learning_rate": 0.1, "momentum": 0.5})  # fmt: skip
    store.barrier()  # nobody pushes from here on
    data.reset()
    [(_, accuracy)] = module.score(data, "acc")
    return {
        "accuracy": np.array(accuracy),
        **{name: array.asnumpy() for name, array in module.get_params()[0].items()},
    }


@pytest.mark.parametrize("kind", [pytest.param("plain", marks=pytest.mark.slow), "svrg"])
def test_dist_async_trains_and_resumes_each_kind(kind, tmp_path):
    for name in ("whole", "halves", "two"):
        (tmp_path / name).mkdir()
    # Updates of one worker come in one order, so that a run that resumes ends in the same bits.
    [whole] = run_job(train_asynchronously, 1, str(tmp_path / "whole"), kind, 4, servers=1)
    run_job(train_asynchronously, 1, str(tmp_path / "halves"), kind, 2, servers=1)
    [halves] = run_job(train_asynchronously, 1, str(tmp_path / "halves"), kind, 4, servers=1)
    assert {name: array.tobytes() for name, array in halves.items()} == {
        name: array.tobytes() for name, array in whole.items()
    }
    assert whole["accuracy"] > 0.9
    # Those of several come as they come: after 20 epochs both have learned, in whatever order, and after they resume.
    for epochs in (20, 30):
        for found in run_job(train_asynchronously, 2, str(tmp_path / "two"), kind, epochs, servers=2):
            assert found["accuracy"] > 0.9
