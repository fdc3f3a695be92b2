"""Layers of one name: a warning where they are bound, composing that never looks back, what `print_summary` counts."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import rebind as mx


def twice(name: str) -> Any:
    first = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name=name)
    image = mx.sym.reshape(first, shape=(0, 1, 2, 2))
    return mx.sym.Convolution(image, kernel=(1, 1), num_filter=1, name=name)


def branches(join: Callable[[Any, Any], Any], name: str) -> Any:
    data = mx.sym.var("data")
    return join(*(mx.sym.exp(mx.sym.FullyConnected(data, num_hidden=3, name=name)) for _ in range(2)))


def many(name: str) -> Any:
    data = mx.sym.var("data")
    for _ in range(5):
        data = mx.sym.FullyConnected(data, num_hidden=3, name=name)
    return data


NETWORKS = {
    "two branches": (
        lambda: branches(mx.sym.elemwise_add, "branches"),
        "bind: FullyConnected 'branches' and FullyConnected 'branches' have the same name, and share "
        "'branches_weight', 'branches_bias'.",
    ),
    "a group of them": (
        lambda: branches(lambda a, b: mx.sym.Group([a, b]), "grouped"),
        "bind: FullyConnected 'grouped' and FullyConnected 'grouped' have the same name",
    ),
    "many, of which one warning is enough": (
        lambda: many("many"),
        "bind: FullyConnected 'many' and FullyConnected 'many' have the same name",
    ),
}


def bind(network: Any) -> object:
    arrays = {
        name: mx.nd.ones((3, 3) if name.endswith("weight") else (3,)) for name in network.list_arguments()
    }
    return network.bind(mx.cpu(), {**arrays, "data": mx.nd.ones((2, 3))})


def bind_module(network: Any) -> None:
    mx.mod.Module(network, label_names=None).bind([("data", (2, 3))])


WAYS: dict[str, Callable[[Any], object]] = {
    "bind": bind,
    "simple_bind": lambda network: network.simple_bind(mx.cpu(), data=(2, 3)),
    "Executor": lambda network: mx.executor.Executor(network, mx.cpu(), {"data": mx.nd.ones((2, 3))}),
    "Module": bind_module,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(("make", "text"), NETWORKS.values(), ids=NETWORKS)
def test_layers_of_one_name_are_a_warning_at_the_users_line(
    make: Callable[[], Any], text: str, way: Callable[[Any], object]
) -> None:
    network = make()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        way(network)
    found = [each for each in caught if "have the same name" in str(each.message)]
    assert len(found) == 1 and str(found[0].message).startswith(text), [str(each.message) for each in caught]
    assert os.path.basename(found[0].filename) == os.path.basename(__file__)


def test_the_warning_comes_before_the_error_that_they_lead_to() -> None:
    with (
        pytest.warns(UserWarning, match="Convolution 'clash' have the same name, and share 'clash_weight'"),
        pytest.raises(mx.MXNetError, match="clash_weight"),
    ):
        twice("clash").simple_bind(mx.cpu(), data=(2, 3))


def test_layers_that_share_on_purpose_do_not_warn() -> None:
    weight = mx.sym.var("shared_weight")
    data = mx.sym.FullyConnected(mx.sym.var("data"), weight, num_hidden=4, no_bias=True, name="one_step")
    both = mx.sym.FullyConnected(data, weight, num_hidden=4, no_bias=True, name="one_step")
    both.simple_bind(mx.cpu(), data=(2, 4))
    step = mx.sym.var("data")
    for _ in range(2):  # by the name of a variable that the program gives
        step = mx.sym.FullyConnected(
            step, mx.sym.var("given_weight"), num_hidden=4, no_bias=True, name="given"
        )
    step.simple_bind(mx.cpu(), data=(2, 4))
    for _ in range(2):  # the same network made again is another network
        again = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="made_again")
        again.simple_bind(mx.cpu(), data=(2, 4))


def lines_run(call: Callable[[], object]) -> int:
    """How many lines of Python a call runs: what it visits, in loops too."""
    count = 0

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def unroll(cell: Any, length: int) -> Any:
    cell.reset()
    steps, _ = cell.unroll(length, inputs=mx.sym.var("data"), merge_outputs=True)
    return mx.sym.FullyConnected(steps, num_hidden=3, name="prediction")


def residual(length: int) -> Any:
    data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="first_twice")
    data = mx.sym.FullyConnected(data, num_hidden=3, name="first_twice")
    for i in range(length):
        data = data + mx.sym.FullyConnected(data, num_hidden=3, name=f"block{i}")
    return data


LONG: dict[str, Callable[[], Callable[[int], object]]] = {
    "one cell for all lengths": lambda: (lambda cell: lambda n: unroll(cell, n))(
        mx.rnn.LSTMCell(3, prefix="again_")
    ),
    "a deep network": lambda: residual,
    "groups": lambda: lambda n: [mx.sym.Group([mx.sym.exp(mx.sym.var("x"), name="e")] * 2) for _ in range(n)],
}


@pytest.mark.parametrize("make", LONG.values(), ids=LONG)
def test_composing_takes_the_same_for_each_layer_when_names_come_again(
    make: Callable[[], Callable[[int], object]],
) -> None:
    compose = make()
    compose(20), compose(20)
    short, long = (lines_run(lambda n=n: compose(n)) for n in (20, 80))
    assert long < 4.2 * short


def test_print_summary_counts_shared_weights_once(capsys: pytest.CaptureFixture[str]) -> None:
    data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="counted_once")
    network = mx.sym.FullyConnected(data, num_hidden=4, name="counted_once")
    mx.viz.print_summary(network, shape={"data": (1, 4)})
    assert "Total params: 20" in capsys.readouterr().out
