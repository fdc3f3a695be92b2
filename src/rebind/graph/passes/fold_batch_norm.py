"""Inference without batch norms where they follow a layer: their scale and shift become part of its weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch

from ...ops import Operator
from ...ops.nn.inference_layers import FOLD_BATCH_NORM
from ...params import Params
from ..facts import Facts, Target
from ..graph import Application, Entry, Graph, Node
from .channels_last import TRANSPOSED
from .hoist_casts import as_prepared, uncast
from .substitution import substitute, with_weights

__all__ = ["fold_batch_norm", "folded_weights"]

#: By the type of a layer, that in which its weights are folded. Folded weights may be larger than float16 can say.
_TYPES = {
    torch.float64: torch.float64,
    torch.float32: torch.float32,
    torch.bfloat16: torch.float32,
}


def fold_batch_norm(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Give a layer that only a `BatchNorm` follows weights with its scale and shift; in inference.

    The layers are convolutions, deconvolutions and `FullyConnected`, with weights that are variables, or casts of
    those: in mixed precision what is folded is rounded once, from float32.

    >>> import rebind as mx
    >>> from rebind.graph import infer_types
    >>> layer = mx.sym.Convolution(mx.sym.var("x"), kernel=(1, 1), num_filter=2, name="conv")
    >>> graph = mx.sym.BatchNorm(layer).graph
    >>> facts = Facts.of(None, infer_types(graph, {"x": "float32"}))
    >>> [node.operator.name for node in fold_batch_norm(graph, facts, Target())[0].nodes if node.operator]
    ['_fold_batch_norm', 'Convolution']
    """
    if target.training:
        return graph, facts
    instead = {}
    for node in graph.nodes:
        if not isinstance(node, Application) or node.operator.name != "BatchNorm":
            continue
        layer = node.inputs[0].node
        if (
            isinstance(layer, Application)
            and _fits(layer, node, facts)
            and graph.uses[node.inputs[0]] == 1
            and not (graph.uses[Entry(node, 1)] or graph.uses[Entry(node, 2)])
        ):
            instead[Entry(node)] = Entry(_folded(layer, node, facts))
    if not instead:
        return graph, facts
    graph, replaced = substitute(graph, instead)
    return graph, facts.after(replaced)


def _fits(layer: Application, norm: Application, facts: Facts) -> bool:
    """Whether the norm's channels are the layer's filters, and all weights are variables of fitting types."""
    axis_of = _FILTERS.get(layer.operator.name)
    dtype = facts.types.get(Entry(layer))
    if axis_of is None or norm.params.axis not in axis_of(layer.params) or dtype not in _TYPES:
        return False
    exact = _TYPES[dtype]
    weights = tuple(map(uncast, layer.inputs[1:]))
    return (
        all(entry.node.is_variable for entry in (*weights, *norm.inputs[1:]))
        and all(facts.types.get(entry) in (exact, dtype) for entry in weights)
        and all(facts.types.get(entry) is exact for entry in norm.inputs[1:])
    )


def _axes_of_filters(p: Params) -> tuple[int, ...]:
    axes = len(p.kernel) + 2
    return (axes - 1, -1) if _is_last(p) else (1, 1 - axes)


def _is_last(p: Params) -> bool:
    return p.layout is not None and p.layout.endswith("C")


#: By layer, the axis of its result that counts filters, and the same axis counted from the end.
_FILTERS: Mapping[str, Callable[[Params], tuple[int, ...]]] = {
    "Convolution": _axes_of_filters,
    "Convolution_v1": _axes_of_filters,
    # With its channels last its filters are in the last axis of the weight, and are left as they are.
    TRANSPOSED: lambda p: () if _is_last(p) else _axes_of_filters(p),
    "FullyConnected": lambda p: (1, -1) if p.flatten else (-1,),
}


def _folded(layer: Application, norm: Application, facts: Facts) -> Node:
    data, dtype = layer.inputs[0], facts.types[Entry(layer)]
    exact = _TYPES[dtype]
    weights = [as_prepared(entry, facts.types[entry], exact) for entry in map(uncast, layer.inputs[1:])]
    groups = layer.params.num_group if layer.operator.name == TRANSPOSED else 0
    folded = folded_weights(
        FOLD_BATCH_NORM,
        layer,
        norm,
        weights,
        norm.inputs[1:],
        layer.attributes,
        transposed_groups=groups,
    )
    inputs = (data, *(as_prepared(entry, exact, dtype) for entry in folded))
    return with_weights(layer, inputs, layer.attributes)


def folded_weights(
    operator: Operator,
    layer: Application,
    norm: Application,
    weights: Sequence[Entry],
    parameters: Sequence[Entry],
    attributes: dict[str, str],
    **further: object,
) -> list[Entry]:
    """Return weight and bias of a layer and a batch norm together.

    Parameters
    ----------
    operator
        What computes them; `further` are its parameters beside those of the norm.
    layer, norm
        The nodes.
    weights, parameters
        The layer's weight, with its bias if it has one; and gamma, beta, mean and variance.
    attributes
        Of the node that computes them.

    Examples
    --------
    >>> import rebind as mx
    >>> layer = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")
    >>> norm = mx.sym.BatchNorm(layer, name="bn").graph.nodes[-1]
    >>> layer = norm.inputs[0].node
    >>> folded = folded_weights(FOLD_BATCH_NORM, layer, norm, layer.inputs[1:], norm.inputs[1:], {})
    >>> [entry.name for entry in folded]
    ['bn in fc_weight', 'bn in fc_bias']
    """
    weight, *bias = weights
    p = norm.params
    given = {"eps": p.eps, "fix_gamma": p.fix_gamma, "no_bias": not bias, **further}
    inputs = (weight, *parameters, *bias)
    name = f"{norm.name} in {layer.name}"
    folded = Application(operator, name, inputs, operator.parse(given), attributes=attributes)
    return [Entry(folded, i) for i in range(2)]
