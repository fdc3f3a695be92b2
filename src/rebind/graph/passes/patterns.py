"""Patterns of nodes: what an expression looks like in a graph, written as the expression.

A pattern is tried on an entry, and yields what its names stand for in each way that it fits: a sum fits in both orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from ..graph import Application, Entry

__all__ = ["Accepts", "Bound", "Named", "Pattern", "Result", "Section"]

Accepts: TypeAlias = Callable[[Application], bool]  # whether a node is of some kind
Bound: TypeAlias = Mapping[str, Entry]  # what names stand for


class Pattern(Protocol):
    """What an entry may look like."""

    def match(self, entry: Entry, bound: Bound) -> Iterator[Bound]:
        """Yield `bound` with what the names of the pattern stand for, for each way in which it fits `entry`."""


@dataclass(frozen=True)
class Named:
    """An entry that has a name, and looks like `pattern` where there is one; the same name is the same entry.

    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> square = Result(lambda node: node.operator.name == "elemwise_mul", (Named("x"), Named("x")))
    >>> [len(list(square.match((x * y).graph.outputs[0], {}))) for y in (x, mx.sym.var("y"))]
    [1, 0]
    """

    name: str
    pattern: Pattern | None = None

    def match(self, entry: Entry, bound: Bound) -> Iterator[Bound]:
        """Yield what `pattern` does, with the name."""
        known = bound.get(self.name)
        if known is not None:  # it was looked at when it got its name
            yield from [bound] if known == entry else []
            return
        bound = {**bound, self.name: entry}
        yield from [bound] if self.pattern is None else self.pattern.match(entry, bound)


@dataclass(frozen=True)
class Result:
    """The one output of a node of some kind, with inputs that look like `inputs`.

    Attributes
    ----------
    accepts
        Whether a node is of the kind.
    inputs
        What its inputs look like, as many as there are; None: no matter.
    commutes
        Whether two inputs may be in either order.
    """

    accepts: Accepts
    inputs: tuple[Pattern, ...] | None = None
    commutes: bool = False

    def match(self, entry: Entry, bound: Bound) -> Iterator[Bound]:
        """Yield what the names in `inputs` stand for."""
        node = entry.node
        if entry.index or node.is_variable or not self.accepts(node):
            return
        if self.inputs is None:
            yield bound
            return
        yield from _all(self.inputs, node.inputs, bound)
        if self.commutes:
            yield from _all(self.inputs, node.inputs[::-1], bound)


@dataclass(frozen=True)
class Section:
    """One of the outputs of a node that splits what it is given.

    Attributes
    ----------
    name
        For this output.
    split
        For the first output of the node: sections of the same split have it in common.
    accepts
        Whether a node is of the kind.
    source
        What is split.
    """

    name: str
    split: str
    accepts: Accepts
    source: Pattern

    def match(self, entry: Entry, bound: Bound) -> Iterator[Bound]:
        """Yield what the names stand for, those in `source` too."""
        node = entry.node
        if node.is_variable or bound.get(self.name, entry) != entry:
            return
        known = bound.get(self.split)
        if known is not None:
            if known.node is node:
                yield {**bound, self.name: entry}
        elif self.accepts(node):
            bound = {**bound, self.name: entry, self.split: Entry(node)}
            yield from self.source.match(node.inputs[0], bound)


def _all(patterns: Sequence[Pattern], entries: Sequence[Entry], bound: Bound) -> Iterator[Bound]:
    """Yield the ways in which all patterns fit, each its entry."""
    if len(patterns) != len(entries):
        return
    if not patterns:
        yield bound
        return
    for found in patterns[0].match(entries[0], bound):
        yield from _all(patterns[1:], entries[1:], found)
