"""Layers fused for oneDNN as MXNet deploys them in 8 bits: a convolution or a dense layer with what follows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...graph import Application, Entry, Graph, Node, Variable, rewrite
from ...graph.fused_layers import FUSED_LAYERS, FusedLayer, fused_layer_operator, is_fused_layer
from ...graph.passes.substitution import substitute
from ...ops.quantization.conversion import calibrated_range

__all__ = ["fused_layers", "held_names", "joined_conversions", "level_inputs", "quantized_layer"]

#: From a graph, a node and the nodes that are taken to the nodes of a chain that begins there, and its steps.
_FindChain: TypeAlias = (
    "Callable[[Graph, Application, set[Node]], tuple[list[Application], list[str]] | None]"
)

_CONV, _DENSE = "_sg_mkldnn_conv", "_sg_mkldnn_fully_connected"


@dataclass(frozen=True)
class _Chain:
    """Nodes that become one: a layer, and what follows it, each the only user of the one before."""

    kind: str
    nodes: tuple[Application, ...]
    steps: tuple[str, ...]  # "bn", "add", "act" or "eltwise"

    def name(self, number: int) -> str:
        """Return MXNet's name: ``sg_mkldnn_conv_bn_act_0``."""
        return "_".join((self.kind[1:], *self.steps, str(number)))

    @property
    def texts(self) -> dict[str, str]:
        """The parameters, which say what follows the layer."""
        if self.kind == _DENSE:
            return dict.fromkeys([f"with_{step}" for step in self.steps], "True")
        names = {"bn": "with_bn", "add": "with_sum", "act": "with_act"}
        if "add" in self.steps:
            names["act"] = "with_postsum_act"
        return dict.fromkeys([names[step] for step in self.steps], "true")


def fused_layers(graph: Graph) -> Graph:
    """Return a network with its convolutions and dense layers fused with norms, sums and activations after them.

    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> net = mx.sym.Activation(net, act_type="relu", name="relu")
    >>> fused_layers(net.graph).nodes[-1].name
    'sg_mkldnn_fully_connected_eltwise_0'
    """
    for kind, find_chain in ((_CONV, _convolution_chain), (_DENSE, _dense_chain)):
        graph = _with_chains_as_nodes(graph, list(_chains(graph, kind, find_chain)))
    return graph


def _chains(graph: Graph, kind: str, find_chain: _FindChain) -> Iterator[_Chain]:
    taken: set[Node] = set()
    for node in graph.nodes:
        found = find_chain(graph, node, taken) if isinstance(node, Application) else None
        if found is not None:
            nodes, steps = found
            taken.update(nodes)
            yield _Chain(kind, tuple(nodes), tuple(steps))


def _next(graph: Graph, node: Application, taken: set[Node]) -> tuple[Application, int] | None:
    """Return the only user of a node's result, and as which input."""
    user = graph.single_users.get(Entry(node))
    return None if user is None or user[0] in taken else user


def _convolution_chain(
    graph: Graph, node: Application, taken: set[Node]
) -> tuple[list[Application], list[str]] | None:
    if node.operator.name != "Convolution" or len(node.params.kernel) == 1:
        return None
    nodes, steps = [node], []
    user = _next(graph, node, taken)
    if user is not None and user[0].operator.name == "BatchNorm" and _norms_channels(user, node):
        nodes.append(user[0])
        steps.append("bn")
        user = _next(graph, user[0], taken)
    if user is not None and user[0].operator.name == "elemwise_add":
        nodes.append(user[0])
        steps.append("add")
        user = _next(graph, user[0], taken)
    if user is not None and _is_activation(user[0], ("leaky", "gelu"), clips="add" not in steps):
        nodes.append(user[0])
        steps.append("act")
    return nodes, steps


def _norms_channels(user: tuple[Application, int], layer: Application) -> bool:
    p = user[0].params
    return (
        user[1] == 0
        and p.axis == 1
        and not p.output_mean_var
        and layer.params.layout in (None, "NCHW", "NCDHW")
    )


