"""Step 1 of a layered layout: the layer of each box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["assign_layers", "topological_order"]


def assign_layers(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return a layer for each name: below all of its sources, and as close to its readers as that allows.

    A box with fewer sources than readers (an input, above all) slides down to just above its first reader.

    >>> assign_layers(["x", "w", "conv", "relu"], [("x", "conv"), ("conv", "relu"), ("w", "relu")])
    {'x': 0, 'w': 1, 'conv': 1, 'relu': 2}
    """
    sources, readers = _neighbours(names, edges)
    order = topological_order(names, sources, readers)
    layers: dict[str, int] = {}
    for name in order:  # the longest path from a box without sources
        layers[name] = max((layers[source] + 1 for source in sources[name]), default=0)
    # From the bottom, so that readers have their final layer first.
    for name in reversed(order):
        # One layer down shortens the edges to its readers and lengthens those from its sources.
        if readers[name] and len(sources[name]) < len(readers[name]) + (not sources[name]):
            layers[name] = min(layers[reader] for reader in readers[name]) - 1
    return layers


def topological_order(
    names: Sequence[str], sources: Mapping[str, Sequence[str]], readers: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the names such that every source comes before its readers.

    >>> topological_order(["b", "a"], {"b": ["a"], "a": []}, {"a": ["b"], "b": []})
    ['a', 'b']
    """
    missing = {name: len(sources[name]) for name in names}
    ready = [name for name in names if not missing[name]]
    for name in ready:  # grows during the loop (Kahn's algorithm)
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
