"""What of a network is used after training: its predictions, without losses, labels and targets of training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..checks import LIST, check_kind, or_none
from ..errors import NameLookupError, near_names
from ..shapes import Shape
from .graph import Application, Entry, Graph, Node, rewrite_with_map
from .inference import infer_shapes
from .passes.substitution import application

__all__ = ["Deployment", "deployed"]


@dataclass(frozen=True)
class Deployment:
    """A network as it is used after training, and what was left out of it.

    Attributes
    ----------
    graph
        The network. Nodes and outputs have the names that they had.
    left_out
        A sentence for each output, input and loss that is not in it.
    """

    graph: Graph
    left_out: tuple[str, ...]


def deployed(
    graph: Graph, shapes: Mapping[str, Shape] | None = None, outputs: Sequence[str] | None = None
) -> Deployment:
    r"""Return what of a network is used after training.

    Loss layers become what they give in inference: `SoftmaxOutput` a softmax, `LogisticRegressionOutput` a sigmoid, the
    others the data itself. Then outputs go that depend on labels, are values of losses (`MakeLoss`), stop gradients
    (`BlockGrad`), or are loss layers from which another output is computed, such as the class scores of a detector with
    `MultiBoxDetection`. Where nothing would stay, what the losses are computed from does.

    Parameters
    ----------
    graph
        The network, as it was trained.
    shapes
        Shapes of inputs as far as they are known, 0 for free sizes. They tell the axis of a `SoftmaxOutput` of data
        with two axes, for which a plain softmax is enough.
    outputs
        The names of the outputs that are wanted, of any node: ``"fc1_output"``, or its node's ``"fc1"``. By default
        they are chosen as above.

    Raises
    ------
    NameLookupError
        For an output that the network does not have.

    Examples
    --------
    >>> import rebind as mx
    >>> data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    >>> net = mx.sym.Group(
    ...     [mx.sym.SoftmaxOutput(data, name="softmax"), mx.sym.BlockGrad(data, name="features")]
    ... )
    >>> result = deployed(net.graph, {"data": (0, 5)})
    >>> result.graph.nodes[-1], result.graph.output_names
    (<softmax 'softmax'>, ('softmax_output',))
    >>> print(*result.left_out, sep="\n")
    SoftmaxOutput 'softmax' gives its softmax, without the gradient of its loss.
    Output 'features_output' is left out: it comes from BlockGrad, as a value to monitor during training.
    Input 'softmax_label' is left out: nothing uses it.
    """
    check_kind("deployed", or_none(LIST), outputs=outputs)
    chosen = None if outputs is None else [_internal(graph, name) for name in outputs]
    without, changed, replaced = _without_losses(graph, shapes or {})
    if chosen is not None:
        result = Graph(changed.get(entry, entry) for entry in chosen)
        removed: list[str] = []
    else:
        result, removed = _predictions(graph, without, _labels(graph))
    used = {id(node) for node in result.nodes}
    sentences = [text for node, text in replaced if id(node) in used]
    unused = [node for node in graph.arguments if id(node) not in used and _is_input(graph, node)]
    inputs = [f"Input {node.name!r} is left out: nothing uses it." for node in unused]
    return Deployment(result, (*sentences, *removed, *inputs))


def _internal(graph: Graph, name: str) -> Entry:
    """Return the output of any node by its name, or its node's."""
    entries = [entry for node in graph.nodes for entry in _visible(node)]
    by_name = {entry.node.name: entry for entry in reversed(entries)} | {
        entry.name: entry for entry in entries
    }
    if name not in by_name:
        raise NameLookupError(
            f"outputs: {name!r} must be an output of the network or of one of its nodes"
            f"{near_names(name, by_name)}"
        )
    return by_name[name]


def _visible(node: Node) -> list[Entry]:
    return [Entry(node, i) for i in range(node.visible_outputs)]


