"""Step 3 of a layered layout: the order within each layer, for few crossings."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

from .layered_graph import LayeredGraph, Vertex

__all__ = ["count_crossings", "order_layers"]

ORDER_SWEEPS = 12  # Gansner et al. use 24


def order_layers(graph: LayeredGraph) -> None:
    """Reorder each row for few crossings: sweeps by medians, alternately from above and from below.

    >>> from rebind.viz.layered_graph import split_long_edges
    >>> graph = split_long_edges({"a": 0, "b": 0, "c": 1, "d": 1}, [("a", "d"), ("b", "c")])
    >>> order_layers(graph)
    >>> count_crossings(graph)
    0
    """
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
        # A sweep may make it worse on the way to a better order: it continues from there, and the best is restored.
        if crossings < fewest:
            best, fewest = [list(row) for row in graph.rows], crossings
    graph.rows = best


def _start_depth_first(graph: LayeredGraph) -> None:
    """Begin with the order of a depth-first walk from the top, in which connected vertices are close."""
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
                stack.extend(reversed(graph.below[vertex]))  # the stack returns the last one first
    graph.rows = rows


def _sort_by_medians(
    row: list[Vertex], neighbours: Mapping[Vertex, Sequence[Vertex]], position: Mapping[Vertex, float]
) -> None:
    """Sort in place; a vertex without neighbours stays where it is."""
    fixed = {i: vertex for i, vertex in enumerate(row) if not neighbours[vertex]}
    free = [vertex for vertex in row if neighbours[vertex]]
    # The sort is stable: vertices with equal medians stay in their order.
    free.sort(key=lambda vertex: median(position[other] for other in neighbours[vertex]))
    in_order = iter(free)
    row[:] = [fixed[i] if i in fixed else next(in_order) for i in range(len(row))]


def _swap_neighbours(graph: LayeredGraph) -> None:
    """Swap adjacent vertices as long as that reduces crossings."""
    for index, row in enumerate(graph.rows):
        tables = []
        if index > 0:
            tables.append((graph.above, {v: i for i, v in enumerate(graph.rows[index - 1])}))
        if index + 1 < len(graph.rows):
            tables.append((graph.below, {v: i for i, v in enumerate(graph.rows[index + 1])}))
        # Sorted once for the row: a swap changes the order of the row, but no neighbour.
        positions = {v: [sorted(at[o] for o in near[v]) for near, at in tables] for v in row}
        improved = True
        while improved:
            improved = False
            for i in range(len(row) - 1):
                left, right = positions[row[i]], positions[row[i + 1]]
                now = sum(_inversions(a, b) for a, b in zip(left, right))
                # What it would be after the swap.
                then = sum(_inversions(b, a) for a, b in zip(left, right))
                if then < now:
                    row[i], row[i + 1] = row[i + 1], row[i]
                    improved = True


def _inversions(left: Sequence[int], right: Sequence[int]) -> int:
    """Return the number of pairs in which a neighbour of the left one is right of a neighbour of the right one."""
    return sum(len(left) - bisect_right(left, position) for position in right)


def count_crossings(graph: LayeredGraph) -> int:
    """Return how many pairs of links cross.

    >>> from rebind.viz.layered_graph import split_long_edges
    >>> graph = split_long_edges({"a": 0, "b": 0, "c": 1, "d": 1}, [("a", "d"), ("b", "c")])
    >>> count_crossings(graph)
    1
    """
    # Two links cross if their ends are in the other order than their starts: inversions, counted by a sorted list.
    crossings = 0
    for upper, lower in pairwise(graph.rows):
        at = {vertex: i for i, vertex in enumerate(lower)}
        seen: list[int] = []
        for vertex in upper:
            ends = sorted(at[other] for other in graph.below[vertex])
            crossings += sum(len(seen) - bisect_right(seen, end) for end in ends)
            # After counting: links of the same start do not cross.
            for end in ends:
                insort(seen, end)
    return crossings
