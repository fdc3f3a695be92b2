"""`DistAsyncStore` in real processes: with servers as threads of the workers, and as processes of their own."""

from __future__ import annotations

import os
import signal
import time
import warnings

import numpy as np
import pytest
from tests.distributed.workers import run_job

import rebind as mx

SHAPE, BIG = (2, 2), (300, 300)  # BIG is divided over the servers


def filled(shape: tuple[int, ...], value: float) -> mx.nd.NDArray:
    return mx.nd.ones(shape) * value


def pulled(store: mx.kvstore.KVStoreBase, key: int | str, shape: tuple[int, ...]) -> np.ndarray:
    found = mx.nd.zeros(shape)
    store.pull(key, out=found)
    return found.asnumpy()


def push_known_values(steps: int) -> dict[str, object]:
    """Push ``rank + 1`` for keys of both sizes, in both ways of ordering them, and return what is there at the end."""
    store = mx.kv.create("dist_async")
    store.init([3, 99], [filled(SHAPE, store.rank + 1), filled(BIG, store.rank + 1)])
    first = pulled(store, 99, BIG)
    store.set_optimizer(mx.optimizer.create("test", rescale_grad=2.0))
    found = []
    for step in range(steps):
        pushed = [[filled(shape, store.rank + 1)] * 2 for shape in (SHAPE, BIG)]
        if step % 2:
            store.push([3, 99], pushed)
        else:
            store.push(99, pushed[1], priority=-1)
            store.push(3, pushed[0], priority=0)
        found.append(pulled(store, 99, BIG).min())
    store.barrier()
    last = [pulled(store, key, shape) for key, shape in ((3, SHAPE), (99, BIG))]
    store.put(3, filled(SHAPE, 7 + store.rank))
    optimizer = store.updater.optimizer
    return {
        "first": first,
        "each": found,
        "last": last,
        "put": pulled(store, 3, SHAPE),
        "staleness": store.staleness(reset=True),
        "after a reset": store.staleness().pushes,
        "num_update": optimizer.num_update,
        "is_capable": store.is_capable("optimizer"),
    }


@pytest.mark.parametrize(("workers", "servers"), [(3, 0), (2, 2), (1, 1)])
def test_each_push_is_an_update_of_its_own(workers, servers):
    steps, sum_of_ranks = 4, workers * (workers + 1) // 2
    for rank, found in enumerate(run_job(push_known_values, workers, steps, servers=servers)):
        assert (found["first"] == 1).all()  # the value of worker 0
        for array in found["last"]:
            assert (array == 1 + steps * 2.0 * 2 * sum_of_ranks).all()
        # A worker sees its own pushes at once, and perhaps others'.
        for step, least in enumerate(found["each"]):
            assert least >= 1 + (step + 1) * 2.0 * 2 * (rank + 1)
        assert (found["put"] == 7).all()
        staleness = found["staleness"]
        assert staleness.pushes >= 2 * steps and 0 <= staleness.mean <= staleness.largest < steps * workers
        assert found["after a reset"] == 0
        assert found["num_update"] == steps * workers and found["is_capable"]


def update_in_turns(name: str, settings: dict[str, float]) -> np.ndarray:
    """Push from worker 0 only, so that the order is known; keys are there before the optimizer is."""
    store = mx.kv.create("dist_async")
    random = np.random.RandomState(0)
    shapes = {"a": (70, 90), "b": (3,)}
    store.init(list(shapes), [mx.nd.array(random.randn(*shape)) for shape in shapes.values()])
    store.set_optimizer(mx.optimizer.create(name, **settings))
    if store.rank == 0:
        for _ in range(3):
            store.push(list(shapes), [mx.nd.array(random.randn(*shape)) for shape in shapes.values()])
    store.barrier()
    return np.concatenate([pulled(store, key, shape).ravel() for key, shape in shapes.items()])


OPTIMIZERS = [
    ("sgd", {"momentum": 0.9, "wd": 0.01}),
    ("adam", {"clip_gradient": 0.5}),
    ("dcasgd", {"momentum": 0.5}),
    ("lamb", {}),  # needs whole weights: keys move when it is set
    ("nadam", {}),  # needs all weights in one place
    ("sgd", {"clip_global_norm": 0.5}),
]


def update_with_all() -> list[np.ndarray]:
    return [update_in_turns(name, settings) for name, settings in OPTIMIZERS]


@pytest.mark.parametrize("servers", [0, 2])
def test_updates_are_those_of_a_store_in_one_process(servers):
    alone = update_with_all()
    for found in run_job(update_with_all, 2, servers=servers):
        for (name, _), one, other in zip(OPTIMIZERS, alone, found, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6, err_msg=name)


