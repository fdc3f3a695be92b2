"""What a GPU computes is what the CPU does. Without a GPU these tests are left out.

``REBIND_TEST_DEVICE='cpu(1)'`` in the environment tries them out on another device of the CPU.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.device import Device, num_gpus, parse_device
from rebind.executor import Executor
from rebind.ops import OPERATORS

from ..newer_torch import may_be_apart
from ..ops.sample import Sample
from ..ops.samples import LAYERS, SAMPLES
from ..optimizer.samples import FORMS_WITHOUT_NOISE
from ..parity import test_operators as recorded

DEVICE = os.environ.get("REBIND_TEST_DEVICE", "gpu(0)")
S = mx.sym


def draws(sample: Sample) -> bool:
    """Return whether an operator draws numbers, which are others on each device: some do in training only."""
    in_training = sample.name in ("Dropout", "LeakyReLU", "RNN")
    return "generator" in OPERATORS[sample.name].signature.modes and (sample.training or not in_training)


DRAWING = [each for each in (*SAMPLES, *LAYERS) if draws(each)]
CASES = [each for each in (*SAMPLES, *LAYERS) if not draws(each)]

pytestmark = [
    pytest.mark.skipif(DEVICE.startswith("gpu") and not num_gpus(), reason="needs a GPU"),
    pytest.mark.usefixtures("own_backends"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # compilers import what torch itself deprecates
    pytest.mark.filterwarnings(
        "ignore:Embedding. data must hold indices"
    ),  # as where the recorded rows are tested
]


@pytest.fixture
def gpu() -> Iterator[Device]:
    """The device, which rounds float32 as the CPU does."""
    device = parse_device(DEVICE)
    assert device.torch is not None  # its settings are made now, and changed here
    settings = torch.backends.cudnn, torch.backends.cuda.matmul
    before = [each.allow_tf32 for each in settings]
    for each in settings:
        each.allow_tf32 = False
    yield device
    for each, value in zip(settings, before, strict=True):
        each.allow_tf32 = value


def in_one_list(made: Any) -> list[Any]:
    return made if isinstance(made, list) else [made]


def made_there(sample: Sample, device: Device) -> dict[str, Device]:
    """Return what tells an operator without inputs where to compute."""
    takes_device = not sample.arrays and "ctx" in OPERATORS[sample.name].signature.parameters
    return {"ctx": device} if takes_device else {}


def difference(sample: Sample, device: Device) -> str | None:
    """Return how an operator's results, and gradients, differ from those on the CPU; None where they do not."""
    found = []
    for where in (mx.cpu(), device):
        arrays = [mx.nd.array(value, where, value.dtype) for value in sample.inputs()]
        for array in arrays:
            if array.storage.dtype.is_floating_point:
                array.attach_grad()
        with mx.autograd.record(train_mode=sample.training):
            function = getattr(mx.nd._internal, sample.name)
            made = in_one_list(function(*arrays, **sample.parameters, **made_there(sample, where)))
            if differentiable := [each for each in made if each.is_recorded]:
                mx.autograd.backward(differentiable)
        assert all(each.context == where for each in made)
        grads = [array.grad for array in arrays if array.grad is not None]
        found.append([each.asnumpy() for each in (*made, *grads)])
    for expected, value in zip(*found, strict=True):
        if not np.allclose(value, expected, rtol=1e-3, atol=1e-4, equal_nan=True):
            return f"{sample}: {np.abs(np.float64(value) - np.float64(expected)).max()}"
    return None


def errors_of(samples: Iterable[Sample], check: Callable[[Sample], str | None]) -> list[str]:
    """Return what `check` says of each sample, or raises: all are tried, so that one run tells of all."""
    found = []
    for sample in samples:
        try:
            wrong = check(sample)
        except Exception as error:
            wrong = f"{sample}: {type(error).__name__}: {error}"
        found += [] if wrong is None else [wrong]
    return found


PARTS = 8
parts = pytest.mark.parametrize("part", range(PARTS))


def as_on_the_cpu(part: int, device: Device) -> list[str]:
    """Return which of a part of all operators compute something else than on the CPU."""
    return errors_of(CASES[part::PARTS], lambda sample: difference(sample, device))


def as_mxnet_did(part: int, device: Device) -> list[str]:
    """Return which of a part of all operators compute something else than MXNet did."""

    def compare(row: Any) -> None:
        with device:
            recorded.test_operator(*row.values)

    return errors_of(recorded.ROWS[part::PARTS], compare)


@parts
@pytest.mark.parametrize("errors", [as_on_the_cpu, as_mxnet_did])
def test_operators(part: int, errors: Callable[[int, Device], list[str]], gpu: Device) -> None:
    assert not errors(part, gpu)


def dense() -> Any:
    net = S.Activation(S.FullyConnected(S.var("data"), num_hidden=16, name="fc1"), act_type="relu")
    return S.SoftmaxOutput(S.FullyConnected(net, num_hidden=3, name="fc2"), name="softmax")


