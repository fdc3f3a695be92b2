"""From a graph to ONNX's: variables become inputs and initializers, and each node what its translation writes."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from ..._version import __version__
from ...dtypes import DTypeLike
from ...errors import MXNetError
from ...graph import Application, Entry, Graph, Node, infer_shapes, infer_types
from ...ndarray import NDArray
from ...shapes import Shape
from ...symbol import Symbol
from .context import GraphContext
from .node_writer import NodeWriter, onnx_type
from .translations import TRANSLATIONS

__all__ = ["DEFAULT_OPSET", "to_onnx"]

#: With IR 8 what phones' converters and all runtimes of the last years read.
DEFAULT_OPSET = 17
#: The oldest IR version that may hold an opset.
_IR_VERSIONS = {
    13: 7,
    14: 7,
    15: 8,
    16: 8,
    17: 8,
    18: 8,
    19: 9,
    20: 9,
    21: 10,
    22: 10,
    23: 11,
    24: 12,
    25: 13,
    26: 13,
}


def to_onnx(
    symbol: Symbol,
    params: Mapping[str, NDArray],
    shapes: Mapping[str, Shape],
    types: Mapping[str, DTypeLike] | None = None,
    *,
    opset: int = DEFAULT_OPSET,
) -> ir.Model:
    """Return a network as an ONNX model.

    Parameters
    ----------
    symbol
        The network.
    params
        Parameters and auxiliary states by name, as in a checkpoint.
    shapes
        The shapes of the inputs; 0 where a size is free, such as that of the batch.
    types
        The types of inputs that are not float32.
    opset
        The version of ONNX's operators, 13 to 26.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.Activation(mx.sym.var("data"), act_type="relu", name="relu")
    >>> model = to_onnx(net, {}, {"data": (0, 3)})
    >>> [(node.name, node.op_type) for node in model.graph], model.graph.outputs[0].name
    ([('relu', 'Relu')], 'relu_output')
    """
    if opset not in _IR_VERSIONS:
        raise MXNetError(
            f"to_onnx: opset must be from {min(_IR_VERSIONS)} to {max(_IR_VERSIONS)}; got {opset}"
        )
    graph = symbol.graph
    _check_operators(graph)
    arrays = {name: value.asnumpy() for name, value in params.items()}
    given_types: dict[str, DTypeLike | None] = {name: value.dtype for name, value in params.items()}
    known_types = infer_types(graph, given_types | dict(types or {})).entries
    given_shapes = {name: value.shape for name, value in arrays.items()} | dict(shapes)
    known_shapes = infer_shapes(graph, given_shapes, known_types).entries
    context = GraphContext(arrays, known_shapes, known_types, opset)
    return ir.Model(
        GraphWriter(graph, context).write(),
        ir_version=_IR_VERSIONS[opset],
        producer_name="rebind",
        producer_version=__version__,
    )


def _check_operators(graph: Graph) -> None:
    used = {node.operator.name for node in graph.nodes if isinstance(node, Application)}
    if missing := sorted(used - TRANSLATIONS.keys()):
        raise MXNetError(f"to_onnx: ONNX cannot say the operators {', '.join(missing)}")


class GraphWriter:
    """Writes one graph."""

    def __init__(self, graph: Graph, context: GraphContext) -> None:
        self._graph = graph
        self._context = context
        self._values: dict[Entry, ir.Value] = {}
        self._inputs: list[ir.Value] = []

    def write(self) -> ir.Graph:
        """Write all nodes, and return the graph."""
        for node in self._graph.nodes:
            if isinstance(node, Application):
                self._apply(node)
            else:
                self._values[Entry(node)] = self._variable(node)
        return ir.Graph(
            self._inputs,
            [self._values[entry] for entry in self._graph.outputs],
            nodes=self._context.tape.nodes,
            initializers=self._context.tape.initializers,
            opset_imports={"": self._context.opset},
            name="rebind",
        )

    def _variable(self, node: Node) -> ir.Value:
        context = self._context
        if node.name in context.parameters:
            return context.initializer(context.parameters[node.name], node.name)
        value = ir.val(node.name)
        self._describe(value, Entry(node))
        self._inputs.append(value)
        return value

    def _apply(self, node: Application) -> None:
        before = len(self._context.tape.nodes)
        given = [self._values[entry] for entry in node.inputs]
        arguments = node.operator.signature.arguments(node.params, given)
        result = TRANSLATIONS[node.operator.name](NodeWriter(self._context, node), *arguments)
        outputs = [result] if isinstance(result, ir.Value) else result
        written = self._context.tape.nodes[before:]
        for i, each in enumerate(written):  # the last is the symbol's node, those before prepare its inputs
            each.name = node.name if each is written[-1] else f"{node.name}/{each.op_type}_{i}"
        for i, value in enumerate(outputs):
            entry = Entry(node, i)
            self._values[entry] = value
            if value.producer() in written:
                value.name = entry.name
                self._describe(value, entry)

    def _describe(self, value: ir.Value, entry: Entry) -> None:
        """Write down the type and the shape of a value; free sizes have the names of the input and the axis."""
        shape = self._context.shapes.get(entry)
        if shape is not None:
            value.shape = ir.Shape([size or f"{entry.name}_{axis}" for axis, size in enumerate(shape)])
        value.type = ir.TensorType(onnx_type(self._context.types[entry]))
