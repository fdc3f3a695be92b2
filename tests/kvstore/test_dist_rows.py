"""Rows over processes: of row_sparse gradients, by which workers update dense and row_sparse weights."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.sockets import sent_by_sockets
from tests.distributed.workers import run_job
from tests.kvstore.embedding import OPTIMIZERS, row_sparse, train, weights

import rebind as mx
from rebind.distributed import current_job

TABLE = (100_000, 16)


def train_with_servers(optimizer: str) -> dict[str, np.ndarray]:
    return weights(train("dist_async", optimizer=optimizer))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_worker_of_servers_gets_the_weights_of_a_local_store(optimizer: str) -> None:
    cut = {"MXNET_KVSTORE_BIGARRAY_BOUND": "1"}
    [found] = run_job(train_with_servers, 1, optimizer, servers=3, environment=cut)
    expected = weights(train("local", optimizer=optimizer))
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-5, atol=1e-6, err_msg=name)


def train_all() -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """Train as a worker: with each optimizer, and with both storage types of the weight."""
    job = current_job()
    runs = [(name, "default") for name in OPTIMIZERS] + [("sgd", "row_sparse"), ("adam", "row_sparse")]
    return {
        (name, stype): weights(train("dist_sync", stype, name, job.rank, job.size)) for name, stype in runs
    }


@pytest.mark.parametrize("workers", [2, 4])
def test_workers_get_the_weights_of_one_worker_on_the_merged_batch(workers: int) -> None:
    alone = {name: weights(train("local", optimizer=name)) for name in OPTIMIZERS}
    first, *others = run_job(train_all, workers)
    for run, found in first.items():
        for name, value in found.items():
            expected = alone[run[0]][name]
            np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-6, err_msg=f"{run} {name}")
            for other in others:  # to the last bit
                np.testing.assert_array_equal(other[run][name], value, err_msg=f"{run} {name}")


def push_rows(kind: str, stype: str) -> tuple[int, int, np.ndarray]:
    """Push some rows of a big table; return the bytes of arrays and at the sockets, and the rows of the weight."""
    store = mx.kv.create(kind)
    store.init("w", mx.nd.zeros(TABLE, stype=stype))
    store.set_optimizer(mx.optimizer.create("sgd", learning_rate=1.0, momentum=0.9))
    gradient = row_sparse(TABLE, dict.fromkeys(range(store.rank, 200, 2), 1.0))
    store.push("w", gradient)  # the first opens connections
    store.barrier()
    before, sent = sent_by_sockets(), store._job.bytes_sent
    for _ in range(5):
        store.push("w", gradient)
    store.barrier()
    sent, at_sockets = store._job.bytes_sent - sent, sent_by_sockets() - before
    found = mx.nd.zeros(TABLE)
    store.pull("w", out=found)
    store.barrier()  # a worker that leaves takes its connections along, whose bytes others still count
    return sent, at_sockets, found.asnumpy()[:300]


@pytest.mark.sampled
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize(("kind", "servers"), [("dist_sync", 0), ("dist_async", 2)])
def test_only_rows_travel(kind: str, servers: int, stype: str) -> None:
    size = 100 * (TABLE[1] * 4 + 8)  # of the rows of a worker, and their indices
    (*first, weight), (*_, other) = run_job(push_rows, 2, kind, stype, servers=servers)
    np.testing.assert_array_equal(weight, other)
    assert (weight[:200] == weight[0, 0]).all() and weight[0, 0] < -6 and not weight[200:].any()
    sent, at_sockets = first
    assert 5 * size <= sent < 5 * (size + 200)  # besides, there may be a head
    if sys.platform == "linux":  # where a socket's count of bytes can be read
        assert abs(at_sockets - sent) < 20_000  # besides, signs of life for as long as a worker waits


PUSHES = [
    [{1: 1.0, 3: 2.0}, {3: 5.0}],
    [{}, {0: 1.0}],  # a worker without rows
    [{}, {}],
    ["dense", "dense"],  # the momentum is divided over the workers now
    [{2: 1.0}, {1: 1.0}],  # and is whole again
    [{5: 1.0, 0: 2.0}, {0: 1.0}],  # not in order
]


def gradient_of(pushed: dict[int, float] | str) -> mx.nd.NDArray:
    return mx.nd.ones((6, 2)) if pushed == "dense" else row_sparse((6, 2), pushed)


def push_in_turn(kind: str, stype: str, optimizer: str, folder: str = "") -> dict[str, np.ndarray]:
    """Push by worker, or for all workers in a store of one process, and return weights and states."""
    store = mx.kv.create(kind)
    store.init("w", mx.nd.ones((6, 2)).tostype(stype))
    settings = {"momentum": 0.9, "wd": 0.1} if optimizer == "sgd" else {}
    for begin in range(0, len(PUSHES), 3):  # it is resumed in between
        store.set_optimizer(mx.optimizer.create(optimizer, learning_rate=0.5, **settings))
        if begin:
            store.load_optimizer_states(f"{folder}/{kind}.states")
        for pushed in PUSHES[begin : begin + 3]:
            own = pushed if kind == "local" else [pushed[store.rank]]
            store.push("w", [gradient_of(each) for each in own])
        store.save_optimizer_states(f"{folder}/{kind}.states", dump_optimizer=True)
    found = mx.nd.zeros((6, 2))
    store.pull("w", out=found)
    state = store.optimizer_states().get("w")
    members = state if isinstance(state, tuple) else [state]
    return {
        "weight": found.asnumpy(),
        "state": np.array([each.asnumpy() for each in members if each is not None]),
        "num_update": np.array(store.updater.optimizer.num_update),
    }


@pytest.mark.sampled
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_pushes_and_states_are_those_of_one_process(stype: str, optimizer: str, tmp_path: Path) -> None:
    expected = push_in_turn("local", stype, optimizer, str(tmp_path))
    for rank, found in enumerate(run_job(push_in_turn, 2, "dist_sync", stype, optimizer, str(tmp_path))):
        for name, value in found.items():
            if name != "state" or rank == 0:  # worker 0 has those of all
                np.testing.assert_allclose(value, expected[name], rtol=1e-6, err_msg=name)


def push_one_by_one(kind: str, stype: str, optimizer: str, folder: str) -> dict[str, np.ndarray]:
    """Push each gradient by itself, as worker 0, and return weights and states; it is resumed in between."""
    store = mx.kv.create(kind)
    store.init("w", mx.nd.ones((6, 2)).tostype(stype))
    settings = {"momentum": 0.9, "wd": 0.1} if optimizer == "sgd" else {}
    for begin in range(0, len(PUSHES), 3):
        store.set_optimizer(mx.optimizer.create(optimizer, learning_rate=0.5, **settings))
        if begin:
            store.load_optimizer_states(f"{folder}/{kind}.states")
        for pushed in PUSHES[begin : begin + 3] if store.rank == 0 else []:
            for each in pushed:
                store.push("w", gradient_of(each))
        store.save_optimizer_states(f"{folder}/{kind}.states")
        store.barrier()
    found = mx.nd.zeros((6, 2))
    store.pull("w", out=found)
    state = store.optimizer_states().get("w")
    members = state if isinstance(state, tuple) else [state]
    return {
        "weight": found.asnumpy(),
        "state": np.array([each.asnumpy() for each in members if each is not None]),
    }


@pytest.mark.sampled
@pytest.mark.parametrize("servers", [0, 2])
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "rmsprop"])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_servers_update_rows_as_one_process_does(
    stype: str, optimizer: str, servers: int, tmp_path: Path
) -> None:
    expected = push_one_by_one("local", stype, optimizer, str(tmp_path))
    cut = {"MXNET_KVSTORE_BIGARRAY_BOUND": "1"}  # each server has some rows
    given = ("dist_async", stype, optimizer, str(tmp_path))
    for rank, found in enumerate(run_job(push_one_by_one, 2, *given, servers=servers, environment=cut)):
        for name, value in found.items():
            if name != "state" or rank == 0:
                np.testing.assert_allclose(value, expected[name], rtol=1e-6, err_msg=name)


def pull_rows(kind: str) -> tuple[list[tuple[list[int], list[list[float]]]], int]:
    """Pull rows of a big table that were updated, and some that it lacks; return them, and the bytes at the sockets."""
    store = mx.kv.create(kind)
    store.init(["w", "v"], [row_sparse(TABLE, dict.fromkeys(range(1000), 3.0)), row_sparse((4, 1), {1: 1.0})])
    store.set_optimizer(mx.optimizer.create("sgd", learning_rate=1.0))
    if store.rank == 0 or kind == "dist_sync":
        store.push("w", row_sparse(TABLE, {5: 1.0 / (store.num_workers if kind == "dist_sync" else 1)}))
    store.barrier()
    out = [mx.nd.zeros(shape, stype="row_sparse") for shape in (TABLE, TABLE, (4, 1))]
    ids = mx.nd.array([5, 2, 99_999, 5]), mx.nd.array([], dtype="int64"), mx.nd.array([3, 1], dtype="int32")
    before = sent_by_sockets()
    for _ in range(10):
        store.row_sparse_pull(["w", "v"], out=[out[:2], out[2]], row_ids=[list(ids[:2]), ids[2]])
    sent = sent_by_sockets() - before
    store.barrier()
    return [(each.indices.asnumpy().tolist(), each.data.asnumpy()[:, :1].tolist()) for each in out], sent


@pytest.mark.parametrize(("kind", "servers"), [("dist_sync", 0), ("dist_async", 0), ("dist_async", 2)])
def test_row_sparse_pull_asks_for_rows(kind: str, servers: int) -> None:
    for found, sent in run_job(pull_rows, 2, kind, servers=servers):
        assert found == [([2, 5, 99_999], [[3.0], [2.0], [0.0]]), ([], []), ([1, 3], [[1.0], [0.0]])]
        if sys.platform == "linux":  # signs of life, and at most some rows of ten pulls
            assert sent < 20_000


def train_by_averages(stype: str, sparse_grad: bool, momentum: float) -> dict[str, np.ndarray]:
    """Train with updates of each worker's own, of whose weights the mean is taken."""
    job = current_job()
    store = mx.kv.create("dist_sync", update_every=2, outer_momentum=momentum)
    given = (store, stype, "sgd without momentum", job.rank, job.size)
    return weights(train(*given, sparse_grad=sparse_grad))


