"""Inference with oneDNN's convolutions: packed filters, and the sum and the activation that follow in the same call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from ...ops.nn.inference_layers import (
    FUSED_CONVOLUTION,
    PACK_FILTERS,
    can_fuse,
)
from ...params import Params
from ...shapes import is_known
from ..facts import Facts, Target
from ..graph import Application, Entry, Graph
from .channels_last import CONVOLUTIONS
from .substitution import substitute

__all__ = ["fuse_convolutions"]

_SUMS = ("elemwise_add", "broadcast_add", "_grad_add")


class _Activation(NamedTuple):
    name: str  # PyTorch's
    numbers: tuple[float, ...] = ()


_NONE = _Activation("none")
_ALIKE = {name: _Activation(name) for name in ("relu", "sigmoid", "tanh")}

#: By operator, from its parameters to what oneDNN has for it, if anything.
_ACTIVATIONS: Mapping[str, Callable[[Params], _Activation | None]] = {
    "Activation": lambda p: _ALIKE.get(p.act_type),
    "LeakyReLU": lambda p: _Activation("leaky_relu", (p.slope,)) if p.act_type == "leaky" else None,
    "clip": lambda p: _Activation("hardtanh", (p.a_min, p.a_max)),
    "relu": lambda p: _ALIKE["relu"],
    "sigmoid": lambda p: _ALIKE["sigmoid"],
    "tanh": lambda p: _ALIKE["tanh"],
}

#: Where each entry is used, if it is used once: the node, and as which of its inputs.
_Users: TypeAlias = Mapping[Entry, tuple[Application, int]]


def fuse_convolutions(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Make a convolution, the sum with another array and the activation after it one call; on the CPU, in inference.

    Only convolutions in two dimensions, of float32 or bfloat16, whose weights follow from variables alone: those are
    packed once.
    The relu of what is not a number is 0 here, as in MXNet, whose convolutions are oneDNN's too.

    >>> import rebind as mx
    >>> from rebind.graph import infer_shapes, infer_types
    >>> layer = mx.sym.Convolution(mx.sym.var("x"), kernel=(1, 1), num_filter=2, name="conv")
    >>> graph = mx.sym.relu(layer).graph
    >>> facts = Facts.of(infer_shapes(graph, {"x": (1, 3, 4, 4)}), infer_types(graph, {"x": "float32"}))
    >>> fused, _ = fuse_convolutions(graph, facts, Target())
    >>> [node.operator.name for node in fused.nodes if node.operator]
    ['_pack_filters', '_fused_convolution']
    """
    if target.training or target.spans_devices or target.device.type != "cpu":
        return graph, facts
    users = _single_users(graph)
    instead: dict[Entry, Entry] = {}
    added: set[Entry] = set()  # sums that became part of a call
    # The last first: of two convolutions that are added the later one adds.
    for node in reversed(graph.nodes):
        if isinstance(node, Application) and _fits(node, facts):
            end, fused = _fused(node, facts, users, added)
            instead[end] = Entry(fused)
    if not instead:
        return graph, facts
    graph, replaced = substitute(graph, instead)
    return graph, facts.after(replaced)


def _single_users(graph: Graph) -> _Users:
    return {
        entry: (node, i)
        for node in graph.nodes
        if isinstance(node, Application)
        for i, entry in enumerate(node.inputs)
        if graph.uses[entry] == 1
    }


def _fits(node: Application, facts: Facts) -> bool:
    if node.operator.name not in CONVOLUTIONS or len(node.params.kernel) != 2:
        return False
    data, *weights = node.inputs
    shape, dtype = facts.shapes.get(data), facts.types.get(data)
    return (
        node.params.layout in (None, "NCHW")
        and can_fuse(dtype)
        and facts.types.get(Entry(node)) is dtype
        and shape is not None
        and is_known(shape)
        and all(_is_kept(entry) for entry in weights)
    )


def _is_kept(entry: Entry) -> bool:
    """Whether a value follows from variables alone, by operators whose results are kept."""
    node = entry.node
    return node.is_variable or (node.operator.kernels.kept and all(map(_is_kept, node.inputs)))


def _fused(node: Application, facts: Facts, users: _Users, added: set[Entry]) -> tuple[Entry, Application]:
    """Return the last entry that one call can compute from a convolution on, and the node that does; note its sum."""
    end, addend, activation = Entry(node), None, _NONE
    user, position = users.get(end, (None, 0))
    if user is not None and user.operator.name in _SUMS and Entry(user) not in added:
        other = user.inputs[1 - position]
        if all(known.get(other) == known.get(end) for known in (facts.shapes, facts.types)):
            end, addend = Entry(user), other
            added.add(end)
            user, _ = users.get(end, (None, 0))
    if user is not None and (rule := _ACTIVATIONS.get(user.operator.name)) is not None:
        found = rule(user.params)
        # After a sum oneDNN has no other in PyTorch.
        if found is not None and (addend is None or found.name == "relu"):
            end, activation = Entry(user), found
    return end, _call(node, facts, addend, activation)


def _call(node: Application, facts: Facts, addend: Entry | None, activation: _Activation) -> Application:
    p, (data, weight, *bias) = node.params, node.inputs
    where = {
        "stride": p.stride or (1, 1),
        "pad": p.pad or (0, 0),
        "dilate": p.dilate or (1, 1),
        "num_group": p.num_group,
    }
    packed = Application(
        PACK_FILTERS,
        f"{node.name} packed",
        (weight,),
        PACK_FILTERS.parse({**where, "data_shape": facts.shapes[data]}),
    )
    given = {
        **where,
        "no_bias": not bias,
        "adds": addend is not None,
        "activation": activation.name,
        "numbers": activation.numbers,
    }
    inputs = (data, Entry(packed), *bias, *([] if addend is None else [addend]))
    op = FUSED_CONVOLUTION
    return Application(op, node.name, inputs, op.parse(given), {}, node.attributes)
