"""Binding: from a symbol and arrays, or the shapes of its inputs, to an executor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from ..device import Device
from ..dtypes import DTypeLike, torch_dtype
from ..errors import ParameterError, ShapeError
from ..graph import (
    Entry,
    Facts,
    Graph,
    Node,
    infer_gradient_storage,
    infer_shapes,
    infer_storage,
    infer_types,
    open_nodes,
)
from ..graph.facts import EntryFacts
from ..graph.same_names import warn_of_shared_names
from ..shapes import Shape, as_shape, is_known
from .allocate import ArraySpec, Sharing, allocate
from .arguments import Arrays, GradReqs, arrays_by_name, read_grad_req
from .executor import Executor
from .holder import GraphHolder

__all__ = ["bind", "simple_bind"]


def bind(
    symbol: GraphHolder,
    device: Device,
    args: Arrays,
    args_grad: Arrays = None,
    grad_req: GradReqs = "write",
    aux_states: Arrays = None,
    groups: Mapping[str, Device] | None = None,
) -> Executor:
    """Return an executor that works on the caller's own arrays; the parameters are those of `Symbol.bind`.

    Raises
    ------
    ParameterError
        When an array is missing; it names all that are.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.nd.ones((2,))
    >>> exe = bind(mx.sym.exp(mx.sym.var("x")), mx.cpu(), {"x": x})
    >>> exe.arg_dict["x"] is x
    True
    """
    warn_of_shared_names(symbol.graph)
    names = [node.name for node in symbol.graph.arguments]
    aux_names = [node.name for node in symbol.graph.auxiliary]
    arguments = arrays_by_name("Symbol.bind: args", args, names)
    states = arrays_by_name("Symbol.bind: aux_states", aux_states, aux_names)
    missing = [n for n in names if n not in arguments] + [n for n in aux_names if n not in states]
    if missing:
        unused = [name for name in args if name not in names] if isinstance(args, Mapping) else []
        known = f"; given, but no arguments: {', '.join(map(repr, unused))}" if unused else ""
        raise ParameterError(f"Symbol.bind: arrays are missing for {', '.join(map(repr, missing))}{known}")
    grads = arrays_by_name("Symbol.bind: args_grad", args_grad, names)
    return Executor.bound(
        symbol, device, arguments, grads, read_grad_req(grad_req, names, "Symbol.bind"), states, groups
    )


def simple_bind(
    symbol: GraphHolder,
    device: Device,
    shapes: Mapping[str, Sequence[int]],
    types: Mapping[str, DTypeLike] | None = None,
    grad_req: GradReqs = "write",
    groups: Mapping[str, Device] | None = None,
    sharing: Sharing | None = None,
    stypes: Mapping[str, str] | None = None,
) -> Executor:
    """Return an executor with new arrays, or shared ones, from the shapes of the inputs.

    Parameters
    ----------
    symbol
        The network.
    device
        Where it runs.
    shapes, types
        By name of argument; a type that does not follow from `types` is float32.
    grad_req
        ``'write'``, ``'add'`` or ``'null'``: one word, a list or a dict.
    groups
        The device of each ``ctx_group``.
    sharing
        Arrays of another executor, to use where they fit.
    stypes
        Storage types by name of variable; others are those of ``var(stype=)``.

    Raises
    ------
    ShapeError
        When a shape does not follow; it lists all that do not.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")
    >>> simple_bind(net, mx.cpu(), {"x": (4, 3)}).arg_dict["fc_weight"].shape
    (2, 3)
    """
    graph = symbol.graph
    warn_of_shared_names(graph)
    # A size of -1 or 0 is to follow from others.
    wanted = {
        name: as_shape(shape, f"Symbol.simple_bind: {name}", least=-1) for name, shape in shapes.items()
    }
    requests = read_grad_req(grad_req, [node.name for node in graph.arguments], "Symbol.simple_bind")
    before = None if sharing is None or sharing.executor is None else sharing.executor.types_in(graph)
    known = _types(graph, types or {}, before)
    facts = _facts(graph, wanted, known, stypes)
    specs = {node.name: _spec(node, facts[Entry(node)], groups or {}, device) for node in graph.variables}
    args, grads, aux = allocate(
        graph,
        specs,
        requests,
        sharing or Sharing(inputs=frozenset(wanted)),
        infer_gradient_storage(graph, facts.storage),
    )
    return Executor.bound(symbol, device, args, grads, requests, aux, groups, facts)


def _types(
    graph: Graph, types: Mapping[str, DTypeLike], before: Mapping[Entry, torch.dtype] | None
) -> Mapping[Entry, torch.dtype]:
    """Return all types that follow from those of inputs: those `before`, if the arguments have the same."""
    if before and all(
        node.name in types and before[Entry(node)] is torch_dtype(types[node.name])
        for node in graph.arguments
    ):
        return before
    return infer_types(graph, types, default=torch.float32).entries


def _facts(
    graph: Graph,
    shapes: Mapping[str, Shape],
    types: Mapping[Entry, torch.dtype],
    stypes: Mapping[str, str] | None,
) -> Facts:
    """Return what follows from the shapes of inputs and all types; an error lists what does not follow."""
    found = infer_shapes(graph, shapes, types)
    facts = replace(Facts.of(found, None, infer_storage(graph, stypes)), types=types)
    unknown = [f"{node.name} {facts.shapes.get(Entry(node)) or '?'}" for node in open_nodes(graph, found)]
    unknown += [
        f"{node.name} {facts.shapes.get(Entry(node)) or '?'}"
        for node in graph.variables
        if not is_known(facts.shapes.get(Entry(node)))
    ]
    if unknown:
        raise ShapeError(
            f"Symbol.simple_bind: cannot infer these shapes from {dict(shapes)}: {', '.join(unknown)}. "
            "Give shapes of variables as keywords or in var(shape=...), and whole shapes to zeros, ones and the like."
        )
    return facts


def _spec(node: Node, fact: EntryFacts, groups: Mapping[str, Device], device: Device) -> ArraySpec:
    """Return what a variable's array must be."""
    assert fact.shape is not None and fact.dtype is not None  # a type defaults to float32
    place = groups.get(node.attributes.get("__ctx_group__", ""), device)
    return ArraySpec(fact.shape, fact.dtype, place, fact.storage)
