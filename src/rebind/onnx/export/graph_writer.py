"""From a graph to ONNX's: variables become inputs and initializers, and each node what its translation writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx_ir as ir
import torch
from onnx_ir.passes.common import RemoveUnusedNodesPass, ShapeInferencePass

from ..._version import __version__
from ...dtypes import DTypeLike
from ...errors import MXNetError
from ...graph import Application, Entry, Graph, Node, depth_first, infer_shapes, infer_types
from ...graph.control_flow import counted_constants
from ...graph.facts import Facts, Target
from ...graph.passes.open_fused_layers import open_fused_layers
from ...ndarray import NDArray
from ...shapes import Shape
from ...symbol import Symbol
from .context import GraphContext, NotInONNX
from .free_sizes import sizes_of_inputs
from .node_writer import NodeWriter
from .operator_writer import onnx_type
from .translations import REASONS, TRAINING_INPUTS, TRANSLATIONS

__all__ = ["DEFAULT_OPSET", "to_onnx", "write_nodes"]

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
    shapes: Mapping[str, Sequence[int | str]],
    types: Mapping[str, DTypeLike] | None = None,
    *,
    opset: int = DEFAULT_OPSET,
) -> ir.Model:
    """Return a network as an ONNX model.

    Nodes and values have the symbol's names (``fc1``, ``fc1_output``). Labels, and what else inference does not read,
    are left out.

    Parameters
    ----------
    symbol
        The network.
    params
        Parameters and auxiliary states by name, as in a checkpoint.
    shapes
        The shapes of the inputs; 0 where a size is free, such as that of the batch, or a name for it: sizes of one
        name are equal.
    types
        The types of inputs that are not float32.
    opset
        The version of ONNX's operators, 13 to 26.

    Raises
    ------
    MXNetError
        When a node cannot be exported; the error lists all such nodes, with reasons.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.Activation(mx.sym.var("data"), act_type="relu", name="relu")
    >>> model = to_onnx(net, {}, {"data": ("batch", 3)})
    >>> [(node.name, node.op_type) for node in model.graph], model.graph.outputs[0].name
    ([('relu', 'Relu')], 'relu_output')
    >>> print(model.graph.outputs[0].shape)
    [batch,3]
    """
    if opset not in _IR_VERSIONS:
        raise MXNetError(
            f"to_onnx: opset must be from {min(_IR_VERSIONS)} to {max(_IR_VERSIONS)}; got {opset}"
        )
    # Layers that MXNet fused are opened: they are not the user's nodes either.
    graph, _ = open_fused_layers(symbol.graph, Facts(), Target())
    _check_operators(graph)
    context = _context(graph, params, shapes, types or {}, opset)
    model = ir.Model(
        _write(graph, context, shapes),
        ir_version=_IR_VERSIONS[opset],
        producer_name="rebind",
        producer_version=__version__,
    )
    RemoveUnusedNodesPass()(model)
    for value in [value for value in model.graph.inputs if not value.uses()]:
        if value not in model.graph.outputs:
            model.graph.inputs.remove(value)
    # It carries the names of free sizes from the inputs to the outputs. A strict one takes lists of integers for
    # shapes, and stops where those do not broadcast, in models that are right.
    ShapeInferencePass(strict_mode=False)(model)
    return model


def _context(
    graph: Graph,
    params: Mapping[str, NDArray],
    shapes: Mapping[str, Sequence[int | str]],
    types: Mapping[str, DTypeLike],
    opset: int,
) -> GraphContext:
    arrays = {name: value.asnumpy() for name, value in params.items()}
    for name, number in _counted_as_numbers(graph).items():
        if name in arrays:
            arrays[name] = np.full_like(arrays[name], number)
    known_types = _types(graph, {name: value.dtype for name, value in params.items()} | dict(types))
    sizes = {
        name: tuple(0 if isinstance(size, str) else size for size in shape) for name, shape in shapes.items()
    }
    given_shapes = {name: value.shape for name, value in arrays.items()} | sizes

    def infer(given: Mapping[str, Shape]) -> Mapping[Entry, Shape]:
        return infer_shapes(graph, given, known_types).entries

    known_shapes = infer(given_shapes)
    free = sizes_of_inputs(_read_in_inference(graph), given_shapes, known_shapes, infer)
    return GraphContext(arrays, known_shapes, known_types, opset, sizes_of_inputs=free)


def _counted_as_numbers(graph: Graph) -> dict[str, float]:
    """Return the variables that all readers take as a fixed number, whatever they hold: gamma with `fix_gamma`."""
    counted = counted_constants(graph)
    for node in _applications(graph):
        constants = node.operator.kernels.constants
        numbers = {} if constants is None else constants(node.params)
        for name, entry in zip(node.input_names, node.inputs, strict=True):
            if name not in numbers:
                counted.pop(entry.node, None)
    return {node.name: number for node, number in counted.items()}


def _types(graph: Graph, given: Mapping[str, DTypeLike | None]) -> Mapping[Entry, torch.dtype]:
    """Return the types of all entries; what neither was given nor follows is float32."""
    known = infer_types(graph, given).entries
    open_variables = [node.name for node in graph.variables if Entry(node) not in known]
    known = infer_types(graph, dict.fromkeys(open_variables, "float32") | dict(given)).entries
    return dict.fromkeys(_entries(graph), torch.float32) | dict(known)


def _entries(graph: Graph) -> Iterator[Entry]:
    for node in graph.nodes:
        yield from node.outputs if isinstance(node, Application) else [Entry(node)]


def _check_operators(graph: Graph) -> None:
    """Raise an error that lists all nodes whose operators have no translation."""
    missing: dict[str, list[str]] = {}
    for node in _applications(graph):
        if node.operator.name not in TRANSLATIONS:
            missing.setdefault(node.operator.name, []).append(repr(node.name))
    if missing:
        lines = [
            f"{operator} ({', '.join(nodes)}): {REASONS.get(operator, 'ONNX has no equivalent')}"
            for operator, nodes in sorted(missing.items())
        ]
        raise NotInONNX("\n  ".join(["to_onnx: these operators cannot be exported to ONNX:", *lines]))


def _applications(graph: Graph) -> Iterator[Application]:
    """Yield the nodes that inference reads, those of bodies included."""
    for node in _read_in_inference(graph):
        if isinstance(node, Application):
            yield node
            for body in node.operator.subgraphs:
                yield from _applications(body)


def _read_in_inference(graph: Graph) -> list[Node]:
    """Return the nodes of a graph, each after its inputs, without those that only make labels and the like."""

    def sources(node: Node) -> list[Node]:
        return [
            entry.node
            for name, entry in zip(node.input_names, node.inputs, strict=True)
            if name not in _training_inputs(node)
        ]

    return depth_first((entry.node for entry in graph.outputs), sources)


def _training_inputs(node: Node) -> frozenset[str]:
    return frozenset() if node.operator is None else TRAINING_INPUTS.get(node.operator.name, frozenset())


def _write(graph: Graph, context: GraphContext, shapes: Mapping[str, Sequence[int | str]]) -> ir.Graph:
    inputs: list[ir.Value] = []
    values: dict[Entry, ir.Value] = {}
    for node in _read_in_inference(graph):
        if not isinstance(node, Application):
            value = values[Entry(node)] = _variable(node, context, shapes.get(node.name, ()))
            if value.name not in context.parameters:
                inputs.append(value)
                context.inputs[node.name] = value
    values = write_nodes(graph, context, values)
    return ir.Graph(
        inputs,
        _outputs(graph, context, values),
        nodes=context.tape.nodes,
        initializers=context.tape.initializers,
        opset_imports={"": context.opset},
        name="rebind",
    )


def _variable(node: Node, context: GraphContext, names: Sequence[int | str]) -> ir.Value:
    """Return an initializer or an input; free sizes of inputs have the given names, or the axis' number in theirs."""
    context.names.add(node.name)
    if node.name in context.parameters:
        return context.initializer(np.ascontiguousarray(context.parameters[node.name]), node.name)
    value = ir.val(node.name)
    _describe(value, Entry(node), context)
    if value.shape is not None:
        given = names or (0,) * len(value.shape)
        value.shape = ir.Shape(
            [
                size if isinstance(size, int) else (name or f"{node.name}_{axis}")
                for axis, (size, name) in enumerate(zip(value.shape, given, strict=True))
            ]
        )
    return value


