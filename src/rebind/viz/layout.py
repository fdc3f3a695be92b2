"""Layered layout of a directed acyclic graph, so that a network can be drawn without the `dot` program.

The four steps of Sugiyama, Tagawa and Toda ("Methods for visual understanding of hierarchical system
structures", 1981), with choices of Gansner, Koutsofios, North and Vo ("A technique for drawing directed
graphs", 1993):

1. every box gets a layer (longest path, then boxes slide towards the readers of what they give);
2. an edge over several layers becomes a chain of *bends*, one in each layer that it passes;
3. sweeps order each layer by the medians of its neighbours, and the order with fewest crossings is kept;
4. sweeps place each layer at the weighted medians of its neighbours as far as the boxes leave room.

An edge passes a layer of boxes vertically, at the place that step 4 reserved for it, and moves sideways only
between layers; so no edge crosses a box.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import NamedTuple

__all__ = ["Layout", "Point", "layered"]

ORDER_SWEEPS = 12
PLACE_SWEEPS = 8
STRAIGHTEN_SWEEPS = 2


class Point(NamedTuple):
    """A place in the drawing; y grows downwards."""

    x: float
    y: float


class Bend(NamedTuple):
    """Where the edges that leave `source` pass through `layer`; edges of one source share their bends."""

    source: str
    layer: int


Vertex = str | Bend


@dataclass(frozen=True)
class Layout:
    """Where everything goes.

    Attributes
    ----------
    centres
        The middle of each box.
    routes
        For each edge, in the order given, the points that it passes: it runs straight down between points
        0 and 1, 2 and 3, ..., and swings from one column to the next between points 1 and 2, 3 and 4, ...
    layers
        The layer of each box, counted from the top.
    width, height
        Size of the drawing; all of it lies in 0..width, 0..height.
    """

    centres: dict[str, Point]
    routes: list[list[Point]]
    layers: dict[str, int]
    width: float
    height: float


def layered(
    sizes: Mapping[str, tuple[float, float]],
    edges: Sequence[tuple[str, str]],
    *,
    gap: float = 24.0,
    layer_gap: float = 40.0,
    bend_width: float = 12.0,
) -> Layout:
    """Place boxes in layers, sources on top, such that every edge runs downwards.

    Parameters
    ----------
    sizes
        Width and height of each box. The result depends on this order, and on nothing random.
    edges
        Pairs of names, from where to where; repeated pairs are allowed.
    gap, layer_gap
        Room between boxes of one layer, and between layers.
    bend_width
        Room that an edge takes where it passes through a layer.

    Raises
    ------
    ValueError
        If an edge names no box, or the edges form a cycle.

    Examples
    --------
    >>> layout = layered({"a": (40, 20), "b": (40, 20)}, [("a", "b")], layer_gap=30)
    >>> layout.centres
    {'a': Point(x=20.0, y=10.0), 'b': Point(x=20.0, y=60.0)}
    """
    layers = assign_layers(list(sizes), edges)
    graph = split_long_edges(layers, edges)
    order_layers(graph)
    widths = {
        vertex: bend_width if isinstance(vertex, Bend) else sizes[vertex][0]
        for row in graph.rows
        for vertex in row
    }
    xs = place_columns(graph, widths, gap)
    return _assemble(graph, layers, edges, sizes, xs, widths, layer_gap)


# --- 1. layers ------------------------------------------------------------------------------------


def assign_layers(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return a layer for each name: below all of its sources, and as near to its readers as that allows.

    A box with fewer sources than readers (an input, above all) slides down to just above its first reader.
    """
    sources, readers = _neighbours(names, edges)
    order = topological_order(names, sources, readers)
    layers: dict[str, int] = {}
    for name in order:
        layers[name] = max((layers[source] + 1 for source in sources[name]), default=0)
    for name in reversed(order):
        if readers[name] and len(sources[name]) < len(readers[name]) + (not sources[name]):
            layers[name] = min(layers[reader] for reader in readers[name]) - 1
    return layers