def _dense_chain(
    graph: Graph, node: Application, taken: set[Node]
) -> tuple[list[Application], list[str]] | None:
    if node.operator.name != "FullyConnected":
        return None
    user = _next(graph, node, taken)
    if user is None or not (
        _is_activation(user[0], ("leaky", "elu", "gelu"), clips=True) or user[0].operator.name == "abs"
    ):
        return [node], []
    return [node, user[0]], ["eltwise"]


def _is_activation(node: Application, leaky: Sequence[str], clips: bool) -> bool:
    """Whether oneDNN computes an activation with the layer before it, and MXNet lets it in 8 bits."""
    p = node.params
    if node.operator.name == "clip":
        return bool(clips and p.a_min == 0)
    kinds = {"Activation": ("relu",), "LeakyReLU": leaky}
    return p.get("act_type") in kinds.get(node.operator.name, ())


def _with_chains_as_nodes(graph: Graph, chains: Sequence[_Chain]) -> Graph:
    names = {chain.nodes[-1]: chain.name(i) for i, chain in enumerate(chains)}
    known: dict[Node, str] = {}  # of those that MXNet has fused by then: their inputs are called so
    instead = {}
    for chain in chains:
        last = chain.nodes[-1]
        instead[Entry(last)] = Entry(_fused(chain, names[last], known))
        known[last] = names[last]
    return substitute(graph, instead)[0] if instead else graph


def _fused(chain: _Chain, name: str, known: Mapping[Node, str]) -> Application:
    """Return the node for a chain, whose inputs are those of the chain."""
    inner, inputs = _held_graph(chain, known)
    template = FUSED_LAYERS[chain.kind]
    texts = chain.texts
    given = [inputs[variable] for variable in inner.variables]
    op = fused_layer_operator(template, template.parse({}), [inner], len(given))
    return Application(op, name, tuple(given), template.parse({}), {}, texts)


def _held_graph(chain: _Chain, known: Mapping[Node, str]) -> tuple[Graph, dict[Node, Entry]]:
    """Return the graph of a chain, and the entry that each of its variables stands for."""
    members, counts = set(chain.nodes), Counter[str]()
    variables: dict[Node, Entry] = {}

    def variable(entry: Entry) -> Entry:
        name = f"{known[entry.node]}_output" if entry.node in known else entry.name
        made = Variable(f"{name}{counts[name]}")
        counts[name] += 1
        variables[made] = entry
        return Entry(made)

    def held(node: Application) -> Application:
        inputs = [
            Entry(held(entry.node))
            if isinstance(entry.node, Application) and entry.node in members
            else variable(entry)
            for entry in node.inputs
        ]
        if node.operator.name == "elemwise_add" and inputs[0].node.is_variable:
            inputs.reverse()  # the layer first, which the graph begins with
        return node.with_inputs(inputs)

    return Graph([Entry(held(chain.nodes[-1]))]), variables


def held_names(node: Application) -> Iterator[tuple[str, str]]:
    """Yield the name and the operator of each node that a fused layer stands for.

    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> list(held_names(fused_layers(net.graph).nodes[-1]))
    [('fc', 'FullyConnected')]
    """
    for graph in node.operator.subgraphs if is_fused_layer(node.operator) else ():
        for inner in graph.nodes:
            if isinstance(inner, Application):
                yield inner.name, inner.operator.name


def level_inputs(node: Application, channel_wise: bool) -> list[int]:
    """Return which inputs of a fused layer are levels in 8 bits, by number.

    These are its data, what is added to a convolution, and the weight and bias of a dense layer; its weights have
    ranges of their own for each filter with `channel_wise`, and are then quantized when they are prepared.

    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> layer = fused_layers(net.graph).nodes[-1]
    >>> level_inputs(layer, channel_wise=False), level_inputs(layer, channel_wise=True)
    ([0, 1, 2], [0])
    """
    held = FusedLayer.read(node.operator.name, node.params, node.operator.subgraphs, len(node.inputs))
    variables = held.graph.variables
    wanted = list(held.layer.inputs[:1])
    if node.operator.name == _DENSE and not channel_wise:
        wanted += held.layer.inputs[1:]
    for inner in held.graph.nodes:
        if isinstance(inner, Application) and inner.operator.name == "elemwise_add":
            wanted += [entry for entry in inner.inputs if entry.node.is_variable]
    return [variables.index(entry.node) for entry in wanted]


