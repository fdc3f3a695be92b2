"""Parts of a network that repeat, found by what the names of their nodes have in common."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

from ..graph import Application, Entry, Graph, Node

__all__ = ["Unit", "find_units", "in_sequences", "relative_name", "sequence_label"]

#: How many values a unit takes at most.
_MOST_INPUTS = 3
#: What a unit must save: its nodes but one, times its copies but one.
_ENOUGH = 8

Tokens: TypeAlias = "tuple[str, ...]"


class Unit(NamedTuple):
    """Nodes that follow each other and have a part of their names in common.

    Attributes
    ----------
    label
        What their names have in common: ``stage1_unit1``.
    nodes
        The nodes, in the symbol's order.
    inputs
        The values that they take from outside, by their first use; parameters are theirs.
    output
        The one value that others use.
    """

    label: str
    nodes: tuple[Application, ...]
    inputs: tuple[Entry, ...]
    output: Entry


def relative_name(name: str, label: str) -> str:
    """Return a node's name within a unit.

    >>> relative_name("stage1_unit1_conv1", "stage1_unit1"), relative_name("conv_in3a_1x1", "in3a")
    ('conv1', 'conv_1x1')
    >>> relative_name("relu7_conv", "relu7_conv"), relative_name("_plus0", "stage1_unit1")
    ('conv', '_plus0')
    """
    tokens, own = _tokens(name), _tokens(label)
    start = _position(tokens, own)
    if start is None or not label:
        return name
    return "_".join(tokens[:start] + tokens[start + len(own) :]) or own[-1]


def _tokens(name: str) -> Tokens:
    return tuple(re.split(r"[_\-/.]", name))


def _position(tokens: Tokens, label: Tokens) -> int | None:
    """Return where the label is in a name; one that a number follows is another label, such as ``conv_1``."""
    for start in range(len(tokens) - len(label) + 1):
        end = start + len(label)
        if tokens[start:end] == label:
            return None if end < len(tokens) and tokens[end].isdigit() else start
    return None


def find_units(graph: Graph, nodes: Sequence[Node], parameters: Iterable[str]) -> list[Unit]:
    """Return the units that have copies, which differ in sizes alone; the largest first, smaller ones within them.

    Parameters
    ----------
    graph
        What the network computes.
    nodes
        Those of its nodes that are written, in their order.
    parameters
        The names of parameters and auxiliary states.
    """
    finder = _Finder(graph, [node for node in nodes if isinstance(node, Application)], frozenset(parameters))
    candidates = finder.candidates()
    copies = Counter(map(_structure, candidates))
    units = [unit for unit in candidates if (len(unit.nodes) - 1) * (copies[_structure(unit)] - 1) >= _ENOUGH]
    return sorted(units, key=lambda unit: -len(unit.nodes))


class _Finder:
    def __init__(self, graph: Graph, nodes: Sequence[Application], parameters: frozenset[str]) -> None:
        self._graph, self._nodes, self._parameters = graph, nodes, parameters

    @cached_property
    def _uses(self) -> Mapping[Entry, int]:
        found = Counter(entry for node in self._nodes for entry in node.inputs)
        found.update(self._graph.outputs)
        return found

    def candidates(self) -> list[Unit]:
        """Return what could be a unit: of several labels for the same nodes the longest."""
        positions: dict[tuple[Tokens, bool], list[int]] = {}
        for i, node in enumerate(self._nodes):
            for label, is_prefix in _labels(node.name):
                positions.setdefault((label, is_prefix), []).append(i)
        labels: dict[tuple[int, int], Tokens] = {}
        for (label, _), own in positions.items():
            first, last = own[0], own[-1]
            others = set(range(first, last)).difference(own)
            if all(_is_unnamed(self._nodes[i]) for i in others) and len(label) > len(
                labels.get((first, last), ())
            ):
                labels[first, last] = label
        found: dict[tuple[Application, ...], Unit] = {}
        # The larger first: a smaller one may be joined to the same nodes by one that has its own name.
        for (first, last), label in sorted(labels.items(), key=lambda item: item[0][0] - item[0][1]):
            unit = self._unit("_".join(label), first, last + 1)
            if unit is not None and len(unit.nodes) < len(self._nodes):
                found.setdefault(unit.nodes, unit)
        return list(found.values())

    def _unit(self, label: str, start: int, end: int) -> Unit | None:
        nodes = self._nodes[start:end]
        if end < len(self._nodes) and self._is_joined_by(nodes, self._nodes[end]):
            nodes = self._nodes[start : end + 1]
        inputs, outputs = self._inputs(nodes), self._outputs(nodes)
        is_plain = len(nodes) > 1 and not any(node.operator.subgraphs or not node.inputs for node in nodes)
        if not is_plain or len(outputs) != 1 or not 1 <= len(inputs) <= _MOST_INPUTS:
            return None
        return Unit(label, tuple(nodes), inputs, outputs[0]) if self._owns_parameters(nodes) else None

    def _is_joined_by(self, nodes: Sequence[Application], last: Application) -> bool:
        """Whether a node takes what the others give, and nothing but that and what they take: a sum, say."""
        outputs, sources = set(self._outputs(nodes)), set(last.inputs)
        return len(sources) > 1 and outputs <= sources <= outputs | set(self._inputs(nodes))

    def _is_parameter(self, entry: Entry) -> bool:
        return entry.node.is_variable and entry.name in self._parameters

    def _inputs(self, nodes: Sequence[Application]) -> tuple[Entry, ...]:
        own = set(nodes)
        entries = [entry for node in nodes for entry in node.inputs]
        return tuple(
            dict.fromkeys(
                entry for entry in entries if entry.node not in own and not self._is_parameter(entry)
            )
        )

    def _outputs(self, nodes: Sequence[Application]) -> list[Entry]:
        inside = Counter(entry for node in nodes for entry in node.inputs)
        entries = [Entry(node, i) for node in nodes for i in range(node.visible_outputs)]
        return [entry for entry in entries if self._uses.get(entry, 0) > inside[entry]]

    def _owns_parameters(self, nodes: Sequence[Application]) -> bool:
        inside = Counter(entry for node in nodes for entry in node.inputs)
        return all(
            self._uses.get(entry, 0) == count for entry, count in inside.items() if self._is_parameter(entry)
        )


def _is_unnamed(node: Application) -> bool:
    """Whether MXNet named a node, as it does with operators of Python's, after what it computes."""
    hint = re.escape(node.operator.name.lower().strip("_"))
    return re.fullmatch(rf"_[a-z_]+\d+|{hint}\d+", node.name) is not None


