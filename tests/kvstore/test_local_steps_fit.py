"""`fit` with `update_every`, in real processes: between two averages each worker trains by itself."""

from __future__ import annotations

import copy
import itertools
import pathlib
import time

import numpy as np
import pytest
from tests.distributed.workers import run_job
from tests.kvstore import rotated, test_dist_modules
from tests.kvstore.rotated import Rotated
from tests.kvstore.test_dist_modules import KINDS, network, own_iter
from tests.module.joint_runs import BATCH, RATE, WIDTH, fit_uneven, samples, stop_on_one

import rebind as mx
from rebind.contrib.svrg_optimization import SVRGModule
from rebind.distributed import current_job
from rebind.module.lockstep import Lockstep


def every(number: int) -> dict[str, str]:
    """Return the variables of a job whose workers average after so many updates."""
    return {"REBIND_UPDATE_EVERY": str(number)}


# Whole runs.


def expected(counts: list[int], epochs: int, accumulate: int, update_every: int) -> np.ndarray:
    """Return the weights of `fit_uneven`, computed with NumPy."""
    x, y = samples(sum(counts))
    starts = np.cumsum([0, *counts])
    weights, velocities = (np.zeros((len(counts), 1, WIDTH)) for _ in range(2))
    steps = max(counts) // BATCH
    for _ in range(epochs):
        gradients, waiting, updates = np.zeros_like(weights), 0, 0
        for step in range(steps):
            for rank, (start, end) in enumerate(itertools.pairwise(starts)):
                rows = slice(start + step * BATCH, min(start + step * BATCH + BATCH, end))
                gradients[rank] += (x[rows] @ weights[rank].T - y[rows]).T @ x[rows]
            waiting += 1
            if waiting == accumulate or step == steps - 1:
                velocities = 0.5 * velocities - RATE * gradients / (BATCH * waiting)
                weights = weights + velocities
                gradients, waiting, updates = np.zeros_like(weights), 0, updates + 1
                if updates % update_every == 0 or step == steps - 1:
                    weights = np.repeat(weights.mean(0, keepdims=True), len(counts), 0)
    return weights[0]


@pytest.mark.parametrize(
    ("counts", "accumulate", "update_every"),
    [
        *(([10, 6], 2, 2), ([2, 12, 4], 1, 8)),
        *(pytest.param(*row, marks=pytest.mark.slow) for row in (([10, 6], 1, 2), ([4, 14], 1, 3))),
    ],
)
def test_workers_take_as_many_steps_and_average_at_the_end_of_an_epoch(counts, accumulate, update_every):
    wanted = expected(counts, 2, accumulate, update_every)
    found = run_job(fit_uneven, len(counts), counts, accumulate, environment=every(update_every))
    steps = max(counts) // BATCH
    for rank, each in enumerate(found):
        np.testing.assert_allclose(each["weight"], wanted, rtol=1e-5)
        assert each["weight"].tobytes() == found[0]["weight"].tobytes()
        own = counts[rank] // BATCH
        assert each["seen"] == [(epoch, i, i >= own) for epoch in range(2) for i in range(steps)]


def train_with_equal_data() -> dict[str, dict[str, np.ndarray]]:
    """Train each kind, this worker with all batches of one process."""
    test_dist_modules.store_for = lambda workers: "dist_sync"
    return {name: kind(0, 1) for name, kind in KINDS.items()}


def test_workers_with_equal_data_learn_what_one_process_learns():
    # Averages of equal weights change nothing: rates, clipping and full gradients are those of each worker's own batch.
    found = run_job(train_with_equal_data, 2, environment=every(3))
    for name, kind in KINDS.items():
        for key, value in kind(0, 1).items():
            np.testing.assert_allclose(found[0][name][key], value, rtol=2e-3, atol=2e-5, err_msg=name)


def train_each(folder: str) -> dict[str, dict[str, np.ndarray]]:
    """Train each kind by this worker's part of the data, saved after each batch."""
    store, fit = mx.kv.create("dist_sync"), mx.mod.BaseModule.fit
    found = {}
    for name, kind in KINDS.items():
        checkpoint = mx.checkpoint.Checkpoint(f"{folder}/{name}", every_n_batches=1, keep=None)

        def fit_and_save(module: mx.mod.BaseModule, *args: object, **settings: object) -> object:
            return fit(module, *args, **settings, checkpoint=checkpoint)  # noqa: B023

        mx.mod.BaseModule.fit = fit_and_save
        found[name] = kind(store.rank, store.num_workers)
    return found


@pytest.mark.parametrize("momentum", [pytest.param("0", marks=pytest.mark.slow), "0.9"])
def test_every_kind_resumes_exactly_between_two_averages(momentum, tmp_path):
    variables = every(3) | {"REBIND_OUTER_MOMENTUM": momentum}
    whole = run_job(train_each, 2, str(tmp_path), environment=variables)
    # As if the job had ended in the second epoch, after two of three updates.
    for path in tmp_path.glob("*.run"):
        if path.stem[-11:] > "0001-000002":
            path.unlink()
    for worker in run_job(train_each, 2, str(tmp_path), environment=variables):
        for kind, weights in whole[0].items():
            for name, array in weights.items():
                assert worker[kind][name].tobytes() == array.tobytes(), f"{kind}: {name}"
                assert np.isfinite(array).all()


