"""Layered layout of a directed acyclic graph, so that a network can be drawn without the `dot` program.

The four steps of Sugiyama, Tagawa and Toda ("Methods for visual understanding of hierarchical system
structures", 1981), with choices of Gansner, Koutsofios, North and Vo ("A technique for drawing directed
graphs", 1993):

1. every box gets a layer (longest path, then boxes slide towards their readers);
2. an edge over several layers becomes a chain of *bends*, one in each layer that it passes;
3. sweeps order each layer by the medians of its neighbours, and the order with the fewest crossings is used;
4. sweeps move each layer to the weighted medians of its neighbours as far as the boxes leave room.

Each step has its module: `layers`, `layered_graph`, `ordering`, `columns`.

An edge passes a layer of boxes vertically, where step 4 reserved room for it, and moves sideways only
between layers; so no edge crosses a box.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .columns import assign_columns
from .layered_graph import Bend, LayeredGraph, Vertex, split_long_edges, vertices_of_edge
from .layers import assign_layers
from .ordering import order_layers

__all__ = ["Layout", "Point", "layered"]


class Point(NamedTuple):
    """A position in the drawing; y grows downwards."""

    x: float
    y: float


@dataclass(frozen=True)
class Layout:
    """The positions of boxes and edges.

    Attributes
    ----------
    centres
        The middle of each box.
    routes
        For each edge, in the order given, the points that it passes: it runs straight down between points
        0 and 1, 2 and 3, ..., and curves from one column to the next between points 1 and 2, 3 and 4, ...
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
    """Arrange boxes in layers, sources on top, such that every edge runs downwards.

    Parameters
    ----------
    sizes
        Width and height of each box. The result depends on their order; nothing is random.
    edges
        Pairs of names, source and reader; pairs may be repeated.
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
    xs = assign_columns(graph, widths, gap)
    return _assemble(graph, layers, edges, sizes, xs, widths, layer_gap)


def _assemble(
    graph: LayeredGraph,
    layers: dict[str, int],
    edges: Sequence[tuple[str, str]],
    sizes: Mapping[str, tuple[float, float]],
    xs: dict[Vertex, float],
    widths: Mapping[Vertex, float],
    layer_gap: float,
) -> Layout:
    # Columns are centred at 0: shifted, so that the drawing begins there.
    left = min((xs[vertex] - widths[vertex] / 2 for vertex in xs), default=0.0)
    right = max((xs[vertex] + widths[vertex] / 2 for vertex in xs), default=0.0)
    tops, bottoms, y = [], [], 0.0
    for row in graph.rows:
        tops.append(y)
        y += max((sizes[vertex][1] for vertex in row if isinstance(vertex, str)), default=0.0)
        bottoms.append(y)
        y += layer_gap

    def span(vertex: Vertex) -> tuple[Point, Point]:
        """Return the points at which an edge meets a vertex, top and bottom."""
        x = xs[vertex] - left
        # A bend is as high as its layer: edges are straight there, and curve between layers only.
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