def change_and_save(folder: str) -> dict[str, object]:
    """Change the optimizer while training, and save its states and load them."""
    store = mx.kv.create("dist_async")
    schedule = mx.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=1.0)
    store.init(["w_weight", "w_bias"], [filled(BIG, 0), filled(SHAPE, 0)])
    optimizer = mx.optimizer.create("sgd", learning_rate=1.0, lr_scheduler=schedule, wd=0.0)
    optimizer.set_lr_mult({"w_bias": 0.5})
    store.set_optimizer(optimizer)
    moves = []
    if store.rank == 0:
        for _ in range(4):
            before = pulled(store, "w_bias", SHAPE).max()
            store.push(["w_weight", "w_bias"], [filled(BIG, 1), filled(SHAPE, 1)])
            moves.append(before - pulled(store, "w_bias", SHAPE).max())
    store.barrier()
    found = {"moves": moves, "rate": optimizer.learning_rate}

    optimizer = mx.optimizer.create("sgd", learning_rate=1.0, momentum=0.5)
    store.set_optimizer(optimizer)
    store.put("w_weight", filled(BIG, 0))
    if store.rank == 0:
        optimizer.lr = 0.5  # as a callback may do
        store.push("w_weight", filled(BIG, 1))
        optimizer.rescale_grad = 4.0
        store.push("w_weight", filled(BIG, 1))
        found["changed"] = pulled(store, "w_weight", BIG).max()
    store.save_optimizer_states(f"{folder}/net.states")
    store.barrier()
    store.set_optimizer(mx.optimizer.create("sgd", learning_rate=1.0, momentum=0.5))
    store.load_optimizer_states(f"{folder}/net.states")
    found["states"] = {key: state.asnumpy() for key, state in store.optimizer_states().items()}
    return found


@pytest.mark.parametrize("servers", [0, 2])
def test_settings_are_followed_and_states_saved(tmp_path, servers):
    for rank, found in enumerate(run_job(change_and_save, 2, str(tmp_path), servers=servers)):
        if rank == 0:
            assert found["moves"] == [0.5, 0.5, 0.25, 0.25]
            assert found["rate"] == 0.5  # the schedule counts the updates that the server made
            # -0.5, then 0.5 * -0.5 - 0.5 * 4
            assert found["changed"] == -0.5 - 2.25
            assert list(found["states"]) == ["w_weight"] and found["states"]["w_weight"].shape == BIG
            assert (found["states"]["w_weight"] == -2.25).all()
        else:
            assert found["states"] == {}


def fall_behind() -> tuple[float, float, str]:
    """Let worker 1 be slow; return the largest lead and the staleness that each sees."""
    store = mx.kv.create("dist_async")
    store.init("w", filled(SHAPE, 0))
    store.set_optimizer(mx.optimizer.create("test"))
    lead = 0.0
    for step in range(6):
        if store.rank == 1:
            time.sleep(0.05)
        store.push("w", filled(SHAPE, 1 if store.rank == 0 else 100))
        value = pulled(store, "w", SHAPE).max()
        others, own = (value // 100, value % 100) if store.rank == 0 else (value % 100, value // 100)
        assert own == step + 1
        lead = max(lead, own - others)
    store.barrier()
    return lead, pulled(store, "w", SHAPE).max(), str(store.staleness())


@pytest.mark.parametrize("servers", [0, 1])
def test_a_fast_worker_waits_with_a_bound(servers):
    for lead, total, staleness in run_job(
        fall_behind, 2, servers=servers, environment={"REBIND_STALENESS": "1"}
    ):
        assert total == 606 and lead <= 2
        assert staleness.startswith("6 pushes with a staleness of")


def count_bytes() -> list[float]:
    """Return how many bytes a push takes, plain and compressed, and what is there at the end."""
    store = mx.kv.create("dist_async")
    store.init("w", filled(BIG, 0))
    store.set_optimizer(mx.optimizer.create("test"))
    found = []
    for kind in ("none", "2bit", "1bit"):
        store.set_gradient_compression({"type": kind, "threshold": 0.5})
        before = store._job.bytes_sent
        store.push("w", filled(BIG, 0.75))
        found.append(store._job.bytes_sent - before)
        store.barrier()
    return [*found, pulled(store, "w", BIG).min()]


def test_compressed_gradients_are_sent_in_bits():
    for plain, two, one, value in run_job(count_bytes, 2, servers=2):
        assert plain == 90_000 * 4 and two == plain / 16 and one == plain / 32
        assert value == 2 * (0.75 + 0.5 + 1)


def classifier() -> mx.sym.Symbol:
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=200, name="one")
    output = mx.sym.FullyConnected(mx.sym.Activation(hidden, act_type="tanh"), num_hidden=2, name="two")
    return mx.sym.SoftmaxOutput(output, name="softmax")


