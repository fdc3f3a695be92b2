"""Results written over inputs: where it is allowed, and that the numbers stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.executor import lower, writer
from rebind.executor.overwrite import overwriting_kernels
from rebind.graph import Target


def data() -> Any:
    return mx.sym.var("data")


def dense(net: Any, name: str = "fc") -> Any:
    return mx.sym.FullyConnected(net, num_hidden=4, name=name)


def activated(net: Any, act_type: str = "relu", name: str = "act") -> Any:
    return mx.sym.Activation(net, act_type=act_type, name=name)


def used_twice() -> Any:
    net = dense(data())
    return activated(net) + net


def seen_outside() -> Any:
    net = dense(data())
    return mx.sym.Group([activated(net), mx.sym.BlockGrad(net)])


def is_an_output() -> Any:
    net = dense(data())
    return mx.sym.Group([activated(net), net])


def read_before() -> Any:
    net = dense(data())
    return mx.sym.Group([dense(net, "fc2"), activated(net)])


def read_after() -> Any:
    net = dense(data())
    return mx.sym.Group([activated(net), dense(net, "fc2")])


def viewed_before() -> Any:
    net = dense(data())
    return mx.sym.Group([mx.sym.reshape(net, (-1,)), activated(net)])


def read_twice() -> Any:
    net = dense(data())
    return mx.sym.Group([dense(net, "fc2"), net + net])


def residual() -> Any:
    net = mx.sym.BatchNorm(dense(data()), name="bn")
    return activated(net + dense(net, "fc2"))


# name -> network, names of the nodes that may overwrite an input
CASES: dict[str, tuple[Any, set[str]]] = {
    "after a layer": (activated(dense(data())), {"act"}),
    "sigmoid": (activated(dense(data()), "sigmoid"), {"act"}),
    "tanh": (activated(dense(data()), "tanh"), {"act"}),
    "no such form": (activated(dense(data()), "softrelu"), set()),
    "the caller's array": (activated(data()), set()),
    "two activations": (activated(activated(dense(data()), "tanh", "first")), {"first"}),
    "used twice": (used_twice(), set()),
    "seen outside": (seen_outside(), set()),
    "is an output": (is_an_output(), set()),
    "after a view": (activated(mx.sym.Flatten(dense(data()))), set()),
    "residual": (residual(), {"act", "_plus0"}),
    "read before": (read_before(), set()),
    "read after": (read_after(), set()),
    "viewed before": (viewed_before(), set()),
    "read twice": (read_twice(), set()),
}
#: What more may be overwritten where no gradient is asked for.
UNRECORDED = {"read before": {"act"}}


def forget_number(name: str) -> str:
    return "_plus0" if name.startswith("_plus") else name


@pytest.mark.parametrize("name", CASES)
def test_only_what_nothing_else_needs_is_overwritten(name: str) -> None:
    symbol, allowed = CASES[name]
    graph = symbol.graph
    kernels = overwriting_kernels(graph)
    assert {forget_number(node.name) for node in graph.nodes if node in kernels} == allowed
    kernels = overwriting_kernels(graph, recorded=False)
    allowed = allowed | UNRECORDED.get(name, set())
    assert {forget_number(node.name) for node in graph.nodes if node in kernels} == allowed


@pytest.mark.parametrize("recorded", [False, True])
def test_plans_for_inference_overwrite_what_was_read_before(recorded: bool) -> None:
    graph = read_before().graph
    (node,) = (node for node in graph.nodes if node.name == "act")
    kernel = overwriting_kernels(graph, recorded=False)[node].kernel
    plan = lower(graph, Target(recorded=recorded))
    assert (kernel in [call.target for call in plan.code.graph.nodes]) is not recorded


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("training", [False, True])
def test_same_outputs_and_gradients(name: str, training: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    symbol = CASES[name][0]
    shapes = dict(zip(symbol.list_arguments(), symbol.infer_shape(data=(5, 3))[0], strict=True))
    values = {arg: random.normal(size=shape).astype("float32") for arg, shape in shapes.items()}

    def run(net: Any) -> list[np.ndarray]:
        executor = net.simple_bind(mx.cpu(), data=(5, 3))
        executor.copy_params_from({arg: mx.nd.array(value) for arg, value in values.items()})
        outputs = executor.forward(is_train=training)
        executor.backward([mx.nd.ones(out.shape) for out in outputs])
        return [array.asnumpy() for array in (*outputs, *executor.grad_arrays)]

    overwritten = run(symbol)
    monkeypatch.setattr(writer, "overwriting_kernels", lambda graph, recorded: {})
    for one, other in zip(overwritten, run(mx.sym.load_json(symbol.tojson())), strict=True):
        np.testing.assert_array_equal(one, other)


def test_uses_count_outputs_too() -> None:
    net = dense(data())
    graph = mx.sym.Group([net, activated(net)])._graph
    assert graph.uses[graph.outputs[0]] == 2
