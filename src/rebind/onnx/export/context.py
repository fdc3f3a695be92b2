"""What the nodes of one ONNX graph are written with: its tape, and what is known of the symbol's graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx_ir as ir
import torch

from ...errors import MXNetError
from ...graph import Application, Entry
from ...shapes import Shape
from ...unique_names import unique_name
from .free_sizes import InputSize

__all__ = ["GraphContext", "NotInONNX"]


class NotInONNX(MXNetError):
    """A node that ONNX has no operators for."""


@dataclass
class GraphContext:
    """One graph while it is written.

    Attributes
    ----------
    parameters
        The numbers of parameters and auxiliary states, by name.
    shapes, types
        Of each entry of the symbol's graph; 0 stands where a size is free.
    opset
        The version of ONNX's operators.
    tape
        The nodes and constants that are written so far.
    scope
        What names begin with: in the body of a loop, the loop's name.
    names, node_names
        All names of values, and of nodes: each is there only once, those of bodies included.
    outer
        The graph that this one is the body of a node in.
    inputs
        The inputs of the model, by name.
    sizes_of_inputs
        What free sizes of arrays without inputs are equal to, by array and axis: the name of an input, and its axis.
    """

    parameters: Mapping[str, np.ndarray]
    shapes: Mapping[Entry, Shape]
    types: Mapping[Entry, torch.dtype]
    opset: int
    tape: ir.tape.Tape = field(default_factory=ir.tape.Tape)
    scope: str = ""
    names: set[str] = field(default_factory=set)
    node_names: set[str] = field(default_factory=set)
    outer: GraphContext | None = None
    inputs: dict[str, ir.Value] = field(default_factory=dict)
    sizes_of_inputs: Mapping[tuple[Entry, int], InputSize] = field(default_factory=dict)

    def unique(self, name: str) -> str:
        """Return a name that no other value has, and take it."""
        return unique_name(f"{self.scope}{name}", self.names)

    def unique_node(self, name: str) -> str:
        """Return a name that no other node has, and take it."""
        return unique_name(f"{self.scope}{name}", self.node_names)

    def initializer(self, array: np.ndarray, name: str | None = None) -> ir.Value:
        """Write numbers that do not change; without a name it is a constant of a translation.

        Those of bodies are in the outermost graph, which all bodies see.
        """
        if self.outer is not None:
            return self.outer.initializer(array, name)
        name = self.unique("constant") if name is None else name
        return self.tape.initializer(ir.tensor(array, name=name), name=name)

    def body(
        self,
        node: Application,
        parameters: Mapping[str, np.ndarray],
        shapes: Mapping[Entry, Shape],
        types: Mapping[Entry, torch.dtype],
    ) -> GraphContext:
        """Return the context of a graph inside a node."""
        scope = f"{self.scope}{node.name}/"
        return GraphContext(
            parameters,
            shapes,
            types,
            self.opset,
            scope=scope,
            names=self.names,
            node_names=self.node_names,
            outer=self,
        )

    def refuse(self, node: Application, reason: str) -> MXNetError:
        """Return the error that a node cannot be exported, with the reason."""
        return node.locate(NotInONNX(f"cannot be exported to ONNX opset {self.opset}: {reason}"))
