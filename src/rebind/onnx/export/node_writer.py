"""What a translation writes with: ONNX's operators, and what is known of one node."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import torch

from ...graph import Application, Entry
from ...params import Params
from ...shapes import Shape
from .context import GraphContext
from .operator_writer import OperatorWriter, onnx_type

__all__ = ["NodeWriter", "onnx_type"]


class NodeWriter(OperatorWriter):
    """Writes one node of the symbol as nodes of ONNX.

    Attributes
    ----------
    node, params
        The node, and its parsed parameters.
    """

    def __init__(self, graph: GraphContext, node: Application) -> None:
        super().__init__(graph, node.name)
        self.node = node
        self.params: Params = node.params

    def like(self, value: float, index: int = 0) -> ir.Value:
        """Return a number as a constant of the type of an input."""
        return self.constant(value, self.dtype(index))

    def entry(self, index: int = 0) -> Entry:
        """Return where an input comes from."""
        return self.node.inputs[index]

    def shape(self, index: int = 0) -> Shape:
        """Return the shape of an input; 0 stands where a size is free."""
        return self._shape(self.entry(index))

    def output_shape(self, index: int = 0) -> Shape:
        """Return the shape of an output; 0 stands where a size is free."""
        return self._shape(Entry(self.node, index))

    def output_sizes(self) -> list[int | tuple[ir.Value, int]]:
        """Return the sizes of the output of a node without inputs; free ones as an input and the axis that has them.

        What is equal to the size of no input is 0.
        """
        entry, sizes = Entry(self.node), self.output_shape()
        found = [self.graph.sizes_of_inputs.get((entry, axis)) for axis in range(len(sizes))]
        return [
            n if same is None else (self.graph.inputs[same[0]], same[1])
            for n, same in zip(sizes, found, strict=True)
        ]

    def rank(self, index: int = 0) -> int:
        """Return how many axes an input has."""
        return len(self.shape(index))

    def dtype(self, index: int = 0) -> torch.dtype:
        """Return the type of an input."""
        return self.graph.types[self.entry(index)]

    def output_dtype(self, index: int = 0) -> torch.dtype:
        """Return the type of an output."""
        return self.graph.types[Entry(self.node, index)]

    def parameter(self, index: int) -> np.ndarray | None:
        """Return the numbers of an input that is a parameter; None for what is computed or given."""
        node = self.entry(index).node
        return self.graph.parameters.get(node.name) if node.is_variable else None

    def refuse(self, reason: str) -> Exception:
        """Return the error that this node cannot be exported, with the reason."""
        return self.graph.refuse(self.node, reason)

    def unknown(self, what: str) -> Exception:
        """Return the error that something about this node must be known when the file is written."""
        return self.refuse(f"{what} must be known. Give the inputs shapes without free sizes.")

    def need(self, since: int, what: str) -> None:
        """Raise an error for what ONNX has only since a later opset."""
        if self.opset < since:
            raise self.refuse(f"{what} needs opset {since} or later")

    def _shape(self, entry: Entry) -> Shape:
        found = self.graph.shapes.get(entry)
        if found is None:
            raise self.refuse(
                f"the number of axes of {entry.name!r} must be known; give the shapes of all inputs"
            )
        return found
