"""The pass that makes unrolled cells one layer: same numbers, and only where the whole is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rebind as mx
from rebind.graph import Facts, Target
from rebind.graph.passes.join_cells import join_cells

from .unrolled import (
    BATCH,
    CELLS,
    SHAPES,
    SIZE,
    STEPS,
    Shapes,
    assert_same_values,
    begin,
    both_layers,
    joined,
    layer,
    sections,
    singles,
    unroll,
    weights,
)

S = mx.sym

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
        "all",
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


@pytest.mark.parametrize("dtype", ["float32", "float64"])  # they have kernels of their own
@pytest.mark.parametrize("cell", ["rnn_tanh", "lstm", "gru"])
def test_requests_for_gradients(cell: str, dtype: str) -> None:
    states = unroll(cell, sections(), begin(cell, kind="variables"), weights("a"), "a")
    requests = {
        "a_i2h_weight": "null",
        "a_h2h_weight": "add",
        "a_i2h_bias": "add",
        "begin_0": "null",
        "data": "add",
    }
    assert_same_values(S.Group([state[0] for state in states]), SHAPES, requests, dtype)


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
