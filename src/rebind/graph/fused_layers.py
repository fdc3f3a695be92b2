"""Layers that MXNet fused for oneDNN: nodes that hold the part of a graph that they stand for.

``symbol.get_backend_symbol('MKLDNN')`` of MXNet 1.x puts such nodes into a symbol, and `quantize_model` after
``'MKLDNN_QUANTIZE'`` makes quantized ones of them: these are what MXNet deploys in 8 bits on the CPU. A file that has
them loads here, and is saved as it was; the pass `open_fused_layers` says what they compute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..errors import ArgumentError, FormatError
from ..ops import Inference, Input, Kernels, Operator, Record, Shapes, Signature, Types
from ..ops.declaration import read_signature
from ..ops.quantization.conversion import calibrated_range, chosen_type
from ..params import Params
from .control_flow import Body, Flow
from .graph import Application, Graph, Node

__all__ = [
    "FROM_LEVELS", "FUSED_LAYERS", "FusedLayer", "fused_layer_operator", "has_quantized_layers", "is_fused_layer",
]  # fmt: skip

#: What a fused node begins with, by its operator's name.
_BEGIN: Mapping[str, str] = {
    "_sg_mkldnn_conv": "Convolution",
    "_sg_mkldnn_fully_connected": "FullyConnected",
}
_SUMS = ("elemwise_add", "broadcast_add")
#: What gives real numbers for levels, or levels for sums: no quantized network is without, fused ones aside.
FROM_LEVELS = ("_contrib_dequantize", "_contrib_requantize")


def _parameters(
    *data: Tensor,
    quantized: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    enable_float_output: bool = False,
) -> Tensor:
    """Parameters of such nodes in files that are not in their graph; the others remain attributes."""
    raise ArgumentError(
        "cannot be called: a fused layer is read from a symbol file, with the graph that it computes"
    )


#: The operators, by name, without a graph.
FUSED_LAYERS: Mapping[str, Operator] = {
    name: Operator(name, read_signature(_parameters), Kernels(_parameters)) for name in _BEGIN
}


def has_quantized_layers(graph: Graph) -> bool:
    """Return whether a graph has layers that take levels of 8 bits, fused or not.

    >>> import rebind as mx
    >>> has_quantized_layers(mx.sym.exp(mx.sym.var("x")).graph)
    False
    """
    return any(
        isinstance(node, Application)
        and (node.operator.name in FROM_LEVELS or (is_fused_layer(node.operator) and node.params.quantized))
        for node in graph.nodes
    )


def is_fused_layer(op: Operator) -> bool:
    """Return whether an operator is a layer that holds its graph.

    >>> from rebind.ops import find
    >>> is_fused_layer(find("Convolution"))
    False
    """
    return op.name in _BEGIN


class FusedLayer(NamedTuple):
    """A fused node's graph, and which of the node's inputs are what.

    Attributes
    ----------
    graph
        The graph; its variables are the first inputs of the node.
    layer
        The convolution or dense layer that it begins with.
    levels
        Of a quantized one, the variables that are levels, and the numbers of the two inputs that are the range of each.
    """

    graph: Graph
    layer: Application
    levels: Mapping[Node, tuple[int, int]]

    @property
    def ends_with_layer(self) -> bool:
        """Whether nothing but a batch norm follows the layer."""
        last = self.graph.outputs[0].node
        return last is self.layer or (last.operator is not None and last.operator.name == "BatchNorm")

    def out_type(self, p: Params) -> torch.dtype:
        """Return the type of a quantized node's result: uint8 where its graph ends in a rectifier."""
        if p.enable_float_output:
            return torch.float32
        if calibrated_range(p) is None:
            return torch.int32
        return torch.uint8 if self._ends_in_rectifier() else chosen_type("auto", p.min_calib_range)

    def _ends_in_rectifier(self) -> bool:
        node = self.graph.outputs[0].node
        if not isinstance(node, Application):
            return False
        if node.operator.name == "clip":
            return bool(node.params.a_min == 0)
        return node.operator.name == "relu" or node.params.get("act_type") == "relu"

    @classmethod
    def read(cls, name: str, p: Params, graphs: Sequence[Graph], inputs: int) -> FusedLayer:
        """Return what a node holds; FormatError where its graph and its inputs do not fit each other."""
        if len(graphs) != 1 or len(graphs[0].outputs) != 1:
            raise FormatError(f"must hold one subgraph with one output; got {len(graphs)} subgraphs")
        (graph,) = graphs
        nodes = [node for node in graph.nodes if isinstance(node, Application)]
        if not nodes or nodes[0].operator.name != _BEGIN[name]:
            raise FormatError(
                f"its subgraph must begin with {_BEGIN[name]}; got {nodes[0].operator.name if nodes else 'none'}"
            )
        layer, variables = nodes[0], graph.variables
        # Data first; then what is added to the result, or weight and bias where they are levels already.
        data, *weights = (entry.node for entry in layer.inputs)
        added = [
            entry.node
            for node in nodes
            if node.operator.name in _SUMS
            for entry in node.inputs
            if entry.node.is_variable
        ]
        choices = [[data, *added], [data, *weights]] if p.quantized else [[]]
        for levels in choices:
            if inputs == len(variables) + 2 * len(levels) and all(node.is_variable for node in levels):
                ranges = ((len(variables) + 2 * i, len(variables) + 2 * i + 1) for i in range(len(levels)))
                return cls(graph, layer, dict(zip(levels, ranges, strict=True)))
        wanted = " or ".join(str(len(variables) + 2 * len(levels)) for levels in choices)
        raise FormatError(f"must have {wanted} inputs for a subgraph of {len(variables)}; got {inputs}")


