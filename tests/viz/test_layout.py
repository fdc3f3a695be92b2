"""Properties that every layered layout has."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebind.viz.layout import Layout, Point, layered

SIZES = st.tuples(st.integers(10, 200), st.integers(10, 80))


@st.composite
def graphs(draw):
    """Boxes and edges from earlier to later boxes, then shuffled."""
    sizes = draw(st.lists(SIZES, min_size=1, max_size=14))
    names = [f"n{i}" for i in range(len(sizes))]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=24)) if pairs else []
    order = draw(st.permutations(range(len(names))))
    return {names[i]: sizes[i] for i in order}, edges


def sides(layout: Layout, sizes, name):
    (x, y), (width, height) = layout.centres[name], sizes[name]
    return x - width / 2, x + width / 2, y - height / 2, y + height / 2


@given(graphs())
def test_edges_run_downwards(graph):
    sizes, edges = graph
    layout = layered(sizes, edges)
    for source, target in edges:
        assert layout.layers[source] < layout.layers[target]
        assert sides(layout, sizes, source)[3] < sides(layout, sizes, target)[2]
    for route in layout.routes:
        assert all(a.y <= b.y + 1e-9 for a, b in pairwise(route))


@given(graphs())
def test_boxes_are_apart_and_inside(graph):
    sizes, edges = graph
    layout = layered(sizes, edges, gap=24)
    names = list(sizes)
    for i, one in enumerate(names):
        left, right, top, bottom = sides(layout, sizes, one)
        assert left >= -1e-6 and right <= layout.width + 1e-6
        assert top >= -1e-6 and bottom <= layout.height + 1e-6
        for other in names[i + 1 :]:
            l2, r2, t2, b2 = sides(layout, sizes, other)
            beside = left >= r2 + 24 - 1e-6 or l2 >= right + 24 - 1e-6
            assert beside or top >= b2 or t2 >= bottom


@given(graphs())
def test_edges_cross_no_box(graph):
    """Sideways between layers only, and upright through a layer, clear of its boxes."""
    sizes, edges = graph
    layout = layered(sizes, edges)
    for (source, target), route in zip(edges, layout.routes):
        for upper, lower in zip(route[0::2], route[1::2]):
            assert upper.x == lower.x
        for name in set(sizes) - {source, target}:
            left, right, top, bottom = sides(layout, sizes, name)
            for upper, lower in zip(route[0::2], route[1::2]):
                passes = upper.y < bottom and lower.y > top
                assert not (passes and left < upper.x < right)
            for upper, lower in zip(route[1::2], route[2::2]):
                assert not (upper.y < bottom - 1e-9 and lower.y > top + 1e-9)


@given(graphs())
def test_same_input_same_layout(graph):
    assert layered(*graph) == layered(*graph)


CHAIN = [("a", "b"), ("b", "c"), ("c", "d")]


@pytest.mark.parametrize("widths", [(40, 100, 60, 80), (60, 60, 60, 60)], ids=["uneven", "even"])
@pytest.mark.parametrize("shortcuts", [[], [("a", "d")]], ids=["a chain", "a shortcut beside it"])
def test_the_main_way_is_straight(widths, shortcuts):
    sizes = {name: (width, 20.0) for name, width in zip("abcd", widths, strict=True)}
    layout = layered(sizes, [*CHAIN, *shortcuts])
    assert len({point.x for point in layout.centres.values()}) == 1
    for route in layout.routes[len(CHAIN) :]:
        assert {point.x for point in route[2:-2]} != {layout.centres["a"].x}


@pytest.mark.parametrize("branches", ["t", "tu", "tuv", "tuvw"])
def test_branches_are_joined_in_their_middle(branches):
    sizes = dict.fromkeys(f"s{branches}j", (60.0, 20.0))
    layout = layered(sizes, [("s", name) for name in branches] + [(name, "j") for name in branches])
    assert layout.centres["s"].x == layout.centres["j"].x == layout.width / 2


@pytest.mark.parametrize("targets", ["fed", "def", "edf", "dfe"])
def test_order_takes_crossings_away(targets):
    sizes = dict.fromkeys("abcdef", (20.0, 20.0))
    pairs = list(zip("abc", targets, strict=True))
    layout = layered(sizes, pairs)
    x = {name: layout.centres[name].x for name in sizes}
    assert sorted("abc", key=x.get) == [a for a, b in sorted(pairs, key=lambda pair: x[pair[1]])]


@pytest.mark.parametrize(
    ("edges", "layers"),
    [
        ([("a", "b"), ("b", "c"), ("l", "c")], {"a": 0, "b": 1, "c": 2, "l": 1}),
        ([("a", "b"), ("b", "c"), ("l", "b")], {"a": 0, "b": 1, "c": 2, "l": 0}),
    ],
)
def test_inputs_are_just_above_their_reader(edges, layers):
    assert layered(dict.fromkeys("abcl", (20.0, 20.0)), edges).layers == layers


@pytest.mark.parametrize(
    ("sizes", "layout"),
    [
        ({}, Layout({}, [], {}, 0.0, 0.0)),
        ({"a": (30, 10)}, Layout({"a": Point(15, 5)}, [], {"a": 0}, 30, 10)),
    ],
    ids=["no box", "one box"],
)
def test_small_layouts(sizes, layout):
    assert layered(sizes, []) == layout


@pytest.mark.parametrize(
    "edges, says",
    [
        ([("a", "b"), ("b", "a")], "the edges must form no cycle; 'a'"),
        ([("a", "z")], r"an edge must join two boxes; got \('a', 'z'\), no box 'z'"),
    ],
)
def test_bad_edges(edges, says):
    with pytest.raises(ValueError, match=says):
        layered({"a": (1, 1), "b": (1, 1)}, edges)
