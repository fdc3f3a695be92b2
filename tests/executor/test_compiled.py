"""Compiled executors: the same as in the default mode. Mostly with `aot_eager`, which compiles all but the kernels."""

from __future__ import annotations

import contextlib
import copy
import functools
import pathlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

import rebind as mx
from rebind.errors import MXNetError, NameLookupError
from rebind.executor import Executor, staying
from rebind.executor.compiling import compile_whole, reason_of, with_results_of_its_own
from rebind.graph.passes import BACKENDS, DEFAULT, register_backend

pytestmark = pytest.mark.usefixtures("own_backends")

S = mx.sym
QUICK = "aot_eager"


@pytest.fixture
def counter() -> CompileCounterWithBackend:
    """The compiler of the backend ``'counted'``, which counts graphs."""
    found = CompileCounterWithBackend(QUICK)
    register_backend("counted", DEFAULT, compiler=found)
    return found


def dense() -> Any:
    net = S.FullyConnected(S.var("data"), num_hidden=6, name="fc1")
    net = S.Activation(S.BatchNorm(net, name="bn", fix_gamma=False), act_type="relu")
    return S.SoftmaxOutput(S.FullyConnected(net, num_hidden=3, name="fc2"), name="softmax")


def convolutional() -> Any:
    net = S.Convolution(S.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = S.Pooling(S.Activation(net, act_type="tanh"), kernel=(2, 2), stride=(2, 2), pool_type="max")
    return S.SoftmaxOutput(S.FullyConnected(S.Flatten(net), num_hidden=3, name="fc"), name="softmax")


def several_outputs() -> Any:
    """A loss, an output that needs a head gradient, and one that no gradient comes to."""
    hidden = S.FullyConnected(S.var("data"), num_hidden=4, name="fc1")
    return S.Group([S.MakeLoss(S.tanh(hidden).sum(), name="loss"), hidden * 2, S.BlockGrad(hidden)])


def loss_inside() -> Any:
    """A loss whose output is used again, so that autograd passes through it."""
    loss = S.MakeLoss(S.FullyConnected(S.var("data"), num_hidden=4, name="fc1") ** 2, name="loss")
    return S.Group([loss, loss * 2])


def inputs_as_outputs() -> Any:
    data = S.var("data")
    return S.Group([data, S.Reshape(data, shape=(-1,)), S.FullyConnected(data, num_hidden=2, name="fc1")])


@dataclass(frozen=True)
class Case:
    """A network with the shapes of its inputs, and which outputs need a head gradient."""

    make: Callable[[], Any]
    shapes: dict[str, tuple[int, ...]]
    heads: Sequence[int] = ()


CASES = {
    "dense": Case(dense, {"data": (4, 5), "softmax_label": (4,)}),
    "convolutional": Case(convolutional, {"data": (2, 1, 8, 8), "softmax_label": (2,)}),
    "several outputs": Case(several_outputs, {"data": (3, 2)}, heads=[1]),
    "loss inside": Case(loss_inside, {"data": (3, 2)}),
    "inputs as outputs": Case(inputs_as_outputs, {"data": (3, 2)}, heads=[0, 1, 2]),
}
all_cases = pytest.mark.parametrize("name", CASES)


def filled(executor: Any) -> Any:
    random = np.random.default_rng(3)
    for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
        whole = name.endswith("label")
        value = random.integers(0, 3, array.shape) if whole else random.normal(size=array.shape)
        array[:] = abs(value) if name.endswith("var") else value
    return executor


def bound(name: str, backend: str, grad_req: Any = "write") -> Any:
    case = CASES[name]
    return filled(case.make().simple_bind(mx.cpu(), grad_req=grad_req, backend=backend, **case.shapes))


def heads(name: str, executor: Any) -> list[Any] | None:
    wanted = CASES[name].heads
    if not wanted:
        return None
    return [
        mx.nd.ones(out.shape) * (i + 1) if i in wanted else None for i, out in enumerate(executor.outputs)
    ]


def state(executor: Any) -> dict[str, np.ndarray]:
    """All that a program can see."""
    found = {f"output {i}": array for i, array in enumerate(executor.outputs)}
    found.update({f"aux {name}": array for name, array in executor.aux_dict.items()})
    found.update({f"grad {name}": array for name, array in executor.grad_dict.items() if array is not None})
    return {name: array.asnumpy().copy() for name, array in found.items()}


def equal(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray], **tolerance: float) -> None:
    assert found.keys() == wanted.keys()
    for name, value in found.items():
        np.testing.assert_allclose(
            value, wanted[name], **{"rtol": 1e-5, "atol": 1e-6, **tolerance}, err_msg=name
        )


