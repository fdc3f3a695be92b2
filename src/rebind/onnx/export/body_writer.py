"""Graphs inside a node: the body of a Loop or Scan, a branch of an If."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx_ir as ir
import torch

from ...graph import Entry, Graph, infer_shapes, infer_types
from ...shapes import Shape
from .graph_writer import write_nodes
from .node_writer import NodeWriter
from .operator_writer import OperatorWriter, onnx_type

__all__ = ["BodyWriter"]


class BodyWriter(OperatorWriter):
    """Writes the graph inside one node.

    It has inputs of its own (`input`), and sees all values of the graphs around it. What the symbol has as the node's
    subgraph is written by `apply`; operators may come before and after, as in any translation.

    Parameters
    ----------
    outer
        What writes the node.
    part
        What names begin with, after the node's: ``body``, ``then``, ``else``.

    Examples
    --------
    A branch of an If::

        then = BodyWriter(writer, "then")
        outputs = then.apply(subgraph, values, shapes, types)
        writer.op_of_many("If", 1, condition, then_branch=then.finish(outputs), else_branch=...)
    """

    def __init__(self, outer: NodeWriter, part: str) -> None:
        self._outer = outer
        super().__init__(outer.graph.body(outer.node, {}, {}, {}), part)
        self._inputs: list[ir.Value] = []

    def input(self, name: str, dtype: torch.dtype, shape: Sequence[int]) -> ir.Value:
        """Add an input of the body, and return it; 0 stands where a size is free."""
        value = ir.val(self.graph.unique(f"{self.name}/{name}"))
        value.type = ir.TensorType(onnx_type(dtype))
        value.shape = ir.Shape([size or None for size in shape])
        self._inputs.append(value)
        return value

    def apply(
        self,
        graph: Graph,
        values: Sequence[ir.Value],
        shapes: Sequence[Shape],
        types: Sequence[torch.dtype],
        parameters: Mapping[str, np.ndarray] | None = None,
    ) -> list[ir.Value]:
        """Write a graph of the symbol, and return its outputs.

        Parameters
        ----------
        graph
            The subgraph.
        values, shapes, types
            Of each of its variables, in the order of ``graph.variables``: values of the body or of a graph around it.
        parameters
            The numbers of variables that are parameters of the network.
        """
        names = [variable.name for variable in graph.variables]
        known_types = infer_types(graph, dict(zip(names, types, strict=True))).entries
        known_shapes = infer_shapes(graph, dict(zip(names, shapes, strict=True)), known_types).entries
        context = self._outer.graph.body(self._outer.node, parameters or {}, known_shapes, known_types)
        context.tape = self.graph.tape
        given = dict(zip(map(Entry, graph.variables), values, strict=True))
        return [write_nodes(graph, context, given)[entry] for entry in graph.outputs]

    def finish(self, outputs: Sequence[ir.Value]) -> ir.Graph:
        """Return the body; an output that it does not compute itself becomes a copy, as ONNX asks."""
        computed = {value for node in self.graph.tape.nodes for value in node.outputs}
        own, returned = [], set()
        for value in outputs:
            fresh = value in computed and value not in returned
            own.append(value if fresh else self.op("Identity", value))
            returned.add(own[-1])
        return ir.Graph(self._inputs, own, nodes=self.graph.tape.nodes, name=f"{self.graph.scope}{self.name}")
