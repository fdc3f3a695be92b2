"""Recurrent cells as programs write them, unrolled; and what compares them with what the passes make of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.graph import Facts, Graph, Target, check
from rebind.graph.passes import BACKENDS
from rebind.graph.passes.join_cells import join_cells

S = mx.sym
BATCH, SIZE = 2, 3
Shapes = dict[str, tuple[int, ...]]
Cell = Callable[..., "tuple[Any, ...]"]  # (input, states, weights, name) -> new states


# Cells as programs write them.


def weights(name: str, bias: bool = True) -> dict[str, Any]:
    kinds = ("i2h_weight", "h2h_weight", *(("i2h_bias", "h2h_bias") if bias else ()))
    return {kind: S.var(f"{name}_{kind}") for kind in kinds}


def layer(data: Any, kind: str, shared: dict[str, Any], gates: int, name: str, **given: Any) -> Any:
    bias = shared.get(f"{kind}_bias")
    given |= {"num_hidden": gates * SIZE, "no_bias": bias is None, "name": f"{name}_{kind}"}
    return S.FullyConnected(data, shared[f"{kind}_weight"], bias, **given)


def both_layers(x: Any, h: Any, shared: dict[str, Any], gates: int, name: str) -> tuple[Any, Any]:
    return layer(x, "i2h", shared, gates, name), layer(h, "h2h", shared, gates, name)


def plain(act_type: str) -> Cell:
    def cell(x: Any, states: tuple[Any, ...], shared: dict[str, Any], name: str) -> tuple[Any, ...]:
        i2h, h2h = both_layers(x, states[0], shared, 1, name)
        return (S.Activation(i2h + h2h, act_type=act_type, name=f"{name}_out"),)

    return cell


def lstm(x: Any, states: tuple[Any, ...], shared: dict[str, Any], name: str) -> tuple[Any, ...]:
    i2h, h2h = both_layers(x, states[0], shared, 4, name)
    gates = S.SliceChannel(i2h + h2h, num_outputs=4, name=f"{name}_slice")
    kinds = ("sigmoid", "sigmoid", "tanh", "sigmoid")
    i, f, g, o = (
        S.Activation(gates[k], act_type=kind, name=f"{name}_{gate}")
        for k, (kind, gate) in enumerate(zip(kinds, "ifgo", strict=True))
    )
    memory = S.elemwise_add(f * states[1], i * g, name=f"{name}_state")
    return S.elemwise_mul(o, S.Activation(memory, act_type="tanh"), name=f"{name}_out"), memory


def lstm_in_other_words(
    x: Any, states: tuple[Any, ...], shared: dict[str, Any], name: str
) -> tuple[Any, ...]:
    """The gates in the order of MXNet's oldest examples, sums and products the other way round."""
    i2h, h2h = both_layers(x, states[0], shared, 4, name)
    gates = S.split(h2h + i2h, num_outputs=4, axis=-1, name=f"{name}_slice")
    memory = S.tanh(gates[1]) * S.sigmoid(gates[0]) + states[1] * S.sigmoid(gates[2])
    return S.elemwise_mul(S.tanh(memory), S.sigmoid(gates[3]), name=f"{name}_out"), memory


def gru(x: Any, states: tuple[Any, ...], shared: dict[str, Any], name: str) -> tuple[Any, ...]:
    i2h, h2h = both_layers(x, states[0], shared, 3, name)
    of_x, of_h = (S.SliceChannel(each, num_outputs=3) for each in (i2h, h2h))
    reset = S.Activation(of_x[0] + of_h[0], act_type="sigmoid", name=f"{name}_r")
    update = S.Activation(of_x[1] + of_h[1], act_type="sigmoid", name=f"{name}_z")
    new = S.Activation(of_x[2] + reset * of_h[2], act_type="tanh", name=f"{name}_h")
    return (S.elemwise_add((1.0 - update) * new, update * states[0], name=f"{name}_out"),)