def is_compiled(executor: Any, is_train: bool = True) -> bool:
    return executor._plans.get(is_train).compiled is not None


def mixed_requests(name: str) -> dict[str, str]:
    """Write, add and null in turn."""
    names = CASES[name].make().list_arguments()
    return {each: ("write", "add", "null")[i % 3] for i, each in enumerate(names)}


@all_cases
@pytest.mark.parametrize(
    "grad_req", ["write", "add", "null", mixed_requests], ids=["write", "add", "null", "mixed"]
)
def test_training_is_that_of_the_default_mode(name: str, grad_req: Any) -> None:
    requests = grad_req(name) if callable(grad_req) else grad_req
    states = []
    for backend in ("default", QUICK):
        exe = bound(name, backend, requests)
        seen = []
        for _ in range(2):  # the second time for what is added up
            exe.forward(is_train=True)
            exe.backward(heads(name, exe))
            seen.append(state(exe))
        exe.backward(heads(name, exe))  # again, after one forward
        states.append([*seen, state(exe)])
        assert is_compiled(exe) == (backend == QUICK)
    for wanted, found in zip(*states, strict=True):
        equal(found, wanted)


@all_cases
def test_inference_is_that_of_the_default_mode(name: str) -> None:
    exe, plain = bound(name, QUICK), bound(name, "default")
    for each in (exe, plain):
        each.forward()
    equal(state(exe), state(plain))
    for each in (exe, plain):
        each.backward(heads(name, each))
    equal(state(exe), state(plain))
    assert is_compiled(exe, is_train=False)


needs_inductor = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # it imports what torch itself deprecates


@needs_inductor
@all_cases
# On the CPU PyTorch leaves CUDA graphs out of what has that name; `tests/gpu` has them.
@pytest.mark.parametrize("backend", [pytest.param("inductor", marks=pytest.mark.slow), "cudagraphs"])
def test_compilers_compute_what_the_default_mode_does(name: str, backend: str) -> None:
    exe, plain = bound(name, backend), bound(name, "default")
    for run in ("forward", "forward_before_backward"):
        for each in (exe, plain):
            getattr(each, run)(**({"is_train": True} if run == "forward" else {}))
            each.backward(heads(name, each))
        equal(state(exe), state(plain), rtol=1e-4, atol=1e-5)
    for each in (exe, plain):
        each.forward()
    equal(state(exe), state(plain), rtol=1e-4, atol=1e-5)
    assert is_compiled(exe) and is_compiled(exe, is_train=False)


def test_results_that_the_next_run_writes_over_are_copied() -> None:
    memory = torch.zeros(2)

    def compiled(number: int) -> dict[str, Any]:
        return {"found": (memory.fill_(number), None), "number": number}

    found = [with_results_of_its_own(compiled, "cudagraphs")(number) for number in (1, 2)]
    assert [each["found"][0].tolist() for each in found] == [[1, 1], [2, 2]]
    assert with_results_of_its_own(compiled, "inductor") is compiled


@all_cases
def test_what_a_program_gets_has_memory_of_its_own(name: str) -> None:
    exe = bound(name, QUICK)
    exe.forward(is_train=True)
    exe.backward(heads(name, exe))
    arrays = [
        *exe.arg_arrays,
        *exe.aux_arrays,
        *exe.outputs,
        *(grad for grad in exe.grad_arrays if grad is not None),
    ]
    storages = [array.tensor.untyped_storage().data_ptr() for array in arrays]
    assert len(set(storages)) == len(storages)


