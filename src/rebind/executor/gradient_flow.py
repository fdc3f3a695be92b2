"""How far gradients reach in a graph: from the outputs back, to a loss or to an operator that blocks them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..graph import Application, Entry, Graph, Node

__all__ = [
    "blocks",
    "gradient_receivers",
    "head_gradient_reaches",
    "operators_of_backward",
    "states_of_backward",
]


def head_gradient_reaches(graph: Graph, arguments: Sequence[Node]) -> tuple[tuple[int, ...], ...]:
    """Return, for each output, the positions of the arguments that its head gradient reaches.

    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> net = mx.sym.Group([x * mx.sym.var("y"), mx.sym.MakeLoss(x) * 2])
    >>> head_gradient_reaches(net.graph, net.graph.arguments)
    ((0, 1), ())
    """
    positions = {node: i for i, node in enumerate(arguments)}

    def reached(output: Entry) -> tuple[int, ...]:
        # The usual output is a loss, where the walk ends at once.
        found = [output.node]
        seen = set(found)
        for node in found:  # it grows
            if node.operator is not None and node.operator.kernels.needs_head_gradient(node.params):
                new = [entry.node for entry in node.inputs if entry.node not in seen]
                seen.update(new)
                found += dict.fromkeys(new)
        return tuple(sorted(positions[node] for node in found if node in positions))

    return tuple(map(reached, graph.outputs))


def gradient_receivers(graph: Graph) -> set[Node]:
    """Return the nodes that a gradient of some output can reach: not those before an operator that blocks it.

    >>> import rebind as mx
    >>> x = mx.sym.exp(mx.sym.var("x"), name="e")
    >>> [
    ...     sorted(node.name for node in gradient_receivers(net.graph))
    ...     for net in (x, mx.sym.BlockGrad(x, name="b"))
    ... ]
    [['e', 'x'], ['b']]
    """
    found = {entry.node for entry in graph.outputs}
    for node in reversed(graph.nodes):  # what uses a node comes before it
        if node in found and node.operator is not None and not blocks(node):
            found.update(entry.node for entry in node.inputs)
    return found


def states_of_backward(graph: Graph, wanted: Collection[str]) -> set[str]:
    """Return the auxiliary states of the operators whose backward runs where these arguments get gradients.

    Only those are updated by a training step: a `BatchNorm` before the first trained layer, or of which nothing but a
    blocked gradient would be asked, leaves its moving statistics, as a frozen backbone needs it.

    Parameters
    ----------
    graph
        The network.
    wanted
        The names of the arguments that get gradients.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.BatchNorm(mx.sym.var("x"), name="bn"), num_hidden=1, name="fc")
    >>> [sorted(states_of_backward(net.graph, {name})) for name in ("bn_beta", "fc_weight")]
    [['bn_moving_mean', 'bn_moving_var'], []]
    """
    auxiliary = set(graph.auxiliary)
    return {
        entry.node.name
        for node in operators_of_backward(graph, wanted)
        for entry in node.inputs
        if entry.node in auxiliary
    }


def operators_of_backward(graph: Graph, wanted: Collection[str]) -> list[Application]:
    """Return the applications of operators whose backward runs where these arguments get gradients.

    >>> import rebind as mx
    >>> net = mx.sym.elemwise_add(mx.sym.sqrt(mx.sym.var("x"), name="root"), mx.sym.var("y"), name="sum")
    >>> [node.name for node in operators_of_backward(net.graph, {"y"})]
    ['sum']
    """
    passing = {node for node in graph.arguments if node.name in wanted}
    found: list[Application] = []
    for node in graph.nodes:  # what a node uses comes before it
        if not isinstance(node, Application):
            continue
        kernels = node.operator.kernels
        asked = [
            name for name, entry in zip(node.input_names, node.inputs, strict=False) if entry.node in passing
        ]
        if asked:
            found.append(node)
        # The gradient of what is before a loss or a block does not follow from what is behind it.
        if not kernels.no_gradient.issuperset(asked) and kernels.needs_head_gradient(node.params):
            passing.add(node)
    return found


def blocks(node: Node) -> bool:
    """Return whether no gradient goes through a node.

    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> [
    ...     blocks(net.graph.outputs[0].node)
    ...     for net in (mx.sym.BlockGrad(x), mx.sym.MakeLoss(x), mx.sym.exp(x))
    ... ]
    [True, False, False]
    """
    assert node.operator is not None
    kernels = node.operator.kernels
    # A loss needs no head gradient either, but has a gradient of its own; so may a custom operator.
    own = kernels.gradient is not None or kernels.make is not None
    return not own and not kernels.needs_head_gradient(node.params)
