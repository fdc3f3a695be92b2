"""Which results of a training run are not retained for backward but computed again when it needs them.

In MXNet's words these are the nodes that are mirrored (``MXNET_BACKWARD_DO_MIRROR``). What is held are the results that
take long to compute, such as those of most convolutions, and what follows quickly from them is computed again: a batch
norm, an activation, a sum, a convolution over few channels. Where too many such nodes follow from each other, one in
about sqrt(n) is retained, so that backward goes through the network in parts, of which only one is in memory.

References
----------
Chen et al., Training Deep Nets with Sublinear Memory Cost.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from ..graph import Application, Entry, Facts, Graph, Node, Target
from ..shapes import Shape, is_known, size
from ..tuning import Tuning
from .overwrite import Overwriting

__all__ = ["has_marks", "recomputed_nodes"]

#: Operators that take about as long as reading and writing their arrays does, beside those that say so
#: (`Inference.computes_little`).
_COMPUTE_LITTLE = frozenset(
    {
        "GroupNorm", "InstanceNorm", "LayerNorm", "Pad", "SequenceMask", "UpSampling", "broadcast_to", "one_hot",
        "repeat", "slice", "slice_axis", "slice_like", "squeeze", "stack", "take", "tile", "where",
    }
)  # fmt: skip

#: What must run once: all workers of a job wait for each other in it.
_RUN_ONCE = frozenset({"_contrib_SyncBatchNorm"})

_MARK = "__force_mirroring__"


def has_marks(graph: Graph) -> bool:
    """Whether a node has MXNet's attribute ``force_mirroring``.

    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> has_marks(mx.sym.exp(x).graph), has_marks(mx.sym.exp(x, force_mirroring="True").graph)
    (False, True)
    """
    return any(map(_is_marked, graph.nodes))


def recomputed_nodes(
    graph: Graph,
    facts: Facts,
    target: Target,
    overwriting: Mapping[Node, Overwriting],
    held: Collection[Node] = (),
) -> frozenset[Node]:
    """Return the nodes whose results are computed again.

    Parameters
    ----------
    graph
        The graph as it is run.
    facts
        What is known of it. Without shapes, products count as long computations.
    target
        Its `recompute` says which. ``'marked'``: those with the attribute ``force_mirroring`` alone; ``'cheap'``: those
        that take little time, too; ``'none'``: none.
    overwriting
        How nodes write over an input: what writes over a result that is held takes no memory, and is held.
    held
        Nodes whose results are held anyway.

    Examples
    --------
    >>> import rebind as mx
    >>> layer = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")
    >>> graph = mx.sym.sum(mx.sym.relu(mx.sym.BatchNorm(layer, name="bn"), name="relu"), name="sum").graph
    >>> sorted(node.name for node in recomputed_nodes(graph, Facts(), Target(recompute="cheap"), {}))
    ['bn', 'relu']
    """
    if target.recompute == "none":
        return frozenset()
    retained = {*held, *(entry.node for entry in graph.outputs)}
    most = math.isqrt(len(graph.nodes) - len(graph.variables))
    # By node all that are computed again for its result: itself, and what it follows from. What follows from variables
    # alone, such as filters in another order of memory, does not count: it is no part of a chain.
    together: dict[Node, frozenset[Node]] = {}
    for node in graph.nodes:
        if not isinstance(node, Application) or node in retained or not _can_run_again(node):
            continue
        itself = () if all(entry.node.is_variable for entry in node.inputs) else (node,)
        needed = frozenset(itself).union(*(together.get(entry.node, ()) for entry in node.inputs))
        over = overwriting.get(node)
        is_worth_it = (
            target.recompute == "cheap"
            and len(needed) <= most
            and (over is None or over.entry.node in together)
            and _computes_little(node, facts, target.tuning)
        )
        if is_worth_it or _is_marked(node):
            together[node] = needed
    return frozenset(together)


def _is_marked(node: Node) -> bool:
    return node.attributes.get(_MARK, "").lower() in ("1", "true")


def _can_run_again(node: Application) -> bool:
    op = node.operator
    # A second run of a loop's body, or of what remembers something, would be another step for it.
    return not (op.subgraphs or op.kernels.make or op.kernels.writes_aux or op.name in _RUN_ONCE)


def _computes_little(node: Application, facts: Facts, tuning: Tuning) -> bool:
    op = node.operator
    if op.inference.computes_little or op.name in _COMPUTE_LITTLE:
        return True
    if op.inference.products_rule is None:
        return False
    inputs = [_shape(entry, facts) for entry in node.inputs]
    result = _shape(Entry(node), facts)
    if result is None or None in inputs:
        return False
    products = op.inference.products_rule(dict(zip(node.input_names, inputs, strict=True)), node.params)
    # That follows from the shapes of weights: executors for other batches, which share the plan, would say the same.
    return products <= tuning.recomputed_products * size(result)


def _shape(entry: Entry, facts: Facts) -> Shape | None:
    # Of what passes put in, only the operator says that its shape is that of its input.
    while (shape := facts.shapes.get(entry)) is None:
        node = entry.node
        if not isinstance(node, Application) or not node.inputs or not node.operator.inference.same_shape:
            return None
        entry = node.inputs[0]
    return shape if is_known(shape) else None