def fused_layer_operator(template: Operator, p: Params, graphs: Sequence[Graph], inputs: int) -> Operator:
    """Return the operator of one node.

    Parameters
    ----------
    template
        One of `FUSED_LAYERS`.
    p
        Its parameters.
    graphs
        What it holds.
    inputs
        How many inputs the node has.

    Raises
    ------
    FormatError
        When graph and inputs do not fit each other.

    Examples
    --------
    >>> import rebind as mx
    >>> graph = mx.sym.relu(mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")).graph
    >>> template = FUSED_LAYERS["_sg_mkldnn_fully_connected"]
    >>> fused_layer_operator(template, template.parse({}), [graph], inputs=3).signature.input_names
    ('arg0', 'arg1', 'arg2')
    """
    held = FusedLayer.read(template.name, p, graphs, inputs)
    names = tuple(f"arg{i}" for i in range(inputs))
    states = {i for i, node in enumerate(held.graph.variables) if node in held.graph.auxiliary}
    outputs: tuple[str, ...] = ("output",)
    if p.quantized and not p.enable_float_output:
        outputs = ("output", "min_output", "max_output")
        if template.name == "_sg_mkldnn_conv":
            outputs = ("output", "output_min", "output_max")  # 1.9.1 calls them so
    rules = _Rules(held, p, names, outputs)
    return Operator(
        template.name,
        Signature(
            tuple(Input(name, auxiliary=i in states) for i, name in enumerate(names)),
            template.signature.parameters,
        ),
        # The states are read only.
        Kernels(rules.on_meta, writes_aux=True),
        Inference(
            rules.fill_shapes, types=dict.fromkeys((*names, *outputs), "any"), types_rule=rules.fill_types
        ),
        Record(outputs),
        subgraphs=tuple(graphs),
    )


class _Rules:
    """What shapes and types go through a node: those of its graph, and those of levels and their ranges."""

    def __init__(self, held: FusedLayer, p: Params, names: Sequence[str], outputs: Sequence[str]) -> None:
        self._held, self._p, self._names, self._outputs = held, p, names, outputs
        count = len(held.graph.variables)
        sources = tuple((i, False) for i in range(count))
        self._flow = Flow([Body(held.graph, sources, ((0, False, None),), None)], names[:count], 1)
        self._ends = names[count:]

    def fill_shapes(self, shapes: Shapes, p: Params) -> Shapes:
        """Return the shapes of inputs, as far as they follow."""
        return {**self._flow.fill_shapes(shapes, p), **dict.fromkeys(self._ends, (1,))}

    def fill_types(self, types: Types, p: Params) -> Types:
        """Return the types of inputs and outputs."""
        if not self._p.quantized:
            return self._flow.fill_types(types, p)
        variables = self._held.graph.variables
        found: dict[str, torch.dtype | None] = dict.fromkeys((*self._names, *self._outputs), torch.float32)
        data, *others = self._held.levels
        weights = {entry.node for entry in self._held.layer.inputs[1:]}
        for variable in (data, *others):
            name = self._names[variables.index(variable)]
            # Levels of data are of the type that they come in.
            found[name] = torch.int8 if variable in weights else types.get(name)
        found["output"] = self._held.out_type(self._p)
        return found

    def on_meta(self, *tensors: Tensor, **parameters: Any) -> Any:
        """Return outputs without content."""
        body = tensors[: len(self._held.graph.variables)]
        if not self._p.quantized:
            return self._flow.on_meta(*body)
        # The graph itself counts in real numbers.
        out = self._flow.on_meta(*(tensor.float() for tensor in body)).to(self._held.out_type(self._p))
        end = out.new_empty((1,), dtype=torch.float32)
        return out if len(self._outputs) == 1 else (out, end, end.clone())
