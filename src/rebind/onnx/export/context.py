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

__all__ = ["GraphContext"]


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
    """

    parameters: Mapping[str, np.ndarray]
    shapes: Mapping[Entry, Shape]
    types: Mapping[Entry, torch.dtype]
    opset: int
    tape: ir.tape.Tape = field(default_factory=ir.tape.Tape)

    def initializer(self, array: np.ndarray, name: str | None = None) -> ir.Value:
        """Write numbers that do not change; without a name it is a constant of a translation."""
        name = name or f"constant_{len(self.tape.initializers)}"
        return self.tape.initializer(ir.tensor(array, name=name), name=name)

    def refuse(self, node: Application, reason: str) -> MXNetError:
        """Return the error that ONNX cannot say a node."""
        return node.locate(MXNetError(f"it cannot be said in ONNX's opset {self.opset}: {reason}"))