def test_what_is_written_into_the_arrays_is_seen() -> None:
    x, w, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([3.0, 4.0]), mx.nd.zeros((2,))
    exe = S.MakeLoss(S.var("x") * S.var("w")).bind(mx.cpu(), [x, w], {"w": grad}, backend=QUICK)
    output = exe.outputs[0]
    for number in (1.0, 5.0):
        x[:] = number
        exe.forward(is_train=True)
        exe.backward()
        assert (
            output.asnumpy().tolist() == [3 * number, 4 * number] and grad.asnumpy().tolist() == [number] * 2
        )


# Shapes.


def test_any_number_of_batch_sizes_compiles_twice(counter: CompileCounterWithBackend) -> None:
    exe = bound("dense", "counted")
    for size in (4, 6, 3, 8, 5, 4):
        other = exe if size == 4 else exe.reshape(data=(size, 5), softmax_label=(size,), allow_up_sizing=True)
        plain = bound("dense", "default").reshape(
            data=(size, 5), softmax_label=(size,), allow_up_sizing=True, partial_shaping=True
        )
        values = {name: array.asnumpy() for name, array in {**other.arg_dict, **other.aux_dict}.items()}
        for name, array in {**plain.arg_dict, **plain.aux_dict}.items():
            array[:] = values[name]
        for each in (other, plain):
            each.forward(is_train=True)
            each.backward()
        equal(state(other), state(plain))
    assert counter.frame_count == 2


def bucket(length: int) -> tuple[Any, list[str], list[str]]:
    words = S.Embedding(S.var("data"), input_dim=9, output_dim=3, name="words")
    steps = list(S.split(words, num_outputs=length, squeeze_axis=True))
    net = S.FullyConnected(functools.reduce(lambda a, b: S.tanh(a + b), steps), num_hidden=3, name="fc")
    return S.SoftmaxOutput(net, name="softmax"), ["data"], ["softmax_label"]


def test_each_bucket_is_compiled_once(counter: CompileCounterWithBackend) -> None:
    modules = [mx.mod.BucketingModule(bucket, 5, backend=backend) for backend in ("counted", "default")]
    for module in modules:
        module.bind([("data", (4, 5))], [("softmax_label", (4,))])
        module.init_params(mx.init.One())
        module.init_optimizer()
    random = np.random.default_rng(0)
    for length in (5, 3, 5, 3, 2, 5, 2, 3):
        batch = mx.io.DataBatch(
            [mx.nd.array(random.integers(0, 9, (4, length)))],
            [mx.nd.array(random.integers(0, 3, (4,)))],
            bucket_key=length,
            provide_data=[("data", (4, length))],
            provide_label=[("softmax_label", (4,))],
        )
        for module in modules:
            module.forward_backward(batch)
            module.update()
    assert counter.frame_count == 3
    found, wanted = (module.get_params()[0] for module in modules)
    equal(*({name: array.asnumpy() for name, array in each.items()} for each in (found, wanted)))


# Forward and backward in one call.


@dataclass(frozen=True)
class Watched:
    """What compiled code was called for."""

    whole: list[Any]

    @classmethod
    def on(cls, monkeypatch: pytest.MonkeyPatch) -> Watched:
        found = cls([])
        run = Executor._run_whole

        def run_whole(executor: Executor, *given: Any) -> Any:
            found.whole.append(executor)
            return run(executor, *given)

        monkeypatch.setattr(Executor, "_run_whole", run_whole)
        return found