def convolutional() -> Any:
    net = S.Convolution(S.var("data"), kernel=(3, 3), pad=(1, 1), num_filter=8, name="conv1")
    net = S.Activation(S.BatchNorm(net, fix_gamma=False, name="bn"), act_type="relu")
    net = S.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=8, name="conv2") + net
    net = S.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    return S.SoftmaxOutput(S.FullyConnected(S.Flatten(net), num_hidden=3, name="fc"), name="softmax")


def recurrent() -> Any:
    cell = mx.rnn.LSTMCell(8, prefix="lstm_")
    outputs, _ = cell.unroll(4, S.var("data"), layout="NTC", merge_outputs=True)
    return S.SoftmaxOutput(S.FullyConnected(outputs, num_hidden=3, name="fc"), name="softmax")


NETWORKS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "dense": (dense, (32, 6)),
    "convolutional": (convolutional, (32, 2, 8, 8)),
    "recurrent": (recurrent, (32, 4, 5)),
}
all_networks = pytest.mark.parametrize("name", NETWORKS)


MOMENTUM = ("sgd", {"learning_rate": 0.1, "momentum": 0.9})
ADAM = ("adam", {"learning_rate": 0.01})


def trained(
    name: str, device: Device | list[Device], optimizer: tuple[str, dict[str, float]] = MOMENTUM, **how: Any
) -> dict[str, np.ndarray]:
    """Return the parameters after two epochs, and the predictions."""
    make, shape = NETWORKS[name]
    random = np.random.default_rng(1)
    data, label = random.normal(size=shape).astype("float32"), random.integers(0, 3, shape[0])
    batches = mx.io.NDArrayIter(data, label.astype("float32"), 8)
    module = mx.mod.Module(make(), context=device, **how)
    mx.random.seed(3)
    # The first parameters are drawn on the CPU, and are the same on both.
    module.bind(batches.provide_data, batches.provide_label)
    module.init_params(mx.init.Xavier())
    module.fit(batches, num_epoch=2, optimizer=optimizer[0], optimizer_params=optimizer[1])
    arguments, states = module.get_params()
    found = {key: value.asnumpy() for key, value in {**arguments, **states}.items()}
    return {**found, "predictions": module.predict(batches).asnumpy()}


def same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray], tolerance: float = 1e-3) -> None:
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=tolerance, atol=tolerance, err_msg=key)


@may_be_apart
@all_networks
@pytest.mark.parametrize(
    "backend", ["default", "cudagraphs", pytest.param("inductor", marks=pytest.mark.slow)]
)
def test_training(name: str, backend: str, gpu: Device) -> None:
    same(trained(name, gpu, backend=backend), trained(name, mx.cpu()))


def test_adam(gpu: Device) -> None:
    same(trained("dense", gpu, ADAM), trained("dense", mx.cpu(), ADAM))


def arrays_in(state: Any) -> list[mx.nd.NDArray]:
    if isinstance(state, mx.nd.NDArray):
        return [state]
    return [each for part in state for each in arrays_in(part)] if isinstance(state, (list, tuple)) else []


