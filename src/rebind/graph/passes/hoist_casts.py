"""Inference in mixed precision without casts that need not be done in each run."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import torch

from ...ops.nn.inference_layers import CAST_PARAMETER
from ...precision import LOW_TYPES
from ..facts import Facts, Target
from ..graph import Application, Entry, Graph
from .mixed_precision import CASTS
from .substitution import substitute

__all__ = ["as_prepared", "hoist_casts", "uncast"]

#: What operators call the inputs that are parameters.
_PARAMETERS = ("bias", "parameters", "weight")
_TYPES = (torch.float32, *LOW_TYPES)


def hoist_casts(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Cast parameters once, and nothing that is of the type already; in inference.

    What mixed precision has as ``amp_cast`` of a weight becomes an operator whose result is retained from run to run.

    >>> import rebind as mx
    >>> from rebind.graph import infer_types
    >>> layer = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, no_bias=True)
    >>> graph = mx.contrib.amp.convert_symbol(layer, "bfloat16").graph
    >>> facts = Facts.of(None, infer_types(graph, {"x": "float32"}, default=torch.float32))
    >>> [node.operator.name for node in hoist_casts(graph, facts, Target())[0].nodes if node.operator]
    ['amp_cast', '_cast_parameter', 'FullyConnected', 'amp_cast']
    """
    if target.training:
        return graph, facts
    outputs = set(graph.outputs)
    weights = {
        entry
        for node in graph.nodes
        if isinstance(node, Application)
        for name, entry in zip(node.input_names, node.inputs, strict=True)
        if name in _PARAMETERS
    }
    instead: dict[Entry, Entry] = {}
    for node in graph.nodes:
        if isinstance(node, Application) and node.operator.name in CASTS:
            for cast, found in _without_casts(node, facts, weights):
                # What is retained, or a variable, would be the caller's array as an output.
                if cast not in outputs:
                    instead[cast] = instead.get(found, found)
    if not instead:
        return graph, facts
    graph, replaced = substitute(graph, instead)
    return graph, facts.after(replaced)


def _without_casts(
    node: Application, facts: Facts, weights: Collection[Entry]
) -> Iterator[tuple[Entry, Entry]]:
    """Yield the outputs of a cast that need it in no run, or only once, and what takes their place."""
    types = [facts.types.get(entry) for entry in node.inputs]
    casts_one = node.operator.name == "amp_cast"
    wanted = node.params.dtype if casts_one else types[0]
    if wanted is not None and all(dtype is wanted for dtype in types):
        yield from ((Entry(node, i), source) for i, source in enumerate(node.inputs))
    elif casts_one and Entry(node) in weights and types[0] in _TYPES and node.inputs[0].node.is_variable:
        yield Entry(node), _cast(node.inputs[0], node.name, node.params.dtype)


def uncast(entry: Entry) -> Entry:
    """Return what an entry is a retained cast of; others as they are.

    >>> import rebind as mx
    >>> variable = mx.sym.var("x").graph.outputs[0]
    >>> uncast(_cast(variable, "cast", torch.bfloat16)) is variable
    True
    """
    return entry.node.inputs[0] if entry.node.operator is CAST_PARAMETER else entry


def as_prepared(entry: Entry, found: torch.dtype, wanted: torch.dtype) -> Entry:
    """Return an entry of one type as one of another, by a cast whose result is retained.

    >>> import rebind as mx
    >>> as_prepared(mx.sym.var("x").graph.outputs[0], torch.float32, torch.bfloat16).node
    <_cast_parameter 'x bfloat16'>
    """
    if found is wanted:
        return entry
    return _cast(entry, f"{entry.name} {str(wanted).removeprefix('torch.')}", wanted)


def _cast(entry: Entry, name: str, dtype: torch.dtype) -> Entry:
    params = CAST_PARAMETER.parse({"dtype": dtype})
    return Entry(Application(CAST_PARAMETER, name, (entry,), params, attributes=entry.node.attributes))
