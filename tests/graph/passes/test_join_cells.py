"""The pass that makes unrolled cells one layer: same numbers, and only where the whole is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    return S.FullyConnected(
        data, shared[f"{kind}_weight"], bias, num_hidden=gates * SIZE, no_bias=bias is None, name=f"{name}_{kind}", **given
    )  # fmt: skip


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


def values(symbol: Any, shapes: Shapes, requests: dict[str, str] | None = None) -> list[np.ndarray]:
    """Return outputs in both modes, and all gradients, in float64."""
    names = symbol.list_arguments()
    random = np.random.default_rng(0)
    found, outs, _ = symbol.infer_shape(**{name: shape for name, shape in shapes.items() if name in names})
    arrays = {
        n: mx.nd.array(random.normal(size=s), dtype="float64") for n, s in zip(names, found, strict=True)
    }
    heads = [mx.nd.array(random.normal(size=s), dtype="float64") for s in outs]
    grads = {n: mx.nd.ones(a.shape, dtype="float64") for n, a in arrays.items()}
    executor = symbol.bind(mx.cpu(), arrays, grads, {n: (requests or {}).get(n, "write") for n in names})
    results = [out.asnumpy() for out in executor.forward(is_train=False)]
    results += [out.asnumpy() for out in executor.forward(is_train=True)]
    executor.backward(heads)
    return results + [grad.asnumpy() for grad in grads.values()]


def assert_same_values(symbol: Any, shapes: Shapes, requests: dict[str, str] | None = None) -> None:
    """Compare with what the nodes compute as they are."""
    found = values(symbol, shapes, requests)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BACKENDS, "default", BACKENDS["plain"])
        expected = values(symbol, shapes, requests)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


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


# Each kind of cell, each way that steps come in and states go out.


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("kind", ["zeros", "ones", "variables", "memory only"])
def test_first_states(cell: str, kind: str) -> None:
    states = unroll(cell, sections(), begin(cell, kind=kind), weights("a"), "a")
    net = S.Group([state[0] for state in states] + list(states[-1]))
    assert joined(net) == [f"{states[0][0].name} to {states[-1][0].name}"]
    assert_same_values(net, SHAPES)


INPUTS: dict[str, tuple[Callable[[], list[Any]], Shapes, str]] = {  # -> steps, shapes, what is stacked
    "sections by time": (sections, {}, ""),
    "sections by batch": (lambda: sections(1), {"data": (BATCH, STEPS, SIZE)}, ""),
    "from the end": (lambda: sections()[::-1], {}, ""),
    "arrays of their own": (singles, {}, "all"),
    "some sections": (lambda: [*sections()[:2], S.var("x0")], {"x0": (BATCH, SIZE + 1)}, "all"),
    "sections in disorder": (lambda: [sections()[t] for t in (1, 0, 2)], {}, "all"),
    "one for all steps": (lambda: [S.var("x0")] * STEPS, {}, "all"),
    "pictures": (sections, {"data": (STEPS, BATCH, 2, 3, 2)}, ""),
    "numbers": (sections, {"data": (STEPS, BATCH)}, ""),
    "pictures of their own": (singles, {f"x{t}": (BATCH, 2, 3) for t in range(STEPS)}, "all"),
    "sections by another axis": (
        lambda: list(S.SliceChannel(S.var("data"), num_outputs=STEPS, axis=2, squeeze_axis=True)),
        {"data": (BATCH, SIZE, STEPS)},
        "all",
    ),
    "sections that keep the axis": (
        lambda: list(S.SliceChannel(S.var("data"), num_outputs=STEPS, axis=1)),
        {"data": (BATCH, STEPS, SIZE)},
        "all",
    ),
    "sums": (lambda: [x + y for x, y in zip(sections(), sections()[::-1], strict=True)], {}, ""),
    "sums of some": (lambda: [x + S.var("x0") for x in sections()], {"x0": (BATCH, SIZE + 1)}, "all"),
    "side by side": (
        lambda: [S.concat(x, y, dim=1) for x, y in zip(sections(), sections(), strict=True)],
        {},
        "",
    ),
    "below each other": (
        lambda: [S.concat(x, x, dim=0) for x in sections()],
        {"begin_0": (2 * BATCH, SIZE)},
        "",
    ),
}


@pytest.mark.parametrize("cell", ["rnn_tanh", "lstm", "gru"])
@pytest.mark.parametrize("name", INPUTS)
def test_inputs(cell: str, name: str) -> None:
    make, shapes, stacked = INPUTS[name]
    states = unroll(cell, make(), begin(cell), weights("a"), "a")
    net = S.Group([state[0] for state in states])
    made = join_cells(net.graph, Facts(), Target())[0]
    operators = [node.operator.name for node in made.nodes if node.operator is not None]
    assert operators.count("_joint_cells") == 1 and operators.count("_stack_rows") == bool(stacked)
    assert_same_values(net, {**SHAPES, **shapes})


OUTPUTS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "the last": lambda h: [h[-1]],
    "one in the middle": lambda h: [S.exp(h[1])],
    "all": lambda h: h,
    "some twice": lambda h: [h[0] + h[2], h[0]],
    "by time": lambda h: [S.concat(*[S.expand_dims(each, axis=0) for each in h], dim=0)],
    "by batch": lambda h: [S.concat(*[S.expand_dims(each, axis=1) for each in h], dim=1)],
    "by feature": lambda h: [S.concat(*[S.expand_dims(each, axis=-1) for each in h], dim=-1)],
    "stacked": lambda h: [S.stack(*h, axis=axis) for axis in (0, 1, 2, -1)],
    "from the end": lambda h: [S.stack(*h[::-1], axis=1)],
    "as rows": lambda h: [S.concat(*h, dim=0)],
    "side by side": lambda h: [S.concat(*h, dim=1)],
    "merged, and some": lambda h: [S.stack(*h), S.tanh(h[1]), h[2]],
    "in disorder": lambda h: [S.stack(h[1], h[0], h[2]), S.concat(h[0], h[0], h[1])],
    "along two axes": lambda h: [S.concat(*[S.expand_dims(each, axis=0) for each in h], dim=1)],
}


@pytest.mark.parametrize("cell", ["rnn_relu", "lstm", "gru"])
@pytest.mark.parametrize("name", OUTPUTS)
def test_states_that_are_needed(cell: str, name: str) -> None:
    states = unroll(cell, sections(), begin(cell), weights("a"), "a")
    net = S.Group([*OUTPUTS[name]([state[0] for state in states])])
    assert len(joined(net)) == 1
    assert_same_values(net, SHAPES)


MERGED = ("by time", "by batch", "by feature", "stacked", "from the end", "as rows", "side by side")


@pytest.mark.parametrize("name", MERGED)
def test_what_joins_all_states_takes_the_whole(name: str) -> None:
    states = unroll("gru", sections(), begin("gru"), weights("a"), "a")
    made = join_cells(S.Group(OUTPUTS[name]([state[0] for state in states])).graph, Facts(), Target())[0]
    operators = {node.operator.name for node in made.nodes if node.operator is not None}
    assert operators <= {"_joint_cells", "transpose", "reverse", "Reshape", "SwapAxis"}


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("without", [["i2h_bias"], ["h2h_bias"], ["i2h_bias", "h2h_bias"]])
def test_biases_may_be_absent(cell: str, without: list[str]) -> None:
    shared = {kind: entry for kind, entry in weights("a").items() if kind not in without}
    net = unroll(cell, sections(), begin(cell), shared, "a")[-1][0]
    assert len(joined(net)) == 1
    assert_same_values(net, SHAPES)


@pytest.mark.parametrize("cell", ["rnn_tanh", "lstm", "gru"])
def test_requests_for_gradients(cell: str) -> None:
    states = unroll(cell, sections(), begin(cell, kind="variables"), weights("a"), "a")
    requests = {
        "a_i2h_weight": "null",
        "a_h2h_weight": "add",
        "a_i2h_bias": "add",
        "begin_0": "null",
        "data": "add",
    }
    assert_same_values(S.Group([state[0] for state in states]), SHAPES, requests)


# Several chains.


def stack_of(cell: str, layers: int) -> Any:
    xs = sections()
    for k in range(layers):
        xs = [states[0] for states in unroll(cell, xs, begin(cell, f"begin{k}"), weights(f"w{k}"), f"l{k}")]
    return S.stack(*xs)


def bidirectional(cell: str, layers: int) -> Any:
    xs = sections()
    for k in range(layers):
        left, right = (
            unroll(cell, steps, begin(cell, f"begin{side}{k}"), weights(f"{side}{k}"), f"{side}{k}")
            for side, steps in (("l", xs), ("r", xs[::-1]))
        )
        xs = [S.concat(one[0], other[0], dim=1) for one, other in zip(left, right[::-1], strict=True)]
    return S.stack(*xs, axis=1)


def residual(cell: str) -> Any:
    below = [S.FullyConnected(x, S.var("fw"), num_hidden=SIZE, no_bias=True) for x in sections()]
    first = [states[0] for states in unroll(cell, below, begin(cell), weights("w0"), "l0")]
    second = unroll(cell, first, begin(cell), weights("w1"), "l1")
    return S.concat(*[x + states[0] for x, states in zip(first, second, strict=True)], dim=0)


def with_an_operator_between(cell: str) -> Any:
    first = unroll(cell, sections(), begin(cell), weights("w0"), "l0")
    second = unroll(cell, [S.sin(states[0]) for states in first], begin(cell), weights("w1"), "l1")
    return S.Group([states[0] for states in second])


def two_of_the_same_weights(cell: str) -> Any:
    one = unroll(cell, sections(), begin(cell), weights("a"), "one")
    other = unroll(cell, sections()[::-1], begin(cell), weights("a"), "other")
    return S.Group([one[-1][0], other[-1][0]])


def encoder_and_decoder(cell: str) -> Any:
    """Chains of which the second starts where the first ends, on the same weights: they are one."""
    shared = weights("a")
    encoded = unroll(cell, [S.var(f"x{t}") for t in range(2)], begin(cell), shared, "one")
    return unroll(cell, [S.var(f"x{t}") for t in range(2, 4)], encoded[-1], shared, "other")[-1][0]


def with_computed_weights(cell: str) -> Any:
    shared, xs = weights("a"), [S.var(f"x{t}") for t in range(STEPS)]
    first = CELLS[cell](xs[0], begin(cell), shared, "a_t0")
    computed = {**shared, "i2h_bias": S.broadcast_add(shared["i2h_bias"], S.sum(first[0]))}
    return unroll(cell, xs, first, computed, "b")[-1][0]


def branches(cell: str) -> Any:
    """Two go on from one state: the first with the chain, the other as a chain of its own."""
    shared, xs = weights("a"), [S.var(f"x{t}") for t in range(6)]
    trunk = unroll(cell, xs[:2], begin(cell), shared, "trunk")
    return S.Group([unroll(cell, xs[k : k + 2], trunk[-1], shared, f"branch{k}")[-1][0] for k in (2, 4)])


def primed(cell: str) -> Any:
    """What is given first, and then its own words: two chains."""
    shared = weights("a")
    states = unroll(cell, [S.var(f"x{t}") for t in range(3)], begin(cell), shared, "given")[-1]
    for t in range(2):
        states = CELLS[cell](S.sin(states[0]), states, shared, f"own_t{t}")
    return states[0]


def crossed(cell: str) -> Any:
    """Each chain takes a state of the other at its second step: only one of them can be one layer."""
    shared = [weights(f"w{k}") for k in range(2)]
    a, b = (unroll(cell, [S.var(f"x{k}")], begin(cell, f"begin{k}"), shared[k], f"c{k}")[0] for k in range(2))
    pairs = enumerate([(a, b), (b, a)])
    return S.Group([CELLS[cell](other[0], own, shared[k], f"d{k}")[0] for k, (own, other) in pairs])


CHAINS: dict[str, tuple[Callable[[str], Any], int]] = {  # -> network, how many layers come of it
    "two layers": (lambda cell: stack_of(cell, 2), 2),
    "both directions": (lambda cell: bidirectional(cell, 1), 2),
    "two layers in both directions": (lambda cell: bidirectional(cell, 2), 4),
    "residual": (residual, 2),
    "with an operator between": (with_an_operator_between, 2),
    "two of the same weights": (two_of_the_same_weights, 2),
    "weights that are computed": (with_computed_weights, 1),
    "encoder and decoder": (encoder_and_decoder, 1),
    "primed": (primed, 1),
    "crossed": (crossed, 1),
}


@pytest.mark.parametrize("cell", ["rnn_tanh", "lstm", "gru"])
@pytest.mark.parametrize("name", CHAINS)
def test_several_chains(cell: str, name: str) -> None:
    make, left = CHAINS[name]
    net = make(cell)
    assert len(joined(net)) == left
    assert_same_values(net, SHAPES)


@pytest.mark.parametrize(("cell", "left"), [("rnn_tanh", 2), ("gru", 2), ("lstm", 3)])
def test_branches(cell: str, left: int) -> None:
    net = branches(cell)
    assert len(joined(net)) == left  # an LSTM's memory comes out of a layer at its end only
    assert_same_values(net, SHAPES)


# What is left as it is.


def decoder(cell: str) -> Any:
    states, shared = begin(cell), weights("a")
    for t in range(STEPS):
        states = CELLS[cell](S.sin(states[0]), states, shared, f"a_t{t}")
    return states[0]


def of_other_weights(kind: str) -> Callable[[str], Any]:
    def make(cell: str) -> Any:
        states = begin(cell)
        for t, x in enumerate(singles()):
            states = CELLS[cell](x, states, {**weights("a"), kind: S.var(f"{kind}{t}")}, f"a_t{t}")
        return states[0]

    return make


def with_states_that_pass_an_operator(k: int) -> Callable[[str], Any]:
    def make(cell: str) -> Any:
        states, shared = begin(cell), weights("a")
        for t, x in enumerate(singles()):
            states = CELLS[cell](x, states, shared, f"a_t{t}")
            states = tuple(S.sin(each) if i == k % len(states) else each for i, each in enumerate(states))
        return states[0]

    return make


def without_flatten(cell: str) -> Any:
    shared, states = weights("a"), begin(cell)
    for t, x in enumerate(singles()):
        i2h = layer(x, "i2h", shared, 1, f"a_t{t}", flatten=False)
        states = (S.tanh(i2h + layer(states[0], "h2h", shared, 1, f"a_t{t}")), *states[1:])
    return states[0]


def with_a_third_layer(cell: str) -> Any:
    shared, states, more = weights("a"), begin(cell), weights("more")
    for t, x in enumerate(singles()):
        i2h, h2h = both_layers(x, states[0], shared, 1, f"a_t{t}")
        states = (S.tanh(i2h + h2h + layer(x, "i2h", more, 1, f"more{t}")), *states[1:])
    return states[0]


LEFT: dict[str, Callable[[str], Any]] = {
    "decoder": decoder,
    **{f"another {kind}": of_other_weights(kind) for kind in weights("a")},
    "a state that passes an operator": with_states_that_pass_an_operator(0),
    "a memory that passes an operator": with_states_that_pass_an_operator(1),
    "without flatten": without_flatten,
    "with a third layer": with_a_third_layer,
    "one step": lambda cell: unroll(cell, [S.var("x0")], begin(cell), weights("a"), "a")[-1][0],
}


@pytest.mark.parametrize("cell", ["rnn_tanh", "lstm", "gru"])
@pytest.mark.parametrize("name", LEFT)
def test_what_is_no_layer_is_left(cell: str, name: str) -> None:
    net = LEFT[name](cell)
    assert join_cells(net.graph, Facts(), Target())[0] is net.graph


INSIDE = {
    "rnn_tanh": ["i2h", "h2h"],
    "lstm": ["i2h", "slice", "i", "f", "g", "o"],
    "gru": ["h2h", "r", "z", "h"],
}


@pytest.mark.parametrize(
    ("cell", "inside"), [(cell, each) for cell, found in INSIDE.items() for each in found]
)
@pytest.mark.parametrize("t", range(5))
def test_a_cell_of_which_more_is_needed_is_left(cell: str, inside: str, t: int) -> None:
    states = unroll(cell, [S.var(f"x{t}") for t in range(5)], begin(cell), weights("a"), "a")
    net = S.Group([state[0] for state in states])
    internals = net.get_internals()
    needed = next(n for n in internals.list_outputs() if n.startswith(f"a_t{t}_{inside}_output"))
    net = S.Group([net, S.sin(internals[needed])])
    left = {0: [(1, 4)], 1: [(2, 4)], 2: [(0, 1), (3, 4)], 3: [(0, 2)], 4: [(0, 3)]}[t]
    assert joined(net) == [f"a_t{first}_out to a_t{last}_out" for first, last in left]
    assert_same_values(net, SHAPES)


@pytest.mark.parametrize("t", range(4))
def test_a_memory_that_is_needed_ends_a_layer(t: int) -> None:
    states = unroll("lstm", [S.var(f"x{t}") for t in range(4)], begin("lstm"), weights("a"), "a")
    net = S.Group([states[-1][0], states[t][1] * 2])
    left = {0: [(1, 3)], 1: [(0, 1), (2, 3)], 2: [(0, 2)], 3: [(0, 3)]}[t]
    assert joined(net) == [f"a_t{first}_out to a_t{last}_out" for first, last in left]
    assert_same_values(net, SHAPES)


# Programs by chance: cells on whatever there is, most of them as they would be unrolled.


@st.composite
def programs(draw: st.DrawFn) -> Any:
    """Return a network of cells on inputs, states and what was computed from them, connected in any way."""
    kinds = [draw(st.sampled_from(sorted(CELLS))) for _ in range(2)]
    shared = [weights(f"w{k}", bias=draw(st.booleans())) for k in range(2)]
    newest = [begin(kind, f"begin{k}") for k, kind in enumerate(kinds)]
    rows = [S.var(f"x{t}") for t in range(4)] + list(
        S.SliceChannel(S.var("steps"), num_outputs=4, axis=0, squeeze_axis=True)
    )
    often, seldom = st.integers(0, 3).map(bool), st.integers(0, 7).map(lambda n: not n)
    for t in range(draw(st.integers(2, 9))):
        k = draw(st.integers(0, 1))
        states = newest[k]
        x = draw(st.sampled_from(rows[:8] if draw(often) else rows))
        if draw(seldom):  # another first state, or another memory than the one that belongs to it
            states = tuple(draw(st.sampled_from(rows)) for _ in states)
        new = CELLS[kinds[k]](x, states, shared[k], f"c{k}_t{t}")
        if not draw(seldom):
            newest[k] = new
        rows += new[: 2 if draw(seldom) else 1]
        if draw(seldom):
            inside = [
                each for each in S.Group(list(new)).get_internals() if each.name.startswith(f"c{k}_t{t}")
            ]
            rows.append(
                S.tanh(
                    draw(st.sampled_from([each for each in inside if each.name.endswith(("_out", "_state"))]))
                )
            )
            more = draw(st.sampled_from(inside))
            rows.append(S.broadcast_add(rows[0], S.sum(more)))
        if draw(seldom):
            rows.append(draw(st.sampled_from(rows)) + draw(st.sampled_from(rows)))
    made = rows[8:]
    outputs = draw(st.lists(st.sampled_from(made), min_size=1, max_size=4))
    if draw(st.booleans()):
        outputs.append(S.concat(*made, dim=draw(st.integers(0, 1))))
    return S.Group(outputs)


@settings(max_examples=40, deadline=None)
@given(programs())
def test_programs_by_chance(net: Any) -> None:
    joined(net)
    shapes = {**SHAPES, "steps": (4, BATCH, SIZE)}
    assert_same_values(net, shapes)
