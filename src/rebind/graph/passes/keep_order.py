"""Arrays in memory in the order of their axes, wherever an operator or the caller may count on it."""

from __future__ import annotations

from ...ops import find
from ...ops.nn.inference_layers import FUSED_CONVOLUTION, FUSED_DECONVOLUTION, RECTIFIED_CONVOLUTION
from ...ops.quantization.inference_layers import INT8_CONVOLUTION
from ..facts import Facts, Target
from ..graph import Application, Entry, Graph, Node, rewrite_with_map
from .level_ranges import gives_range

__all__ = ["keep_order"]

# What takes arrays in any order of memory, and gives its result in that of its inputs.
_TAKE_ANY = frozenset(
    {
        FUSED_CONVOLUTION.name, FUSED_DECONVOLUTION.name, INT8_CONVOLUTION.name, RECTIFIED_CONVOLUTION.name,
        "Activation", "BatchNorm",
        "BlockGrad", "Cast", "Concat", "Convolution", "Convolution_v1", "Deconvolution", "Dropout", "GroupNorm",
        "InstanceNorm", "LeakyReLU", "Pooling", "UpSampling", "_channels_last", "_contrib_dequantize",
        "_contrib_quantize_v2", "_contrib_quantized_act", "_contrib_quantized_concat",
        "_contrib_quantized_pooling", "_copy", "_div_scalar", "_maximum", "_maximum_scalar", "_minimum",
        "_minimum_scalar", "_minus_scalar", "_mul_scalar", "_plus_scalar", "_power_scalar", "_rdiv_scalar",
        "_rminus_scalar", "abs", "add_n", "amp_cast", "broadcast_add", "broadcast_div", "broadcast_maximum",
        "broadcast_minimum", "broadcast_mul", "broadcast_sub", "clip", "elemwise_add", "elemwise_div",
        "elemwise_mul", "elemwise_sub", "exp", "hard_sigmoid", "log", "negative", "relu", "sigmoid", "softsign",
        "sqrt", "square", "tanh",
    }
)  # fmt: skip
_SOURCES = ("_channels_last", FUSED_CONVOLUTION.name, FUSED_DECONVOLUTION.name, INT8_CONVOLUTION.name)


def keep_order(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Put what has its channels last in memory in order where an operator may count on that, and where it leaves.

    >>> import rebind as mx
    >>> keep_order(mx.sym.exp(mx.sym.var("x"), name="e").graph, Facts(), Target())[0].output_names
    ('e_output',)
    """
    # Entries that may be in another order than that of their axes; of the new graph.
    loose: set[Entry] = set()

    def in_order(entry: Entry) -> Entry:
        if entry not in loose:
            return entry
        name = f"{entry.name} in order"
        return Entry(Application(find("_contiguous"), name, (entry,), attributes=entry.node.attributes))

    def replace(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        if not isinstance(node, Application):
            return None
        op, any_loose = node.operator, not loose.isdisjoint(inputs)
        if not any_loose and op.name not in _SOURCES:
            return None
        takes_any = op.name in _TAKE_ANY
        made = node.with_inputs(inputs if takes_any else [in_order(entry) for entry in inputs])
        entries = [Entry(made, i) for i in range(len(made.output_names))]
        if takes_any:
            # Of levels only the first output has an order; the others are the ends of their range.
            loose.update(entries[:1] if gives_range(op) else entries)
        return entries

    graph, replaced = rewrite_with_map(graph, replace)
    if not loose:
        return graph, facts
    leaving = {entry: in_order(entry) for entry in graph.outputs}
    ordered = Graph(leaving[entry] for entry in graph.outputs)
    return ordered, facts.after({old: leaving.get(new, new) for old, new in replaced.items()})
