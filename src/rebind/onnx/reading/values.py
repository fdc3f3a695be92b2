"""What is known of one value of an ONNX graph while it is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import onnx_ir as ir

from ...errors import MXNetError
from ...symbol import Symbol

__all__ = ["ReadGraph", "Shape", "Size", "Value"]

#: A size of an axis: a number, or what stands for a free one.
Size: TypeAlias = "int | ir.SymbolicDim"
#: Sizes of all axes, None for those of which nothing is known; or None where even their number is unknown.
Shape: TypeAlias = "list[Size | None] | None"


@dataclass
class Value:
    """A value: computed, or numbers that are known before the network runs.

    Attributes
    ----------
    symbol
        What computes it; None until a node needs a value that is known.
    numbers
        What is known of it; arrays of objects hold sizes, some of which are free.
    trained
        Of numbers: whether they are weights, which training changes, or constants.
    make_symbol
        Of numbers with free sizes: what writes the nodes that compute them.
    """

    symbol: Symbol | None = None
    numbers: np.ndarray | None = None
    trained: bool = False
    make_symbol: Callable[[], Symbol] | None = None


class ReadGraph(Protocol):
    """What a node asks of the graph that it is read from: see `GraphReader`."""

    def opset(self, node: ir.Node) -> int:
        """Return the version of a node's operators."""

    def value(self, value: ir.Value) -> Value:
        """Return what is known of a value."""

    def symbol(self, value: ir.Value) -> Symbol:
        """Return the symbol of a value."""

    def shape(self, value: ir.Value) -> Shape:
        """Return the shape of a value."""

    def axis_of(self, size: ir.SymbolicDim) -> tuple[Symbol, int] | None:
        """Return an array and its axis that has a free size."""

    def parameter(self, numbers: np.ndarray, name: str, *, trained: bool) -> Symbol:
        """Return a variable with these numbers."""

    def unknown(self, refuse: Callable[[str], MXNetError], value: ir.Value, what: str) -> MXNetError:
        """Return the error that a value must be constant."""

    def read_body(self, graph: ir.Graph, inputs: Sequence[Symbol], shapes: Sequence[Shape]) -> list[Symbol]:
        """Read a body on symbols for its inputs."""