def _labels(name: str) -> set[tuple[Tokens, bool]]:
    """Return what nodes can have in common with this one: names that begin so, and names that have it anywhere."""
    tokens = _tokens(name)
    labels = {tokens[start:end] for start in range(len(tokens)) for end in range(start + 1, len(tokens) + 1)}
    positions = {label: _position(tokens, label) for label in labels if any(label)}
    anywhere = {(label, False) for label, position in positions.items() if position is not None}
    return anywhere | {(label, True) for label, position in positions.items() if position == 0}


def _structure(unit: Unit) -> tuple[object, ...]:
    """Return what copies of a unit have in common."""
    numbers: dict[Entry, object] = {entry: f"input {i}" for i, entry in enumerate(unit.inputs)}
    for i, node in enumerate(unit.nodes):
        numbers.update({Entry(node, k): (i, k) for k in range(node.visible_outputs)})
    return tuple(
        (
            node.operator.name,
            _own_name(node.name, unit.label),
            *(numbers.get(entry, "parameter") for entry in node.inputs),
        )
        for node in unit.nodes
    )


def _own_name(name: str, label: str) -> str:
    """Return a name within a unit, which is empty for a node that joins its values and has a name of its own."""
    return "" if _position(_tokens(name), _tokens(label)) is None else relative_name(name, label)


def in_sequences(
    graph: Graph, nodes: Sequence[Node], units: Sequence[Unit]
) -> list[Application | tuple[Unit, ...]]:
    """Return nodes and the outermost units among them, in order; units that follow each other are one sequence."""
    by_first: dict[Node, Unit] = {}
    free = {node for node in nodes if isinstance(node, Application)}
    count = len(free)
    for unit in units:
        if len(unit.nodes) < count and free.issuperset(unit.nodes) and not _is_sequence(graph, unit, units):
            by_first[unit.nodes[0]] = unit
            free.difference_update(unit.nodes)
    items: list[Application | tuple[Unit, ...]] = []
    for node in nodes:
        if node in by_first:
            unit, last = by_first[node], items[-1] if items else None
            if isinstance(last, tuple) and _follows(graph, last, unit):
                items[-1] = (*last, unit)
            else:
                items.append((unit,))
        elif node in free and isinstance(node, Application):
            items.append(node)
    return items


def _is_sequence(graph: Graph, unit: Unit, units: Sequence[Unit]) -> bool:
    """Whether a unit is nothing but smaller ones that follow each other."""
    return len(in_sequences(graph, unit.nodes, units)) == 1


def _follows(graph: Graph, sequence: tuple[Unit, ...], unit: Unit) -> bool:
    """Whether a unit takes what a sequence gives, and nothing else does."""
    before = sequence[-1].output
    uses = sum(entry == before for node in unit.nodes for entry in node.inputs)
    return unit.inputs == (before,) and uses == graph.uses[before] and bool(_common_labels([*sequence, unit]))


def _common_labels(units: Sequence[Unit]) -> set[str]:
    """Return what could name a sequence: ``stage1`` for ``stage1_unit1`` and others, ``fire`` for ``fire2``."""
    labels = [
        {"_".join(tokens[:-1]), "_".join([*tokens[:-1], tokens[-1].rstrip("0123456789")]).rstrip("_")}
        for tokens in (_tokens(unit.label) for unit in units)
    ]
    return set.intersection(*labels) - {""}


def sequence_label(units: Sequence[Unit]) -> str:
    """Return the label of one unit, or what those of a sequence have in common."""
    return units[0].label if len(units) == 1 else min(_common_labels(units), key=len)