def samples(rank: int, count: int = 120) -> mx.io.NDArrayIter:
    random = np.random.RandomState(rank)
    data = random.randn(count, 30).astype("float32")
    return mx.io.NDArrayIter(data, (data.sum(1) > 0).astype("float32"), 10, label_name="softmax_label")


def train_all() -> dict[str, object]:
    """Train modules of all kinds on this worker's samples; return their accuracies on samples of nobody's."""
    store = mx.kv.create("dist_async")
    options = {"kvstore": store, "num_epoch": 6, "optimizer": "sgd", "initializer": mx.init.Xavier()}
    settings = {"learning_rate": 0.1}
    found: dict[str, object] = {}
    module = mx.mod.Module(classifier())
    module.fit(samples(store.rank), optimizer_params=settings, **options)
    found["rescale_grad"] = module._optimizer.rescale_grad
    found["Module"] = module.score(samples(9), "acc")[0][1]
    buckets = mx.mod.BucketingModule(
        lambda key: (classifier(), ["data"], ["softmax_label"]), default_bucket_key=1
    )
    data = samples(store.rank)
    data.default_bucket_key = 1
    buckets.bind(data.provide_data, data.provide_label)
    buckets.init_params(mx.init.Xavier())
    buckets.init_optimizer(mx.kv.create("dist_async"), "adam", {"learning_rate": 0.01})
    for _ in range(6):
        data.reset()
        for batch in data:
            batch.bucket_key = 1
            batch.provide_data, batch.provide_label = data.provide_data, data.provide_label
            buckets.forward_backward(batch)
            buckets.update()
    store.barrier()
    found["BucketingModule"] = buckets.get_params()[0]["one_weight"].shape
    svrg = mx.contrib.svrg_optimization.svrg_module.SVRGModule(classifier(), update_freq=2)
    svrg.fit(
        samples(store.rank), optimizer_params=(("learning_rate", 0.1),), **options | {"kvstore": "dist_async"}
    )
    found["SVRGModule"] = svrg.score(samples(9), "acc")[0][1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # FeedForward is deprecated
        model = mx.model.FeedForward(
            classifier(), num_epoch=6, optimizer="sgd", initializer=mx.init.Xavier(), **settings
        )
        model.fit(samples(store.rank), kvstore="dist_async")
        found["FeedForward"] = model.score(samples(9))
    return found


@pytest.mark.parametrize("servers", [0, 1])
def test_modules_of_all_kinds_train(servers):
    for found in run_job(train_all, 2, servers=servers):
        assert found["rescale_grad"] == 1 / 10  # of the worker's own batch, as in MXNet
        assert found["BucketingModule"] == (200, 30)
        for kind in ("Module", "SVRGModule", "FeedForward"):
            assert found[kind] > 0.85, kind


def use_own_optimizers() -> dict[str, object]:
    from tests.kvstore.own_optimizer import (
        OfThatModule,  # in a worker only: it registers itself for all tests
    )

    found = {}
    store = mx.kv.create("dist_async")
    store.init("w", filled(SHAPE, 0))
    store.set_optimizer(OfThatModule())
    store.push("w", filled(SHAPE, 1))
    store.barrier()
    found["registered"] = pulled(store, "w", SHAPE).max()

    class Nobodys(mx.optimizer.SGD):
        pass

    for name, action in {
        "a class that is not registered": lambda: store.set_optimizer(Nobodys()),
        "a function": lambda: store.set_updater(add_five_times),
    }.items():
        try:
            action()
            store.push("w", filled(SHAPE, 1))
            store.barrier()
            found[name] = pulled(store, "w", SHAPE).max()
        except mx.MXNetError as error:
            found[name] = str(error)
    return found


def add_five_times(key, gradient, weight):
    weight += 5 * gradient


def test_optimizers_of_the_users_own():
    for found in run_job(use_own_optimizers, 2):
        assert found["registered"] == -6
        # SGD with a learning rate of 0.01, and what the function adds.
        np.testing.assert_allclose(found["a class that is not registered"], -6.02, rtol=1e-6)
        np.testing.assert_allclose(found["a function"], 3.98, rtol=1e-6)
    for found in run_job(use_own_optimizers, 2, servers=1):
        assert found["registered"] == -6
        assert found["a class that is not registered"].startswith(
            "KVStore.set_optimizer: the class of the optimizer must be registered, so that the servers find it; got"
        )
        assert "a function cannot be sent to the job's servers" in found["a function"]


def use_wrongly() -> list[str]:
    """Return what the errors and warnings say."""
    store = mx.kv.create("dist_async")
    store.init("w", filled(SHAPE, 0))
    said = []
    for action in (
        lambda: store.push("w", filled(SHAPE, 1)),
        lambda: store.pull("v", out=filled(SHAPE, 1)),
        lambda: store.push("w", filled(BIG, 1)),
        lambda: store.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.1 + store.rank)),
    ):
        try:
            action()
        except mx.MXNetError as error:
            said.append(str(error))
    store.set_updater(fail)
    store.push("w", filled(SHAPE, 1))
    try:
        store.barrier()
    except mx.MXNetError as error:
        said.append(str(error))
    return said


