"""Step 4 of a layered layout: the x of each vertex, for straight edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf
from statistics import median

from .layered_graph import Bend, LayeredGraph, Vertex

__all__ = ["assign_columns", "link_weight"]

COLUMN_SWEEPS = 8
STRAIGHTEN_SWEEPS = 2


def assign_columns(graph: LayeredGraph, widths: Mapping[Vertex, float], gap: float) -> dict[Vertex, float]:
    """Return the x of every vertex: in order, apart, and aligned where links allow it.

    >>> from rebind.viz.layered_graph import split_long_edges
    >>> graph = split_long_edges({"a": 0, "b": 0, "c": 1}, [("a", "c"), ("b", "c")])
    >>> assign_columns(graph, {"a": 40, "b": 40, "c": 40}, gap=20)
    {'a': -30.0, 'b': 30.0, 'c': 0.0}
    """
    xs: dict[Vertex, float] = {}
    for row in graph.rows:
        spaces = _spaces(row, widths, gap)
        # To begin with, each row is packed around 0.
        xs.update(zip(row, [space - spaces[-1] / 2 for space in spaces]))
    # A sweep aligns each row with one of its neighbours only; the trial after it with both. The best trial is returned.
    best, least = dict(xs), _strain(graph, xs)
    for sweep in range(COLUMN_SWEEPS):
        downwards = sweep % 2 == 0
        for row in graph.rows if downwards else reversed(graph.rows):
            _align_row(graph, row, [graph.above if downwards else graph.below], xs, widths, gap)
        trial = dict(xs)
        for row in graph.rows:
            _align_row(graph, row, [graph.above, graph.below], trial, widths, gap)
        for row in reversed(graph.rows):
            _align_row(graph, row, [graph.below, graph.above], trial, widths, gap)
        if (strain := _strain(graph, trial)) < least:
            best, least = trial, strain
    for _ in range(STRAIGHTEN_SWEEPS):
        _straighten_bends(graph, best, widths, gap)
    return best


def _straighten_bends(
    graph: LayeredGraph, xs: dict[Vertex, float], widths: Mapping[Vertex, float], gap: float
) -> None:
    """Align the bends of each source, in as few straight runs as their neighbours allow."""
    chains: dict[str, list[Bend]] = {}
    beside: dict[Vertex, tuple[Vertex | None, Vertex | None]] = {}
    for row in graph.rows:
        for i, vertex in enumerate(row):
            beside[vertex] = (row[i - 1] if i else None, row[i + 1] if i + 1 < len(row) else None)
            if isinstance(vertex, Bend):
                chains.setdefault(vertex.source, []).append(vertex)

    # How far a bend can move between the vertices beside it.
    def free(bend: Bend) -> tuple[float, float]:
        left, right = beside[bend]
        space = widths[bend] / 2 + gap
        return (
            -inf if left is None else xs[left] + widths[left] / 2 + space,
            inf if right is None else xs[right] - widths[right] / 2 - space,
        )

    # Greedy, which is optimal for the number of runs: each is as long as the free intervals have a point in common.
    for chain in chains.values():
        room = {bend: free(bend) for bend in chain}
        while chain:
            low, high = room[chain[0]]
            run = 1
            while run < len(chain) and max(low, room[chain[run]][0]) <= min(high, room[chain[run]][1]):
                low, high = max(low, room[chain[run]][0]), min(high, room[chain[run]][1])
                run += 1
            wanted = median(xs[bend] for bend in chain[:run])
            xs.update((bend, min(max(wanted, low), high)) for bend in chain[:run])
            chain = chain[run:]


def _align_row(
    graph: LayeredGraph,
    row: Sequence[Vertex],
    directions: Sequence[Mapping[Vertex, Sequence[Vertex]]],
    xs: dict[Vertex, float],
    widths: Mapping[Vertex, float],
    gap: float,
) -> None:
    """Move one row to the medians of its neighbours: exactly the least weighted distance in the given order.

    With the required spaces subtracted, positions must not decrease: an isotonic regression, solved by pooling
    neighbours that would overtake each other (pool adjacent violators). Of two directions the first counts a little
    more: a box between two others goes under one of them rather than halfway.
    """
    spaces = _spaces(row, widths, gap)
    pools: list[tuple[float, list[tuple[float, float]], int]] = []  # x, targets with weights, members
    for vertex, space in zip(row, spaces):
        targets = [
            (xs[other] - space, favour * link_weight(graph, vertex, other, fans=len(near[vertex]) > 2))
            # Where both directions weigh the same, the first one decides.
            for near, favour in zip(directions, (1.05, 1.0))
            for other in near[vertex]
        ]
        if not targets:  # no neighbours: stay, but give way to anything
            targets = [(xs[vertex] - space, 0.01)]
        pool = (_weighted_median(targets), targets, 1)
        # Pool adjacent violators: what would overtake its left neighbour moves together with it.
        while pools and pools[-1][0] > pool[0]:
            # A pool moves as one vertex, to the median of all of its targets; it may overtake the next one in turn.
            _, others, members = pools.pop()
            together = others + pool[1]
            pool = (_weighted_median(together), together, members + pool[2])
        pools.append(pool)
    starts = [x for x, _, members in pools for _ in range(members)]
    xs.update((vertex, x + space) for vertex, x, space in zip(row, starts, spaces))


def link_weight(graph: LayeredGraph, one: Vertex, other: Vertex, *, fans: bool = False) -> float:
    """Return how important it is that a link is straight: most between bends, least from a box without sources.

    So the path from layer to layer is straight where a shortcut leaves it or a parameter joins it. Where many links
    meet (`fans`) a shortcut counts as much as the others, and the box is in the middle.

    >>> from rebind.viz.layered_graph import split_long_edges
    >>> graph = split_long_edges(
    ...     {"x": 0, "a": 1, "b": 2, "c": 3}, [("x", "a"), ("a", "b"), ("b", "c"), ("x", "c")]
    ... )
    >>> (
    ...     link_weight(graph, Bend("x", 1), Bend("x", 2)),
    ...     link_weight(graph, "a", "b"),
    ...     link_weight(graph, "x", "a"),
    ... )
    (8.0, 2.0, 0.25)
    """
    bends = isinstance(one, Bend) + isinstance(other, Bend)
    # By how many ends are bends. Gansner et al. (1993) have 1, 2 and 8.
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
        if passed == half:  # all positions from here to the next target are equally good
            return (x + targets[i + 1][0]) / 2
    raise AssertionError("half of the weights is passed before the last target")


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
