"""What rebind does on GPUs, tried on GPUs that are simulated: no arrays meet on two devices, nothing waits unseen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.device import Device
from rebind.errors import DeviceError
from rebind.optimizer import Optimizer

from ..ops.sample import Sample
from ..optimizer.samples import FORMS
from . import test_gpu
from .simulated import Traffic, simulated_gpus
from .test_gpu import (
    ADAM,
    DRAWING,
    MOMENTUM,
    NETWORKS,
    as_mxnet_did,
    as_on_the_cpu,
    check_inference,
    errors_of,
    in_one_list,
    parts,
    same,
    trained,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def traffic() -> Iterator[Traffic]:
    """GPUs for each test; what they copy, and wait for, is counted."""
    with simulated_gpus() as counted:
        yield counted


# The simulation itself.


@pytest.mark.parametrize(
    ("use", "says"),
    [
        pytest.param(
            lambda x, y: x + y.cpu(), "add: Expected all tensors to be on the same device", id="sum"
        ),
        pytest.param(lambda x, y: x + y.to("cuda:1"), "cuda:0 .+ cuda:1", id="of-two-gpus"),
        pytest.param(lambda x, y: x.numpy(), "can't convert cuda:0", id="numpy"),
        pytest.param(
            lambda x, y: x.int() @ y.int().T, "not implemented for 'torch.int32'", id="whole-numbers"
        ),
        pytest.param(
            lambda x, y: x.uniform_(generator=torch.Generator()), "Expected a 'cuda'", id="generator"
        ),
        pytest.param(lambda x, y: x.to_mkldnn(), "has no code for CUDA", id="onednn"),
    ],
)
def test_what_a_gpu_refuses(use: Callable[..., Any], says: str) -> None:
    x, y = mx.nd.ones((2, 3), mx.gpu()).tensor, mx.nd.ones((2, 3), mx.gpu()).tensor
    with pytest.raises((RuntimeError, TypeError, NotImplementedError), match=says):
        use(x, y)


def test_what_is_counted(traffic: Traffic) -> None:
    x = mx.nd.ones((2, 3))
    there = x.as_in_context(mx.gpu(0))  # by way of pinned memory
    assert traffic == {"to a GPU": 1}
    there.tensor.copy_(x.tensor)
    assert traffic == {"to a GPU": 2, "waits": 1}
    assert there.sum().asscalar() == 6
    assert traffic == {"to a GPU": 2, "from a GPU": 1, "waits": 2}
    there.copyto(mx.gpu(1)).wait_to_read()
    assert traffic == {"to a GPU": 2, "from a GPU": 1, "between GPUs": 1, "waits": 3}


# Operators.


@parts
@pytest.mark.parametrize("errors", [as_on_the_cpu, as_mxnet_did])
def test_operators(part: int, errors: Callable[[int, Device], list[str]]) -> None:
    assert not errors(part, mx.gpu(0))


def test_operators_draw_where_they_are_asked_to() -> None:
    def elsewhere(sample: Sample) -> str | None:
        with mx.gpu(1), mx.autograd.record(train_mode=sample.training):
            arrays = [mx.nd.array(value, dtype=value.dtype) for value in sample.inputs()]
            made = in_one_list(getattr(mx.nd._internal, sample.name)(*arrays, **sample.parameters))
        places = {each.context for each in made} | {str(each.tensor.device) for each in made}
        return None if places == {mx.gpu(1), "cuda:1"} else f"{sample}: {places}"

    assert not errors_of(DRAWING, elsewhere)


@pytest.mark.parametrize(
    ("use", "says"),
    [
        pytest.param(
            lambda here, there: here + there, r"broadcast_add: .+ got lhs cpu, rhs gpu\(0\)", id="sum"
        ),
        pytest.param(
            lambda here, there: mx.nd.FullyConnected(there, here, num_hidden=2, no_bias=True),
            r"FullyConnected: .+ got data gpu\(0\), weight cpu",
            id="layer",
        ),
        pytest.param(
            lambda here, there: mx.sym.var("x").bind(mx.gpu(), {"x": here}),
            r"bind: x must be on gpu\(0\), where the executor is; got cpu\(0\)",
            id="argument",
        ),
        pytest.param(
            lambda here, there: mx.sym.var("x").bind(mx.gpu(), {"x": there}, {"x": here}),
            r"bind: the gradient of x must be on gpu\(0\)",
            id="gradient",
        ),
    ],
)
def test_arrays_of_two_devices(use: Callable[..., Any], says: str) -> None:
    with pytest.raises(DeviceError, match=says):
        use(mx.nd.ones((2, 2)), mx.nd.ones((2, 2), mx.gpu()))


# The tests of a GPU that say something here.


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_what_is_copied_there_may_be_written_over_at_once(dtype: str) -> None:
    test_gpu.test_what_is_copied_there_may_be_written_over_at_once(dtype, mx.gpu())


def test_numbers_follow_from_the_seed() -> None:
    test_gpu.test_numbers_follow_from_the_seed(mx.gpu())


# Training.


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(
    ("name", "optimizer"), [*((name, MOMENTUM) for name in NETWORKS), ("dense", ADAM)], ids=str
)
def test_training(name: str, optimizer: Any, number: int) -> None:
    found = trained(name, [mx.gpu(i) for i in range(number)], optimizer)
    same(found, trained(name, [mx.cpu(i) for i in range(number)], optimizer))


@pytest.mark.filterwarnings("error:CUDA graphs")
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("name", NETWORKS)
def test_training_in_cuda_graphs(name: str, number: int, traffic: Traffic) -> None:
    found = trained(name, [mx.gpu(i) for i in range(number)], backend="cudagraphs")
    assert traffic["replays"] == number * (
        2 * 4 - 1 + 4 - 1
    )  # but for the first batch, and the first prediction
    same(found, trained(name, [mx.cpu(i) for i in range(number)]))


@pytest.mark.filterwarnings("error:CUDA graphs")
@pytest.mark.parametrize("grad_req", ["write", "add"])
@pytest.mark.parametrize("name", NETWORKS)
def test_an_executor_in_cuda_graphs(name: str, grad_req: str, traffic: Traffic) -> None:
    make, shape = NETWORKS[name]
    found = []
    for device in (mx.cpu(), mx.gpu()):
        random = np.random.default_rng(6)
        net = make()
        shapes, _, states = net.infer_shape(data=shape)
        names = net.list_arguments()
        args = {key: random.normal(size=size) / 4 for key, size in zip(names, shapes, strict=True)}
        grads = {key: mx.nd.zeros(value.shape, device) for key, value in args.items() if "weight" in key}
        executor = mx.executor.Executor(
            net, device, {key: mx.nd.array(value) for key, value in args.items()}, grads, grad_req,
            [mx.nd.ones(size) for size in states], static_alloc=True,
        )  # fmt: skip
        for _ in range(4):
            executor.forward(is_train=True, data=random.normal(size=shape).astype("float32"))
            executor.backward()
            for key, grad in grads.items():
                executor.arg_dict[key][:] -= 0.1 * grad
        values = {**executor.arg_dict, **grads, **executor.aux_dict, "output": executor.outputs[0]}
        found.append({key: value.asnumpy() for key, value in values.items()})
    assert traffic["replays"] == 3
    same(found[1], found[0])


@pytest.mark.parametrize("size", [1, 2**21], ids=["small", "large"])
def test_gradients_stay_until_backward(size: int) -> None:
    x, grad = mx.nd.ones((size,), mx.gpu()), mx.nd.zeros((size,), mx.gpu())
    net = mx.sym.MakeLoss(mx.sym.square(mx.sym.var("x")))
    executor = mx.executor.Executor(net, mx.gpu(), {"x": x}, {"x": grad}, static_alloc=True)
    for number in range(1, 5):
        executor.forward(is_train=True, x=mx.nd.full((size,), number, mx.gpu()))
        assert set(grad.asnumpy()) == {2 * (number - 1)}
        executor.backward()
        assert set(grad.asnumpy()) == {2 * number}


def test_head_gradients_need_backward_apart() -> None:
    x = mx.nd.array([1, 2], mx.gpu())
    net, grad = mx.sym.square(mx.sym.var("x")), mx.nd.zeros((2,), mx.gpu())
    executor = mx.executor.Executor(net, mx.gpu(), {"x": x}, {"x": grad}, static_alloc=True)
    for factor in (1, 10, 100):
        executor.forward(is_train=True)
        executor.backward(mx.nd.array([factor, factor], mx.gpu()))
        assert grad.asnumpy().tolist() == [2 * factor, 4 * factor]


def test_what_changes_between_runs_is_not_captured(traffic: Traffic) -> None:
    """The scale of a loss, on the CPU, would be that of the capture in each replay."""
    module = mx.mod.Module(NETWORKS["dense"][0](), context=mx.gpu(), backend="cudagraphs")
    mx.contrib.amp.init_trainer(module, mx.contrib.amp.LossScaler(2.0**10, scale_window=3))
    module.fit(some_batches(4), num_epoch=2, progress=False)
    assert traffic["replays"] == 0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("backend", ["default", "cudagraphs"])
def test_inference(dtype: str, backend: str) -> None:
    executor = check_inference(dtype, backend, mx.gpu())
    plan = executor.runner.plans.get(is_train=False, recorded=False)
    called = Counter(node.meta["node"].operator.name for node in plan.code.graph.nodes if "node" in node.meta)
    adds = [node.kwargs["adds"] for node in plan.code.graph.nodes if "adds" in node.kwargs]
    assert (called["_rectified_convolution"], sorted(adds)) == (6, [False] * 4 + [True] * 2)
    assert (called["Convolution"], called["relu"], called["_filters_channels_last"]) == (1, 0, 0)


def test_constants_of_a_network_are_on_each_gpu() -> None:
    net = mx.sym.broadcast_add(mx.sym.var("data"), mx.sym.arange(4))
    module = mx.mod.Module(net, label_names=None, context=[mx.gpu(0), mx.gpu(1)])
    module.bind([("data", (2, 4))], for_training=False)
    module.init_params()
    found = module.predict(mx.io.NDArrayIter(np.ones((2, 4)), batch_size=2))
    np.testing.assert_array_equal(found.asnumpy(), [[1, 2, 3, 4]] * 2)


def some_batches(count: int) -> mx.io.NDArrayIter:
    _, (_, *shape) = NETWORKS["dense"]
    random = np.random.default_rng(1)
    return mx.io.NDArrayIter(random.normal(size=(8 * count, *shape)), random.integers(0, 3, 8 * count), 8)


def of_few_and_many(run: Callable[[int], object], traffic: Traffic) -> list[Traffic]:
    """Return what is counted while something runs on 4 batches, and on 12."""
    seen = []
    for count in (4, 12):
        traffic.clear()
        run(count)
        seen.append(traffic.copy())
    return seen


def fitted(count: int, **how: Any) -> None:
    """Train the dense network for an epoch."""
    module = mx.mod.Module(NETWORKS["dense"][0](), context=[mx.gpu(i) for i in range(how.pop("gpus", 1))])
    module.fit(some_batches(count), num_epoch=1, progress=False, **how)


METRICS = [
    "acc",
    "ce",
    mx.metric.TopKAccuracy(2),
    "mae",
    "mse",
    "rmse",
    "nll_loss",
    "pcc",
    mx.metric.Perplexity(None),
]


@pytest.mark.parametrize(
    "how",
    [
        *(pytest.param({"eval_metric": each}, id=str(getattr(each, "name", each))) for each in METRICS),
        *(
            pytest.param({"optimizer": name, "optimizer_params": settings}, id=form.id)
            for form in FORMS
            for name, settings in [form.values]
        ),
        pytest.param({"batch_end_callback": mx.callback.Speedometer(8, 1000)}, id="speedometer"),
        pytest.param({"gpus": 2, "kvstore": "device"}, id="two GPUs"),
        pytest.param({"gpus": 2, "kvstore": None}, id="two GPUs, no store"),
    ],
)
def test_a_batch_of_fit_waits_for_nothing(how: dict[str, Any], traffic: Traffic) -> None:
    """Per device come data and labels, the labels again for the metric, for which an epoch waits at its end."""
    few, many = of_few_and_many(lambda count: fitted(count, **how), traffic)
    # Where a metric is nan, the outputs are looked at once an epoch.
    most = 4 if how.get("eval_metric") == "pcc" else 3
    assert many["waits"] == few["waits"] <= most
    assert many["from a GPU"] == few["from a GPU"]
    assert many["to a GPU"] - few["to a GPU"] == 8 * 3 * how.get("gpus", 1)


def with_samples_on_the_gpu(batches: mx.io.NDArrayIter) -> None:
    (_, data), (_, label) = batches.data[0], batches.label[0]
    there = mx.io.NDArrayIter(data.as_in_context(mx.gpu()), label.as_in_context(mx.gpu()), 8, shuffle=True)
    in_single_calls(there)


def bound(batches: mx.io.NDArrayIter) -> mx.mod.Module:
    module = mx.mod.Module(NETWORKS["dense"][0](), context=mx.gpu())
    module.bind(batches.provide_data, batches.provide_label)
    module.init_params()
    module.init_optimizer()
    return module


def in_single_calls(batches: mx.io.NDArrayIter) -> None:
    module = bound(batches)
    for batch in batches:
        module.forward(batch)
        module.backward()
        module.update()


def in_an_executor(batches: mx.io.NDArrayIter) -> None:
    _, (_, *shape) = NETWORKS["dense"]
    net = NETWORKS["dense"][0]()
    executor = net.simple_bind(mx.gpu(), data=(8, *shape), softmax_label=(8,))
    updater = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    for batch in batches:
        executor.arg_dict["data"][:] = batch.data[0].asnumpy()
        executor.forward(is_train=True, softmax_label=batch.label[0].asnumpy())
        executor.backward()
        for index, name in enumerate(net.list_arguments()[1:-1]):
            updater(index, executor.grad_dict[name], executor.arg_dict[name])


def recorded_by_autograd(batches: mx.io.NDArrayIter) -> None:
    weight = mx.nd.ones((6, 3), mx.gpu())
    weight.attach_grad()
    for batch in batches:
        x, y = batch.data[0].as_in_context(mx.gpu()), mx.nd.array(batch.label[0].asnumpy(), mx.gpu())
        with mx.autograd.record():
            loss = mx.nd.softmax_cross_entropy(mx.nd.dot(x, weight), y)
        loss.backward()
        weight[:] = weight - 0.1 * weight.grad


def by_svrg(batches: mx.io.NDArrayIter) -> None:
    module = mx.contrib.svrg_optimization.SVRGModule(NETWORKS["dense"][0](), update_freq=1, context=mx.gpu())
    module.fit(batches, num_epoch=1)


@pytest.mark.parametrize(
    "run",
    [
        in_single_calls,
        with_samples_on_the_gpu,
        in_an_executor,
        recorded_by_autograd,
        by_svrg,
        pytest.param(lambda batches: bound(batches).predict(batches), id="predict"),
        pytest.param(lambda batches: bound(batches).score(batches, "acc"), id="score"),
        pytest.param(lambda batches: [*bound(batches).iter_predict(batches)], id="iter_predict"),
    ],
)
def test_a_batch_waits_for_nothing(run: Callable[[mx.io.NDArrayIter], object], traffic: Traffic) -> None:
    few, many = of_few_and_many(lambda count: run(some_batches(count)), traffic)
    assert many["to a GPU"] > few["to a GPU"]
    assert [many[kind] for kind in ("waits", "from a GPU")] == [few[kind] for kind in ("waits", "from a GPU")]


def test_what_an_optimizer_has_collected_may_be_elsewhere() -> None:
    found = []
    for device in (mx.cpu(), mx.gpu()):
        weight, gradient = mx.nd.ones((2,), device), mx.nd.ones((2,), device)
        updater = mx.optimizer.get_updater(mx.optimizer.create("lbsgd", batch_scale=2))
        updater(0, gradient, weight)
        again = mx.optimizer.get_updater(Optimizer.create_optimizer("sgd"))
        again.set_states(updater.get_states(dump_optimizer=True))  # as from a file: on the CPU
        again(0, gradient, weight)
        found.append(weight.asnumpy())
    np.testing.assert_array_equal(*found)
    assert (found[0] != 1).all()
