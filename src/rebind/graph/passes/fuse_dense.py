"""Inference with oneDNN's dense layers: packed weights, and the activation that follows in the same call."""

from __future__ import annotations

from collections import Counter

from ...ops.nn.inference_dense import FUSED_DENSE, PACK_WEIGHT, can_pack
from ..facts import Facts, Target
from ..graph import Application, Entry, Graph
from .calls import FusedActivation, Users, activation_after, fuse_layers, is_prepared

__all__ = ["DENSE", "fuse_dense"]

DENSE = "FullyConnected"


def fuse_dense(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Make a dense layer and the activation after it one call; on the CPU, in executors that only infer.

    Those that train between runs would pack the weights each time. A weight that something else reads is left as it
    is, too. With packed weights the relu of what is not a number is 0, as in MXNet.

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
    tuning = target.tuning
    layers = {
        node
        for node in graph.nodes
        if isinstance(node, Application) and _fits(node, facts, tuning.packed_dense_units)
    }
    sizes = {"least": tuning.packed_weight_elements, "below": tuning.unpacked_weight_elements}
    uses = Counter(node.inputs[1] for node in layers)
    packed = {  # layers may share a weight
        weight: Entry(Application(PACK_WEIGHT, f"{weight.name} packed", (weight,), PACK_WEIGHT.parse(sizes)))
        for weight, count in uses.items()
        if count == graph.uses[weight]
    }

    def fuse(
        node: Application, facts: Facts, users: Users, added: set[Entry]
    ) -> tuple[Entry, Application] | None:
        """Return the last entry that one call can compute from a dense layer on, and the node that does."""
        if node not in layers or node.inputs[1] not in packed:
            return None
        end, activation = activation_after(Entry(node), users)
        data, weight, *bias = node.inputs
        return end, _call(node, (data, packed[weight], *bias), activation, sizes)

    return fuse_layers(graph, facts, fuse)


def _call(
    node: Application, inputs: tuple[Entry, ...], activation: FusedActivation, sizes: dict[str, int]
) -> Application:
    p = node.params
    given = {"flatten": p.flatten, "no_bias": p.no_bias, **activation.parameters, **sizes}
    return Application(FUSED_DENSE, node.name, inputs, FUSED_DENSE.parse(given), {}, node.attributes)


def _fits(node: Application, facts: Facts, least_units: int) -> bool:
    if node.operator.name != DENSE or node.params.num_hidden < least_units:
        return False
    dtype = facts.types.get(Entry(node))
    return (
        can_pack(dtype)
        and facts.types.get(node.inputs[0]) is dtype
        and all(is_prepared(entry) for entry in node.inputs[1:])
    )