def other_workers(folder: str, epochs: int) -> np.ndarray:
    """Train, with a checkpoint; return a weight."""
    store = mx.kv.create("dist_sync", update_every=3, outer_momentum=0.5)
    module = mx.mod.Module(network())
    module.fit(
        own_iter(store.rank, store.num_workers),
        kvstore=store,
        initializer=test_dist_modules.FromName(),
        num_epoch=epochs,
        checkpoint=f"{folder}/net",
    )
    return module.get_params()[0]["one_weight"].asnumpy()


@pytest.mark.parametrize("counts", [(2, 3), pytest.param((3, 1), marks=pytest.mark.slow)])
def test_another_number_of_workers_resumes_between_two_epochs(counts, tmp_path):
    first, then = counts
    begun = run_job(other_workers, first, str(tmp_path), 1)
    found = run_job(other_workers, then, str(tmp_path), 2)
    assert {each.tobytes() for each in found} == {found[0].tobytes()}
    assert 0 < abs(found[0] - begun[0]).max() < 0.2


def resume_within_an_epoch(folder: str, then: int) -> None:
    """Train, and resume within an epoch with another number of updates between averages."""
    job = current_job()
    for update_every in (3, then):
        module = mx.mod.Module(network())
        module.fit(
            own_iter(job.rank, job.size),
            kvstore=mx.kv.create("dist_sync", update_every=update_every),
            num_epoch=2,
            checkpoint=mx.checkpoint.Checkpoint(f"{folder}/net", every_n_batches=1, keep=None),
        )
        job.barrier()
        if job.rank == 0:
            for path in pathlib.Path(folder).glob("*.run"):
                if path.stem[-11:] > "0001-000002":
                    path.unlink()
        job.barrier()


def test_a_run_is_resumed_with_another_number_of_updates(tmp_path):
    run_job(resume_within_an_epoch, 2, str(tmp_path), 2)


def test_weights_of_each_worker_are_not_lost_by_resuming_with_none_of_them(tmp_path):
    for each in run_job(resume_within_an_epoch, 2, str(tmp_path), 1, may_fail=True):
        assert each.message == (
            "KVStore.load_state_dict: the state is of workers that have updated weights of their own since the last "
            "average, and needs update_every of 2 or more; got 1"
        )


def copied() -> list[bytes]:
    """Copy a module in the middle of training, and train both; return a weight of each."""
    store = mx.kv.create("dist_sync", update_every=3, outer_momentum=0.5)
    module = mx.mod.Module(network())
    module.bind([("data", (4, 20))], [(test_dist_modules.LABELS, (4,))])
    module.init_params(test_dist_modules.FromName())
    module.init_optimizer(store)
    batches, modules = list(own_iter(store.rank, 3)), [module]
    for number, batch in enumerate(batches):
        if number == 1:
            modules.append(copy.deepcopy(module))
        for each in modules:
            each.forward_backward(batch)
            each.update()
    assert modules[1].stores()[0].options == store.options
    for each in modules:
        each.stores()[0].synchronize()
        each.pull_weights()
    return [each.get_params()[0]["one_weight"].asnumpy().tobytes() for each in modules]


def test_a_copy_averages_as_the_original_does():
    (one, other), second = run_job(copied, 2)
    assert one == other
    assert [one, other] == second


def snapshot_between_averages() -> list[bytes]:
    """Update by this worker's own batch, and take a snapshot for SVRG; return it, and the weight."""
    store = mx.kv.create("dist_sync", update_every=8)
    module, data = SVRGModule(network(), update_freq=1), own_iter(store.rank, store.num_workers)
    module.bind(data.provide_data, data.provide_label)
    module.init_params(test_dist_modules.FromName())
    module.init_optimizer(store, optimizer_params=test_dist_modules.SGD)
    module.update_full_grads(data)
    for batch in own_iter(store.rank, store.num_workers):
        module.forward_backward(batch)
        module.update()
    own = module.get_params()[0]["one_weight"].asnumpy().tobytes()
    module.update_full_grads(data)
    both = [each.get_params()[0]["one_weight"].asnumpy().tobytes() for each in (module, module._mod_aux)]
    return [own, *both]


def test_a_snapshot_of_svrg_is_of_the_average():
    (own, weight, snapshot), other = run_job(snapshot_between_averages, 2)
    assert own != other[0]
    assert weight == snapshot == other[1] == other[2]


def save_files(folder: str) -> bool:
    """Save at the end of epochs; return whether each file has the weights that all workers have then."""
    store = mx.kv.create("dist_sync", update_every=3)
    module, seen = mx.mod.Module(network()), []
    module.fit(
        own_iter(store.rank, store.num_workers),
        kvstore=store,
        initializer=test_dist_modules.FromName(),
        num_epoch=2,
        epoch_end_callback=[
            mx.callback.do_checkpoint(f"{folder}/net"),
            lambda epoch, symbol, args, aux: seen.append(args["one_weight"].asnumpy()),
        ],
    )
    store.barrier()
    saved = [mx.nd.load(f"{folder}/net-000{epoch}.params")["arg:one_weight"].asnumpy() for epoch in (1, 2)]
    return all(one.tobytes() == other.tobytes() for one, other in zip(saved, seen, strict=True))


