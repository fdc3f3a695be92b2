"""Which node failed: read from the traceback of the run itself, without a second run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind import nd

S = mx.sym


class Counts(mx.operator.CustomOp):
    """An operator with an effect."""

    runs = 0

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        Counts.runs += 1
        self.assign(out_data[0], req[0], in_data[0])


@mx.operator.register("counts_its_runs")
class CountsProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Counts:
        return Counts()


def out_of_range(data: Any) -> Any:
    return S.gather_nd(data, S.var("where"), name="picked")


@pytest.mark.parametrize("is_train", [False, True])
def test_nothing_runs_twice(is_train: bool) -> None:
    net = out_of_range(S.Custom(S.var("x"), op_type="counts_its_runs", name="effect"))
    exe = net.bind(mx.cpu(), {"x": nd.ones((2,)), "where": nd.array([[7]])})
    Counts.runs = 0
    with pytest.raises(Exception, match="gather_nd 'picked'"):
        exe.forward(is_train)
    assert Counts.runs == 1


FAILURES: dict[str, Any] = {
    "plain": lambda: out_of_range(S.var("x") * 1),
    "among others": lambda: S.exp(out_of_range(S.tanh(S.var("x"), name="a")), name="b"),
    "in a loop": lambda: S.contrib.foreach(
        lambda step, state: (out_of_range(step), state), S.Reshape(S.var("x"), shape=(1, -1)), S.zeros((1,))
    )[0],
}


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("is_train", [False, True])
@pytest.mark.parametrize("watched", [False, True])
def test_the_node_is_named(name: str, is_train: bool, watched: bool) -> None:
    exe = FAILURES[name]().bind(
        mx.cpu(),
        {"x": nd.array(np.arange(3)), "where": nd.array([[7]])},
        {"x": nd.zeros((3,))},
        {"x": "write"},
    )
    if watched:
        exe.set_monitor_callback(lambda name, array: None)
    with pytest.raises(mx.base.MXNetError, match="gather_nd 'picked'"):
        exe.forward(is_train=is_train)
