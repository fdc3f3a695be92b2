"""What a translation writes with: ONNX's operators, and what is known of one node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import torch

from ...dtypes import numpy_type
from ...graph import Application, Entry
from ...params import Params
from ...shapes import Shape
from .context import GraphContext

__all__ = ["NodeWriter", "onnx_type"]


def onnx_type(dtype: torch.dtype) -> ir.DataType:
    """Return ONNX's name of a type.

    >>> onnx_type(torch.float16).name
    'FLOAT16'
    """
    if dtype == torch.bfloat16:
        return ir.DataType.BFLOAT16
    return ir.DataType.from_numpy(np.dtype(numpy_type(dtype)))


class NodeWriter:
    """Writes one node of the symbol as nodes of ONNX.

    Attributes
    ----------
    node, params
        The node, and its parsed parameters.
    opset
        The version of ONNX's operators that are written.
    """

    def __init__(self, graph: GraphContext, node: Application) -> None:
        self.graph = graph
        self.node = node
        self.params: Params = node.params
        self.opset = graph.opset

    def op(self, kind: str, *inputs: ir.Value | None, **attributes: Any) -> ir.Value:
        """Write an operator of one output, and return that; an attribute that is None is left out."""
        return self.graph.tape.op(kind, _without_absent(inputs), _attributes(attributes))

    def op_of_many(
        self, kind: str, outputs: int, *inputs: ir.Value | None, **attributes: Any
    ) -> Sequence[ir.Value]:
        """Write an operator of several outputs."""
        return self.graph.tape.op_multi_out(
            kind, _without_absent(inputs), _attributes(attributes), num_outputs=outputs
        )

    def constant(self, value: object, dtype: torch.dtype | np.dtype | type | None = None) -> ir.Value:
        """Return a constant; a number of Python's is of the type of the node's first input, or as `dtype` says."""
        if isinstance(dtype, torch.dtype):
            array = np.asarray(value, numpy_type(dtype))
        else:
            array = np.asarray(value, dtype)
        return self.graph.initializer(array)

    def ints(self, values: Sequence[int] | int) -> ir.Value:
        """Return a constant of 64-bit integers: axes, shapes, repeats."""
        return self.constant(values, np.int64)

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
        return self.graph.parameters.get(self.entry(index).name)

    def refuse(self, reason: str) -> Exception:
        """Return the error that ONNX cannot say this node, with the reason."""
        return self.graph.refuse(self.node, reason)

    def _shape(self, entry: Entry) -> Shape:
        found = self.graph.shapes.get(entry)
        if found is None:
            raise self.refuse(
                f"the number of axes of {entry.name!r} must be known; give the shapes of all inputs"
            )
        return found


def _without_absent(inputs: Sequence[ir.Value | None]) -> list[ir.Value | None]:
    """Return inputs without the absent ones at their end."""
    found = list(inputs)
    while found and found[-1] is None:
        found.pop()
    return found


def _attributes(given: dict[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, (list, tuple)) else value
        for name, value in given.items()
        if value is not None
    }
