"""Observers: each program tells of each node, or of each compiled piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.newer_torch import follows_gradients

import rebind as mx
from rebind.executor.observer import Observation, Observer

pytestmark = pytest.mark.usefixtures("own_backends")

S = mx.sym


class Seen(Observer):
    def __init__(self) -> None:
        self.all: list[Observation] = []

    def after(self, observation: Observation, node: Any) -> None:
        self.all.append(observation)

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.all]


def layers() -> Any:
    net = S.FullyConnected(S.var("data"), num_hidden=4, name="fc")
    return S.SoftmaxOutput(S.Activation(net, act_type="tanh", name="act"), name="softmax")


def bound(net: Any, observer: Observer | None, **given: Any) -> Any:
    exe = net.simple_bind(mx.cpu(), data=(2, 3), **given)
    for array in exe.arg_dict.values():
        array[:] = mx.nd.ones(array.shape) * 0.5
    exe.set_observer(observer)
    return exe


@pytest.mark.parametrize(
    ("net", "given", "forward", "backward"),
    [
        (layers(), {}, ["fc", "act", "softmax"], ["softmax_backward", "act_backward"] + ["fc_backward"] * 3),
        (S.MakeLoss(S.sin(S.var("data"), name="sin"), name="loss"), {}, ["sin", "loss"], ["backward"]),
        pytest.param(layers(), {"backend": "aot_eager"}, ["fc ... softmax"], [], marks=follows_gradients),
    ],
    ids=["explicit", "recorded", "compiled"],
)
def test_each_program_tells_of_its_operators(
    net: Any, given: dict[str, Any], forward: list[str], backward: list[str]
) -> None:
    seen = Seen()
    observed, plain = bound(net, seen, **given), bound(net, None, **given)
    for exe in (observed, plain):
        exe.forward_before_backward()
    assert seen.names == forward
    seen.all.clear()
    for exe in (observed, plain):
        exe.backward()
    assert sorted(seen.names) == sorted(backward)
    np.testing.assert_array_equal(observed.outputs[0].asnumpy(), plain.outputs[0].asnumpy())
    for name, grad in plain.grad_dict.items():
        np.testing.assert_array_equal(observed.grad_dict[name].asnumpy(), grad.asnumpy())


@pytest.mark.parametrize("backend", ["default", "aot_eager"])
def test_inference_tells_too(backend: str) -> None:
    seen = Seen()
    exe = bound(layers(), seen, backend=backend)
    exe.forward()
    assert seen.names == (["fc", "act", "softmax"] if backend == "default" else ["fc ... softmax"])
    last = seen.all[-1]
    assert tuple(last.outputs[0].shape) == (2, 4) and last.seconds > 0 and not last.training


def test_an_observer_that_is_not_active_sees_nothing_and_one_that_is_removed_neither() -> None:
    seen = Seen()
    seen.is_active = lambda: False  # type: ignore[method-assign]
    exe = bound(layers(), seen)
    exe.forward()
    exe.set_observer(Seen())
    exe.set_observer(None)
    exe.forward()
    assert seen.all == []