def _outputs(graph: Graph, context: GraphContext, values: Mapping[Entry, ir.Value]) -> list[ir.Value]:
    """Return the values of the outputs; one that another value is behind gets a copy, for its name's sake."""
    outputs: list[ir.Value] = []
    for entry in graph.outputs:
        value = values[entry]
        if value in outputs or (value.producer() is None and isinstance(entry.node, Application)):
            value = context.tape.op("Identity", [value], name=context.unique_node(entry.node.name))
            value.name = context.unique(entry.name)
            _describe(value, entry, context)
        outputs.append(value)
    return outputs


def write_nodes(
    graph: Graph, context: GraphContext, values: Mapping[Entry, ir.Value]
) -> dict[Entry, ir.Value]:
    """Write the nodes of a graph and return the values of all entries; `values` are those of its variables."""
    written = dict(values)
    refused: list[str] = []
    for node in _read_in_inference(graph):
        if isinstance(node, Application):
            try:
                outputs = _apply(node, context, written)
            except NotInONNX as error:  # the others are still tried: one error names all
                refused.append(str(error))
                outputs = [ir.val(entry.name) for entry in node.outputs]
            written.update(zip(node.outputs, outputs, strict=False))
    if refused:
        raise NotInONNX("\n  ".join(refused))
    return written


def _apply(node: Application, context: GraphContext, values: Mapping[Entry, ir.Value]) -> list[ir.Value]:
    """Write one node; the last that its translation writes has the symbol's name, and its outputs the symbol's."""
    before = len(context.tape.nodes)
    ignored = _training_inputs(node)
    given = [
        None if name in ignored else values[entry]
        for name, entry in zip(node.input_names, node.inputs, strict=True)
    ]
    arguments = node.operator.signature.arguments(node.params, given)
    result = TRANSLATIONS[node.operator.name](NodeWriter(context, node), *arguments)
    outputs = [result] if isinstance(result, ir.Value) else list(result)
    written = context.tape.nodes[before:]
    if written:
        written[-1].name = context.unique_node(node.name)
    for entry, value in zip(node.outputs, outputs, strict=False):
        if value.producer() in written:
            value.name = context.unique(entry.name)
            _describe(value, entry, context)
    return outputs


def _describe(value: ir.Value, entry: Entry, context: GraphContext) -> None:
    """Write down the type and the shape of a value, as far as it is known."""
    shape = context.shapes.get(entry)
    if shape is not None:
        value.shape = ir.Shape([size or None for size in shape])
    value.type = ir.TensorType(onnx_type(context.types[entry]))