def fail(key, gradient, weight):
    raise ValueError("this function fails")


def test_errors_say_what_is_wrong():
    for said in run_job(use_wrongly, 2):
        first, second, third, fourth, fifth = said
        assert "it needs set_optimizer() first" in first
        assert second == "KVStore.pull: no key 'v'. Set it with init() first."
        assert third == "KVStore.push: 'w' must have shape (2, 2); got (300, 300)"
        assert "all workers must have the same optimizer" in fourth or fourth == ""
        assert fifth == "ValueError: this function fails"


def diverge() -> list[str]:
    store = mx.kv.create("dist_async")
    store.init("w", filled(SHAPE, 0))
    store.set_optimizer(mx.optimizer.create("sgd"))
    store.push("w", filled(SHAPE, float("inf")))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pulled(store, "w", SHAPE)
        pulled(store, "w", SHAPE)
    return [str(each.message) for each in caught]


def test_weights_that_are_not_finite_are_a_warning():
    (said,) = diverge()
    assert said.startswith("KVStore.pull: weights are not finite any more, so training has diverged (")
    assert "REBIND_STALENESS" in said


def lose_a_worker(how: str) -> str:
    """Let worker 1 end before the others; return the error that they get."""
    store = mx.kv.create("dist_async")
    store.init("w", filled(BIG, 0))
    store.set_optimizer(mx.optimizer.create("test"))
    if store.rank == 1:
        if how == "raises":
            raise ValueError("no more")
        os.kill(os.getpid(), signal.SIGKILL)
    return push_until_an_error(store, BIG)


def push_until_an_error(store: mx.kv.KVStore, shape: tuple[int, int]) -> str:
    """Return the error that pushing and pulling comes to."""
    try:
        for _ in range(2000):
            store.push("w", filled(shape, 1))
            pulled(store, "w", shape)
            time.sleep(0.01)
    except mx.MXNetError as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


@pytest.mark.parametrize("servers", [0, 1])
@pytest.mark.parametrize("how", ["raises", "is killed"])
def test_a_worker_that_is_lost_is_named(servers, how):
    first, _, third = run_job(lose_a_worker, 3, how, servers=servers, may_fail=True)
    for found in first, third:
        assert found.startswith("WorkerError: KVStore.pu")
        assert "all 3 workers must take part; lost worker " in found
    assert "worker 1: " in first + third
    assert how == "is killed" or "ValueError: no more" in first + third


def finish_early() -> float:
    """Let worker 1 end long before worker 0, which needs what it serves."""
    store = mx.kv.create("dist_async")
    store.init("w", filled(BIG, 0))
    store.set_optimizer(mx.optimizer.create("test"))
    for _ in range(1 if store.rank else 5):
        store.push("w", filled(BIG, 1))
        time.sleep(0 if store.rank else 0.1)
    return 1.0 if store.rank else float(pulled(store, "w", BIG).min())


@pytest.mark.parametrize("servers", [0, 1])
def test_a_worker_that_has_finished_is_not_lost(servers):
    alone, _ = run_job(finish_early, 2, servers=servers)
    assert alone == 6


def lose_the_server() -> str:
    """Kill the server; return the error."""
    store = mx.kv.create("dist_async")
    store.init("w", filled(SHAPE, 0))
    store.set_optimizer(mx.optimizer.create("test"))
    name = store._servers.links[0].name
    store.barrier()
    if store.rank == 0:
        os.kill(int(name.partition("pid ")[2].split()[0]), signal.SIGKILL)
    return push_until_an_error(store, SHAPE)


def test_a_server_that_is_lost_is_named():
    for found in run_job(lose_the_server, 2, servers=1):
        assert found.startswith("WorkerError: KVStore.pu")
        assert "server 0 (pid " in found and "must answer; got " in found
