"""Compiled training is that of the default mode. Mostly with `aot_eager`, which compiles all but the kernels."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from tests.executor.compiled.networks import (
    CASES,
    QUICK,
    S,
    all_cases,
    bound,
    dense,
    dropped,
    equal,
    heads,
    is_compiled,
    mixed_requests,
    needs_inductor,
    state,
)
from tests.newer_torch import follows_gradients, uses_private_names
from torch._dynamo.testing import CompileCounterWithBackend

import rebind as mx
from rebind import tuning
from rebind.errors import MXNetError
from rebind.executor.joint_update import BoundJointStep, JointStep
from rebind.executor.programs.compiled import JointCode

pytestmark = pytest.mark.usefixtures("own_backends")


@pytest.mark.sampled
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


@needs_inductor
@all_cases
@pytest.mark.slow
def test_inductor_computes_what_the_default_mode_does(name: str) -> None:
    exe, plain = bound(name, "inductor"), bound(name, "default")
    for run in ("forward", "forward_before_backward"):
        for each in (exe, plain):
            getattr(each, run)(**({"is_train": True} if run == "forward" else {}))
            each.backward(heads(name, each))
        equal(state(exe), state(plain), rtol=1e-4, atol=1e-5)
    for each in (exe, plain):
        each.forward()
    equal(state(exe), state(plain), rtol=1e-4, atol=1e-5)
    assert is_compiled(exe) and is_compiled(exe, is_train=False)


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


@pytest.mark.parametrize("backend", ["eager", QUICK])
@pytest.mark.parametrize("trains", [False, True])
def test_an_argument_that_is_an_output_is_copied(trains: bool, backend: str) -> None:
    x = S.var("x")
    net = S.Group([S.BlockGrad(x), S.MakeLoss(x * 2), S.BlockGrad(S.Reshape(x, shape=(-1,)))])
    module = mx.mod.Module(net, data_names=["x"], label_names=None, backend=backend)
    module.bind([("x", (2, 3))], for_training=trains, inputs_need_grad=trains)
    module.init_params()
    run = module.forward_backward if trains else functools.partial(module.forward, is_train=False)
    for number in (1, 2, 3):
        run(mx.io.DataBatch([mx.nd.full((2, 3), number)]))
        outputs = module.get_outputs()
        exe = module._exec_group.execs[0]
        places = [each.tensor.untyped_storage().data_ptr() for each in (*outputs, exe.arg_dict["x"])]
        assert exe.is_compiled and places[-1] not in places[:-1]
        assert [each.asnumpy().flat[0] for each in outputs] == [number, number * 2, number]


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


@follows_gradients
def test_whole_steps_of_any_number_of_batch_sizes_compile_twice(counter: CompileCounterWithBackend) -> None:
    exe, plain = bound("dense", "counted"), bound("dense", "default")
    for size in (4, 6, 3, 8, 5, 4):
        shapes = {"data": (size, 5), "softmax_label": (size,)}
        both = [
            each if size == 4 else each.reshape(**shapes, allow_up_sizing=True, partial_shaping=True)
            for each in (exe, plain)
        ]
        for name, array in {**both[0].arg_dict, **both[0].aux_dict}.items():
            {**both[1].arg_dict, **both[1].aux_dict}[name][:] = array.asnumpy()
        for each in both:
            each.forward_before_backward()
            each.backward()
        equal(*map(state, both))
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

        def count(kind: type) -> None:
            run = kind.__call__

            def counted(code: Any, *given: Any) -> Any:
                found.whole.append(code)
                return run(code, *given)

            monkeypatch.setattr(kind, "__call__", counted)

        for kind in (JointCode, JointStep, BoundJointStep):
            count(kind)
        return found


@pytest.mark.sampled
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


@uses_private_names
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


@uses_private_names
def test_two_networks_do_not_share_what_is_counted_for_one(counter: CompileCounterWithBackend) -> None:
    for width in range(2, 12):  # more than the compiler makes of one code
        net = S.MakeLoss(S.FullyConnected(S.var("x"), num_hidden=width, name="fc"))
        exe = net.simple_bind(mx.cpu(), x=(2, 3), backend="counted")
        exe.forward_before_backward()
        exe.backward()
        assert exe.runner.programs.why_not_compiled() is None
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
        patch.setattr("rebind.executor.programs.compiled.Step.forward_backward", None)
        with pytest.warns(UserWarning, match="is compiled, but not forward and backward as one: "):
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


def test_what_failed_in_one_call_is_said_once_for_all_executors(monkeypatch: pytest.MonkeyPatch) -> None:
    net = dense()
    exes = [net.simple_bind(mx.cpu(), data=(4, 5), backend=QUICK) for _ in range(2)]
    programs = [exe.runner.programs.training(backward_follows=True) for exe in exes]
    assert programs[0].name == "compiled" and programs[0].code is programs[1].code
    monkeypatch.setattr("rebind.executor.programs.compiled.Step.forward_backward", None)
    with pytest.warns(UserWarning, match="is compiled, but not forward and backward as one: ") as caught:
        for exe in exes:
            exe.forward_before_backward()
            exe.backward()
    assert len(caught) == 1
    assert all("NoneType" in exe.runner.programs.why_not_compiled() for exe in exes)


def test_a_gradient_that_two_arguments_have_is_in_an_array_of_each() -> None:
    exe = S.MakeLoss(S.var("a") + S.var("b")).simple_bind(mx.cpu(), a=(2,), b=(2,), backend=QUICK)
    exe.forward_before_backward()
    exe.backward()
    exe.grad_dict["a"][:] = 5
    assert exe.grad_dict["b"].asnumpy().tolist() == [1, 1]


@uses_private_names
@pytest.mark.parametrize("word", ["write", "add"])
@pytest.mark.parametrize("least", [0, 2**60], ids=["stay", "new"])
def test_gradients_of_whole_steps_take_their_place(word: str, least: int) -> None:
    x, grad = mx.nd.array([1, 2]), mx.nd.array([10, 10])
    loss = S.MakeLoss(S.square(S.var("x")))
    with tuning.changed(large_gradient_bytes=least):
        exe = loss.bind(mx.cpu(), {"x": x}, {"x": grad}, grad_req=word, backend=QUICK)
    for k in (1, 2):
        exe.forward_before_backward()
        assert exe.runner.last.program.computes_gradients  # with the outputs
        exe.backward()
        times, before = (1, 0) if word == "write" else (k, 10)
        assert grad.asnumpy().tolist() == [before + times * 2.0, before + times * 4.0]


# Scaled losses.


@uses_private_names
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
    assert is_compiled(exe) and exe.runner.programs.why_not_compiled() is None
    assert len(set(compiled)) == 1


# Random numbers.


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