def test_files_have_the_average(tmp_path):
    assert run_job(save_files, 2, str(tmp_path)) == [True, True]


# Learning.

HELD_OUT = 597


def read_digits(options: dict[str, float]) -> float:
    """Train on this worker's digits; return the share of the others that are read right."""
    from sklearn.datasets import load_digits

    pictures, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(labels))
    pictures, labels = (pictures[order] / 16).astype("float32"), labels[order]
    store = mx.kv.create("dist_sync", **options)
    own, held_out = slice(HELD_OUT + store.rank, None, store.num_workers), slice(HELD_OUT)
    mx.random.seed(0)
    np.random.seed(store.rank)
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=128, name="fc1")
    output = mx.sym.FullyConnected(mx.sym.Activation(hidden, act_type="relu"), num_hidden=10, name="fc2")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(output, name="softmax"))
    module.fit(
        mx.io.NDArrayIter(pictures[own], labels[own], 32 // store.num_workers, shuffle=True),
        kvstore=store,
        initializer=mx.init.Xavier(),
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9},
        num_epoch=10,
    )
    [(_, share)] = module.score(mx.io.NDArrayIter(pictures[held_out], labels[held_out], HELD_OUT), "acc")
    return share


@pytest.mark.parametrize("workers", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_averages_read_digits_as_well_as_sums_of_gradients(workers):
    pytest.importorskip("sklearn")
    whole, *_ = run_job(read_digits, workers, {}, timeout=300)
    averaged = run_job(read_digits, workers, {"update_every": 4}, timeout=300)
    assert len(set(averaged)) == 1
    assert averaged[0] > max(whole - 0.005, 0.95)


# Steps, and their end.


def run_ahead(path: str) -> list[str | None]:
    """Take steps, of which worker 1 begins the first when worker 0 has taken four."""
    job, flag = current_job(), pathlib.Path(path)
    taken: list[str | None] = []
    while job.rank and not flag.exists():
        time.sleep(0.01)
    for batch in Lockstep(job, lead=4).steps(iter("abcdef"[: 6 - job.rank]), lambda: False):
        taken.append(batch)
        if len(taken) == 4:
            flag.touch()
    return taken


def test_no_worker_waits_for_another_one_between_two_averages(tmp_path):
    assert run_job(run_ahead, 2, str(tmp_path / "flag")) == [[*"abcdef"], [*"abcde", None]]


#: Where worker 1 stops, and after how many steps the run ends: where the others read of it, or with the epoch.
STOPS = [(("on_batch_end", 1, 1), 4 + 3), (("on_batch_end", 0, 1), 3), (("on_batch_end", 0, 3), 4)]


def test_a_callback_of_one_worker_ends_the_run_of_all_after_the_same_step():
    first, second = run_job(stop_on_one, 2, [stop for stop, _ in STOPS], environment=every(3))
    for (_, steps), one, other in zip(STOPS, first, second, strict=True):
        assert one[0] == other[0] == steps
        assert one[1] == other[1]
        assert [line.split(". ", 1)[1] for line in one[2]] == ["Worker 1: That is enough."]
        assert one[3].tobytes() == other[3].tobytes()


def lose_worker_1() -> None:
    """Train until worker 1 ends before an average."""
    store = mx.kv.create("dist_sync", update_every=4)
    store.init("w", mx.nd.zeros((3,)))
    store.set_optimizer(mx.optimizer.create("sgd"))
    for step in range(4):
        if (store.rank, step) == (1, 2):
            raise RuntimeError("out of memory")
        store.push("w", mx.nd.ones((3,)))


def test_an_error_names_a_worker_that_is_lost_before_an_average():
    first, _ = run_job(lose_worker_1, 2, may_fail=True)
    assert first.kind == "WorkerError"
    assert "lost worker 1" in first.message
    assert "out of memory" in first.message


# Other storage types.


def train_rotated() -> tuple[list[bytes], int, float]:
    """Train a network whose weight is of another storage type."""
    job, module = current_job(), rotated.module()
    Rotated.turned_dense = 0
    rotated.train(module, "dist_sync", job.rank, job.size, epochs=4)
    turned_dense = Rotated.turned_dense
    values, labels = rotated.samples()
    [(_, share)] = module.score(mx.io.NDArrayIter(values, labels, 8, label_name="softmax_label"), "acc")
    return [each.asnumpy().tobytes() for each in module.get_params()[0].values()], turned_dense, share


def test_weights_of_other_storage_types_are_averaged_as_they_are():
    (first, turned_dense, share), (second, *_) = run_job(train_rotated, 2, environment=every(2))
    assert first == second
    assert turned_dense == 0
    assert share > 0.6