@pytest.mark.parametrize("momentum", [pytest.param(0.0, marks=pytest.mark.slow), 0.9])
def test_averages_of_rows_are_those_of_weights(momentum: float) -> None:
    expected, _ = run_job(train_by_averages, 2, "default", False, momentum)
    for stype in ("default", "row_sparse"):
        first, second = run_job(train_by_averages, 2, stype, True, momentum)
        for name, value in first.items():
            np.testing.assert_array_equal(second[name], value)
            np.testing.assert_allclose(value, expected[name], rtol=1e-5, atol=1e-6, err_msg=name)


def push_rows_of_own(stype: str) -> int:
    """Average weights that each worker has updated in some rows; return the bytes that this one has sent."""
    store = mx.kv.create("dist_sync", update_every=5)
    store.init("w", mx.nd.zeros(TABLE, stype=stype))
    store.set_optimizer(mx.optimizer.create("sgd", learning_rate=1.0))
    sent = current_job().bytes_sent
    for _ in range(5):
        store.push("w", row_sparse(TABLE, {store.rank: 1.0, 7: 2.0}))
    found = mx.nd.zeros(TABLE)
    store.pull("w", out=found)
    assert found.asnumpy()[:9, 0].tolist() == [-2.5, -2.5, 0, 0, 0, 0, 0, -10, 0]
    return current_job().bytes_sent - sent


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_averages_are_of_the_rows_that_have_changed(stype: str) -> None:
    assert all(sent < 1000 for sent in run_job(push_rows_of_own, 2, stype))


