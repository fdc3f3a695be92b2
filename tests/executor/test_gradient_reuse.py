"""Gradients of large networks stay in the memory that they were bound with; the numbers are the same."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind import tuning
from rebind.errors import StateError
from rebind.executor.cost_model import bytes_of_results

S = mx.sym

NEVER = 2**60


def network() -> Any:
    """Products, filters, a sum whose gradients are one array twice, and an argument that no loss depends on."""
    images = S.relu(S.Convolution(S.var("images"), kernel=(3, 3), num_filter=3, name="conv"))
    hidden = S.FullyConnected(images, num_hidden=5, name="fc")
    both = S.tanh(hidden + S.broadcast_mul(S.var("x"), S.var("y")))
    return S.Group([S.MakeLoss(both), S.BlockGrad(S.var("unused"))])


@pytest.fixture(autouse=True)
def many_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """The networks are small, and stand for those whose results take more memory than the gradients."""
    monkeypatch.setattr("rebind.executor.plans.bytes_of_results", lambda graph, facts: math.inf)


SHAPES = {"images": (4, 2, 6, 6), "x": (4, 5), "y": (4, 1), "unused": (2,)}


def filled(exe: Any) -> Any:
    draws = np.random.default_rng(0)
    for array in exe.arg_arrays:
        array[:] = draws.normal(size=array.shape)
    for grad in exe.grad_dict.values():
        if grad is not None:
            grad[:] = 7.0
    return exe


def executor(requests: Any = "write", **settings: Any) -> Any:
    return filled(network().simple_bind(mx.cpu(), requests, **settings, **SHAPES))


def gradients(exe: Any) -> dict[str, np.ndarray]:
    return {name: grad.asnumpy() for name, grad in exe.grad_dict.items() if grad is not None}


def steps(exe: Any, announced: list[str] | None = None) -> list[dict[str, np.ndarray]]:
    found = []
    for _ in range(3):
        exe.forward(is_train=True)
        exe.backward(on_gradient=None if announced is None else announced.append)
        found.append(gradients(exe))
    return found


@pytest.fixture(params=[0, NEVER], ids=["stay", "new"])
def least(request: pytest.FixtureRequest) -> Iterator[int]:
    """From how many bytes on gradients stay: both ways give the same."""
    with tuning.changed(large_gradient_bytes=request.param):
        yield request.param


def places(exe: Any) -> dict[str, int]:
    grads = {name: grad for name, grad in exe.grad_dict.items() if grad is not None}
    return {name: grad.storage.memory.data_ptr() for name, grad in grads.items()}


@pytest.mark.parametrize(
    "requests",
    ["write", "add", {"fc_weight": "add", "conv_weight": "write", "x": "write", "unused": "write"}],
)
@pytest.mark.parametrize("announces", [False, True], ids=["", "announced"])
@pytest.mark.parametrize("recompute", [False, True], ids=["", "recompute"])
def test_numbers_are_the_same(requests: Any, announces: bool, recompute: bool) -> None:
    found, orders = [], []
    for least in (0, NEVER):
        orders.append([])
        with tuning.changed(large_gradient_bytes=least):
            exe = executor(requests, recompute=recompute)
        found.append(steps(exe, orders[-1] if announces else None))
    assert orders[0] == orders[1]
    for one, other in zip(*found, strict=True):
        assert one.keys() == other.keys()
        for name, value in one.items():
            np.testing.assert_array_equal(value, other[name], err_msg=name)


def test_they_stay() -> None:
    wide = 2**20
    net = S.MakeLoss(S.FullyConnected(S.var("data"), num_hidden=wide, name="fc"))
    exe = net.simple_bind(mx.cpu(), {"fc_weight": "write", "fc_bias": "write"}, data=(1, 2))
    exe.arg_dict["data"][:] = 3.0
    before = places(exe)
    for _ in range(2):
        exe.forward(is_train=True)
        exe.backward()
        assert places(exe) == before
    assert exe.grad_dict["fc_weight"].asnumpy().min() == exe.grad_dict["fc_weight"].asnumpy().max() == 3.0


def test_those_of_networks_with_few_results_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rebind.executor.plans.bytes_of_results", bytes_of_results)
    net = S.MakeLoss(S.FullyConnected(S.var("data"), num_hidden=2**20, no_bias=True, name="fc"))
    for rows, stays in ((1, False), (2, True)):
        # Results of the layer and of the loss, 4 MiB for each row and each; gradients of 16.
        exe = net.simple_bind(mx.cpu(), {"fc_weight": "write"}, data=(rows, 4))
        assert bool(exe.runner.arrays.reused) == stays


def test_those_of_small_networks_are_replaced() -> None:
    exe = executor()
    assert not exe.runner.arrays.reused


def test_those_of_filters_lie_as_the_filters() -> None:
    with tuning.changed(large_gradient_bytes=0):
        exe = executor()
    expected = steps(exe)[-1]
    for _ in range(2):
        exe.forward(is_train=True)
        exe.backward()
        before = places(exe)
        exe.forward(is_train=True)
        exe.backward()
        assert places(exe) == before
        for arrays in (exe.arg_dict, exe.grad_dict):
            memory = arrays["conv_weight"].storage.memory
            assert memory.is_contiguous(memory_format=torch.channels_last)
        # Looking puts them in order, in other memory; the next step but one finds the memory again.
        np.testing.assert_array_equal(gradients(exe)["conv_weight"], expected["conv_weight"])


def test_what_is_of_another_type_or_order_is_right(least: int) -> None:
    x, turned = mx.nd.array([[1.0, 2.0], [3.0, 4.0]]), mx.nd.zeros((2, 2))
    turned.exchange(turned.tensor.T)
    wide = mx.nd.zeros((2, 2), dtype="float64")
    for grad in (turned, wide):
        exe = S.MakeLoss(S.square(S.var("x"))).bind(mx.cpu(), {"x": x}, {"x": grad})
        for _ in range(2):
            exe.forward(is_train=True)
            exe.backward()
            assert grad.asnumpy().tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_a_view_of_a_gradient_shows_it(least: int) -> None:
    exe = executor()
    row = exe.grad_dict["fc_weight"][1]
    filters = exe.grad_dict["conv_weight"][1]
    for found in steps(exe):
        np.testing.assert_array_equal(row.asnumpy(), found["fc_weight"][1])
        np.testing.assert_array_equal(filters.asnumpy(), found["conv_weight"][1])


@pytest.mark.parametrize("part", [False, True], ids=["an array", "views of one memory"])
def test_gradients_may_share_an_array(part: bool, least: int) -> None:
    """The later one is written last, whole."""
    memory = mx.nd.ones((2,))
    grads = {"x": memory[0:2], "y": memory[0:2]} if part else {"x": memory, "y": memory}
    args = {"x": mx.nd.array([1, 2]), "y": mx.nd.array([3, 4])}
    exe = S.MakeLoss(S.var("x") * S.var("y")).bind(mx.cpu(), args, grads)
    for _ in range(2):
        exe.forward(is_train=True)
        exe.backward()
        assert memory.asnumpy().tolist() == [1.0, 2.0]


def test_a_gradient_may_replace_what_it_is_computed_from(least: int) -> None:
    x = mx.nd.array([1, 2])
    exe = S.MakeLoss(S.square(S.var("x"))).bind(mx.cpu(), {"x": x}, {"x": x})
    exe.forward(is_train=True)
    exe.backward()
    assert x.asnumpy().tolist() == [2.0, 4.0]


def test_a_gradient_may_be_the_next_head_gradient(least: int) -> None:
    exe = (S.var("state") * S.var("w")).simple_bind(mx.cpu(), state=(2,), w=(2,))
    exe.arg_dict["state"][:] = 5.0
    exe.arg_dict["w"][:] = 3.0
    exe.grad_dict["state"][:] = 1.0
    for expected in (3.0, 9.0, 27.0):
        exe.forward(is_train=True)
        exe.backward(exe.grad_dict["state"])
        assert exe.grad_dict["state"].asnumpy().tolist() == [expected] * 2
        assert exe.grad_dict["w"].asnumpy().tolist() == [5.0 * expected / 3.0] * 2


def test_executors_may_share_gradients(least: int) -> None:
    """As those of buckets do: each backward writes the gradients of its own batch."""
    long = executor()
    short = long.reshape(images=(2, 2, 6, 6), x=(2, 5), y=(2, 1), unused=(2,))
    shared = ("fc_weight", "conv_weight")
    expected = [steps(filled(each))[-1] for each in (long, short)]
    for _ in range(2):
        for exe, values in zip((long, short), expected, strict=True):
            filled(exe)
            exe.forward(is_train=True)
            exe.backward()
            for name in shared:
                np.testing.assert_array_equal(long.grad_dict[name].asnumpy(), values[name])


def test_after_an_error_the_next_gradients_are_right(least: int) -> None:
    exe = (S.var("x") * S.var("w")).simple_bind(mx.cpu(), x=(2,), w=(2,))
    exe.arg_dict["x"][:] = 5.0
    exe.forward(is_train=True)
    with pytest.raises(StateError, match="head gradient"):
        exe.backward()
    exe.backward(mx.nd.ones((2,)))
    assert exe.grad_dict["w"].asnumpy().tolist() == [5.0, 5.0]
