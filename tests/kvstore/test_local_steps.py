"""`LocalStepsStore` in real processes: workers update weights of their own, and average them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from tests.distributed.workers import run_job
from tests.kvstore.wire_bytes import PUSHES, SIZE, push

import rebind as mx
from rebind.kvstore.dist_sync import DistSyncStore
from rebind.optimizer.base import optimizers

#: One that is divided over the workers, and others that belong to one each.
SHAPES = {"weight": (130, 40), "bias": (40,), "other": (7, 3)}
RATE, MOMENTUM, STEPS = 0.1, 0.5, 7
#: Of `mx.kv.create`.
OUTER = {"outer_momentum": 0.9, "outer_learning_rate": 0.7}


def gradient(key: str, rank: int, step: int) -> np.ndarray:
    """Return what a worker pushes in a step."""
    return np.random.RandomState(1000 * rank + 10 * step + len(key)).randn(*SHAPES[key]).astype("float32")


def train(one_by_one: bool, update_every: int, outer: dict[str, float]) -> list[dict[str, np.ndarray]]:
    """Train; return the weights after each step, and after the last average."""
    store = mx.kv.create("dist_sync", update_every=update_every, **outer)
    # Those of worker 0 count.
    store.init(list(SHAPES), [mx.nd.ones(shape) * (store.rank + 1) for shape in SHAPES.values()])
    store.set_optimizer(mx.optimizer.create("sgd", learning_rate=RATE, momentum=MOMENTUM))
    found, out = [], {key: mx.nd.zeros(shape) for key, shape in SHAPES.items()}
    for step in range(STEPS + 1):
        if step == STEPS:
            store.synchronize()
        elif one_by_one:
            for key in SHAPES:
                store.push(key, mx.nd.array(gradient(key, store.rank, step)))
        else:
            store.push(list(SHAPES), [mx.nd.array(gradient(key, store.rank, step)) for key in SHAPES])
        store.pull(list(SHAPES), out=list(out.values()))
        found.append({key: array.asnumpy() for key, array in out.items()})
    return found


def expected(workers: int, update_every: int, outer: dict[str, float]) -> list[list[dict[str, np.ndarray]]]:
    """Return the same for each worker, computed with PyTorch's optimizers."""
    found: list[list[dict[str, np.ndarray]]] = [[] for _ in range(workers)]
    for key, shape in SHAPES.items():
        common = torch.ones(shape)
        own = [common.clone() for _ in range(workers)]
        rates = [torch.optim.SGD([weight], RATE, MOMENTUM) for weight in own]
        momentum = outer.get("outer_momentum", 0.0)
        outer_optimizer = torch.optim.SGD(
            [common], outer.get("outer_learning_rate", 1.0), momentum, nesterov=momentum > 0
        )
        for step in range(STEPS + 1):
            for rank, (weight, optimizer) in enumerate(zip(own, rates, strict=True)):
                if step < STEPS:
                    weight.grad = torch.tensor(gradient(key, rank, step))
                    optimizer.step()
            if step == STEPS or (step + 1) % update_every == 0:
                common.grad = common - sum(own) / workers
                outer_optimizer.step()
                for weight in own:
                    weight.copy_(common)
            for rank, weight in enumerate(own):
                of_worker = found[rank]
                if len(of_worker) == step:
                    of_worker.append({})
                of_worker[step][key] = weight.numpy().copy()
    return found


@pytest.mark.parametrize(
    ("workers", "update_every", "outer", "one_by_one"),
    [(2, 2, {}, False), (3, 3, {}, True), (2, 3, OUTER, False), (3, 2, OUTER, True), (1, 2, OUTER, False)],
)
def test_weights_are_those_of_the_formula(workers, update_every, outer, one_by_one):
    wanted = expected(workers, update_every, outer)
    found = run_job(train, workers, one_by_one, update_every, outer)
    for rank, of_worker in enumerate(found):
        for step, weights in enumerate(of_worker):
            for key, value in weights.items():
                np.testing.assert_allclose(value, wanted[rank][step][key], rtol=1e-4, atol=1e-5, err_msg=key)
                if step == STEPS or (step + 1) % update_every == 0:
                    assert value.tobytes() == found[0][step][key].tobytes()