def train_with_snapshots(stype: str) -> dict[str, np.ndarray]:
    job = current_job()
    make = functools.partial(mx.contrib.svrg_optimization.SVRGModule, update_freq=2)
    given = ("dist_sync", stype, "sgd without momentum", job.rank, job.size)
    return weights(train(*given, module_class=make, num_epoch=4))


def test_variance_is_reduced_over_workers() -> None:
    [expected] = run_job(train_with_snapshots, 1, "default")
    for stype in ("default", "row_sparse"):
        for found in run_job(train_with_snapshots, 2, stype):
            for name, value in found.items():
                np.testing.assert_allclose(value, expected[name], rtol=1e-5, atol=1e-6, err_msg=name)


def train_by_rows(kind: str) -> dict[str, np.ndarray]:
    """Train with a row_sparse weight of which the rows of each batch are pulled."""
    job = current_job()
    given = (kind, "row_sparse", "sgd", job.rank, job.size)
    return weights(train(*given, sparse_row_id_fn=lambda batch: {"embedding": batch.data[0]}))


@pytest.mark.parametrize(("kind", "workers"), [("dist_sync", 2), ("dist_async", 1)])
def test_rows_of_a_batch_are_pulled(kind: str, workers: int) -> None:
    expected = weights(train("local"))
    for found in run_job(train_by_rows, workers, kind):
        for name, value in found.items():
            np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-6, err_msg=name)