def quantized_layer(
    node: Application, name: str, inputs: Sequence[Entry], texts: Mapping[str, str]
) -> Application:
    """Return a fused layer with other inputs and further parameters.

    Parameters
    ----------
    node
        The layer, in real numbers or in 8 bits.
    name
        What the new node is called.
    inputs
        Its inputs, with the ranges of levels at the end.
    texts
        Parameters beside those that it has.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> layer = fused_layers(net.graph).nodes[-1]
    >>> ends = [Entry(Variable(end)) for end in ("low", "high")]
    >>> quantized_layer(layer, "q", [*layer.inputs, *ends], {"quantized": "True"}).output_names
    ('q_output', 'q_min_output', 'q_max_output')
    """
    template = FUSED_LAYERS[node.operator.name]
    known = template.signature.parameters
    given = {**node.given, **{key: text for key, text in texts.items() if key in known}}
    attributes = {**node.attributes, **{key: text for key, text in texts.items() if key not in known}}
    p = template.parse(given)
    op = fused_layer_operator(template, p, node.operator.subgraphs, len(inputs))
    return Application(op, name, tuple(inputs), p, given, attributes)


def joined_conversions(graph: Graph) -> Graph:
    """Return a quantized network whose fused layers give levels, or real numbers, where a known range follows them.

    >>> import rebind as mx
    >>> graph = mx.sym.exp(mx.sym.var("x")).graph
    >>> joined_conversions(graph) is graph
    True
    """
    instead: dict[Entry, Entry] = {}
    for node in graph.nodes:
        if not isinstance(node, Application) or node.operator.name != "_contrib_requantize":
            continue
        layer = node.inputs[0].node
        if not isinstance(layer, Application) or not is_fused_layer(layer.operator):
            continue
        if calibrated_range(node.params) is None or _has_other_users(graph, layer, node):
            continue
        last, _ = graph.single_users.get(Entry(node), (None, 0))
        if layer.operator.name == _DENSE and last is not None and _takes_all(graph, node, last):
            made = quantized_layer(layer, layer.name, layer.inputs, {"enable_float_output": "True"})
            instead[Entry(last)] = Entry(made)
        else:
            ends = {key: text for key, text in node.given.items() if key != "out_type"}
            made = quantized_layer(layer, layer.name, layer.inputs, ends)
            instead |= {Entry(node, i): Entry(made, i) for i in range(3)}
    return _with_common_ranges(substitute(graph, instead)[0]) if instead else graph


def _with_common_ranges(graph: Graph) -> Graph:
    """Return a network whose convolutions have one range where their results are joined: a level is worth the same."""
    ranges: dict[Node, dict[str, str]] = {}
    for node in graph.nodes:
        if isinstance(node, Application) and node.operator.name == "_contrib_quantized_concat":
            sources = [entry.node for entry in node.inputs[: node.params.num_args]]
            layers = [each for each in sources if isinstance(each, Application) and _has_range(each)]
            if len(layers) == len(sources):
                low = min((layer.given["min_calib_range"] for layer in layers), key=float)
                high = max((layer.given["max_calib_range"] for layer in layers), key=float)
                ranges |= {layer: {"min_calib_range": low, "max_calib_range": high} for layer in layers}

    def replaced(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        if not isinstance(node, Application) or node not in ranges:
            return None
        made = quantized_layer(node, node.name, inputs, ranges[node])
        return [Entry(made, i) for i in range(len(made.output_names))]

    return rewrite(graph, replaced)


def _has_range(node: Application) -> bool:
    return node.operator.name == _CONV and calibrated_range(node.params) is not None


def _has_other_users(graph: Graph, layer: Application, user: Application) -> bool:
    return any(graph.single_users.get(Entry(layer, i), (None, 0))[0] is not user for i in range(3))


def _takes_all(graph: Graph, node: Application, user: Application) -> bool:
    return user.operator.name == "_contrib_dequantize" and not _has_other_users(graph, node, user)
