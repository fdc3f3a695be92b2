"""Which program runs a network, and what runs where one fails."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.newer_torch import follows_gradients

import rebind as mx
from rebind.executor.programs import PROGRAMS
from rebind.executor.programs.compiled import JointCode

pytestmark = pytest.mark.usefixtures("own_backends")

S = mx.sym
ROOT = Path(__file__).parents[3]


def layers() -> Any:
    net = S.FullyConnected(S.var("data"), num_hidden=4, name="fc1")
    return S.SoftmaxOutput(S.Activation(net, act_type="tanh"), name="softmax")


def sines() -> Any:
    return S.MakeLoss(S.sin(S.var("data")))


def no_loss() -> Any:
    return S.FullyConnected(S.var("data"), num_hidden=4, name="fc1")


@pytest.mark.parametrize(
    ("network", "grad_req", "backend", "training", "alone", "inference"),
    [
        (layers, "write", "default", "explicit", "explicit", "inference"),
        (layers, "null", "default", "inference", "inference", "inference"),
        (sines, "write", "default", "recorded", "recorded", "inference"),
        (no_loss, "write", "default", "recorded", "recorded", "inference"),
        pytest.param(
            layers, "write", "aot_eager", "compiled", "recorded", "inference", marks=follows_gradients
        ),
        (no_loss, "write", "aot_eager", "recorded", "recorded", "inference"),
    ],
)
def test_the_program_of_each_mode(
    network: Callable[[], Any], grad_req: str, backend: str, training: str, alone: str, inference: str
) -> None:
    programs = network().simple_bind(mx.cpu(), grad_req, data=(2, 3), backend=backend).runner.programs
    assert programs.training(backward_follows=True).name == training
    assert programs.training().name == alone
    assert programs.inference().name == inference
    assert programs.training() is programs.training()  # chosen once


@pytest.mark.parametrize(
    ("network", "says"),
    [
        (sines, "the operator sin declares no derivative"),
        (no_loss, "the output 'fc1_output' is no loss: backward needs its head gradient"),
        (
            lambda: S.MakeLoss(S.Concat(S.var("data"), S.var("more", shape=(2, 3)))),
            "takes any number of inputs",
        ),
        (
            lambda: S.MakeLoss(S.split(S.var("data"), num_outputs=3)[1]),
            "the second output of an operator is used",
        ),
        (
            lambda: S.LinearRegressionOutput(S.var("data"), S.var("other", shape=(2, 3)) * 2),
            "a loss has a label that is computed",
        ),
    ],
)
def test_why_autograd_is_asked(network: Callable[[], Any], says: str) -> None:
    exe = network().simple_bind(mx.cpu(), data=(2, 3))
    assert says in exe.runner.programs.why_not_explicit()
    assert f"not explicit: {exe.runner.programs.why_not_explicit()}" in exe.describe()


@follows_gradients
def test_what_fails_runs_otherwise_and_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    found, calls = [], []

    def fail(*_: object) -> None:
        calls.append(1)
        raise RuntimeError("no such thing")

    for fails in (True, False):
        exe = layers().simple_bind(mx.cpu(), data=(2, 3), backend="aot_eager")
        for array in exe.arg_dict.values():
            array[:] = mx.nd.ones(array.shape) * 0.5
        calls.clear()
        if fails:
            monkeypatch.setattr(JointCode, "__call__", fail)
            with pytest.warns(
                UserWarning, match="is compiled, but not forward and backward as one: .*no such"
            ):
                exe.forward_before_backward()
            exe.backward()
        exe.forward_before_backward()
        exe.backward()
        assert len(calls) == fails
        assert ("not compiled: RuntimeError: no such thing" in exe.describe()) == fails
        found.append(exe.grad_dict["fc1_weight"].asnumpy())
        monkeypatch.undo()
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_a_module_says_what_is_cached() -> None:
    module = mx.mod.Module(layers())
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    module.init_params()
    module.init_optimizer()
    assert module.describe().endswith("cached: nothing")
    batch = mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.zeros((2,))])
    for _ in range(3):
        module.forward_backward(batch)
        module.update()
    assert module.describe().endswith("cached: forward with backward")
    assert module.describe().startswith(module.executors.execs[0].describe())


def test_the_table_of_the_page_is_that_of_the_code() -> None:
    page = (ROOT / "docs" / "how_it_works.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| `(executor/programs/\w+\.py)` \| (.*) \|$", page, re.MULTILINE)
    assert rows == [
        (kind.name, kind.__module__.removeprefix("rebind.").replace(".", "/") + ".py", kind.chosen_when)
        for kind in PROGRAMS
    ]
