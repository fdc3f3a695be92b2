"""Cells that follow each other: which of a graph's recurrent cells are the steps of one layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import torch

from ..facts import Facts
from ..graph import Application, Entry, Graph, Node
from .cells import Cell, match_cell

__all__ = ["CellStep", "Run", "find_runs", "in_order"]


@dataclass(frozen=True, eq=False)
class CellStep:
    """A cell, with which of its layers is on the input and which on the state before."""

    cell: Cell
    of_input: Application
    of_state: Application

    @classmethod
    def all_of(cls, cell: Cell) -> Iterator[CellStep]:
        """Yield each way to see a cell: a sum of two layers does not say which is which."""
        return (cls(cell, *layers) for layers in cell.roles())

    @property
    def weights(self) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
        """Weight and bias of both layers."""
        return self.of_input.inputs[1:], self.of_state.inputs[1:]

    @property
    def before(self) -> tuple[Entry, ...]:
        """The states before."""
        memory = self.cell.memory_before
        return (self.of_state.inputs[0], *(() if memory is None else (memory,)))


@dataclass(frozen=True, eq=False)
class _Known:
    """What is known of a graph's nodes.

    Attributes
    ----------
    uses
        How often a node is an input of another, or an output of the graph.
    bits
        For the nodes of cells, the cell that they are in: one bit of an int, so that a set of cells is an int.
    reached
        For each node, the cells that it is in or is computed from.
    devices
        Where nodes run, where they run on more than one device.
    """

    uses: Counter[Node]
    bits: Mapping[Node, int]
    reached: Mapping[Node, int]
    devices: Mapping[Entry, torch.device]

    @classmethod
    def of(cls, graph: Graph, cells: Sequence[Cell], uses: Counter[Node], facts: Facts) -> _Known:
        bits = {node: 1 << i for i, cell in enumerate(cells) for node in cell.nodes}
        reached: dict[Node, int] = {}
        for node in graph.nodes:
            found = bits.get(node, 0)
            for entry in node.inputs:
                found |= reached[entry.node]
            reached[node] = found
        return cls(uses, bits, reached, facts.devices)


class Run:
    """Steps that follow each other: all steps of a layer, or a part of them.

    Attributes
    ----------
    steps
        In their order.
    bits
        The set of its cells.
    """

    def __init__(self, cell: Cell, known: _Known) -> None:
        self.steps = [next(CellStep.all_of(cell))]
        self.bits = known.bits[cell.hidden.node]
        self._known = known

    @property
    def first(self) -> CellStep:
        """The first step."""
        return self.steps[0]

    @property
    def last(self) -> CellStep:
        """The last step so far."""
        return self.steps[-1]

    @property
    def needs(self) -> int:
        """The cells that what it takes from outside is computed from."""
        first = self.first
        inputs = (step.of_input.inputs[0] for step in self.steps)
        found = 0
        for entry in (*inputs, *first.weights[0], *first.weights[1], *first.before):
            found |= self._known.reached[entry.node]
        return found

    def take(self, cell: Cell) -> bool:
        """Append the next cell; return whether it was that."""
        if not self._is_equal(cell):
            return False
        last = self.last.cell
        # All that uses the memory is its own cell, for the state, and the next one: else its value has to be there.
        if cell.memory_before != last.memory or (last.memory and self._known.uses[last.memory.node] > 2):
            return False
        for step in CellStep.all_of(cell):
            if step.of_state.inputs[0] == last.hidden and self._has_weights_of(step):
                if self._is_needed_by(step):
                    return False
                self.steps.append(step)
                self.bits |= self._known.bits[cell.hidden.node]
                return True
        return False

    def _is_equal(self, cell: Cell) -> bool:
        first, devices = self.first.cell, self._known.devices
        return (
            (cell.mode, cell.size, cell.gates) == (first.mode, first.size, first.gates)
            and devices.get(cell.hidden) == devices.get(first.hidden)
        )  # fmt: skip

    def _has_weights_of(self, step: CellStep) -> bool:
        """Whether the weights are those of `step`, which show which layer of a first cell is which."""
        if len(self.steps) == 1:
            fitting = [each for each in CellStep.all_of(self.first.cell) if each.weights == step.weights]
            self.steps = fitting[:1] or self.steps
        return self.first.weights == step.weights

    def _is_needed_by(self, step: CellStep) -> bool:
        """Whether the input of a step is computed from this run; weights are not, as the first step has them."""
        return bool(self._known.reached[step.of_input.inputs[0].node] & self.bits)


def find_runs(graph: Graph, facts: Facts) -> list[Run]:
    """Return the runs of two steps or more.

    Each is one layer by itself; `in_order` says which can be made so together.
    """
    uses = Counter(entry.node for node in graph.nodes for entry in node.inputs)
    uses.update(entry.node for entry in graph.outputs)
    found = (match_cell(node) for node in graph.nodes if isinstance(node, Application))
    cells = [cell for cell in found if cell is not None and _can_be_joined(cell, uses, facts)]
    if len(cells) < 2:
        return []
    known = _Known.of(graph, cells, uses, facts)
    runs: list[Run] = []
    ending: dict[
        Entry, Run
    ] = {}  # by a state; of the cells that start from it the first goes on with the run
    for cell in cells:
        candidates = (ending.get(step.before[0]) for step in CellStep.all_of(cell))
        run = next((run for run in candidates if run is not None and run.take(cell)), None)
        if run is None:
            run = Run(cell, known)
            runs.append(run)
        ending[cell.hidden] = run
    return [run for run in runs if len(run.steps) > 1]


def _can_be_joined(cell: Cell, uses: Counter[Node], facts: Facts) -> bool:
    if not any(cell.roles()):
        return False
    own = Counter(entry.node for node in cell.nodes for entry in node.inputs)
    dtype = facts.types.get(cell.hidden)
    return (
        all(uses[node] == own[node] for node in cell.inside)
        and (dtype is None or dtype.is_floating_point)
        and (not facts.devices or len({facts.devices[Entry(node)] for node in cell.nodes}) == 1)
    )


def in_order(runs: Sequence[Run]) -> list[Run]:
    """Return runs that can all be joined, each after those that it is computed from.

    Two runs that are computed from each other, step by step, can not: one of them is left out.
    """
    left = list(runs)
    while True:
        needs = {run: run.needs for run in left}
        sources = {run: [other for other in left if needs[run] & other.bits] for run in left}
        try:
            return list(TopologicalSorter(sources).static_order())
        except CycleError as error:
            left.remove(min(error.args[1], key=lambda run: len(run.steps)))
