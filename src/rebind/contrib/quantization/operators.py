"""Which operators a quantized network has in 8 bits: the table, and what of a network is quantized in each mode."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from ...graph import Application, Graph, Node
from ...params import Params
from .fusing import held_names

__all__ = ["OPERATORS", "QuantizedForm", "nodes_to_quantize"]


def _always(p: Params) -> bool:
    return True


@dataclass(frozen=True)
class QuantizedForm:
    """An operator in 8 bits.

    Attributes
    ----------
    operator
        Its name.
    inputs
        Which inputs are levels, by the names of the operator in real numbers; None for all. Their ranges follow the
        inputs.
    gives_sums
        Whether it gives sums in int32, which `_contrib_requantize` takes to 8 bits.
    applies
        Whether it computes the same as the operator in real numbers, by that one's parameters.
    seeks
        Whether mode ``'smart'`` quantizes it wherever it is; the others only between two of these.
    quantizer
        The operator that gives the levels of its data.
    gives_levels
        Whether its result is levels; otherwise real numbers.
    further
        Parameters that the operator in real numbers does not have.
    """

    operator: str
    inputs: tuple[str, ...] | None = ("data",)
    gives_sums: bool = False
    applies: Callable[[Params], bool] = _always
    seeks: bool = False
    quantizer: str = "_contrib_quantize_v2"
    gives_levels: bool = True
    further: Mapping[str, str] | None = None


#: By the operator in real numbers.
OPERATORS: Mapping[str, QuantizedForm] = {
    "Activation": QuantizedForm("_contrib_quantized_act", applies=lambda p: p.act_type == "relu"),
    "BatchNorm": QuantizedForm("_contrib_quantized_batch_norm", applies=lambda p: not p.output_mean_var),
    "Concat": QuantizedForm("_contrib_quantized_concat", inputs=None, applies=lambda p: p.dim == 1),
    "Convolution": QuantizedForm("_contrib_quantized_conv", inputs=None, gives_sums=True, seeks=True),
    "Embedding": QuantizedForm("_contrib_quantized_embedding", inputs=("weight",)),
    "Flatten": QuantizedForm("_contrib_quantized_flatten"),
    "FullyConnected": QuantizedForm(
        "_contrib_quantized_fully_connected", inputs=None, gives_sums=True, seeks=True
    ),
    "Pooling": QuantizedForm(
        "_contrib_quantized_pooling", applies=lambda p: p.pool_type in ("max", "avg")
    ),
    "RNN": QuantizedForm(
        "_contrib_quantized_rnn",
        applies=lambda p: p.mode == "lstm" and not p.use_sequence_length,
        seeks=True,
        quantizer="_contrib_quantize_asym",
        gives_levels=False,
        further={"quantized": "true"},
    ),
    # Layers that were fused before: which inputs are levels follows from what they hold.
    "_sg_mkldnn_conv": QuantizedForm("_sg_mkldnn_conv", gives_sums=True, seeks=True, further={"quantized": "true"}),
    "_sg_mkldnn_fully_connected": QuantizedForm(
        "_sg_mkldnn_fully_connected", gives_sums=True, seeks=True, further={"quantized": "True"}
    ),
    "elemwise_add": QuantizedForm("_contrib_quantized_elemwise_add", inputs=None, gives_sums=True),
    "elemwise_mul": QuantizedForm("_contrib_quantized_elemwise_mul", inputs=None, gives_sums=True),
}  # fmt: skip


def nodes_to_quantize(
    graph: Graph, mode: str, excluded_names: Collection[str] = (), excluded_operators: Collection[str] = ()
) -> frozenset[Node]:
    """Return the nodes that are quantized.

    Parameters
    ----------
    graph
        A network in real numbers.
    mode
        ``'full'`` for all that can be; ``'smart'`` for convolutions, dense and recurrent layers, and for what is
        computed from the result of one of these and used, by way of such nodes alone, by another one: nothing else
        gets faster.
    excluded_names, excluded_operators
        Names of nodes and of operators that are left in real numbers.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.relu(mx.sym.var("data")), num_hidden=2, name="fc")
    >>> [node.name for node in nodes_to_quantize(net.graph, "smart")]
    ['fc']
    """
    able: dict[Node, QuantizedForm] = {}
    for node in graph.nodes:
        if isinstance(node, Application) and not _is_excluded(node, excluded_names, excluded_operators):
            form = OPERATORS.get(node.operator.name)
            if form and form.applies(node.params):
                able[node] = form
    if mode == "full":
        return frozenset(able)
    after = {node for node, form in able.items() if form.seeks}
    before = set(after)
    for node in graph.nodes:
        if node in able and any(entry.node in after for entry in node.inputs):
            after.add(node)
    for node in reversed(graph.nodes):
        if node in before:
            before |= {entry.node for entry in node.inputs if entry.node in able}
    return frozenset(after & before)


def _is_excluded(node: Application, names: Collection[str], operators: Collection[str]) -> bool:
    """Whether a node, or one that it was fused from, is in one of the lists."""
    if node.name in names or node.operator.name in operators or node.called_as in operators:
        return True
    return any(name in names or operator in operators for name, operator in held_names(node))
