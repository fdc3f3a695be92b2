"""Step 4 of a layered layout: how far right each vertex is, for straight edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf
from statistics import median

from .layered_graph import Bend, LayeredGraph, Vertex

__all__ = ["link_weight", "place_columns"]

COLUMN_SWEEPS = 8
STRAIGHTEN_SWEEPS = 2


def place_columns(graph: LayeredGraph, widths: Mapping[Vertex, float], gap: float) -> dict[Vertex, float]:
    """Return the x of every vertex: in order, apart, and under each other where links allow it."""
    xs: dict[Vertex, float] = {}
    for row in graph.rows:
        spaces = _spaces(row, widths, gap)
        xs.update(zip(row, [space - spaces[-1] / 2 for space in spaces]))
    best, least = dict(xs), _strain(graph, xs)
    for sweep in range(COLUMN_SWEEPS):
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
    """Bring the bends of each source under each other, in as few runs as their neighbours allow."""
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
            wish = median(xs[bend] for bend in chain[:run])
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
    pools: list[tuple[float, list[tuple[float, float]], int]] = []  # x, targets with weights, members
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
    starts = [x for x, _, members in pools for _ in range(members)]
    xs.update((vertex, x + space) for vertex, x, space in zip(row, starts, spaces))


def link_weight(graph: LayeredGraph, one: Vertex, other: Vertex, *, fans: bool = False) -> float:
    """Return how much a link wants to be straight: between bends most, from a box without sources least.

    So the way from layer to layer stays straight where a shortcut leaves it or a parameter joins it. Where
    many meet (`fans`) a shortcut counts as much as the others, and the box stands in the middle.
    """
    bends = isinstance(one, Bend) + isinstance(other, Bend)
    weight = (2.0, 2.0 if fans else 1.0, 8.0)[bends]
    return weight if graph.above[one] and graph.above[other] else weight / 8


def _weighted_median(targets: list[tuple[float, float]]) -> float:
    """Return the middle of all positions with the least weighted distance to the targets."""
    targets = sorted(targets)
    half = sum(weight for _, weight in targets) / 2
    passed = 0.0
    for i, (x, weight) in enumerate(targets):
        passed += weight
        if passed > half:
            return x
        if passed == half:
            return (x + targets[i + 1][0]) / 2
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