def test_with_1_it_is_the_store_whose_updates_are_by_the_gradients_of_all(monkeypatch):
    assert type(mx.kv.create("dist_sync", update_every=1)) is DistSyncStore
    monkeypatch.setenv("REBIND_UPDATE_EVERY", "4")
    monkeypatch.setenv("REBIND_OUTER_MOMENTUM", "0.9")
    assert type(mx.kv.create("dist_sync", update_every=1)) is DistSyncStore
    store = mx.kv.create("dist_device_sync")
    assert (store.type, store.update_every) == ("dist_device_sync", 4)
    assert store.averaging == mx.kv.create("dist_sync", update_every=4, **OUTER).averaging
    assert mx.kv.create("dist_sync", update_every=3, outer_momentum=0).averaging.outer_learning_rate == 1
    assert mx.kv.create("local").update_every == mx.kv.create("dist_async").update_every == 1


# What is sent.


@pytest.mark.skipif(sys.platform != "linux", reason="a socket's count of bytes is read as Linux gives it")
@pytest.mark.parametrize(("kind", "ratio"), [("none", 1), ("2bit", 16)])
def test_pushes_take_as_many_times_fewer_bytes(kind, ratio):
    # Each of the two sends the other half of its differences, and half of the weights, once for all pushes.
    half = SIZE * 4 // 2
    for at_sockets, of_arrays in run_job(push, 2, kind, PUSHES):
        assert of_arrays == half // ratio + half
        # Besides, there are signs of life, heads of messages and the barriers.
        assert abs(at_sockets - of_arrays) < half // 32 // 5


def trained_compressed() -> tuple[np.ndarray, np.ndarray]:
    """Average with compressed differences; return the weight, and what this worker has not sent of it."""
    store = mx.kv.create("dist_sync", update_every=2)
    store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    store.init("w", mx.nd.zeros((3,)))
    store.set_optimizer(mx.optimizer.create("sgd", learning_rate=1.0))
    for step in range(2):
        store.push("w", mx.nd.array([[0.3, -0.4, 0.1], [0.3, 0.0, 0.1 + store.rank]][step]))
    store.pull("w", out=(out := mx.nd.zeros((3,))))
    return out.asnumpy(), store.state_dict()["residuals"]["w"][0].asnumpy()


def test_what_is_compressed_is_the_difference_from_the_common_weights():
    # The workers' differences are 0.6, -0.4, and 0.2 or 1.2: of each the threshold is sent, or nothing.
    for rank, (weight, residual) in enumerate(run_job(trained_compressed, 2)):
        np.testing.assert_allclose(weight, [-0.5, 0, -0.25], atol=1e-6)
        np.testing.assert_allclose(residual, [0.1, -0.4, [0.2, 0.7][rank]], atol=1e-6)


# Optimizers.


def of_16_bits(dtype: str, name: str) -> tuple[list[float], list[bytes]]:
    """Take steps that are too small for a weight of 16 bits, but for their sum; return it after each average."""
    store = mx.kv.create("dist_sync", update_every=2)
    store.init("w", mx.nd.ones((1,), dtype=dtype))
    store.set_optimizer(mx.optimizer.create(name, learning_rate=2**-12, multi_precision=True))
    found, out = [], mx.nd.zeros((1,), dtype=dtype)
    for step in range(64):
        store.push("w", mx.nd.ones((1,), dtype=dtype) * (1 + store.rank))
        store.pull("w", out=out)
        if step % 2:
            found.append(float(out.astype("float32").item()))
    master = store.updater.optimizer.master_of(out, store.updater.states["w"])
    assert master.dtype == np.float32
    return found, [master.asnumpy().tobytes()]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_small_steps_add_up_in_the_master_copies(dtype, name):
    (first, master), (second, other) = run_job(of_16_bits, 2, dtype, name)
    assert first == second
    assert master == other
    mean = 1.5 if name == "sgd" else 1  # Adam's steps are as long whatever the gradients
    wanted = [1 - mean * 2 * (i + 1) * 2**-12 for i in range(32)]
    np.testing.assert_allclose(first, wanted, atol=2**-9 if dtype == "bfloat16" else 2**-12)