def topological_order(
    names: Sequence[str], sources: Mapping[str, Sequence[str]], readers: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the names such that every source comes before its readers."""
    missing = {name: len(sources[name]) for name in names}
    ready = [name for name in names if not missing[name]]
    for name in ready:  # grows while it is walked
        for reader in readers[name]:
            missing[reader] -= 1
            if not missing[reader]:
                ready.append(reader)
    if len(ready) < len(names):
        stuck = next(name for name in names if missing[name])
        raise ValueError(f"layered: the edges must form no cycle; '{stuck}' is on one or below one")
    return ready


def _neighbours(
    names: Sequence[str], edges: Sequence[tuple[str, str]]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    sources: dict[str, list[str]] = {name: [] for name in names}
    readers: dict[str, list[str]] = {name: [] for name in names}
    for source, reader in dict.fromkeys(edges):
        for end in (source, reader):
            if end not in sources:
                raise ValueError(
                    f"layered: an edge must join two boxes; got ('{source}', '{reader}'), no box '{end}'"
                )
        sources[reader].append(source)
        readers[source].append(reader)
    return sources, readers


# --- 2. bends -------------------------------------------------------------------------------------


@dataclass
class LayeredGraph:
    """Boxes and bends by layer; every link joins neighbouring layers."""

    rows: list[list[Vertex]]
    above: dict[Vertex, list[Vertex]] = field(default_factory=dict)
    below: dict[Vertex, list[Vertex]] = field(default_factory=dict)

    def link(self, upper: Vertex, lower: Vertex) -> None:
        """Join two vertices once."""
        if lower not in self.below[upper]:
            self.below[upper].append(lower)
            self.above[lower].append(upper)

    def add(self, vertex: Vertex, layer: int) -> None:
        """Put a vertex at the right end of a layer."""
        self.rows[layer].append(vertex)
        self.above[vertex] = []
        self.below[vertex] = []


def split_long_edges(layers: Mapping[str, int], edges: Sequence[tuple[str, str]]) -> LayeredGraph:
    """Return the graph with a bend wherever an edge passes through a layer."""
    graph = LayeredGraph([[] for _ in range(max(layers.values(), default=-1) + 1)])
    for name, layer in layers.items():
        graph.add(name, layer)
    for source, reader in edges:
        chain = vertices_of_edge(source, reader, layers)
        for vertex in chain[1:-1]:
            if vertex not in graph.above:
                assert isinstance(vertex, Bend)
                graph.add(vertex, vertex.layer)
        for upper, lower in pairwise(chain):
            graph.link(upper, lower)
    return graph


def vertices_of_edge(source: str, reader: str, layers: Mapping[str, int]) -> list[Vertex]:
    """Return the box, the bends and the box that an edge joins."""
    between = range(layers[source] + 1, layers[reader])
    return [source, *(Bend(source, layer) for layer in between), reader]


# --- 3. order -------------------------------------------------------------------------------------


def order_layers(graph: LayeredGraph) -> None:
    """Reorder each row for few crossings: sweeps by medians, alternately from above and from below."""
    _start_depth_first(graph)
    best, fewest = [list(row) for row in graph.rows], count_crossings(graph)
    for sweep in range(ORDER_SWEEPS):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        neighbours = graph.above if downwards else graph.below
        position = {vertex: float(i) for row in graph.rows for i, vertex in enumerate(row)}
        for row in graph.rows if downwards else reversed(graph.rows):
            _sort_by_medians(row, neighbours, position)
            position.update((vertex, float(i)) for i, vertex in enumerate(row))
        _swap_neighbours(graph)
        crossings = count_crossings(graph)
        if crossings < fewest:
            best, fewest = [list(row) for row in graph.rows], crossings
    graph.rows = best


def _start_depth_first(graph: LayeredGraph) -> None:
    """Begin with the order of a walk from the top, in which connected things lie together."""
    layer_of = {vertex: layer for layer, row in enumerate(graph.rows) for vertex in row}
    rows: list[list[Vertex]] = [[] for _ in graph.rows]
    seen: set[Vertex] = set()
    for start in [vertex for row in graph.rows for vertex in row if not graph.above[vertex]]:
        stack = [start]
        while stack:
            vertex = stack.pop()
            if vertex not in seen:
                seen.add(vertex)
                rows[layer_of[vertex]].append(vertex)
                stack.extend(reversed(graph.below[vertex]))
    graph.rows = rows


def _sort_by_medians(
    row: list[Vertex], neighbours: Mapping[Vertex, Sequence[Vertex]], position: Mapping[Vertex, float]
) -> None:
    """Sort in place; a vertex without neighbours keeps its slot."""
    fixed = {i: vertex for i, vertex in enumerate(row) if not neighbours[vertex]}
    moving = [vertex for vertex in row if neighbours[vertex]]
    moving.sort(key=lambda vertex: _median(sorted(position[other] for other in neighbours[vertex])))
    moved = iter(moving)
    row[:] = [fixed[i] if i in fixed else next(moved) for i in range(len(row))]


def _median(values: Sequence[float]) -> float:
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def _swap_neighbours(graph: LayeredGraph) -> None:
    """Swap two that stand side by side while that takes crossings away."""
    for index, row in enumerate(graph.rows):
        tables = []
        if index > 0:
            tables.append((graph.above, {v: i for i, v in enumerate(graph.rows[index - 1])}))
        if index + 1 < len(graph.rows):
            tables.append((graph.below, {v: i for i, v in enumerate(graph.rows[index + 1])}))
        places = {v: [sorted(at[o] for o in near[v]) for near, at in tables] for v in row}
        improved = True
        while improved:
            improved = False
            for i in range(len(row) - 1):
                left, right = places[row[i]], places[row[i + 1]]
                now = sum(_inversions(a, b) for a, b in zip(left, right))
                then = sum(_inversions(b, a) for a, b in zip(left, right))
                if then < now:
                    row[i], row[i + 1] = row[i + 1], row[i]
                    improved = True


def _inversions(left: Sequence[int], right: Sequence[int]) -> int:
    """Count pairs in which a neighbour of the left one lies right of a neighbour of the right one."""
    return sum(len(left) - bisect_right(left, place) for place in right)


def count_crossings(graph: LayeredGraph) -> int:
    """Return how many pairs of links cross."""
    crossings = 0
    for upper, lower in pairwise(graph.rows):
        at = {vertex: i for i, vertex in enumerate(lower)}
        seen: list[int] = []
        for vertex in upper:
            ends = sorted(at[other] for other in graph.below[vertex])
            crossings += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return crossings


# --- 4. columns -----------------------------------------------------------------------------------


def place_columns(graph: LayeredGraph, widths: Mapping[Vertex, float], gap: float) -> dict[Vertex, float]:
    """Return the x of every vertex: in order, apart, and under each other where links allow it."""
    xs: dict[Vertex, float] = {}
    for row in graph.rows:
        spaces = _spaces(row, widths, gap)
        xs.update(zip(row, [space - spaces[-1] / 2 for space in spaces]))
    best, least = dict(xs), _strain(graph, xs)
    for sweep in range(PLACE_SWEEPS):
        downwards = sweep % 2 == 0
        for row in graph.rows if downwards else reversed(graph.rows):
            _place_row(graph, row, [graph.above if downwards else graph.below], xs, widths, gap)
        trial = dict(xs)
        for row in graph.rows:
            _place_row(graph, row, [graph.above, graph.below], trial, widths, gap)
        for row in reversed(graph.rows):
            _place_row(graph, row, [graph.below, graph.above], trial, widths, gap)
        if (strain := _strain(graph, trial)) < least:
            best, least = trial, strain
    for _ in range(STRAIGHTEN_SWEEPS):
        _straighten_bends(graph, best, widths, gap)
    return best


def _straighten_bends(
    graph: LayeredGraph, xs: dict[Vertex, float], widths: Mapping[Vertex, float], gap: float
) -> None:
    """Bring the bends of each source under each other, in as few runs as what stands beside them allows."""
    chains: dict[str, list[Bend]] = {}
    beside: dict[Vertex, tuple[Vertex | None, Vertex | None]] = {}
    for row in graph.rows:
        for i, vertex in enumerate(row):
            beside[vertex] = (row[i - 1] if i else None, row[i + 1] if i + 1 < len(row) else None)
            if isinstance(vertex, Bend):
                chains.setdefault(vertex.source, []).append(vertex)

    def free(bend: Bend) -> tuple[float, float]:
        left, right = beside[bend]
        space = widths[bend] / 2 + gap
        return (
            -inf if left is None else xs[left] + widths[left] / 2 + space,
            inf if right is None else xs[right] - widths[right] / 2 - space,
        )

    for chain in chains.values():
        room = {bend: free(bend) for bend in chain}
        while chain:
            low, high = room[chain[0]]
            run = 1
            while run < len(chain) and max(low, room[chain[run]][0]) <= min(high, room[chain[run]][1]):
                low, high = max(low, room[chain[run]][0]), min(high, room[chain[run]][1])
                run += 1
            wish = _median(sorted(xs[bend] for bend in chain[:run]))
            xs.update((bend, min(max(wish, low), high)) for bend in chain[:run])
            chain = chain[run:]


def _place_row(
    graph: LayeredGraph,
    row: Sequence[Vertex],
    directions: Sequence[Mapping[Vertex, Sequence[Vertex]]],
    xs: dict[Vertex, float],
    widths: Mapping[Vertex, float],
    gap: float,
) -> None:
    """Move one row to the medians of its neighbours, exactly: least weighted distance in the given order.

    With the needed spaces taken off, the order must only not decrease: isotonic regression, solved by pooling
    neighbours that would pass each other. Of two directions the first counts a little more: a box between two
    others goes under one of them rather than halfway.
    """
    spaces = _spaces(row, widths, gap)
    pools: list[tuple[float, list[tuple[float, float]], int]] = []  # place, targets with weights, members
    for vertex, space in zip(row, spaces):
        targets = [
            (xs[other] - space, favour * link_weight(graph, vertex, other, fans=len(near[vertex]) > 2))
            for near, favour in zip(directions, (1.05, 1.0))
            for other in near[vertex]
        ]
        if not targets:
            targets = [(xs[vertex] - space, 0.01)]
        pool = (_weighted_median(targets), targets, 1)
        while pools and pools[-1][0] > pool[0]:
            _, others, members = pools.pop()
            together = others + pool[1]
            pool = (_weighted_median(together), together, members + pool[2])
        pools.append(pool)
    places = [place for place, _, members in pools for _ in range(members)]
    xs.update((vertex, place + space) for vertex, place, space in zip(row, places, spaces))


def link_weight(graph: LayeredGraph, one: Vertex, other: Vertex, *, fans: bool = False) -> float:
    """Return how much a link wants to be straight: between bends most, from a box without sources least.

    So the way from layer to layer stays straight where a shortcut leaves it or a parameter joins it. Where
    many meet (`fans`) a shortcut counts as much as the others, and the box stands in the middle.
    """
    bends = isinstance(one, Bend) + isinstance(other, Bend)
    weight = (2.0, 2.0 if fans else 1.0, 8.0)[bends]
    return weight if graph.above[one] and graph.above[other] else weight / 8


def _weighted_median(targets: list[tuple[float, float]]) -> float:
    """Return the middle of all places with the least weighted distance to the targets."""
    targets = sorted(targets)
    half = sum(weight for _, weight in targets) / 2
    passed = 0.0
    for i, (place, weight) in enumerate(targets):
        passed += weight
        if passed > half:
            return place
        if passed == half:
            return (place + targets[i + 1][0]) / 2
    raise AssertionError("the weights pass their half")


def _spaces(row: Sequence[Vertex], widths: Mapping[Vertex, float], gap: float) -> list[float]:
    """Return the least distance of each centre from the first one's."""
    spaces = [0.0]
    for left, right in pairwise(row):
        spaces.append(spaces[-1] + (widths[left] + widths[right]) / 2 + gap)
    return spaces


def _strain(graph: LayeredGraph, xs: Mapping[Vertex, float]) -> float:
    """Return the weighted sideways length of all links, plus all distances from the middle of the neighbours.

    The second part decides between drawings whose links are equally long, as where one box joins four.
    """
    strain = 0.0
    for near in (graph.above, graph.below):
        for vertex, others in near.items():
            if others:
                targets = [
                    (xs[other], link_weight(graph, vertex, other, fans=len(others) > 2)) for other in others
                ]
                strain += sum(abs(xs[vertex] - x) * weight for x, weight in targets)
                strain += abs(xs[vertex] - _weighted_median(targets))
    return strain


# --- the whole ------------------------------------------------------------------------------------


def _assemble(
    graph: LayeredGraph,
    layers: dict[str, int],
    edges: Sequence[tuple[str, str]],
    sizes: Mapping[str, tuple[float, float]],
    xs: dict[Vertex, float],
    widths: Mapping[Vertex, float],
    layer_gap: float,
) -> Layout:
    left = min((xs[vertex] - widths[vertex] / 2 for vertex in xs), default=0.0)
    right = max((xs[vertex] + widths[vertex] / 2 for vertex in xs), default=0.0)
    tops, bottoms, y = [], [], 0.0
    for row in graph.rows:
        tops.append(y)
        y += max((sizes[vertex][1] for vertex in row if isinstance(vertex, str)), default=0.0)
        bottoms.append(y)
        y += layer_gap

    def span(vertex: Vertex) -> tuple[Point, Point]:
        """Where an edge meets a vertex: top and bottom."""
        x = xs[vertex] - left
        if isinstance(vertex, Bend):
            return Point(x, tops[vertex.layer]), Point(x, bottoms[vertex.layer])
        middle = (tops[layers[vertex]] + bottoms[layers[vertex]]) / 2
        half = sizes[vertex][1] / 2
        return Point(x, middle - half), Point(x, middle + half)

    def route(source: str, reader: str) -> list[Point]:
        _, start = span(source)
        end, _ = span(reader)
        points = [start, Point(start.x, bottoms[layers[source]])]
        for bend in vertices_of_edge(source, reader, layers)[1:-1]:
            points.extend(span(bend))
        return [*points, Point(end.x, tops[layers[reader]]), end]

    centres = {
        name: Point(xs[name] - left, (tops[layer] + bottoms[layer]) / 2) for name, layer in layers.items()
    }
    routes = [route(source, reader) for source, reader in edges]
    return Layout(centres, routes, layers, right - left, bottoms[-1] if bottoms else 0.0)
