"""On GPUs: a convolution, a sum and the relu behind them in one call."""

from __future__ import annotations

from ...ops.nn.inference_layers import RECTIFIED_CONVOLUTION
from ..facts import Facts, Target
from ..graph import Application, Entry, Graph
from .calls import NO_ACTIVATION, Users, activation_after, fuse_layers, sum_after, windows
from .channels_last import CONVOLUTIONS, LAYOUTS, types_with_channels_last

__all__ = ["fuse_relu"]


def fuse_relu(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Make a convolution in two dimensions, the sum with another array and the relu after it one call of cuDNN's.

    In inference on a GPU, of types that have their channels last there, and what no compiler takes, which fuses itself.

    >>> import torch, rebind as mx
    >>> from rebind.graph import infer_types
    >>> graph = mx.sym.relu(mx.sym.Convolution(mx.sym.var("x"), kernel=(1, 1), num_filter=2)).graph
    >>> facts = Facts.of(None, infer_types(graph, {"x": "float16"}))
    >>> fused, _ = fuse_relu(graph, facts, Target(device=torch.device("cuda", 0)))
    >>> [node.operator.name for node in fused.nodes if node.operator]
    ['_rectified_convolution']
    """
    if target.training or target.is_compiled or target.spans_devices or target.device.type != "cuda":
        return graph, facts
    types = types_with_channels_last(target.device)

    def fuse(
        node: Application, facts: Facts, users: Users, added: set[Entry]
    ) -> tuple[Entry, Application] | None:
        """Return the relu that one call can compute from a convolution on, and the node that does; note its sum."""
        if not _fits(node) or facts.types.get(Entry(node)) not in types:
            return None
        total, addend = sum_after(node, facts, users, added)
        for before, other in ((total, addend), (Entry(node), None)):
            end, activation = activation_after(before, users, among=("relu",))
            if activation != NO_ACTIVATION:
                if other is not None:
                    added.add(before)
                return end, _call(node, other)
        return None

    return fuse_layers(graph, facts, fuse)


def _fits(node: Application) -> bool:
    is_one = node.operator.name in CONVOLUTIONS
    return is_one and len(node.params.kernel) == 2 and node.params.layout in LAYOUTS


def _call(node: Application, addend: Entry | None) -> Application:
    p, op = node.params, RECTIFIED_CONVOLUTION
    given = {
        **windows(p),
        "dilate": p.dilate or (1, 1),
        "num_group": p.num_group,
        "no_bias": p.no_bias,
        "adds": addend is not None,
    }
    inputs = (*node.inputs, *([] if addend is None else [addend]))
    return Application(op, node.name, inputs, op.parse(given), {}, node.attributes)