@pytest.mark.parametrize("name", sorted(set(optimizers) - {"ccsgd", "test"}))
def test_which_optimizers_forget_a_weight_that_is_set(name):
    try:
        optimizer = mx.optimizer.create(name, learning_rate=1e-3)
    except (TypeError, ValueError):
        pytest.skip("it has no rate of its own")
    updater, weight = mx.optimizer.get_updater(optimizer), mx.nd.ones((4, 3))
    for _ in range(3):
        updater(0, mx.nd.ones((4, 3)), weight)
    weight[:] = 5
    updater(0, mx.nd.ones((4, 3)), weight)
    assert optimizer.weights_follow_states == bool(abs(weight.asnumpy() - 5).max() > 0.5)


# States.


def save_and_train(folder: str, outer: dict[str, float]) -> list[bytes]:
    """Train, save after an average, and train on; return the last common weights."""
    store = mx.kv.create("dist_sync", update_every=2, **outer)
    store.init("w", mx.nd.ones((300, 30)))
    store.set_optimizer(mx.optimizer.create("sgd", learning_rate=RATE))
    for step in range(4):
        store.push("w", mx.nd.ones((300, 30)) * (store.rank + step))
        if step == 1:
            store.save_optimizer_states(f"{folder}/net.states", dump_optimizer=True)
            store.pull("w", out=(out := mx.nd.zeros((300, 30))))
            if store.rank == 0:
                mx.nd.save(f"{folder}/net.params", {"w": out})
    store.pull("w", out=(out := mx.nd.zeros((300, 30))))
    return [out.asnumpy().tobytes(), str(store.updater.optimizer.num_update).encode()]


def load_and_train(folder: str, outer: dict[str, float]) -> list[bytes]:
    """Continue from what was saved, which only worker 0 can read."""
    store = mx.kv.create("dist_sync", update_every=2, **outer)
    weight = mx.nd.zeros((300, 30)) if store.rank else mx.nd.load(f"{folder}/net.params")["w"]
    store.init("w", weight)
    store.set_optimizer(mx.optimizer.create("sgd", learning_rate=7))
    store.load_optimizer_states(f"{folder if store.rank == 0 else '/nowhere'}/net.states")
    for step in (2, 3):
        store.push("w", mx.nd.ones((300, 30)) * (store.rank + step))
    store.pull("w", out=weight)
    return [weight.asnumpy().tobytes(), str(store.updater.optimizer.num_update).encode()]


@pytest.mark.parametrize("outer", [{}, OUTER])
def test_a_file_of_states_has_the_outer_momentum_and_the_counts(outer, tmp_path):
    wanted = run_job(save_and_train, 2, str(tmp_path), outer)
    assert run_job(load_and_train, 2, str(tmp_path), outer) == wanted
    assert wanted[0] == wanted[1]
    plain = mx.kv.create("local")
    plain.init("w", mx.nd.ones((300, 30)))
    plain.set_optimizer(mx.optimizer.create("sgd"))
    plain.load_optimizer_states(
        str(tmp_path / "net.states")
    )  # a store that does not average takes it as well
    plain.push("w", mx.nd.ones((300, 30)))


def in_mid_cycle(steps: int) -> tuple[dict[str, object], bytes]:
    """Train with momentum, and take what a run saves after some steps; return it, and the last weight."""
    store = mx.kv.create("dist_sync", update_every=4, **OUTER)
    store.init(3, mx.nd.ones((20, 30)))
    store.set_optimizer(mx.optimizer.create("adam", learning_rate=RATE))
    for step in range(8):
        if step == steps:
            weight = mx.nd.zeros((20, 30))
            store.pull(3, out=weight)
            saved = (weight.asnumpy(), store.optimizer_states(), store.state_dict())
            store = mx.kv.create("dist_sync", update_every=4, **OUTER)
            store.init(3, mx.nd.array(saved[0]))  # worker 0's
            store.set_optimizer(mx.optimizer.create("adam", learning_rate=RATE))
            store.updater.optimizer._index_update_count[3] = store.updater.optimizer.num_update = steps
            store.set_optimizer_states(saved[1])
            store.load_state_dict(saved[2])
        store.push(3, mx.nd.array(np.random.RandomState(10 * store.rank + step).randn(20, 30)))
    store.pull(3, out=(weight := mx.nd.zeros((20, 30))))
    return weight.asnumpy().tobytes()


