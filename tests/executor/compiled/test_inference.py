"""Compiled inference is that of the default mode; batch norms are part of the weights before them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.executor.compiled.networks import (
    QUICK,
    S,
    all_cases,
    bound,
    equal,
    equal_where_views_are_written,
    filled,
    heads,
    is_compiled,
    needs_inductor,
    state,
)
from tests.newer_torch import uses_private_names
from torch._dynamo.testing import CompileCounterWithBackend

import rebind as mx
from rebind.executor import compiling, fixed_shape
from rebind.graph.passes import BACKENDS, DEFAULT, register_backend

pytestmark = pytest.mark.usefixtures("own_backends")


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


def normed() -> Any:
    net = S.Convolution(S.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = S.Dropout(S.Activation(S.BatchNorm(net, fix_gamma=False, name="bn"), act_type="relu"))
    net = S.BatchNorm(S.FullyConnected(net, num_hidden=3, name="fc"), name="bn2")
    return S.SoftmaxOutput(net, name="softmax")


def bound_normed(backend: str) -> Any:
    return filled(normed().simple_bind(mx.cpu(), data=(2, 1, 6, 6), backend=backend))


@uses_private_names
def test_batch_norms_are_folded_before_inference_is_compiled() -> None:
    exe, plain = bound_normed(QUICK), bound_normed("plain")
    for each in (exe, plain):
        each.forward()
    plan = exe.runner.plans.get(is_train=False, recorded=False)
    assert plan.compiled is not None and plan.preparation is not None
    assert not any("batch_norm" in str(node.target) for node in plan.code.graph.nodes)
    equal(state(exe), state(plain))
    assert exe.is_compiled and plan.compiled.failure is None
    assert (
        isinstance(plan.compiled, fixed_shape.InferenceCode) and plan.compiled._first.code is not None
    )  # it ran
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


@uses_private_names
def test_a_compiler_is_given_what_the_code_reads(counter: CompileCounterWithBackend) -> None:
    register_backend("counted", DEFAULT, compiler=counter, inference=BACKENDS[QUICK].inference, override=True)
    bound_normed("counted").forward()
    [graph] = counter.graphs
    given = [tuple(node.meta["val"].shape) for node in graph.graph.find_nodes(op="placeholder")]
    # Data, labels, whose shape is looked at, and what the batch norms are folded into; no parameters.
    assert given == [(2, 1, 6, 6), (2,), (4, 1, 3, 3), (4,), (3, 64), (3,)]


def multiplied(backend: str) -> Any:
    return filled(
        (S.exp(S.var("data")) * 2).simple_bind(mx.cpu(), grad_req="null", data=(2, 3), backend=backend)
    )


@uses_private_names
def test_the_first_sizes_run_without_dynamo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(compiling, "compile_whole")
    exe, plain = multiplied(QUICK), multiplied("plain")
    for each in (exe, plain):
        each.forward()
    equal(state(exe), state(plain))
    assert exe.is_compiled


def test_other_sizes_are_compiled_once(counter: CompileCounterWithBackend) -> None:
    register_backend("counted", DEFAULT, compiler=counter, inference=BACKENDS[QUICK].inference, override=True)
    exe, plain = multiplied("counted"), multiplied("plain")
    for size in (2, 3, 4, 5, 2):
        found = [each.reshape(allow_up_sizing=True, data=(size, 3)) for each in (exe, plain)]
        for each in found:
            each.arg_dict["data"][:] = np.arange(size * 3).reshape(size, 3)
            each.forward()
        equal(state(found[0]), state(found[1]))
    assert counter.frame_count == 2


def test_what_cannot_be_traced_for_its_sizes_is_left_to_dynamo(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(fixed_shape.FixedShapeCode, "_trace", fail)
    exe, plain = multiplied(QUICK), multiplied("plain")
    for each in (exe, plain):
        each.forward()
    equal(state(exe), state(plain))
    assert exe.is_compiled


def test_draws_in_inference_differ_from_run_to_run() -> None:
    net = S.Dropout(S.var("data"), p=0.5, mode="always")
    exe = net.simple_bind(mx.cpu(), grad_req="null", data=(50, 50), backend=QUICK)
    exe.arg_dict["data"][:] = 1
    found = []
    for _ in range(2):
        mx.random.seed(7)
        found += [exe.forward()[0].asnumpy().copy() for _ in range(2)]
    assert exe.is_compiled and 0.4 < (found[0] == 0).mean() < 0.6
    assert (found[0] != found[1]).any()
    np.testing.assert_array_equal(found[:2], found[2:])


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
    equal_where_views_are_written("conv_weight", exe, plain)
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
