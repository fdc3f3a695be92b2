"""Values computed in another way: what passes share that put one node in the place of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...ops import find
from ...params import Params
from ..graph import Application, Entry, Graph, Node, depth_first

__all__ = ["application", "common_attributes", "substitute", "with_weights"]


def substitute(graph: Graph, instead: Mapping[Entry, Entry]) -> tuple[Graph, dict[Entry, Entry]]:
    """Return `graph` with other entries in place of some; and for each entry that changed the new one.

    What is put in may be computed from entries that are themselves replaced: nodes are made again with what their
    inputs became. `rewrite_with_map` goes through the old nodes in their order; here an entry can be replaced by one
    whose inputs come later in the old graph.

    Parameters
    ----------
    graph
        The old graph.
    instead
        From entries of it to entries of nodes whose inputs are entries of it, or of such nodes.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> net, other = mx.sym.exp(mx.sym.exp(x, name="inner"), name="outer"), mx.sym.tanh(x, name="tanh")
    >>> inner = net.graph.nodes[1]
    >>> [node.name for node in substitute(net.graph, {Entry(inner): other.graph.outputs[0]})[0].nodes]
    ['x', 'tanh', 'outer']
    """

    def resolve(entry: Entry) -> Entry:
        return instead.get(entry, entry)

    new: dict[Entry, Entry] = {}
    # The order of the old graph will not do: see above.
    for node in depth_first(
        (resolve(entry).node for entry in graph.outputs),
        lambda node: [resolve(entry).node for entry in node.inputs],
    ):
        wanted = map(resolve, node.inputs)
        inputs = tuple(new.get(entry, entry) for entry in wanted)
        if inputs != node.inputs:
            made = node.with_inputs(inputs)
            new |= {Entry(node, i): Entry(made, i) for i in range(len(node.output_names))}
    known = set(graph.nodes)
    replaced = {old: entry for old, entry in new.items() if old.node in known}
    replaced |= {old: new.get(entry, entry) for old, entry in instead.items()}
    return Graph(replaced.get(entry, entry) for entry in graph.outputs), replaced


def common_attributes(nodes: Sequence[Node]) -> dict[str, str]:
    """Return the attributes that all nodes share: the context group above all.

    >>> import rebind as mx
    >>> one, two = (mx.sym.var(name, attr={"__at__": "1", "__name__": name}) for name in "ab")
    >>> common_attributes([one.graph.nodes[0], two.graph.nodes[0]])
    {'__at__': '1'}
    """
    first, *others = nodes
    return {
        key: value
        for key, value in first.attributes.items()
        if all(other.attributes.get(key) == value for other in others)
    }


def application(
    operator: str, name: str, inputs: Sequence[Entry], attributes: dict[str, str], **given: object
) -> Application:
    """Return a node with parameters as a user gives them.

    >>> import rebind as mx
    >>> application("SwapAxis", "swapped", mx.sym.var("x").graph.outputs, {}, dim1=0, dim2=1).params
    {'dim1': 0, 'dim2': 1}
    """
    op = find(operator)
    texts = {key: str(value) for key, value in given.items()}
    return Application(op, name, tuple(inputs), op.parse(given), texts, attributes)


def with_weights(
    layer: Application, inputs: Sequence[Entry], attributes: dict[str, str], name: str = ""
) -> Application:
    """Return a layer with other inputs: data, weight, and a bias or none.

    >>> import rebind as mx
    >>> layer = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc").graph.nodes[-1]
    >>> with_weights(layer, layer.inputs[:2], {}).params.no_bias
    True
    """
    params = Params({**layer.params, "no_bias": len(inputs) == 2})
    op = find(layer.operator.name)
    return Application(op, name or layer.name, tuple(inputs), params, layer.given, attributes)