def test_a_store_continues_between_two_averages():
    whole = run_job(in_mid_cycle, 2, 9)
    assert whole[0] == whole[1]
    for steps in (4, 6):
        assert run_job(in_mid_cycle, 2, steps) == whole


# Mistakes.


def other_numbers() -> None:
    """Average at other times than the other worker."""
    store = mx.kv.create("dist_sync")
    if store.rank:
        store = mx.kv.create("dist_sync", update_every=8)
    store.set_optimizer(mx.optimizer.create("sgd"))


def test_workers_that_average_at_other_times_hear_of_it():
    first, second = run_job(other_numbers, 2, may_fail=True)
    assert first.message == (
        "KVStore.set_optimizer: all workers must have the same optimizer; worker 0 has 'optimizer': SGD, and worker 1 "
        "has no 'optimizer'"
    )
    assert second.message.startswith(
        "KVStore.set_optimizer: all workers must have the same optimizer; worker 1 has 'update_every': 8, and worker 0 "
        "has no 'update_every'"
    )


@pytest.mark.parametrize(
    ("kind", "settings", "says"),
    [
        (
            "local",
            {"update_every": 8},
            "kvstore.create: update_every is for 'dist_sync' and its other names; got 8 for 'local'",
        ),
        (
            "dist_async",
            {"outer_momentum": 0.9},
            "kvstore.create: outer_momentum is for 'dist_sync' and its other names; got 0.9 for 'dist_async'",
        ),
        ("dist_sync", {"update_every": 0}, "update_every must be an int >= 1 or None; got 0"),
        ("dist_sync", {"update_every": 2.5}, "update_every must be an int >= 1 or None; got 2.5"),
        (
            "dist_sync",
            {"update_every": 2, "outer_momentum": 1},
            r"outer_momentum must be a number in \[0, 1\) or None; got 1",
        ),
        (
            "dist_sync",
            {"update_every": 2, "outer_learning_rate": 0},
            "outer_learning_rate must be a number > 0 or None; got 0",
        ),
        (
            "dist_sync",
            {"outer_momentum": 0.9},
            "kvstore.create: outer_momentum is for update_every of 2 or more; got 0.9 with 1",
        ),
    ],
)
def test_wrong_settings(kind, settings, says):
    with pytest.raises((mx.errors.ArgumentError, mx.errors.ParameterError), match=says):
        mx.kv.create(kind, **settings)


def test_wrong_variables(monkeypatch):
    monkeypatch.setenv("REBIND_UPDATE_EVERY", "0")
    with pytest.raises(mx.errors.ParameterError, match="REBIND_UPDATE_EVERY must be an int >= 1; got 0"):
        mx.kv.create("dist_sync")
    monkeypatch.setenv("REBIND_UPDATE_EVERY", "2")
    monkeypatch.setenv("REBIND_OUTER_MOMENTUM", "-1")
    with pytest.raises(mx.errors.ParameterError, match=r"REBIND_OUTER_MOMENTUM must be a number in \[0, 1\)"):
        mx.kv.create("dist_sync")


def test_a_push_needs_an_optimizer_that_starts_from_the_weights():
    store = mx.kv.create("dist_sync", update_every=2)
    store.init("w", mx.nd.zeros((1,)))
    with pytest.raises(
        mx.errors.StateError, match=r"with update_every=2 the store .* needs set_optimizer\(\)"
    ):
        store.push("w", mx.nd.ones((1,)))
    with pytest.raises(mx.errors.ArgumentError, match="got Ftrl, which computes them from its states"):
        store.set_optimizer(mx.optimizer.create("ftrl"))
    store.set_updater(lambda key, gradient, weight: weight.write(weight - gradient))  # of the program's own
    for _ in range(2):
        store.push("w", mx.nd.ones((1,)))
    store.pull("w", out=(out := mx.nd.zeros((1,))))
    assert out.item() == -2