def train_by_sums() -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """Train with stores that sum gradients, by which each worker updates its weights."""
    job = current_job()
    os.environ["MXNET_UPDATE_ON_KVSTORE"] = "0"
    return {
        (kind, stype): weights(train(kind, stype, "nadam", job.rank, job.size))
        for kind in ("dist_sync", "horovod")
        for stype in ("default", "row_sparse")
    }


def test_workers_that_get_sums_come_to_equal_weights() -> None:
    expected = weights(train("local", optimizer="nadam"))
    first, second = run_job(train_by_sums, 2)
    for run, found in first.items():
        for name, value in found.items():
            np.testing.assert_array_equal(second[run][name], value, err_msg=f"{run} {name}")
            np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-6, err_msg=f"{run} {name}")


def sum_rows() -> tuple[int, list[int], list[list[float]]]:
    """Sum rows of two devices and two workers; return the bytes that this one has sent, and the sum."""
    store, job = mx.kv.create("horovod"), current_job()
    arrays = [row_sparse(TABLE, {store.rank: 1.0}), row_sparse(TABLE, {7: 2.0})]
    store.pushpull("w", arrays)
    sent = job.bytes_sent
    store.pushpull("w", arrays, out=(out := mx.nd.zeros(TABLE, stype="row_sparse")))
    return job.bytes_sent - sent, out.indices.asnumpy().tolist(), out.data.asnumpy()[:, :1].tolist()


def test_sums_of_rows() -> None:
    for sent, ids, rows in run_job(sum_rows, 2):
        # After the first call each of four arrays is the sum, of 1, 1 and 4.
        assert ids == [0, 1, 7] and rows == [[4.0], [4.0], [16.0]]
        assert sent < 1000


