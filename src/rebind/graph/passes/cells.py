"""Recurrent cells as they look in a graph: the nodes of one step, found from the one that computes its new state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..graph import Application, Entry, Node, depth_first
from .patterns import Accepts, Bound, Named, Pattern, Result, Section

__all__ = ["Cell", "match_cell"]


@dataclass(frozen=True, eq=False)
class Cell:
    """One step of a recurrent layer.

    Attributes
    ----------
    mode, gates, size
        What `joint_cells` calls `mode`, `gates` and `state_size`.
    layers
        The `FullyConnected` of the input and that of the state before; in this order for a GRU. The others add them up,
        and which is which shows in what the cell is connected to.
    hidden, memory
        The new state; that of an LSTM's cell, None in another mode.
    before, memory_before
        The states before; None where the cell itself does not show them: `before` is there for a GRU.
    inside
        The nodes between, whose values nothing but the cell itself may need.
    """

    mode: str
    gates: tuple[int, ...]
    size: int
    layers: tuple[Application, Application]
    hidden: Entry
    memory: Entry | None
    before: Entry | None
    memory_before: Entry | None
    inside: tuple[Node, ...]

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All of its nodes: those inside, and those of the new states."""
        memory = () if self.memory is None else (self.memory.node,)
        return (*self.inside, *memory, self.hidden.node)

    def roles(self) -> Iterator[tuple[Application, Application]]:
        """Yield the layers as (of the input, of the state) in each way that the cell itself allows."""
        one, other = self.layers
        if self.before is None or other.inputs[0] == self.before:
            yield one, other
        if self.before is None:
            yield other, one


def match_cell(node: Application) -> Cell | None:
    """Return the cell whose new state a node computes, if it is one.

    >>> import rebind as mx
    >>> x, state = mx.sym.var("x"), mx.sym.var("state")
    >>> layers = [mx.sym.FullyConnected(each, num_hidden=3) for each in (x, state)]
    >>> new = mx.sym.Activation(layers[0] + layers[1], act_type="tanh", name="new")
    >>> match_cell(new.graph.outputs[0].node).mode
    'rnn_tanh'
    """
    hidden = Entry(node)
    for mode in _ENDINGS.get(node.operator.name, ()):
        for bound in _CELLS[mode].match(hidden, {}):
            cell = _cell(mode, hidden, bound)
            if cell is not None:
                return cell
    return None


def _cell(mode: str, hidden: Entry, bound: Bound) -> Cell | None:
    """Return the cell of a pattern that fits, if the numbers of its gates do too."""
    gates = tuple(bound[name].index for name in _GATES[mode])
    # A GRU splits both layers: a gate is the same section of each.
    fits = sorted(gates) == list(range(len(gates))) and all(
        bound[name].index == bound[f"{name} of state"].index for name in _GATES[mode] if mode == "gru"
    )
    one, other = (bound[name].node for name in ("layer", "layer of state"))
    rows, count = one.params.num_hidden, len(gates) or 1
    if not fits or other.params.num_hidden != rows or rows % count:
        return None
    assert isinstance(one, Application) and isinstance(other, Application)  # no variable is a layer
    states = [bound.get(name) for name in ("memory", "before", "memory before")]
    memory, before, memory_before = states
    # The nodes from the new state back to the layers and to the states before.
    ends = {id(one), id(other), *(id(entry.node) for entry in (before, memory_before) if entry is not None)}
    nodes = depth_first(
        [hidden.node], lambda node: [] if id(node) in ends else [entry.node for entry in node.inputs]
    )
    outside = {id(entry.node) for entry in (hidden, *states) if entry is not None}
    inside = tuple(node for node in nodes if id(node) not in outside)
    return Cell(mode, gates, rows // count, (one, other), hidden, memory, before, memory_before, inside)


# What cells look like. Each way of writing them is one expression; sums and products may be in any order.


def _is(name: str) -> Accepts:
    return lambda node: node.operator.name == name


def _activation(kind: str, of: Pattern) -> Pattern:
    def accepts(node: Application) -> bool:
        name = node.operator.name
        return name == kind or (name == "Activation" and node.params.act_type == kind)

    return Result(accepts, (of,))


def _sum(one: Pattern, other: Pattern) -> Pattern:
    return Result(_is("elemwise_add"), (one, other), commutes=True)


def _product(one: Pattern, other: Pattern) -> Pattern:
    return Result(_is("elemwise_mul"), (one, other), commutes=True)


def _layer(name: str) -> Pattern:
    return Named(name, Result(lambda node: node.operator.name == "FullyConnected" and node.params.flatten))


def _section(name: str, split: str, count: int, source: Pattern) -> Pattern:
    def accepts(node: Application) -> bool:
        p = node.params
        return (
            node.operator.name == "SliceChannel"
            and p.num_outputs == count
            and p.axis in (1, -1)  # of two
            and not p.squeeze_axis
        )

    return Section(name, split, accepts, source)


_BOTH_LAYERS = Result(_is("elemwise_add"), (_layer("layer"), _layer("layer of state")))


def _plain(kind: str) -> Pattern:
    return _activation(kind, _BOTH_LAYERS)


def _lstm() -> Pattern:
    def gate(kind: str, name: str) -> Pattern:
        return _activation(kind, _section(name, "gates", 4, _BOTH_LAYERS))

    retained = _product(gate("sigmoid", "forget"), Named("memory before"))
    written = _product(gate("sigmoid", "in"), gate("tanh", "proposal"))
    memory = Named("memory", _sum(retained, written))
    return _product(gate("sigmoid", "out"), _activation("tanh", memory))


def _gru() -> Pattern:
    def of_input(name: str) -> Pattern:
        return _section(name, "gates", 3, _layer("layer"))

    def of_state(name: str) -> Pattern:
        return _section(f"{name} of state", "gates of state", 3, _layer("layer of state"))

    def gate(name: str) -> Pattern:
        return _activation("sigmoid", _sum(of_input(name), of_state(name)))

    new = _activation("tanh", _sum(of_input("new"), _product(gate("reset"), of_state("new"))))
    update = Named("update gate", gate("update"))
    rest = Result(lambda node: node.operator.name == "_rminus_scalar" and node.params.scalar == 1, (update,))
    return _sum(_product(rest, new), _product(update, Named("before")))


# The modes of cells whose new state an operator computes: most nodes of a graph are looked at no further.
_ENDINGS = {
    "Activation": ("rnn_tanh", "rnn_relu"),
    "tanh": ("rnn_tanh",),
    "relu": ("rnn_relu",),
    "elemwise_mul": ("lstm",),
    "elemwise_add": ("gru",),
}

_CELLS = {"rnn_tanh": _plain("tanh"), "rnn_relu": _plain("relu"), "lstm": _lstm(), "gru": _gru()}

# In the order of the kernels.
_GATES = {
    "rnn_tanh": (),
    "rnn_relu": (),
    "lstm": ("in", "forget", "proposal", "out"),
    "gru": ("reset", "update", "new"),
}
