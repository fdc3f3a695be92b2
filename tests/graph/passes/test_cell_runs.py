"""Several chains of cells in a network: which of them become layers, together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rebind as mx

from .unrolled import (
    BATCH,
    CELLS,
    SHAPES,
    SIZE,
    STEPS,
    assert_same_values,
    begin,
    joined,
    sections,
    unroll,
    weights,
)

S = mx.sym

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
    names = net.list_arguments()
    # Zeros of which only a matrix product's sum is used tell no batch size: no engine can run such a program.
    assume(net.infer_shape(**{name: shape for name, shape in shapes.items() if name in names})[0] is not None)
    assert_same_values(net, shapes)
