"""The stores that only sum, alone and in real processes, and what updates the weights then."""

from __future__ import annotations

import numpy as np
import pytest
from tests.distributed.workers import run_job
from tests.kvstore.training import train, weights

import rebind as mx
from rebind.kvstore import create

KINDS = ["horovod", "byteps", "teststore"]


@pytest.mark.parametrize("kind", KINDS)
def test_sums_and_broadcasts_of_one_process(kind):
    kv = create(kind)
    assert (kv.type, kv.rank, kv.local_rank, kv.num_workers) == (kind, 0, 0, 1)
    assert not kv.is_capable("optimizer") and not kv.capabilities.keeps_values
    given = [mx.nd.array([1, 2], ctx=mx.cpu(k)) * (k + 1) for k in range(3)]
    outs = [mx.nd.zeros((2,), dtype="float64"), mx.nd.zeros((2,))]
    kv.broadcast("w", given[0], out=outs)
    assert [out.asnumpy().tolist() for out in outs] == [[1, 2]] * 2
    kv.pushpull("w", given, out=outs)
    assert [out.asnumpy().tolist() for out in outs] == [[6, 12]] * 2
    assert given[0].asnumpy().tolist() == [1, 2]
    kv.pushpull(["w", "v"], [given, given[0]])
    assert [each.asnumpy().tolist() for each in given] == [
        [1, 2],
        [6, 12],
        [6, 12],
    ]  # the last sum was of one
    kv.barrier()


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda kv: kv.init("w", mx.nd.ones((2,))), NotImplementedError, "KVStore.init: not supported"),
        (lambda kv: kv.put("w", mx.nd.ones((2,))), NotImplementedError, "KVStore.put: not supported"),
        (lambda kv: kv.push("w", mx.nd.ones((2,))), NotImplementedError, "Use pushpull"),
        (lambda kv: kv.pull("w", mx.nd.ones((2,))), NotImplementedError, "Use pushpull"),
        (lambda kv: kv.set_optimizer(mx.optimizer.SGD()), NotImplementedError, "Each worker updates"),
        (lambda kv: kv.save_optimizer_states("f"), NotImplementedError, "where the weights are updated"),
        (lambda kv: kv.load_optimizer_states("f"), NotImplementedError, "where the weights are updated"),
        (lambda kv: kv.set_gradient_compression({"type": "2bit"}), TypeError, "'horovod' store sends"),
        (lambda kv: kv.pushpull("w", [mx.nd.ones((2,)), mx.nd.ones((3,))]), ValueError, "must have one shape"),
        (lambda kv: kv.pushpull(["w", "w"], [mx.nd.ones((2,))] * 2), TypeError, "each key must be given once"),
        (lambda kv: kv.pushpull(["w", 3], [mx.nd.ones((2,))] * 2), TypeError, "all strings or all ints"),
    ],
)  # fmt: skip
def test_what_such_a_store_refuses(call, error, says):
    with pytest.raises(error, match=says) as caught:
        call(create("horovod"))
    assert isinstance(caught.value, mx.MXNetError)


def train_here(kind: str) -> tuple[bool, dict[str, np.ndarray]]:
    """Train as a worker; return whether the store updated, and the weights."""
    store = mx.kv.create(kind)
    module = train(store.num_workers, store.rank, kind)
    return module._update_on_kvstore, weights(module)


@pytest.mark.parametrize(
    ("kind", "environment", "store_updates"),
    [
        ("horovod", {}, False),
        ("dist_sync", {"MXNET_UPDATE_ON_KVSTORE": "0"}, False),
        ("dist_sync", {"MXNET_KVSTORE_BIGARRAY_BOUND": "100000"}, True),
    ],
)
def test_each_worker_updates_by_the_sums(kind, environment, store_updates):
    alone = weights(train(1, 0, "dist_sync"))
    for on_store, found in run_job(train_here, 2, kind, environment=environment):
        assert on_store == store_updates
        for key, array in found.items():
            np.testing.assert_allclose(array, alone[key], rtol=2e-4, atol=2e-6, err_msg=key)


def sum_and_broadcast() -> list:
    """Sum lists of keys of several sizes and types, twice."""
    kv = mx.kv.create("byteps")
    shapes = {"small": (3,), "big": (300, 400), "half": (7, 2)}
    given = [
        [
            mx.nd.ones(shape, ctx=mx.cpu(k), dtype="float16" if key == "half" else "float32") * (kv.rank + 1)
            for k in range(2)
        ]
        for key, shape in shapes.items()
    ]
    outs = [mx.nd.zeros(shape) for shape in shapes.values()]
    kv.broadcast(list(shapes), [each[0] for each in given], out=outs)
    found = [float(out.asnumpy().min()) for out in outs]
    for _ in range(2):
        kv.pushpull(list(shapes), given, out=outs)
    return [
        *found,
        *(float(out.asnumpy().min()) for out in outs),
        *(float(out.asnumpy().max()) for out in outs),
    ]


def test_sums_over_workers():
    assert run_job(sum_and_broadcast, 3) == [[1.0] * 3 + [12.0] * 6] * 3


def sum_other_shapes() -> None:
    """Give a key another shape on each worker."""
    kv = mx.kv.create("horovod")
    kv.pushpull("w", mx.nd.ones((2 + kv.rank,)))


def test_workers_that_differ_are_refused():
    _, failed = run_job(sum_other_shapes, 2, may_fail=True)
    says = "KVStore.pushpull: all workers must have the same keys and shapes; worker 1 has w: (3,) "
    assert failed.kind == "WorkerError" and failed.message.startswith(says)


def test_without_a_gpu_nccl_says_so(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(mx.MXNetError, match=r"KVStore 'nccl': needs a CUDA device; PyTorch .* finds none\."):
        create("nccl")