@all_cases
@pytest.mark.parametrize(
    "grad_req", ["write", "add", "null", mixed_requests], ids=["write", "add", "null", "mixed"]
)
def test_a_forward_that_backward_follows_is_that_of_the_default_mode(
    name: str, grad_req: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched.on(monkeypatch)
    requests = grad_req(name) if callable(grad_req) else grad_req
    states = []
    for backend in ("default", QUICK):
        exe = bound(name, backend, requests)
        seen = []
        for _ in range(2):
            exe.forward_before_backward()
            statistics = [array.asnumpy() for array in exe.aux_arrays]
            exe.backward(heads(name, exe))
            seen.append((state(exe), statistics))
        exe.backward(heads(name, exe))
        states.append([*seen, (state(exe), [])])
    for (wanted, before), (found, also_before) in zip(*states, strict=True):
        equal(found, wanted)
        # They move with backward.
        for one, other in zip(before, also_before, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)
    assert bool(watched.whole) == (not CASES[name].heads and requests != "null")
    if watched.whole:
        arrays = [*exe.arg_arrays, *exe.aux_arrays, *exe.outputs]
        arrays += [grad for grad in exe.grad_arrays if grad is not None]
        assert len({array.tensor.untyped_storage().data_ptr() for array in arrays}) == len(arrays)


def test_forward_backward_of_a_module_is_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched.on(monkeypatch)
    random = np.random.default_rng(0)
    data, label = random.normal(size=(12, 5)).astype("float32"), random.integers(0, 3, 12).astype("float32")
    trained = []
    for backend in ("default", QUICK):
        mx.random.seed(1)
        module = mx.mod.Module(dense(), backend=backend)
        batches = mx.io.NDArrayIter(data, label, 4)
        history = module.fit(
            batches,
            num_epoch=3,
            optimizer_params={"learning_rate": 0.1, "momentum": 0.9},
            initializer=mx.init.One(),
        )
        params, states = module.get_params()
        trained.append({name: array.asnumpy() for name, array in {**params, **states}.items()})
        trained.append({"accuracy": np.array(history["train"]["accuracy"])})
    equal(trained[2], trained[0], rtol=1e-4)
    equal(trained[3], trained[1])
    assert len(watched.whole) == 9


def test_two_networks_do_not_share_what_is_counted_for_one(counter: CompileCounterWithBackend) -> None:
    for width in range(2, 12):  # more than the compiler makes of one code
        net = S.MakeLoss(S.FullyConnected(S.var("x"), num_hidden=width, name="fc"))
        exe = net.simple_bind(mx.cpu(), x=(2, 3), backend="counted")
        exe.forward_before_backward()
        exe.backward()
        assert exe._plans.get(True).steps and all(exe._plans.get(True).steps.values())
    assert counter.frame_count == 10


def test_gradients_that_were_computed_with_the_outputs_are_of_the_same_mask() -> None:
    exe = dropped()
    output = exe.forward_before_backward()[0].asnumpy()
    for _ in range(2):  # the second time forward is run once more
        exe.backward()
        np.testing.assert_array_equal(exe.grad_dict["x"].asnumpy() != 0, output != 0)


def test_a_mistake_in_one_call_is_the_error_of_two() -> None:
    net = S.MakeLoss(S.dot(S.var("a"), S.var("b"), name="product"))
    exe = net.simple_bind(mx.cpu(), a=(2, 3), b=(3, 2), backend=QUICK)
    exe.arg_dict["a"].storage.tensor = torch.ones(2, 4)
    with pytest.raises(MXNetError, match=r"^dot 'product'"):
        exe.forward_before_backward()


def test_what_fails_in_one_call_is_run_in_two(monkeypatch: pytest.MonkeyPatch) -> None:
    exe, plain = bound("dense", QUICK), bound("dense", "default")
    with monkeypatch.context() as patch:
        patch.setattr("rebind.executor.whole.Step.forward_backward", None)
        exe.forward_before_backward()
    exe.backward()
    watched = Watched.on(monkeypatch)
    for each in (exe, plain):
        each.forward_before_backward()
        each.backward()
    plain.forward(is_train=True)  # the statistics of as many steps
    plain.backward()
    assert not watched.whole and is_compiled(exe)
    equal(state(exe), state(plain))


def test_a_gradient_that_two_arguments_have_is_in_an_array_of_each() -> None:
    exe = S.MakeLoss(S.var("a") + S.var("b")).simple_bind(mx.cpu(), a=(2,), b=(2,), backend=QUICK)
    exe.forward_before_backward()
    exe.backward()
    exe.grad_dict["a"][:] = 5
    assert exe.grad_dict["b"].asnumpy().tolist() == [1, 1]


# Inference, in which batch norms are part of the weights before them.


def normed() -> Any:
    net = S.Convolution(S.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = S.Dropout(S.Activation(S.BatchNorm(net, fix_gamma=False, name="bn"), act_type="relu"))
    net = S.BatchNorm(S.FullyConnected(net, num_hidden=3, name="fc"), name="bn2")
    return S.SoftmaxOutput(net, name="softmax")


def bound_normed(backend: str) -> Any:
    return filled(normed().simple_bind(mx.cpu(), data=(2, 1, 6, 6), backend=backend))


def test_batch_norms_are_folded_before_inference_is_compiled() -> None:
    exe, plain = bound_normed(QUICK), bound_normed("plain")
    for each in (exe, plain):
        each.forward()
    plan = exe._plans.get(is_train=False, recorded=False)
    assert plan.compiled is not None and plan.preparation is not None
    assert not any("batch_norm" in str(node.target) for node in plan.code.graph.nodes)
    equal(state(exe), state(plain))
    assert plan.compiled._run is not None and plan.compiled.failure is None
    for each in (exe, plain):
        each.backward()
    equal(state(exe), state(plain))


def test_folded_weights_follow_the_parameters_and_compile_nothing(counter: CompileCounterWithBackend) -> None:
    register_backend("counted", DEFAULT, compiler=counter, inference=BACKENDS[QUICK].inference, override=True)
    exe, plain = bound_normed("counted"), bound_normed("plain")
    for number in (1.0, 2.0, 3.0):
        for each in (exe, plain):
            each.arg_dict["conv_weight"][:] = number
            each.aux_dict["bn_moving_mean"][1:3] = number
            each.forward()
        equal(state(exe), state(plain))
    assert counter.frame_count == 1


def test_inference_whose_passes_use_shapes_is_compiled_for_two_of_them(
    counter: CompileCounterWithBackend,
) -> None:
    register_backend("counted", DEFAULT, compiler=counter, inference=BACKENDS[QUICK].inference, override=True)
    exe, plain = bound_normed("counted"), bound_normed("plain")
    for size in (2, 3, 4, 5, 3, 2):
        shapes = {"data": (size, 1, 6, 6), "softmax_label": (size,)}
        found = []
        for each in (exe, plain):
            other = each.reshape(allow_up_sizing=True, **shapes)
            other.arg_dict["data"][:] = np.arange(size * 36).reshape(size, 1, 6, 6) % 7
            found.append(other.forward()[0].asnumpy())
        np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)
    assert counter.frame_count == 2


def test_weights_that_others_may_write_are_not_folded() -> None:
    exe, plain = bound_normed(QUICK), bound_normed("plain")
    views = [each.arg_dict["conv_weight"][0:2] for each in (exe, plain)]
    for number in (1.0, 2.0):
        for each, view in zip((exe, plain), views, strict=True):
            view[:] = number
            each.forward()
        equal(state(exe), state(plain))
    assert is_compiled(exe, is_train=False)


@pytest.mark.slow
@needs_inductor
def test_inductor_gives_the_inference_of_the_default_mode() -> None:
    exe, plain = bound_normed("inductor"), bound_normed("plain")
    for _ in range(2):
        for each in (exe, plain):
            each.arg_dict["conv_weight"][:] *= 2
            each.forward()
        equal(state(exe), state(plain), rtol=1e-4, atol=1e-5)


def _conv(data: Any, name: str) -> Any:
    return S.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=4, name=name)