def train_unevenly() -> dict[str, np.ndarray]:
    """Train on two batches as worker 0, and on one as worker 1."""
    job = current_job()
    words = np.array([[1, 2], [3, 4], [5, 6], [5, 7]], "float32")[: 4 - 2 * job.rank]
    word = mx.sym.Embedding(mx.sym.var("data"), mx.sym.var("w"), input_dim=9, output_dim=2, sparse_grad=True)
    module = mx.mod.Module(
        mx.sym.LinearRegressionOutput(mx.sym.sum(word, axis=(1, 2)), name="out"), label_names=["out_label"]
    )
    data = mx.io.NDArrayIter(words, np.ones(len(words)), 2, label_name="out_label")
    module.fit(data, kvstore="dist_sync", num_epoch=1, arg_params={"w": mx.nd.zeros((9, 2))})
    return weights(module)


def test_a_worker_without_a_batch_pushes_no_rows() -> None:
    first, second = run_job(train_unevenly, 2)
    np.testing.assert_array_equal(first["w"], second["w"])
    assert first["w"].any(axis=1).tolist() == [False, *[True] * 7, False]


def push_with(optimizer: str, stype: str, **settings: float) -> None:
    store = mx.kv.create("dist_sync")
    store.init("w", mx.nd.ones((6, 2)).tostype(stype))
    store.set_optimizer(mx.optimizer.create(optimizer, **settings))
    store.push("w", row_sparse((6, 2), {1: 1.0}))


def push_sparse_and_dense() -> None:
    store = mx.kv.create("dist_sync")
    store.init("w", mx.nd.ones((6, 2)))
    store.push("w", row_sparse((6, 2), {1: 1.0}) if store.rank else mx.nd.ones((6, 2)))


def push_compressed() -> None:
    store = mx.kv.create("dist_sync")
    store.set_gradient_compression({"type": "2bit"})
    store.init("w", mx.nd.ones((6, 2)))
    store.push("w", row_sparse((6, 2), {1: 1.0}))


def push_other_shapes() -> None:
    store = mx.kv.create("dist_sync")
    store.init("w", mx.nd.ones((6, 2)))
    store.push("w", row_sparse((7, 2), {6: 1.0}))


def pull_absent_rows(kind: str) -> None:
    store = mx.kv.create(kind)
    store.init("w", row_sparse((6, 2), {1: 1.0}))
    store.row_sparse_pull("w", out=mx.nd.zeros((6, 2), stype="row_sparse"), row_ids=mx.nd.array([1, 6]))


def push_undeclared() -> None:
    store = mx.kv.create("dist_sync")
    store.init("w", mx.nd.ones((6, 2)))
    store.begin_push(["w"])
    store.push_ready("w", row_sparse((6, 2), {1: 1.0}))


ERRORS = [
    (
        push_with,
        ("nadam", "row_sparse"),
        "over several workers Nadam takes dense weights; got sparse ones for 'w'",
    ),
    (
        push_with,
        ("sgld", "row_sparse"),
        "over several workers SGLD takes dense weights; got sparse ones for 'w'",
    ),
    (
        push_sparse_and_dense,
        (),
        "KVStore.push: all workers must have the same order and storage types; worker ",
    ),
    (push_compressed, (), "a gradient must be dense to be compressed; got row_sparse for 'w'"),
    (push_other_shapes, (), "'w' must have shape (6, 2); got (7, 2)"),
    (pull_absent_rows, ("dist_sync",), "row_ids must be from 0 to 5; got 6"),
    (pull_absent_rows, ("dist_async",), "row_ids must be from 0 to 5; got 6"),
    (push_undeclared, (), "begin_push() must be given the keys of sparse gradients; got row_sparse for 'w'"),
]


@pytest.mark.parametrize(("push", "given", "says"), ERRORS)
def test_errors(push, given, says):
    for failed in run_job(push, 2, *given, may_fail=True):
        assert says in failed.message


def push_clipped() -> None:
    push_with("sgd", "default", clip_global_norm=1.0)


def test_a_norm_over_all_gradients_takes_dense_ones() -> None:
    for failed in run_job(push_clipped, 2, may_fail=True):
        assert (
            "over several workers clip_global_norm takes dense gradients; got sparse ones" in failed.message
        )
