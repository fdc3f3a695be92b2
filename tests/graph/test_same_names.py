"""Layers of one name: a warning at the user's line, and what `print_summary` counts."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

import rebind as mx

WARNED: dict[str, tuple[Callable[[], object], str]] = {
    "two layers of one name": (
        lambda: twice("two_of_one_name"),
        "sym: FullyConnected 'two_of_one_name' and Convolution 'two_of_one_name' have one name, and share "
        "'two_of_one_name_weight', 'two_of_one_name_bias'.",
    ),
    "two branches with layers of one name": (
        lambda: branches(mx.sym.elemwise_add, "branches"),
        "sym: FullyConnected 'branches' and FullyConnected 'branches' have one name",
    ),
    "a group of them": (
        lambda: branches(lambda a, b: mx.sym.Group([a, b]), "grouped"),
        "sym: FullyConnected 'grouped' and FullyConnected 'grouped' have one name",
    ),
}


def twice(name: str) -> Any:
    first = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name=name)
    image = mx.sym.reshape(first, shape=(0, 1, 2, 2))
    return mx.sym.Convolution(image, kernel=(1, 1), num_filter=1, name=name)


def branches(join: Callable[[Any, Any], Any], name: str) -> Any:
    data = mx.sym.var("data")
    return join(*(mx.sym.exp(mx.sym.FullyConnected(data, num_hidden=4, name=name)) for _ in range(2)))


@pytest.mark.parametrize(("call", "text"), WARNED.values(), ids=WARNED)
def test_layers_of_one_name_are_a_warning_at_the_users_line(call: Callable[[], object], text: str) -> None:
    with pytest.warns(UserWarning) as caught:
        call()
    found = [each for each in caught if text in str(each.message)]
    assert len(found) == 1, [str(each.message) for each in caught]
    assert os.path.basename(found[0].filename) == os.path.basename(__file__)


def test_layers_that_share_on_purpose_do_not_warn() -> None:
    weight = mx.sym.var("shared_weight")
    data = mx.sym.FullyConnected(mx.sym.var("data"), weight, num_hidden=4, no_bias=True, name="one_step")
    mx.sym.FullyConnected(data, weight, num_hidden=4, no_bias=True, name="one_step")
    for _ in range(2):  # the same network made again is another network
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="made_again")


def test_print_summary_counts_shared_weights_once(capsys: pytest.CaptureFixture[str]) -> None:
    data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="counted_once")
    with pytest.warns(UserWarning, match="have one name"):
        network = mx.sym.FullyConnected(data, num_hidden=4, name="counted_once")
    mx.viz.print_summary(network, shape={"data": (1, 4)})
    assert "Total params: 20" in capsys.readouterr().out