def _added_again() -> Any:
    inner = S.relu(_conv(S.var("x"), "a"))
    return S.Group([S.relu(_conv(inner, "b") + inner), inner, S.tanh(inner)])


#: Convolutions whose result is added to what must not change: an argument, and what is used again.
ADDED = {
    "argument": lambda: S.relu(_conv(S.var("x"), "a") + S.var("y")),
    "view of one": lambda: S.relu(_conv(S.var("x"), "a") + S.reshape(S.var("y"), shape=(2, 4, 8, 8))),
    "its own data": lambda: S.relu(_conv(S.var("y"), "a") + S.var("y")),
    "used again": _added_again,
}


@pytest.mark.slow
@needs_inductor
@pytest.mark.parametrize("name", ADDED)
def test_inductor_writes_a_sum_over_nothing_that_is_read_again(name: str) -> None:
    net, found = ADDED[name](), []
    shapes = {"x": (2, 3, 8, 8), "y": (2, 4, 8, 8)}
    given = {key: shapes[key] for key in net.list_arguments() if key in shapes}
    for backend in (None, "inductor"):
        exe = net.simple_bind(mx.cpu(), grad_req="null", backend=backend, **given)
        random = np.random.RandomState(0)
        for array in exe.arg_dict.values():
            array[:] = random.uniform(-1, 1, array.shape)
        before = {key: array.asnumpy() for key, array in exe.arg_dict.items()}
        for _ in range(2):
            outputs = [array.asnumpy() for array in exe.forward()]
        equal({key: array.asnumpy() for key, array in exe.arg_dict.items()}, before)
        found.append(dict(enumerate(outputs)))
    equal(*found, rtol=1e-5, atol=1e-6)
    assert is_compiled(exe, is_train=False)


