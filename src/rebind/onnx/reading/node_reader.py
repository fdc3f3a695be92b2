"""What one node of ONNX is read with: its attributes, its inputs, and MXNet's operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from ...errors import MXNetError
from ...symbol import Symbol, generated
from .element_types import ARRAY_TYPES, FLOATS, NARROW
from .values import ReadGraph, Shape, Size, Value

__all__ = ["NodeReader"]


class NodeReader:
    """Reads one node of ONNX as nodes of a symbol.

    Attributes
    ----------
    node
        The node.
    name
        Its name, or that of its first output.
    opset
        The version of ONNX's operators.
    graph
        What reads the graph that the node is in.
    """

    def __init__(self, graph: ReadGraph, node: ir.Node) -> None:
        self.graph = graph
        self.node = node
        self.opset = graph.opset(node)
        self.name = node.name or next((output.name for output in node.outputs if output.name), node.op_type)
        self._count = 0

    # Attributes

    def attribute(self, name: str, default: Any) -> Any:
        """Return an attribute; floats, integers, texts and lists as Python's."""
        attribute = self.node.attributes.get(name)
        if attribute is None:
            return default
        value: Any = attribute.value
        if isinstance(value, tuple):
            value = list(value)
        return value

    def required(self, name: str) -> Any:
        """Return an attribute that must be there."""
        if name not in self.node.attributes:
            raise self.refuse(f"attribute {name!r} must be given; it is missing")
        return self.attribute(name, None)

    # Inputs

    def __len__(self) -> int:
        return len(self.node.inputs)

    def has(self, index: int) -> bool:
        """Say whether an optional input is there."""
        return index < len(self.node.inputs) and self.node.inputs[index] is not None

    def input(self, index: int) -> Symbol:
        """Return an input as a symbol; a constant becomes a parameter."""
        return self.graph.symbol(self._value(index))

    def optional(self, index: int) -> Symbol | None:
        """Return an input as a symbol, or None where it is absent."""
        return self.input(index) if self.has(index) else None

    def inputs(self) -> list[Symbol]:
        """Return all inputs as symbols."""
        return [self.input(i) for i in range(len(self))]

    def constant(self, index: int) -> np.ndarray | None:
        """Return the numbers of an input that are known before the network runs; None where they are not."""
        if not self.has(index):
            return None
        numbers = self.graph.value(self._value(index)).numbers
        return None if numbers is None or numbers.dtype == object else numbers

    def numbers(self, index: int, what: str) -> np.ndarray:
        """Return the numbers of an input that must be known; they may hold free sizes."""
        value = self._value(index)
        numbers = self.graph.value(value).numbers
        if numbers is None:
            raise self.graph.unknown(self.refuse, value, what)
        return numbers

    def ints(self, index: int, what: str) -> list[int]:
        """Return an input that must be known as a list of integers."""
        numbers = self.numbers(index, what)
        if numbers.dtype == object and not all(isinstance(n, int) for n in numbers.reshape(-1)):
            raise self.refuse(
                f"{what} must not depend on free (dynamic) sizes; got {list(map(str, numbers.reshape(-1)))}"
            )
        return [int(n) for n in numbers.reshape(-1)]

    def sizes(self, index: int, what: str) -> list[Size]:
        """Return an input that must be known as a list of sizes, which may be free."""
        return [n if isinstance(n, ir.SymbolicDim) else int(n) for n in self.numbers(index, what).reshape(-1)]

    def attribute_or_input(self, name: str, index: int, since: int) -> list[int] | None:
        """Return integers that are an attribute before a version, and an input from it on."""
        if self.opset < since:
            return self.attribute(name, None)
        return self.ints(index, name) if self.has(index) else None

    # What is known of values

    def shape(self, index: int = 0) -> Shape:
        """Return the shape of an input: sizes, symbols for free ones; None where nothing is known."""
        return self.graph.shape(self._value(index))

    def known_shape(self, index: int = 0) -> list[int]:
        """Return the shape of an input, which must be known whole."""
        shape = self.shape(index)
        if shape is None or not all(isinstance(size, int) for size in shape):
            raise self.refuse(f"the shape of input {index} must be known; got {shape}")
        return [size for size in shape if isinstance(size, int)]

    def rank(self, index: int = 0) -> int:
        """Return how many axes an input has, which must be known."""
        shape = self.shape(index)
        if shape is None:
            raise self.refuse(
                f"the number of axes of input {index} ({self._value(index).name!r}) must be known"
            )
        return len(shape)

    def dtype(self, index: int = 0) -> str:
        """Return the type of an input's array."""
        return self.type_name(self._value(index).dtype)

    def output_dtype(self, index: int = 0) -> str:
        """Return the type of an output's array."""
        return self.type_name(self.node.outputs[index].dtype)

    def type_name(self, dtype: Any) -> str:
        """Return the type of arrays for one of ONNX's types, a number or as onnx-ir has it."""
        if dtype is None:
            raise self.refuse("the types of its inputs must be known")
        found = ir.DataType(dtype)
        if found not in ARRAY_TYPES:
            raise self.refuse(f"MXNet has no arrays of type {found.name.lower()}")
        return ARRAY_TYPES[found]

    def onnx_type(self, index: int = 0) -> ir.DataType:
        """Return ONNX's type of an input, which must be known."""
        dtype = self._value(index).dtype
        self.type_name(dtype)
        assert dtype is not None
        return dtype

    def is_float(self, index: int = 0) -> bool:
        """Say whether an input has a floating type."""
        return self.dtype(index) in FLOATS

    def wanted(self, output: int) -> bool:
        """Say whether an output has a name and is used."""
        if output >= len(self.node.outputs):
            return False
        value = self.node.outputs[output]
        return bool(value.name) and bool(value.uses() or value.is_graph_output())

    # Writing

    def op(self, kind: str, /, *inputs: Symbol | None, **params: Any) -> Any:
        """Apply an operator of MXNet; inputs that are None are left out, and so are such parameters."""
        self._count += 1
        given = {name: value for name, value in params.items() if value is not None}
        name = f"{self.name}_{kind.strip('_').lower()}{self._count}"
        return getattr(generated, kind)(*[each for each in inputs if each is not None], name=name, **given)

    def parameter(self, array: np.ndarray, suffix: str) -> Symbol:
        """Return a variable for numbers that are made from constants of the file, such as packed weights."""
        return self.graph.parameter(array, f"{self.name}_{suffix}", trained=True)

    def fixed(self, array: np.ndarray, suffix: str = "constant") -> Symbol:
        """Return numbers that are no parameters: training does not change them."""
        return self.graph.parameter(array, f"{self.name}_{suffix}", trained=False)

    def cast(self, data: Symbol, dtype: str) -> Symbol:
        """Convert to a type of MXNet."""
        return self.op("Cast", data, dtype=dtype)

    def convert(self, data: Symbol, dtype: str, to: ir.DataType, **how: Any) -> Symbol:
        """Convert data of the type `dtype` to one of ONNX, which MXNet may lack; `how` says it of floats."""
        wide = self.type_name(to)
        if to not in NARROW:
            return self.cast(data, wide)
        # Of float64 it is rounded once, and not to float32 before.
        before = "float64" if wide == "float32" and dtype == "float64" else wide
        found = self.narrow(data if dtype == before else self.cast(data, before), to, **how)
        return found if before == wide else self.cast(found, wide)

    def narrow(self, data: Symbol, to: ir.DataType, **how: Any) -> Symbol:
        """Bring numbers in an array of a wider type into the range of their own."""
        return self.op("_onnx_cast_through", data, kind=NARROW[to], **how)

    def reshape(self, data: Symbol, shape: Sequence[int]) -> Symbol:
        """Give another shape, in MXNet's codes; a shape without axes is one of one element, as in MXNet."""
        return self.op("Reshape", data, shape=tuple(shape) or (1,))

    def transpose(self, data: Symbol, axes: Sequence[int]) -> Symbol:
        """Order the axes; an order that changes nothing writes nothing."""
        if list(axes) == list(range(len(axes))):
            return data
        return self.op("transpose", data, axes=tuple(axes))

    def axis(self, axis: int, index: int = 0) -> int:
        """Return an axis of an input, counted from the start."""
        if axis >= 0:
            return axis
        return axis + self.rank(index)

    def refuse(self, reason: str) -> MXNetError:
        """Return the error that this node cannot be read, with the reason."""
        return MXNetError(f"import_model: {self.node.op_type} {self.name!r}: {reason}")

    def body(self, name: str) -> ir.Graph:
        """Return a graph that is an attribute."""
        return self.required(name)

    def read_body(self, graph: ir.Graph, inputs: Sequence[Symbol], shapes: Sequence[Shape]) -> list[Symbol]:
        """Read a body on symbols for its inputs, whose shapes are as `shapes` says, and return its outputs."""
        return self.graph.read_body(graph, inputs, shapes)

    def value(self, index: int) -> Value:
        """Return all that is known of an input."""
        return self.graph.value(self._value(index))

    def _value(self, index: int) -> ir.Value:
        value = self.node.inputs[index] if index < len(self.node.inputs) else None
        if value is None:
            raise self.refuse(f"input {index} must be given; it is missing")
        return value
