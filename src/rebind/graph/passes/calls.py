"""What passes ask that make one call of several nodes: who uses a value, what is held, which activations there are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, TypeAlias

from ...params import Params
from ...shapes import is_known
from ..facts import Facts
from ..graph import Application, Entry, Graph
from .substitution import substitute

__all__ = [
    "NO_ACTIVATION", "Fuse", "FusedActivation", "Users", "activation_after", "fuse_layers", "is_prepared",
    "sum_after", "windows",
]  # fmt: skip


class FusedActivation(NamedTuple):
    """An activation that oneDNN computes after a layer, in the same call."""

    name: str  # PyTorch's
    numbers: tuple[float, ...] = ()

    @property
    def parameters(self) -> dict[str, object]:
        """Those of a layer that takes it over.

        >>> FusedActivation("leaky_relu", (0.1,)).parameters
        {'activation': 'leaky_relu', 'numbers': (0.1,)}
        """
        return {"activation": self.name, "numbers": self.numbers}


NO_ACTIVATION = FusedActivation("none")
_ALIKE = {name: FusedActivation(name) for name in ("relu", "sigmoid", "tanh")}

#: By operator, from its parameters to what oneDNN has for it, if anything.
_ACTIVATIONS: Mapping[str, Callable[[Params], FusedActivation | None]] = {
    "Activation": lambda p: _ALIKE.get(p.act_type),
    "LeakyReLU": lambda p: FusedActivation("leaky_relu", (p.slope,)) if p.act_type == "leaky" else None,
    "clip": lambda p: FusedActivation("hardtanh", (p.a_min, p.a_max)),
    "relu": lambda p: _ALIKE["relu"],
    "sigmoid": lambda p: _ALIKE["sigmoid"],
    "tanh": lambda p: _ALIKE["tanh"],
}

#: `Graph.single_users`.
Users: TypeAlias = Mapping[Entry, tuple[Application, int]]


#: From a node, facts, who uses what, and the sums that are part of a call already, to which it adds its own: the last
#: entry that one call can compute from the node on, and the node that does; None: the node stays as it is.
Fuse: TypeAlias = Callable[[Application, Facts, Users, set[Entry]], tuple[Entry, Application] | None]

_SUMS = ("elemwise_add", "broadcast_add", "_grad_add")


def fuse_layers(graph: Graph, facts: Facts, fuse: Fuse) -> tuple[Graph, Facts]:
    """Make one call of each layer and of what comes after it, as far as `fuse` finds one.

    >>> import rebind as mx
    >>> def without_tanh(node, facts, users, added):
    ...     end, activation = activation_after(Entry(node), users)
    ...     return None if activation == NO_ACTIVATION else (end, node)
    >>> graph = mx.sym.tanh(mx.sym.exp(mx.sym.var("x"), name="e")).graph
    >>> [node.name for node in fuse_layers(graph, Facts(), without_tanh)[0].nodes]
    ['x', 'e']
    """
    users = graph.single_users
    instead: dict[Entry, Entry] = {}
    added: set[Entry] = set()
    # The last first: of two layers that are added the later one adds.
    for node in reversed(graph.nodes):
        found = fuse(node, facts, users, added) if isinstance(node, Application) else None
        if found is not None:
            end, computed = found
            instead[end] = Entry(computed)
    if not instead:
        return graph, facts
    graph, replaced = substitute(graph, instead)
    return graph, facts.after(replaced)


def activation_after(
    entry: Entry, users: Users, among: Collection[str] | None = None
) -> tuple[Entry, FusedActivation]:
    """Return the activation that alone uses a layer's result, and where its own is; the result, and none, if none does.

    Those `among` some count only, by PyTorch's names.

    >>> import rebind as mx
    >>> graph = mx.sym.tanh(mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc"), name="t").graph
    >>> layer = next(Entry(node) for node in graph.nodes if node.name == "fc")
    >>> end, activation = activation_after(layer, graph.single_users)
    >>> end.name, activation.name
    ('t_output', 'tanh')
    """
    user, _ = users.get(entry, (None, 0))
    rule = None if user is None else _ACTIVATIONS.get(user.operator.name)
    found = None if user is None or rule is None else rule(user.params)
    if user is None or found is None or (among is not None and found.name not in among):
        return entry, NO_ACTIVATION
    return Entry(user), found


def sum_after(
    node: Application, facts: Facts, users: Users, added: Collection[Entry]
) -> tuple[Entry, Entry | None]:
    """Return the sum that alone uses a layer's result, and what is added; the result, and None, if none does.

    What is added has the shape and type of the result. Those that are `added` already do not count.

    >>> import rebind as mx
    >>> from rebind.graph import infer_shapes
    >>> x = mx.sym.var("x")
    >>> graph = mx.sym.elemwise_add(x, mx.sym.exp(x, name="e"), name="sum").graph
    >>> facts = Facts.of(infer_shapes(graph, {"x": (2, 3)}))
    >>> layer = next(node for node in graph.nodes if node.name == "e")
    >>> [entry.name for entry in sum_after(layer, facts, graph.single_users, ())]
    ['sum_output', 'x']
    """
    result = Entry(node)
    user, position = users.get(result, (None, 0))
    if user is not None and user.operator.name in _SUMS and Entry(user) not in added:
        other, shape = user.inputs[1 - position], facts.shapes.get(result)
        is_equal = all(known.get(other) == known.get(result) for known in (facts.shapes, facts.types))
        if is_equal and shape is not None and is_known(shape):
            return Entry(user), other
    return result, None


def windows(p: Params) -> dict[str, tuple[int, ...]]:
    """Return a convolution's stride and padding, with what MXNet takes where they are left out.

    >>> windows(Params({"kernel": (3, 3), "stride": (), "pad": (1, 1)}))
    {'stride': (1, 1), 'pad': (1, 1)}
    """
    axes = len(p.kernel)
    return {"stride": p.stride or (1,) * axes, "pad": p.pad or (0,) * axes}


def is_prepared(entry: Entry) -> bool:
    """Whether a value follows from variables alone, by operators whose results are retained.

    >>> import rebind as mx
    >>> (
    ...     is_prepared(mx.sym.var("x").graph.outputs[0]),
    ...     is_prepared(mx.sym.exp(mx.sym.var("x")).graph.outputs[0]),
    ... )
    (True, False)
    """
    node = entry.node
    return node.is_variable or (node.operator.kernels.prepared and all(map(is_prepared, node.inputs)))