# Scaled losses.


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_new_scale_compiles_nothing(dtype: str, counter: CompileCounterWithBackend) -> None:
    scaler = mx.contrib.amp.LossScaler(init_scale=2.0**20, scale_window=1)
    net = scaler.scaled(S.MakeLoss(S.var("x", dtype=dtype), grad_scale=2.0**-19))
    exe = net.simple_bind(mx.cpu(), x=(3,), backend="counted")
    compiled = []
    for expected in (2, 4, 8, 4):
        for run in ("forward", "forward_before_backward"):
            getattr(exe, run)(**({"is_train": True} if run == "forward" else {}))
            exe.backward()
            assert exe.grad_dict["x"].asnumpy().tolist() == [expected] * 3
        scaler.has_overflow([mx.nd.array([float("inf") if expected == 8 else 1.0])])
        compiled.append(counter.frame_count)
    assert is_compiled(exe) and all(exe._plans.get(is_train=True).steps.values())
    assert len(set(compiled)) == 1


# Random numbers.


def dropped(backend: str = QUICK) -> Any:
    net = S.Dropout(S.var("x"), p=0.25, name="drop")
    exe = S.MakeLoss(net, name="loss").simple_bind(mx.cpu(), x=(100, 100), backend=backend)
    exe.arg_dict["x"][:] = 1
    return exe


def test_random_numbers_follow_from_the_seed() -> None:
    exe = dropped()
    draws = []
    for _ in range(2):
        mx.random.seed(7)
        draws += [exe.forward(is_train=True)[0].asnumpy() for _ in range(2)]
    assert is_compiled(exe)
    assert (draws[0] == draws[2]).all() and (draws[1] == draws[3]).all() and (draws[0] != draws[1]).any()
    assert abs((draws[0] == 0).mean() - 0.25) < 0.02
    assert np.unique(draws[0]).tolist() == [0.0, np.float32(1 / 0.75)]


def test_backward_uses_the_mask_of_forward_when_it_is_called_again_too() -> None:
    exe = dropped()
    output = exe.forward(is_train=True)[0].asnumpy()
    for _ in range(2):
        exe.backward()
        np.testing.assert_array_equal(exe.grad_dict["x"].asnumpy() != 0, output != 0)


# What is not compiled.


def broken(graph: torch.fx.GraphModule, inputs: Sequence[torch.Tensor]) -> Callable[..., Any]:
    raise RuntimeError("No compiler is here.\nAnd more.")


