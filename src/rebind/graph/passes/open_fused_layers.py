"""Layers that MXNet fused as the nodes that they stand for; quantized ones in real numbers, between levels."""

from __future__ import annotations

from collections.abc import Mapping

from ... import dtypes
from ...ops.nn.inference_layers import FOLD_BATCH_NORM
from ...ops.quantization.conversion import calibrated_range
from ...ops.quantization.inference_layers import AS_SUMS, HOLD_ON_LEVELS
from ..facts import Facts, Target
from ..fused_layers import FusedLayer, is_fused_layer
from ..graph import Application, Entry, Graph, Node
from .fold_batch_norm import folded_weights
from .level_ranges import known_ends
from .substitution import application, substitute, with_weights

__all__ = ["has_fused_layers", "open_fused_layers"]


def has_fused_layers(graph: Graph) -> bool:
    """Whether a graph has layers that MXNet fused.

    >>> import rebind as mx
    >>> has_fused_layers(mx.sym.var("x").graph)
    False
    """
    return any(isinstance(node, Application) and is_fused_layer(node.operator) for node in graph.nodes)


def open_fused_layers(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Put the nodes of its graph in the place of each fused layer.

    A quantized layer takes its data from levels to real numbers, computes with weights held to levels of each filter,
    and takes the result to levels of its calibrated range. Other passes then do that in whole numbers where they can.

    >>> import rebind as mx
    >>> graph = mx.sym.exp(mx.sym.var("x")).graph
    >>> open_fused_layers(graph, Facts(), Target())[0] is graph
    True
    """
    instead: dict[Entry, Entry] = {}
    for node in graph.nodes:
        if isinstance(node, Application) and is_fused_layer(node.operator):
            held = FusedLayer.read(node.operator.name, node.params, node.operator.subgraphs, len(node.inputs))
            instead |= (
                _quantized(graph, node, held)
                if node.params.quantized
                else {Entry(node): _inlined(node, held, {})}
            )
    if not instead:
        return graph, facts
    graph, replaced = substitute(graph, instead)
    return graph, facts.after(replaced)


def _inlined(node: Application, held: FusedLayer, values: Mapping[Entry, Entry]) -> Entry:
    """Return what the node's graph computes, with its inputs for the variables, and with `values` for some entries."""
    new = {Entry(variable): entry for variable, entry in zip(held.graph.variables, node.inputs, strict=False)}
    new |= values
    # A monitor sees a result under the name that the symbol has for it.
    gives_levels = node.params.quantized and not node.params.enable_float_output
    named = None if gives_levels else held.graph.outputs[0].node
    for inner in held.graph.nodes:
        if isinstance(inner, Application) and Entry(inner) not in values:
            made = Application(
                inner.operator,
                node.name if inner is named else inner.name,
                tuple(new[entry] for entry in inner.inputs),
                inner.params,
                inner.given,
                {**node.attributes, **inner.attributes},
            )
            new |= {Entry(inner, i): Entry(made, i) for i in range(len(made.output_names))}
    return new[held.graph.outputs[0]]


def _quantized(graph: Graph, node: Application, held: FusedLayer) -> dict[Entry, Entry]:
    """Return what stands for the outputs of a quantized layer."""
    given = dict(zip(held.graph.variables, node.inputs, strict=False))
    values: dict[Entry, Entry] = {}
    for variable in held.levels:
        inputs = (given[variable], *_ends(node, held, variable))
        real = application("_contrib_dequantize", f"{node.name} {variable.name}", inputs, node.attributes)
        values[Entry(variable)] = Entry(real)
    layer, norm = held.layer, _norm_after(held)
    data, *others = layer.inputs
    if others[0].node in held.levels:
        of_weight = _ends(node, held, others[0].node)
    else:  # its levels are found here, for each filter
        weights = [given[entry.node] for entry in others]
        if norm is not None:
            # Levels are those of both together.
            parameters = [given[entry.node] for entry in norm.inputs[1:]]
            weights = folded_weights(FOLD_BATCH_NORM, layer, norm, weights, parameters, node.attributes)
        made = Entry(_layer(node, held, values[data], weights))
        values |= {Entry(each): made for each in (layer, norm) if each is not None}
        of_weight = weights[:1]
    out, p = _inlined(node, held, values), node.params
    if p.enable_float_output:
        return {Entry(node): out}
    calibrated = calibrated_range(p)
    if calibrated is None:
        inputs = (out, given[data.node], *_ends(node, held, data.node), *of_weight)
        params = AS_SUMS.parse({"has_range": len(of_weight) == 2})
        sums = Application(AS_SUMS, node.name, inputs, params, attributes=node.attributes)
        return {Entry(node, i): Entry(sums, i) for i in range(3)}
    levels = application(
        "_contrib_quantize_v2",
        node.name,
        [out],
        node.attributes,
        out_type=dtypes.name(held.out_type(p)),
        min_calib_range=p.min_calib_range,
        max_calib_range=p.max_calib_range,
    )
    # The range is the calibrated one as it is, also for int8.
    return {Entry(node): Entry(levels), **known_ends(graph, node, calibrated)}


def _ends(node: Application, held: FusedLayer, variable: Node) -> list[Entry]:
    """Return the range of levels."""
    return [node.inputs[end] for end in held.levels[variable]]


def _norm_after(held: FusedLayer) -> Application | None:
    """Return the batch norm that follows the layer, if one does."""
    for node in held.graph.nodes:
        if isinstance(node, Application) and node.operator.name == "BatchNorm":
            return node if node.inputs[0].node is held.layer else None
    return None


def _layer(node: Application, held: FusedLayer, data: Entry, weights: list[Entry]) -> Application:
    """Return the layer with its weight held to levels; with a bias where a batch norm gave it one."""
    layer, (weight, *bias), p = held.layer, weights, node.params
    # Sums have one scale, and so have all filters then.
    params = HOLD_ON_LEVELS.parse({"whole": not p.enable_float_output and calibrated_range(p) is None})
    name = f"{layer.name} on levels"
    on_levels = Application(HOLD_ON_LEVELS, name, (weight,), params, attributes=node.attributes)
    attributes = {**node.attributes, **layer.attributes}
    name = node.name if p.enable_float_output and held.ends_with_layer else layer.name
    return with_weights(layer, (data, Entry(on_levels), *bias), attributes, name)