def gru_in_other_words(x: Any, states: tuple[Any, ...], shared: dict[str, Any], name: str) -> tuple[Any, ...]:
    i2h, h2h = both_layers(x, states[0], shared, 3, name)
    of_x, of_h = (S.SliceChannel(each, num_outputs=3) for each in (i2h, h2h))
    update = S.sigmoid(of_h[0] + of_x[0])
    new = S.tanh(of_h[1] * S.sigmoid(of_h[2] + of_x[2]) + of_x[1])
    return (S.elemwise_add(states[0] * update, new * (1 - update), name=f"{name}_out"),)


CELLS: dict[str, Cell] = {
    "rnn_tanh": plain("tanh"),
    "rnn_relu": plain("relu"),
    "lstm": lstm,
    "lstm in other words": lstm_in_other_words,
    "gru": gru,
    "gru in other words": gru_in_other_words,
}


def count(cell: str) -> int:
    return 2 if cell.startswith("lstm") else 1


def begin(cell: str, name: str = "begin", kind: str = "zeros") -> tuple[Any, ...]:
    def state(i: int) -> Any:
        if kind == "variables" or (kind == "memory only" and i):
            return S.var(f"{name}_{i}")
        if kind == "ones":
            return S.ones(shape=(0, SIZE), dtype="float64", name=f"{name}_{i}")
        return S.zeros(shape=(0, SIZE), dtype="float64", name=f"{name}_{i}")

    return tuple(map(state, range(count(cell))))


def unroll(
    cell: str, xs: list[Any], states: tuple[Any, ...], shared: dict[str, Any], name: str
) -> list[tuple[Any, ...]]:
    """Return the states after each step."""
    found = []
    for t, x in enumerate(xs):
        states = CELLS[cell](x, states, shared, f"{name}_t{t}")
        found.append(states)
    return found


# Comparing.


def joints(graph: Graph) -> list[str]:
    """Return the names of the layers that cells became."""
    return [
        node.name
        for node in graph.nodes
        if node.operator is not None and node.operator.name == "_joint_cells"
    ]


def joined(symbol: Any) -> list[str]:
    """Return those names for a symbol; what was made is well-formed and has the variables that there were."""
    made = check(join_cells(symbol.graph, Facts(), Target(training=True))[0])
    assert set(made.variables) == set(symbol.graph.variables)
    return joints(made)


def values(symbol: Any, shapes: Shapes, requests: dict[str, str], dtype: str) -> list[np.ndarray]:
    """Return outputs in both modes, and all gradients."""
    names = symbol.list_arguments()
    random = np.random.default_rng(0)
    found, outs, _ = symbol.infer_shape(**{name: shape for name, shape in shapes.items() if name in names})
    arrays = {n: mx.nd.array(random.normal(size=s), dtype=dtype) for n, s in zip(names, found, strict=True)}
    heads = [mx.nd.array(random.normal(size=s), dtype=dtype) for s in outs]
    grads = {n: mx.nd.ones(a.shape, dtype=dtype) for n, a in arrays.items()}
    executor = symbol.bind(mx.cpu(), arrays, grads, {n: requests.get(n, "write") for n in names})
    results = [out.asnumpy() for out in executor.forward(is_train=False)]
    results += [out.asnumpy() for out in executor.forward(is_train=True)]
    executor.backward(heads)
    return results + [grad.asnumpy() for grad in grads.values()]


def assert_same_values(
    symbol: Any, shapes: Shapes, requests: dict[str, str] | None = None, dtype: str = "float64"
) -> None:
    """Compare with what the nodes compute as they are."""
    found = values(symbol, shapes, requests or {}, dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BACKENDS, "default", BACKENDS["plain"])
        expected = values(symbol, shapes, requests or {}, dtype)
    small = 1e-12 if dtype == "float64" else 1e-5
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=small, atol=small / 10)


STEPS = 3
SHAPES: Shapes = {
    "data": (STEPS, BATCH, SIZE + 1),
    **{f"x{t}": (BATCH, SIZE) for t in range(8)},
    **{f"begin_{i}": (BATCH, SIZE) for i in range(2)},
}


def sections(axis: int = 0) -> list[Any]:
    return list(S.SliceChannel(S.var("data"), num_outputs=STEPS, axis=axis, squeeze_axis=True, name="steps"))


def singles() -> list[Any]:
    return [S.var(f"x{t}") for t in range(STEPS)]