def test_what_cannot_be_compiled_runs_in_the_default_mode_and_says_why_once() -> None:
    register_backend("broken", DEFAULT, compiler=broken)
    exe, plain = bound("dense", "broken"), bound("dense", "default")
    says = "backend='broken': the network of 'softmax_output' is not compiled, and runs in the default mode: "
    with pytest.warns(UserWarning, match=f"^{says}RuntimeError: No compiler is here.$"):
        exe.forward(is_train=True)
    # Neither another mode nor another executor of the network says it again: warnings are errors here.
    plain.forward(is_train=True)
    for each in (exe, plain):
        each.backward()
        each.forward()
        each.forward(is_train=True)
        each.backward()
    equal(state(exe), state(plain))
    other = exe.reshape(data=(2, 5), softmax_label=(2,))
    other.forward(is_train=True)
    other.backward()


def test_a_mistake_in_the_inputs_is_an_error_that_names_the_node_and_stops_no_compiler() -> None:
    net = S.dot(S.var("a"), S.var("b"), name="product")
    exe = net.simple_bind(mx.cpu(), a=(2, 3), b=(3, 2), backend=QUICK)
    exe.forward()
    a = exe.arg_dict["a"]
    a.storage.tensor = torch.ones(2, 4)
    with pytest.raises(MXNetError, match=r"^dot 'product'"):
        exe.forward()
    a.storage.tensor = torch.ones(2, 3)
    exe.forward()
    assert is_compiled(exe, is_train=False)


@pytest.mark.slow
@needs_inductor
def test_without_a_compiler_for_cpp_networks_run_in_the_default_mode(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))  # where nothing is compiled yet
    net = S.MakeLoss(S.tanh(S.var("x")) * 3, name="loss")
    exe = net.simple_bind(mx.cpu(), x=(5,), backend="inductor")
    says = "'loss_output' is not compiled, and runs in the default mode: .*no-such-compiler"
    no_compiler = torch._inductor.config.patch({"cpp.cxx": (None, "no-such-compiler")})
    with no_compiler, pytest.warns(UserWarning, match=says):
        exe.forward_before_backward()
    exe.backward()
    assert exe.grad_dict["x"].asnumpy().tolist() == [3] * 5 and not is_compiled(exe)


