"""What is known of one value of a program while it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor, fx

from ...errors import MXNetError
from ...symbol import Symbol
from .sizes import Size

__all__ = ["ReadGraph", "Weight"]


@dataclass
class Weight:
    """A parameter or buffer of the program.

    Attributes
    ----------
    path
        Its name: ``layer1.0.conv1.weight``.
    tensor
        Its numbers.
    trained
        Whether it is a parameter.
    symbol
        Its variable, as soon as a node uses it.
    """

    path: str
    tensor: Tensor
    trained: bool
    symbol: Symbol | None = None


class ReadGraph(Protocol):
    """What a node asks of the graph that it is read from: see `GraphReader`."""

    trains: bool

    def value(self, node: fx.Node) -> Any:
        """Return a symbol, numbers, a `Weight`, a sequence of these, or None."""

    def symbol(self, node: fx.Node, suffix: str | None = None) -> Symbol:
        """Return the symbol of a value."""

    def no_tensor(self, node: fx.Node) -> MXNetError:
        """Return the error that a node gives a number that is known only when the network runs."""

    def parameter(self, numbers: Tensor, name: str, *, trained: bool) -> Symbol:
        """Return a variable with these numbers."""

    def state(self, node: fx.Node, suffix: str) -> Symbol:
        """Return a variable for statistics."""

    def axis_with(self, size: Size) -> tuple[Symbol, int] | None:
        """Return an input with a free size, and its axis."""

    def read_body(self, source: fx.Node, inputs: Sequence[Symbol]) -> list[Symbol]:
        """Read the graph that a node stands for on symbols for its inputs."""
