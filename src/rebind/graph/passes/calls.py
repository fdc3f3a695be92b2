"""What passes ask that make one call of several nodes: who uses a value, what is kept, which activations there are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, TypeAlias

from ...params import Params
from ..graph import Application, Entry, Graph

__all__ = ["NO_ACTIVATION", "FusedActivation", "Users", "activation_after", "is_kept", "single_users"]


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

#: Where each entry is used, if it is used once: the node, and as which of its inputs.
Users: TypeAlias = Mapping[Entry, tuple[Application, int]]


def single_users(graph: Graph) -> Users:
    """Return the user of each entry that is used once, and as which of its inputs.

    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> [(entry.name, user.name) for entry, (user, _) in single_users(mx.sym.exp(x, name="e").graph).items()]
    [('x', 'e')]
    """
    return {
        entry: (node, i)
        for node in graph.nodes
        if isinstance(node, Application)
        for i, entry in enumerate(node.inputs)
        if graph.uses[entry] == 1
    }


def activation_after(
    entry: Entry, users: Users, among: Collection[str] | None = None
) -> tuple[Entry, FusedActivation]:
    """Return the activation that alone uses a layer's result, and where its own is; the result, and none, if none does.

    Those `among` some count only, by PyTorch's names.

    >>> import rebind as mx
    >>> graph = mx.sym.tanh(mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc"), name="t").graph
    >>> layer = next(Entry(node) for node in graph.nodes if node.name == "fc")
    >>> end, activation = activation_after(layer, single_users(graph))
    >>> end.name, activation.name
    ('t_output', 'tanh')
    """
    user, _ = users.get(entry, (None, 0))
    rule = None if user is None else _ACTIVATIONS.get(user.operator.name)
    found = None if user is None or rule is None else rule(user.params)
    if user is None or found is None or (among is not None and found.name not in among):
        return entry, NO_ACTIVATION
    return Entry(user), found


def is_kept(entry: Entry) -> bool:
    """Whether a value follows from variables alone, by operators whose results are kept.

    >>> import rebind as mx
    >>> is_kept(mx.sym.var("x").graph.outputs[0]), is_kept(mx.sym.exp(mx.sym.var("x")).graph.outputs[0])
    (True, False)
    """
    node = entry.node
    return node.is_variable or (node.operator.kernels.kept and all(map(is_kept, node.inputs)))