class Doubled(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


@mx.operator.register("doubled_in_compiled_tests")
class DoubledProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Doubled()


def test_custom_operators_run_in_the_default_mode() -> None:
    net = S.MakeLoss(S.Custom(S.var("x"), op_type="doubled_in_compiled_tests") + 1)
    with pytest.warns(UserWarning, match="runs in the default mode: it has a custom operator"):
        exe = net.simple_bind(mx.cpu(), x=(2,), backend=QUICK)
    assert exe.forward(is_train=True)[0].asnumpy().tolist() == [1, 1]
    exe.backward()
    assert exe.grad_dict["x"].asnumpy().tolist() == [2, 2] and not is_compiled(exe)


def test_a_monitor_sees_each_operator_and_other_runs_are_compiled() -> None:
    exe, seen, active = bound("dense", QUICK), [], [True]
    exe.set_monitor_callback(lambda name, array: seen.append(name), active=lambda: active[0])
    watched = exe.forward(is_train=True)[0].asnumpy()
    exe.backward()
    assert "fc1_output" in seen and "fc1_backward_output0" in seen
    active[0] = False
    seen.clear()
    np.testing.assert_allclose(exe.forward(is_train=True)[0].asnumpy(), watched, rtol=1e-5)
    assert seen == [] and is_compiled(exe)


def test_loops_run_in_the_default_mode() -> None:
    def body(each: Any, total: Any) -> tuple[Any, Any]:
        total = S.tanh(total + each * S.var("w"))
        return total, total

    results = []
    for backend in ("default", QUICK):
        outputs, last = S.contrib.foreach(body, S.var("data"), S.var("start"))
        net = S.MakeLoss(S.sum(outputs) + S.sum(last))
        warned = pytest.warns(UserWarning, match="default mode: it has a loop or a branch")
        with warned if backend == QUICK else contextlib.nullcontext():
            exe = net.simple_bind(mx.cpu(), data=(3, 2), start=(2,), w=(2,), backend=backend)
        filled(exe).forward(is_train=True)
        exe.backward()
        results.append(state(exe))
    equal(*results)


# How it is chosen.


def test_ways_to_choose_a_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    net = S.exp(S.var("x"))
    args = {"x": mx.nd.ones((2,))}
    ways = [
        net.bind(mx.cpu(), args, backend=QUICK),
        net.simple_bind(mx.cpu(), x=(2,), backend=QUICK),
        net.optimize_for(QUICK).bind(mx.cpu(), args),
        copy.deepcopy(net.with_backend(QUICK)).bind(mx.cpu(), args),
        mx.executor.Executor(net, mx.cpu(), args, backend=QUICK),
    ]
    module = mx.mod.Module(net, data_names=["x"], label_names=None, backend=QUICK)
    module.bind([("x", (2,))], for_training=False)
    ways += module.executors.execs
    assert all(is_compiled(exe, is_train=False) for exe in ways)
    assert not is_compiled(net.bind(mx.cpu(), args))
    assert not is_compiled((net.optimize_for(QUICK) + 1).bind(mx.cpu(), args))
    monkeypatch.setenv("REBIND_BACKEND", QUICK)
    assert is_compiled(net.bind(mx.cpu(), args))
    assert not is_compiled(net.bind(mx.cpu(), args, backend="default"))
    monkeypatch.setenv("REBIND_BACKEND", "inducter")
    with pytest.raises(NameLookupError, match="no backend 'inducter'; did you mean 'inductor'"):
        net.bind(mx.cpu(), args)


@pytest.mark.parametrize(
    "call",
    [
        lambda net: net.with_backend("nothing"),
        lambda net: net.optimize_for("nothing"),
        lambda net: net.simple_bind(mx.cpu(), x=(2,), backend="nothing"),
        lambda net: mx.mod.Module(net, data_names=["x"], label_names=None, backend="nothing"),
    ],
)
def test_an_unknown_backend_is_an_error(call: Callable[[Any], Any]) -> None:
    with pytest.raises(NameLookupError, match=r"^backend: no backend 'nothing'.*Registered: default"):
        call(S.exp(S.var("x")))


def test_get_optimized_symbol_is_what_is_compiled() -> None:
    exe = bound("dense", QUICK)
    assert exe.get_optimized_symbol().list_arguments() == CASES["dense"].make().list_arguments()


def test_the_reason_of_an_untraceable_network_is_what_the_compiler_met() -> None:
    def untraceable(x: torch.Tensor) -> torch.Tensor:
        return x * x.sum().item() if print("here") is None else x

    with pytest.raises(torch._dynamo.exc.Unsupported) as caught:
        compile_whole(untraceable, "eager")(torch.ones(2))
    reason = reason_of(caught.value)
    assert reason.startswith("Unsupported: ") and "print" in reason and "\n" not in reason


@pytest.mark.parametrize("word", ["write", "add"])
@pytest.mark.parametrize("least", [0, 2**60], ids=["stay", "new"])
def test_gradients_of_whole_steps_take_their_place(
    word: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staying, "_LARGE", least)
    x, grad = mx.nd.array([1, 2]), mx.nd.array([10, 10])
    exe = S.MakeLoss(S.square(S.var("x"))).bind(mx.cpu(), {"x": x}, {"x": grad}, grad_req=word, backend=QUICK)
    for k in (1, 2):
        exe.forward_before_backward()
        assert exe._last.gradients is not None  # computed with the outputs
        exe.backward()
        times, before = (1, 0) if word == "write" else (k, 10)
        assert grad.asnumpy().tolist() == [before + times * 2.0, before + times * 4.0]


@pytest.mark.parametrize(
    "given", [{}, {"options": {"max_fusion_size": 8}}, {"mode": "max-autotune"}], ids=str
)
def test_options_of_the_compiler_reach_it(given):
    seen = {}

    def compiler(graph, inputs, **options):
        seen.update(options)
        return graph.forward

    assert compile_whole(lambda x: x * 2, compiler, **given)(torch.ones(1)).item() == 2
    assert {name: value for name, value in seen.items() if value} == given
