"""The stores that only sum, alone and in real processes; and gradients that are compressed in jobs of a module."""

from __future__ import annotations

import numpy as np
import pytest
from tests.distributed.workers import run_job

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
        (lambda kv: kv.init("w", mx.nd.ones((2,))), NotImplementedError, "KVStore.init: a 'horovod' store only sums"),
        (lambda kv: kv.put("w", mx.nd.ones((2,))), NotImplementedError, "KVStore.put: a 'horovod' store only sums"),
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


def network() -> mx.sym.Symbol:
    """Return a network with a weight that is divided over workers."""
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=300, name="one")
    output = mx.sym.FullyConnected(mx.sym.Activation(hidden, act_type="tanh"), num_hidden=2, name="two")
    return mx.sym.SoftmaxOutput(output, name="softmax")


def train(
    workers: int, rank: int, kind: str, compression: dict | None = None, epochs: int = 2
) -> mx.mod.Module:
    """Train on this worker's samples of each batch of twelve."""
    random = np.random.RandomState(0)
    samples = random.randn(36, 20).astype("float32")
    labels = (samples.sum(1) > 0).astype("float32")
    own = [i for i in range(36) if i % 12 // (12 // workers) == rank]
    data = mx.io.NDArrayIter(samples[own], labels[own], 12 // workers, label_name="softmax_label")
    mx.random.seed(0 if workers == 1 else rank)  # all start from the weights of worker 0
    devices = [mx.cpu(k) for k in range(1 if workers == 1 else 2)]
    module = mx.mod.Module(network(), context=devices, compression_params=compression)
    module.fit(
        data,
        kvstore=kind,
        optimizer="sgd",
        optimizer_params={"learning_rate": 0.2, "momentum": 0.9},
        initializer=mx.init.Xavier(),
        num_epoch=epochs,
    )
    return module


def weights(module: mx.mod.Module) -> dict[str, np.ndarray]:
    return {name: array.asnumpy() for name, array in module.get_params()[0].items()}


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


def compress_otherwise() -> None:
    """Set another threshold on each worker."""
    kv = mx.kv.create("dist_sync")
    kv.set_gradient_compression({"type": "2bit", "threshold": 0.5 + kv.rank})


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (
            sum_other_shapes,
            "KVStore.pushpull: all workers must have the same keys and shapes; worker 1 has w: (3,) ",
        ),
        (
            compress_otherwise,
            "KVStore.set_gradient_compression: all workers must have the same compression; worker 1 ",
        ),
    ],
)
def test_workers_that_differ_are_refused(function, says):
    _, failed = run_job(function, 2, may_fail=True)
    assert failed.kind == "WorkerError" and failed.message.startswith(says)


def train_compressed(kind: str) -> tuple[float, dict[str, np.ndarray]]:
    """Train with compressed gradients; return the accuracy and the weights."""
    store = mx.kv.create("dist_sync")
    compression = {"type": kind, "threshold": 0.02}
    module = train(
        store.num_workers, store.rank, "dist_sync", compression, epochs=20 if kind == "2bit" else 5
    )
    random = np.random.RandomState(0)
    samples = random.randn(36, 20).astype("float32")
    labels = (samples.sum(1) > 0).astype("float32")
    data = mx.io.NDArrayIter(samples, labels, 6, label_name="softmax_label")
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


def test_without_a_gpu_nccl_says_so(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(mx.MXNetError, match=r"KVStore 'nccl': needs a CUDA device; PyTorch .* finds none\."):
        create("nccl")


def test_residuals_need_compression():
    kv = create("device")
    with pytest.raises(mx.MXNetError, match=r"call set_gradient_compression\(\) first"):
        kv.load_state_dict({"residuals": {"w": [mx.nd.ones((2,))]}})
    assert kv.state_dict() == {}
    kv.load_state_dict({})


@pytest.mark.parametrize("kind", ["local", "local_update_cpu", "local_allreduce_cpu"])
def test_stores_that_sum_on_the_cpu_do_not_compress(kind):
    with pytest.raises(TypeError, match=f"a '{kind}' store sends nothing"):
        create(kind).set_gradient_compression({"type": "2bit"})
