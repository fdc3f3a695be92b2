"""Compressed gradients and functions that update, in real processes; the numbers of MXNet are in tests/parity."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from tests.distributed.workers import run_job
from tests.kvstore.training import samples, train, weights

import rebind as mx
from rebind.kvstore import create
from rebind.ndarray.storage import Storage


def compress_otherwise() -> None:
    """Set another threshold on each worker."""
    kv = mx.kv.create("dist_sync")
    kv.set_gradient_compression({"type": "2bit", "threshold": 0.5 + kv.rank})


def test_workers_that_differ_are_refused():
    _, failed = run_job(compress_otherwise, 2, may_fail=True)
    says = "KVStore.set_gradient_compression: all workers must have the same compression; worker 1 "
    assert failed.kind == "WorkerError" and failed.message.startswith(says)


def train_compressed(kind: str) -> tuple[float, dict[str, np.ndarray]]:
    """Train with compressed gradients; return the accuracy and the weights."""
    store = mx.kv.create("dist_sync")
    compression = {"type": kind, "threshold": 0.02}
    module = train(
        store.num_workers, store.rank, "dist_sync", compression, epochs=20 if kind == "2bit" else 5
    )
    data = mx.io.NDArrayIter(*samples(), 6, label_name="softmax_label")
    return module.score(data, "acc")[0][1], weights(module)


def test_a_module_learns_with_compressed_gradients():
    one, other = run_job(train_compressed, 2, "2bit")
    assert one[0] > 0.9
    for key, array in one[1].items():
        assert np.array_equal(array, other[1][key])


def push_halves() -> list[float]:
    """Push float16 gradients, compressed, several times; go on from saved residuals in the middle."""
    found = []
    state: object = None
    for first, last in ((0, 3), (3, 6)):
        kv = mx.kv.create("dist_sync")
        kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
        kv.init(["a", "b"], [mx.nd.zeros((3,), dtype="float16"), mx.nd.zeros((80, 80), dtype="float16")])
        if state is not None:
            kv.load_state_dict(state)
        for _ in range(first, last):
            kv.push(["a", "b"], [mx.nd.ones(s, dtype="float16") * 0.2 for s in ((3,), (80, 80))])
            outs = [mx.nd.zeros((3,), dtype="float16"), mx.nd.zeros((80, 80), dtype="float16")]
            kv.pull(["a", "b"], out=outs)
            assert all((out.asnumpy() == outs[0].asnumpy()[0]).all() for out in outs)
            found.append(float(outs[0].asnumpy()[0]))
        state = kv.state_dict()
    return found


def test_float16_together_with_compression():
    # What is kept is in float32: five times the float16 that is nearest to 0.2 is a little less than 1.
    assert run_job(push_halves, 2) == [[0.0, 0.0, 1.0, 0.0, 0.0, 1.0]] * 2


def update_by_a_function() -> list:
    """Update a big key by a function; return the shapes that it got here, and what is pulled."""
    kv = mx.kv.create("dist_sync")
    kv.init(["a", "b"], [mx.nd.ones((80, 80)), mx.nd.ones((3,))])
    seen = []

    def update(key: str, received: mx.nd.NDArray, stored: mx.nd.NDArray) -> None:
        seen.append((key, received.shape))
        stored += received * 2

    kv._set_updater(update)
    kv.push(["a", "b"], [mx.nd.ones((80, 80)) * (kv.rank + 1), mx.nd.ones((3,))])
    kv.pull(["a", "b"], out=(outs := [mx.nd.zeros((80, 80)), mx.nd.zeros((3,))]))
    return [seen, *(float(out.asnumpy().mean()) for out in outs)]


def test_a_function_updates_whole_keys_each_on_one_worker():
    assert run_job(update_by_a_function, 2) == [[[(b"a", (80, 80))], 7.0, 5.0], [[(b"b", (3,))], 7.0, 5.0]]


def test_residuals_need_compression():
    kv = create("device")
    with pytest.raises(mx.MXNetError, match=r"call set_gradient_compression\(\) first"):
        kv.load_state_dict({"residuals": {"w": [mx.nd.ones((2,))]}})
    assert kv.state_dict() == {}
    kv.load_state_dict({})


@pytest.mark.parametrize("kind", ["local", "local_update_cpu", "local_allreduce_cpu"])
def test_stores_that_sum_on_the_cpu_do_not_compress(kind):
    with pytest.raises(TypeError, match=f"a '{kind}' store sends no gradients"):
        create(kind).set_gradient_compression({"type": "2bit"})


class Rows(Storage):
    """A storage type that stands in for that of MXNet's row_sparse arrays, which are not here yet."""

    stype, number = "row_sparse", 92

    def __init__(self, data):
        super().__init__()
        self.data = data

    @property
    def shape(self):
        return tuple(self.data.shape)

    @classmethod
    def from_dense(cls, tensor):
        return cls(tensor)

    def to_dense(self):
        return self.data


def push_rows(kind: str) -> list[float]:
    """Push a sparse gradient beside a dense one, compressed; what is refused leaves no trace."""
    kv = mx.kv.create(kind)
    kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    kv.init(["a", "b"], [mx.nd.zeros((2,)), mx.nd.zeros((2,))])
    kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=1.0))
    dense, rows = mx.nd.ones((2,)) * 0.4, mx.nd.NDArray(Rows(torch.full((2,), 0.4)))
    says = (
        "KVStore.push: a gradient must be dense to be compressed; got row_sparse for 'b'. "
        "Push gradient.tostype('default')"
    )
    for wrong in ([dense, rows], [dense, [dense, rows]]):
        with pytest.raises(mx.MXNetError, match=f"^{re.escape(says)}"):
            kv.push(["a", "b"], wrong)
    kv.barrier()
    kv.push(["a", "b"], [dense, rows.tostype("default")])
    kv.barrier()
    kv.pull("a", out=(out := mx.nd.zeros((2,))))
    kv.set_gradient_compression({"type": "none"})
    return out.asnumpy().tolist()


@pytest.mark.parametrize(("kind", "workers"), [("device", 1), ("dist_sync", 2), ("dist_async", 2)])
def test_sparse_gradients_are_not_compressed(kind, workers):
    # MXNet's dist stores refuse them; its 'device' takes them for dense ones, and ends the process at the next pull.
    assert run_job(push_rows, workers, kind) == [[0.0, 0.0]] * workers
