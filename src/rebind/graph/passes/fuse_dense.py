"""Inference with oneDNN's dense layers: packed weights, and the activation that follows in the same call."""

from __future__ import annotations

from ...ops.nn.inference_dense import FUSED_DENSE, PACK_WEIGHT, can_pack
from ..facts import Facts, Target
from ..graph import Application, Entry, Graph
from .calls import ACTIVATIONS, NO_ACTIVATION, is_kept, single_users
from .substitution import substitute

__all__ = ["DENSE", "fuse_dense"]

DENSE = "FullyConnected"
#: Of fewer units hardly any layer has weights that are packed.
_LEAST_UNITS = 64


def fuse_dense(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Make a dense layer and the activation after it one call; on the CPU, in executors that only infer.

    Others would have weights in memory twice, and those that train between runs would pack them each time. A weight
    that something else reads is left as it is, too. With packed weights the relu of what is not a number is 0, as in
    MXNet.

    >>> import rebind as mx
    >>> from rebind.graph import infer_shapes, infer_types
    >>> graph = mx.sym.relu(mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=500, name="fc")).graph
    >>> facts = Facts.of(infer_shapes(graph, {"x": (8, 900)}), infer_types(graph, {"x": "float32"}))
    >>> fused, _ = fuse_dense(graph, facts, Target(recorded=False, only_infers=True))
    >>> [node.operator.name for node in fused.nodes if node.operator]
    ['_pack_weight', '_fused_dense']
    """
    if not target.only_infers or target.spans_devices or target.device.type != "cpu":
        return graph, facts
    layers = [node for node in graph.nodes if isinstance(node, Application) and _fits(node, facts)]
    uses: dict[Entry, int] = {}
    for node in layers:
        uses[node.inputs[1]] = uses.get(node.inputs[1], 0) + 1
    users = single_users(graph)
    instead: dict[Entry, Entry] = {}
    packed: dict[Entry, Entry] = {}  # layers may share a weight
    for node in layers:
        weight = node.inputs[1]
        if uses[weight] < graph.uses[weight]:
            continue
        if weight not in packed:
            packed[weight] = Entry(
                Application(PACK_WEIGHT, f"{node.name} packed", (weight,), PACK_WEIGHT.parse({}))
            )
        end, activation = Entry(node), NO_ACTIVATION
        user, _ = users.get(end, (None, 0))
        if user is not None and (rule := ACTIVATIONS.get(user.operator.name)) is not None:
            found = rule(user.params)
            if found is not None:
                end, activation = Entry(user), found
        p, (data, _, *bias) = node.params, node.inputs
        given = FUSED_DENSE.parse({
            "flatten": p.flatten, "no_bias": p.no_bias, "activation": activation.name, "numbers": activation.numbers,
        })  # fmt: skip
        inputs = (data, packed[weight], *bias)
        instead[end] = Entry(Application(FUSED_DENSE, node.name, inputs, given, {}, node.attributes))
    if not instead:
        return graph, facts
    graph, replaced = substitute(graph, instead)
    return graph, facts.after(replaced)


def _fits(node: Application, facts: Facts) -> bool:
    if node.operator.name != DENSE or node.params.num_hidden < _LEAST_UNITS:
        return False
    dtype = facts.types.get(Entry(node))
    return (
        can_pack(dtype)
        and facts.types.get(node.inputs[0]) is dtype
        and all(is_kept(entry) for entry in node.inputs[1:])
    )