def _without_losses(
    graph: Graph, shapes: Mapping[str, Shape]
) -> tuple[Graph, dict[Entry, Entry], list[tuple[Node, str]]]:
    """Replace loss layers by their inference form; return the graph, the new entries, and sentences for new nodes."""
    ranks = _ranks_of_scores(graph, shapes)
    sentences: list[tuple[Node, str]] = []

    def replace(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if not isinstance(node, Application) or node.operator.name not in _IN_INFERENCE:
            return None
        made = _IN_INFERENCE[node.operator.name](node, inputs[0], ranks.get(node.name))
        if node.operator.name in _WHAT_IT_GIVES:
            what = _WHAT_IT_GIVES[node.operator.name]
            text = f"{node.operator.name} {node.name!r} gives {what}, without the gradient of its loss."
            sentences.append((made, text))
        return [Entry(made)]

    return (*rewrite_with_map(graph, replace), sentences)


def _ranks_of_scores(graph: Graph, shapes: Mapping[str, Shape]) -> dict[str, int]:
    """Return how many axes the data of each `SoftmaxOutput` has, where that is known."""
    found = [
        node for node in graph.nodes if node.operator is not None and node.operator.name == "SoftmaxOutput"
    ]
    if not found:
        return {}
    inferred = infer_shapes(graph, shapes)
    known = {node.name: inferred.of(node.inputs[0]) for node in found}
    return {name: len(shape) for name, shape in known.items() if shape is not None}


def _identity(node: Application, data: Entry, rank: int | None) -> Application:
    return application("_copy", node.name, [data], node.attributes)


def _sigmoid(node: Application, data: Entry, rank: int | None) -> Application:
    return application("sigmoid", node.name, [data], node.attributes)


def _softmax(node: Application, data: Entry, rank: int | None) -> Application:
    """Return the softmax of a `SoftmaxOutput`: along axis 1, the last one, or all axes but the first."""
    p, attributes = node.params, node.attributes
    if p.multi_output or rank == 2:
        return application("softmax", node.name, [data], attributes, axis=1)
    if p.preserve_shape:
        return application("softmax", node.name, [data], attributes, axis=-1)
    flat = application("Flatten", f"{node.name}_flat", [data], attributes)
    softmax = application("softmax", f"{node.name}_of_all", [Entry(flat)], attributes, axis=1)
    return application("reshape_like", node.name, [Entry(softmax), data], attributes)


def _softmax_of_steps(node: Application, data: Entry, rank: int | None) -> Application:
    return application("softmax", node.name, [data], node.attributes, axis=1)


#: What layers of losses give in inference, under their own names.
_IN_INFERENCE: Mapping[str, Callable[[Application, Entry, int | None], Application]] = {
    "IdentityAttachKLSparseReg": _identity,
    "LinearRegressionOutput": _identity,
    "LogisticRegressionOutput": _sigmoid,
    "MAERegressionOutput": _identity,
    "MakeLoss": _identity,
    "SVMOutput": _identity,
    "SoftmaxOutput": _softmax,
    "WarpCTC": _softmax_of_steps,
}

#: For a sentence about it; of the others it is said with their outputs, or nothing needs saying.
_WHAT_IT_GIVES = {
    "LinearRegressionOutput": "its data",
    "LogisticRegressionOutput": "its sigmoid",
    "MAERegressionOutput": "its data",
    "SVMOutput": "its data",
    "SoftmaxOutput": "its softmax",
    "WarpCTC": "its softmax",
}

#: What the label is called by the operators that take one.
_LABELS = frozenset({"label", "label_lengths"})
_LOSSES = frozenset({"MakeLoss", "make_loss"})


def _labels(graph: Graph) -> frozenset[int]:
    """Return the identities of the variables that hold labels.

    They are what is named so, as MXNet's iterators name it, and what a loss takes as its label and no layer takes as
    data: that of an autoencoder's loss is the data.
    """
    named = {id(node) for node in graph.variables if node.name.endswith("label")}
    taken: list[Node] = []
    data: list[Entry] = []
    for node in graph.nodes:
        if isinstance(node, Application) and not _LABELS.isdisjoint(node.input_names):
            for name, entry in zip(node.input_names, node.inputs, strict=True):
                if name in _LABELS:
                    taken.append(_source(entry.node))
                else:
                    data.append(entry)
    computed_from = {id(node) for node in Graph(data).nodes}
    return frozenset(named | {id(node) for node in taken if node.is_variable} - computed_from)


def _source(node: Node) -> Node:
    """Return what a label is made from by operators of one input, such as `Reshape`."""
    while len(node.inputs) == 1:
        node = node.inputs[0].node
    return node


def _predictions(old: Graph, graph: Graph, labels: frozenset[int]) -> tuple[Graph, list[str]]:
    """Return the graph with the outputs that are predictions, and a sentence for each other one.

    Parameters
    ----------
    old, graph
        The network with its layers of losses, and with what they give.
    labels
        The identities of the variables that are labels.
    """
    depending = _depending(graph, labels)
    reasons = {
        i: reason
        for i, (before, after) in enumerate(zip(old.outputs, graph.outputs, strict=True))
        if (reason := _why_not(before, id(after.node) in depending)) is not None
    }
    if len(reasons) == len(graph.outputs):
        return _where_all_are_losses(graph, depending, reasons)
    predictions = [entry for i, entry in enumerate(graph.outputs) if i not in reasons]
    below = {id(node) for node in Graph(entry for top in predictions for entry in top.node.inputs).nodes}
    for i, (before, after) in enumerate(zip(old.outputs, graph.outputs, strict=True)):
        if i not in reasons and id(after.node) in below and _is_loss_layer(before.node):
            reasons[i] = "it is the output of a loss layer, and another output uses it"
    return (
        Graph(entry for i, entry in enumerate(graph.outputs) if i not in reasons),
        [f"Output {graph.outputs[i].name!r} is left out: {reasons[i]}." for i in sorted(reasons)],
    )


def _is_loss_layer(node: Node) -> bool:
    return node.operator is not None and node.operator.name in _IN_INFERENCE


def _depending(graph: Graph, labels: frozenset[int]) -> set[int]:
    """Return the identities of the nodes that depend on labels."""
    found = set(labels)
    for node in graph.nodes:
        if any(id(entry.node) in found for entry in node.inputs):
            found.add(id(node))
    return found


def _why_not(entry: Entry, depends: bool) -> str | None:
    """Return why an output is no prediction; None for one."""
    if depends:
        return "it depends on labels"
    name = "" if entry.node.operator is None else entry.node.operator.name
    # Without a scale it is no loss: it is how a network has an output that is not trained.
    if name in _LOSSES and entry.node.params.get("grad_scale") != 0:
        return f"it is the value of a loss ({name})"
    if name == "BlockGrad":
        return "it comes from BlockGrad, as a value to monitor during training"
    return None


def _where_all_are_losses(
    graph: Graph, depending: set[int], reasons: dict[int, str]
) -> tuple[Graph, list[str]]:
    """Return the graph of the outputs that do not depend on labels, or else of what the losses are computed from."""
    free = {i: entry for i, entry in enumerate(graph.outputs) if id(entry.node) not in depending}
    removed = [
        f"Output {entry.name!r} is left out: {reasons[i]}."
        for i, entry in enumerate(graph.outputs)
        if i not in free
    ]
    if free:
        return Graph(free.values()), removed
    candidates = _last_before(graph, depending)
    if not candidates:
        return graph, ["All outputs depend on labels, which stay as inputs."]
    names = ", ".join(repr(entry.name) for entry in candidates)
    return Graph(candidates), [*removed, f"The outputs are what the losses are computed from: {names}."]


def _last_before(graph: Graph, depending: set[int]) -> list[Entry]:
    """Return the last entries before labels come in: inputs of nodes that depend on labels, which do not themselves."""
    candidates = dict.fromkeys(
        entry
        for node in graph.nodes
        if id(node) in depending
        for entry in node.inputs
        if entry.node.inputs and id(entry.node) not in depending
    )
    below = {id(node) for node in Graph(entry for top in candidates for entry in top.node.inputs).nodes}
    return [entry for entry in candidates if id(entry.node) not in below]


def _is_input(graph: Graph, variable: Node) -> bool:
    """Return whether a variable is an input rather than a parameter, which composing names after its layer."""
    return variable.name.endswith("label") or not any(
        variable.name == f"{node.name}_{name}" for node in graph.nodes for name in node.input_names
    )
