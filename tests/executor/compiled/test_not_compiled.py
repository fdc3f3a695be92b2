"""What is not compiled runs in the default mode, and says so."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from tests.executor.compiled.networks import (
    QUICK,
    S,
    bound,
    equal,
    filled,
    is_compiled,
    needs_inductor,
    state,
)

import rebind as mx
from rebind.errors import MXNetError
from rebind.graph.passes import DEFAULT, register_backend

pytestmark = pytest.mark.usefixtures("own_backends")


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
