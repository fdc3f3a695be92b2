"""The pass that joins layers with the same weights: same numbers, fewer nodes, never a cycle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.executor import lower
from rebind.executor.lower import Plan
from rebind.graph import Facts, Graph, Target, check
from rebind.graph.passes import BACKENDS
from rebind.graph.passes.join_layers import join_layers


def shared(num_hidden: int = 3, *, bias: bool = True) -> Callable[..., Any]:
    """Return a layer whose applications all have the same weights."""
    weight, offset = mx.sym.var("w"), mx.sym.var("b") if bias else None

    def layer(data: Any, name: str, **parameters: Any) -> Any:
        return mx.sym.FullyConnected(
            data, weight, offset, num_hidden=num_hidden, no_bias=not bias, name=name, **parameters
        )

    return layer


def inputs(count: int) -> list[Any]:
    return [mx.sym.var(f"x{i}") for i in range(count)]


def independent(bias: bool) -> Any:
    layer = shared(bias=bias)
    return mx.sym.Group([mx.sym.tanh(layer(x, f"fc{i}")) for i, x in enumerate(inputs(3))])


def chain() -> Any:
    layer = shared()
    net = mx.sym.var("x0")
    for step in range(3):
        net = mx.sym.tanh(layer(net, f"fc{step}"))
    return net


def recurrent() -> Any:
    """Inputs of the steps are independent, states wait for each other: one joins, the other does not."""
    to_hidden = shared()
    weight = mx.sym.var("h")
    state = mx.sym.var("x3")
    for step, x in enumerate(inputs(3)):
        projected = mx.sym.FullyConnected(state, weight, num_hidden=3, no_bias=True, name=f"state{step}")
        state = mx.sym.tanh(to_hidden(x, f"input{step}") + projected)
    return state


def crossed() -> Any:
    """Two pairs, each of which can be joined, but not both: a1 -> b1 and b2 -> a2."""
    a, weight = shared(), mx.sym.var("v")

    def b(data: Any, name: str) -> Any:
        return mx.sym.FullyConnected(data, weight, num_hidden=3, no_bias=True, name=name)

    x0, x1 = inputs(2)
    a1 = a(x0, "a1")
    b2 = b(x1, "b2")
    return mx.sym.Group([mx.sym.tanh(b(a1, "b1")), mx.sym.tanh(a(b2, "a2"))])


def of_images() -> Any:
    layer = shared()
    return mx.sym.Group([layer(x.reshape((0, 1, -1)), f"fc{i}") for i, x in enumerate(inputs(2))])


def along_the_last_axis() -> Any:
    """With ``flatten=False`` arrays of more than two axes are allowed, which cannot be concatenated by rows."""
    layer = shared()
    return mx.sym.Group([layer(x, f"fc{i}", flatten=False) for i, x in enumerate(inputs(2))])


NETWORKS: dict[str, tuple[Callable[[], Any], int]] = {  # name -> network, how many layers are left
    "independent": (lambda: independent(True), 1),
    "without bias": (lambda: independent(False), 1),
    "chain": (chain, 3),
    "recurrent": (recurrent, 4),
    "crossed": (crossed, 3),
    "of images": (of_images, 1),
    "along the last axis": (along_the_last_axis, 2),
}


def layers(graph: Graph) -> list[str]:
    wanted = ("FullyConnected", "_joint_fully_connected")
    return [node.name for node in graph.nodes if node.operator is not None and node.operator.name in wanted]


@pytest.mark.parametrize("name", NETWORKS)
def test_joins_what_does_not_wait(name: str) -> None:
    make, left = NETWORKS[name]
    before = make()._graph
    after = check(join_layers(before, Facts(), Target())[0])
    assert len(layers(after)) == left
    assert [node.name for node in after.variables] and set(after.variables) == set(before.variables)


@pytest.mark.parametrize("name", NETWORKS)
def test_same_outputs_and_gradients(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    symbol = NETWORKS[name][0]()
    random = np.random.default_rng(0)
    rows = {"x0": 2, "x1": 2 if name in ("recurrent", "crossed") else 5, "x2": 2, "x3": 2}
    shapes = {arg: (rows[arg], 3) for arg in symbol.list_arguments() if arg in rows}
    values = {
        arg: random.normal(size=shape).astype("float32")
        for arg, shape in zip(symbol.list_arguments(), symbol.infer_shape(**shapes)[0], strict=True)
    }

    def run() -> list[np.ndarray]:
        executor = symbol.simple_bind(mx.cpu(), **shapes)
        outputs = executor.forward(
            is_train=True, **{arg: mx.nd.array(value) for arg, value in values.items()}
        )
        executor.backward([mx.nd.ones(out.shape) for out in outputs])
        return [array.asnumpy() for array in (*outputs, *executor.grad_arrays)]

    joined = run()
    monkeypatch.setitem(BACKENDS, "default", BACKENDS["plain"])
    symbol = NETWORKS[name][0]()  # plans are cached for a graph: this one is lowered without the pass
    for one, other in zip(joined, run(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_plan_keeps_the_order_of_arguments() -> None:
    symbol = recurrent()
    plan: Plan = lower(symbol.graph, Target(training=True))
    arguments = [node.name for node in plan.code.graph.nodes if node.op == "placeholder"]
    assert len(arguments) == len(symbol.list_arguments())
