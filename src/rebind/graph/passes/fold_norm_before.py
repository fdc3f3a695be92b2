"""Inference without batch norms before a layer: their scale and shift become part of its weights."""

from __future__ import annotations

import torch

from ...ops.nn.inference_layers import FOLD_NORM_BEFORE
from ..facts import Facts, Target
from ..graph import Application, Entry, Graph
from .calls import is_prepared
from .channels_last import CONVOLUTIONS
from .fold_batch_norm import folded_weights
from .substitution import substitute, with_weights

__all__ = ["fold_norm_before"]


def fold_norm_before(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Give a layer that alone uses a `BatchNorm` weights with its scale and shift; in inference, float32 and float64.

    The layers are `FullyConnected` and convolutions without padding: what is padded are zeros of the norm's result.

    >>> import rebind as mx
    >>> from rebind.graph import infer_types
    >>> graph = mx.sym.FullyConnected(mx.sym.BatchNorm(mx.sym.var("x")), num_hidden=2).graph
    >>> facts = Facts.of(None, infer_types(graph, {"x": "float32"}))
    >>> [node.operator.name for node in fold_norm_before(graph, facts, Target())[0].nodes if node.operator]
    ['_fold_norm_before', 'FullyConnected']
    """
    if target.training:
        return graph, facts
    users = graph.single_users
    instead: dict[Entry, Entry] = {}
    for node in graph.nodes:
        if isinstance(node, Application) and node.operator.name == "BatchNorm":
            layer, position = users.get(Entry(node), (None, 0))
            shown = graph.uses[Entry(node, 1)] or graph.uses[Entry(node, 2)]
            if layer is not None and position == 0 and not shown and _fits(layer, node, facts):
                instead[Entry(layer)] = _folded(layer, node)
    if not instead:
        return graph, facts
    graph, replaced = substitute(graph, instead)
    return graph, facts.after(replaced)


def _fits(layer: Application, norm: Application, facts: Facts) -> bool:
    """Whether the norm's channels are what the layer sums over, and its parameters are of one type and retained."""
    p, axis = layer.params, norm.params.axis
    if layer.operator.name in CONVOLUTIONS:
        first = p.layout is None or not p.layout.endswith("C")
        fits = first and not any(p.pad) and axis in (1, -1 - len(p.kernel))
    elif layer.operator.name == "FullyConnected":
        fits = axis == (1 if p.flatten else -1)
    else:
        return False
    dtype = facts.types.get(norm.inputs[0])
    return (
        fits
        and dtype in (torch.float32, torch.float64)
        and all(entry.node.is_variable and facts.types.get(entry) is dtype for entry in norm.inputs[1:])
        # What other passes made of parameters is of the layer's type.
        and all(is_prepared(entry) and facts.types.get(entry, dtype) is dtype for entry in layer.inputs[1:])
    )


def _folded(layer: Application, norm: Application) -> Entry:
    weights = folded_weights(
        FOLD_NORM_BEFORE,
        layer,
        norm,
        layer.inputs[1:],
        norm.inputs[1:],
        layer.attributes,
        num_group=layer.params.get("num_group", 1),
    )
    return Entry(with_weights(layer, (norm.inputs[0], *weights), layer.attributes))