@pytest.mark.parametrize(("name", "settings"), FORMS_WITHOUT_NOISE)
def test_small_steps_of_optimizers(name: str, settings: dict[str, Any], gpu: Device) -> None:
    """What is summed up in states has as many digits as on the CPU, where rates and scaled gradients are small."""
    rate = {} if "learning_rate" in settings else {"learning_rate": 1e-4}
    found = []
    for device in (mx.cpu(), gpu):
        random = np.random.default_rng(5)
        updater = mx.optimizer.get_updater(
            mx.optimizer.create(name, rescale_grad=2.0**-10, **rate, **settings)
        )
        weight = mx.nd.array(random.normal(size=(30, 40)), device)
        for _ in range(3):
            updater(0, mx.nd.array(random.normal(size=(30, 40)), device), weight)
        found.append([each.asnumpy() for each in arrays_in(updater.states[0])])
    for expected, value in zip(*found, strict=True):
        assert np.linalg.norm(value - expected) <= 1e-3 * np.linalg.norm(expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_products_of_16_bits(dtype: str, gpu: Device) -> None:
    """Gradients are about as far from those of float32 as the CPU's: activations and maxima change with rounding."""

    def gradients(net: Any, device: Device) -> dict[str, np.ndarray]:
        exe = net.simple_bind(device, data=(8, 2, 8, 8), softmax_label=(8,))
        random = np.random.default_rng(2)
        for key, array in exe.arg_dict.items():
            whole = "label" in key
            array[:] = random.integers(0, 3, array.shape) if whole else random.normal(size=array.shape) / 2
        exe.forward(is_train=True)
        exe.backward()
        return {key: grad.asnumpy() for key, grad in exe.grad_dict.items() if "weight" in key}

    converted = mx.contrib.amp.convert_symbol(convolutional(), dtype)
    exact = gradients(convolutional(), mx.cpu())
    found = [gradients(converted, device) for device in (mx.cpu(), gpu)]
    for key, value in exact.items():
        on_cpu, on_gpu = (np.linalg.norm(each[key] - value) for each in found)
        assert on_gpu < 1.5 * on_cpu, key


def residual() -> Any:
    """Convolutions, some in groups, with what cuDNN computes in the same call behind them, and what it does not."""
    x = S.var("data")
    for number in range(3):
        net = S.Convolution(
            x, kernel=(3, 3), pad=(1, 1), num_filter=8, num_group=1 + number % 2, name=f"a{number}"
        )
        net = S.Activation(S.BatchNorm(net, fix_gamma=False, name=f"bn{number}"), act_type="relu")
        net = S.BatchNorm(
            S.Convolution(net, kernel=(1, 1), num_filter=8, name=f"b{number}"), name=f"bm{number}"
        )
        x = S.relu(net + x) if number else S.relu(net)
    return S.softmax(S.Flatten(S.Convolution(x + 1, kernel=(2, 2), stride=(2, 2), num_filter=4, name="last")))


def check_inference(dtype: str, backend: str, gpu: Device) -> Executor:
    """Compare a run on a device with one in float32 on the CPU, node by node: rounding may be as it is there.

    Return the executor there.
    """
    net = residual() if dtype == "float32" else mx.contrib.amp.convert_symbol(residual(), dtype)
    exact, *found = (
        each.simple_bind(device, grad_req="null", data=(4, 6, 9, 9))
        for each, device in (
            (residual().optimize_for("plain"), mx.cpu()),
            (net, mx.cpu()),
            (net.optimize_for(backend), gpu),
        )
    )
    for exe in (exact, *found):
        random = np.random.default_rng(4)
        exe.copy_params_from(
            {
                name: mx.nd.array(random.normal(size=array.shape) / 2)
                for name, array in exact.arg_dict.items()
            },
            {name: mx.nd.array(random.random(array.shape) + 0.5) for name, array in exact.aux_dict.items()},
        )
    # Over many batches: of one alone, the CPU's own rounding is 0.2 to 0.8 times the mean.
    squares = np.zeros(2)
    for number in range(24):
        data = np.random.default_rng(number).normal(size=(4, 6, 9, 9)).astype("float32")
        expected, *others = (exe.forward(data=data)[0].asnumpy() for exe in (exact, *found))
        squares += [np.square(each - expected).mean() for each in others]
    on_cpu, on_gpu = np.sqrt(squares / 24)
    assert on_gpu < 1.5 * on_cpu + 1e-6
    return found[1]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("backend", ["default", "cudagraphs"])
def test_inference(dtype: str, backend: str, gpu: Device) -> None:
    check_inference(dtype, backend, gpu)


def test_static_memory_is_not_written_over_by_the_next_run(gpu: Device) -> None:
    x = S.var("x")
    exe = Executor(S.Group([S.exp(x), x * 2]), gpu, {"x": mx.nd.zeros((4,))}, static_alloc=True)
    assert exe.is_compiled == (gpu.device_type == "gpu")
    seen = []
    for number in range(5):
        outputs = exe.forward(x=mx.nd.full((4,), number))
        seen.append([output.copy() for output in outputs])
    for number, (power, twice) in enumerate(seen):
        np.testing.assert_allclose(power.asnumpy(), np.exp(np.full(4, number)), rtol=1e-5)
        assert twice.asnumpy().tolist() == [2 * number] * 4


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_what_is_copied_there_may_be_written_over_at_once(dtype: str, gpu: Device) -> None:
    busy = mx.nd.ones((2000, 2000), gpu)
    target, sources = mx.nd.zeros((100, 1000), gpu), []
    for number in range(10):
        busy = mx.nd.dot(busy, busy) / 2000  # what the copy does not wait for
        source = mx.nd.full((100, 1000), number, dtype=dtype)
        target[:] = source
        source[:] = 100
        sources.append(target.copy())
    assert [float(each.mean().asscalar()) for each in sources] == [*map(float, range(10))]


def test_numbers_follow_from_the_seed(gpu: Device) -> None:
    found = []
    for _ in range(2):
        mx.random.seed(7)
        found.append(mx.nd.random.normal(shape=(1000,), ctx=gpu).asnumpy())
    np.testing.assert_array_equal(*found)
    assert abs(found[0].mean()) < 0.2 and abs(found[0].std() - 1) < 0.1


def test_an_index_outside_of_its_axis_is_an_error_and_the_gpu_goes_on(gpu: Device) -> None:
    array, index = mx.nd.ones((3, 4), gpu), mx.nd.array([5], gpu)
    says = "index 5 is out of bounds for axis 0 with size 3"
    with pytest.raises(IndexError, match=says):
        array[index]
    with pytest.raises(IndexError, match=says):
        array[index] = 2
    assert array[mx.nd.array([-1, 2], gpu)].sum().asscalar() == 8
