"""Which input has a free size that an array made from nothing must have too: the batch of begin states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from ...errors import MXNetError
from ...graph import Application, Entry, Node
from ...shapes import Shape

__all__ = ["InputSize", "sizes_of_inputs"]

#: The name of an input, and one of its axes.
InputSize: TypeAlias = tuple[str, int]

#: A number that no network has and many divide: in its place a free size shows where it appears again.
_PROBE = 2**5 * 3**3 * 5 * 7


def sizes_of_inputs(
    nodes: Sequence[Node],
    given: Mapping[str, Shape],
    known: Mapping[Entry, Shape],
    infer: Callable[[Mapping[str, Shape]], Mapping[Entry, Shape]],
) -> dict[tuple[Entry, int], InputSize]:
    """Return what the free sizes of arrays without inputs are equal to, by array and axis.

    Parameters
    ----------
    nodes
        The nodes that are written.
    given
        The shapes of inputs and parameters, by name.
    known
        The shapes of all entries; 0 is a free size.
    infer
        From shapes as `given` to those of all entries.
    """
    made = [Entry(node) for node in nodes if isinstance(node, Application) and not node.inputs]
    open_sizes = [(entry, axis) for entry in made for axis, n in enumerate(known.get(entry, ())) if not n]
    found: dict[tuple[Entry, int], InputSize] = {}
    for name, axis in _free_sizes(nodes, given):
        if len(found) == len(open_sizes):
            break
        shape = given[name]
        try:
            probed = infer({**given, name: (*shape[:axis], _PROBE, *shape[axis + 1 :])})
        except MXNetError:  # the network does not take this number
            continue
        for entry, own in open_sizes:
            if probed[entry][own] == _PROBE:
                found.setdefault((entry, own), (name, axis))
    return found


def _free_sizes(nodes: Sequence[Node], given: Mapping[str, Shape]) -> list[InputSize]:
    """Return the free sizes of inputs."""
    return [
        (node.name, axis)
        for node in nodes
        if node.is_variable
        for axis, n in enumerate(given.get(node.name, ()))
        if not n
    ]
