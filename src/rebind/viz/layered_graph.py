"""Step 2 of a layered layout: boxes by layer, and a *bend* wherever an edge passes through a layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeAlias

__all__ = ["Bend", "LayeredGraph", "Vertex", "split_long_edges", "vertices_of_edge"]


class Bend(NamedTuple):
    """Where the edges that leave `source` pass through `layer`; edges of one source share their bends."""

    source: str
    layer: int


Vertex: TypeAlias = str | Bend


@dataclass
class LayeredGraph:
    """Boxes and bends by layer; every link joins neighbouring layers."""

    rows: list[list[Vertex]]
    above: dict[Vertex, list[Vertex]] = field(default_factory=dict)
    below: dict[Vertex, list[Vertex]] = field(default_factory=dict)

    def link(self, upper: Vertex, lower: Vertex) -> None:
        """Join two vertices, if they are not joined yet.

        >>> graph = split_long_edges({"a": 0, "b": 1}, [])
        >>> graph.link("a", "b")
        >>> graph.below["a"], graph.above["b"]
        (['b'], ['a'])
        """
        if lower not in self.below[upper]:
            self.below[upper].append(lower)
            self.above[lower].append(upper)

    def add(self, vertex: Vertex, layer: int) -> None:
        """Append a vertex at the right end of a layer.

        >>> graph = split_long_edges({"a": 0}, [])
        >>> graph.add("b", 0)
        >>> graph.rows
        [['a', 'b']]
        """
        self.rows[layer].append(vertex)
        self.above[vertex] = []
        self.below[vertex] = []


def split_long_edges(layers: Mapping[str, int], edges: Sequence[tuple[str, str]]) -> LayeredGraph:
    """Return the graph with a bend wherever an edge passes through a layer.

    >>> graph = split_long_edges({"a": 0, "b": 1, "c": 2}, [("a", "b"), ("b", "c"), ("a", "c")])
    >>> graph.rows[1]
    ['b', Bend(source='a', layer=1)]
    """
    graph = LayeredGraph([[] for _ in range(max(layers.values(), default=-1) + 1)])
    for name, layer in layers.items():
        graph.add(name, layer)
    for source, reader in edges:
        chain = vertices_of_edge(source, reader, layers)
        for vertex in chain[1:-1]:
            if vertex not in graph.above:  # edges of one source share their bends
                assert isinstance(vertex, Bend)
                graph.add(vertex, vertex.layer)
        for upper, lower in pairwise(chain):
            graph.link(upper, lower)
    return graph


def vertices_of_edge(source: str, reader: str, layers: Mapping[str, int]) -> list[Vertex]:
    """Return the box, the bends and the box that an edge joins.

    >>> vertices_of_edge("a", "b", {"a": 0, "b": 2})
    ['a', Bend(source='a', layer=1), 'b']
    """
    between = range(layers[source] + 1, layers[reader])
    return [source, *(Bend(source, layer) for layer in between), reader]
