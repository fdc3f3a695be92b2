"""Recurrent cells that a symbol unrolled step by step, as the layers that they are steps of."""

from __future__ import annotations

from collections.abc import Collection

from ..graph import Application, Graph
from ..graph.facts import Facts, Target
from ..graph.passes.join_cells import join_cells
from ..ops.nn.recurrent_layers import GATES

__all__ = ["in_layers"]


def in_layers(graph: Graph, parameters: Collection[str]) -> Graph:
    """Return a graph with recurrent layers in place of cells; as it came where PyTorch's layers are not the same.

    Parameters
    ----------
    graph
        What the network computes.
    parameters
        The names of its parameters.

    Examples
    --------
    >>> import rebind as mx
    >>> cell = mx.rnn.LSTMCell(num_hidden=4, prefix="lstm_")
    >>> outputs, _ = cell.unroll(3, inputs=mx.sym.var("data"), merge_outputs=True)
    >>> names = ["lstm_i2h_weight", "lstm_i2h_bias", "lstm_h2h_weight", "lstm_h2h_bias"]
    >>> [node.operator.name for node in in_layers(outputs.graph, names).nodes if not node.is_variable]
    ['SwapAxis', '_joint_cells', 'transpose']
    """
    joined, _ = join_cells(graph, Facts(), Target())
    nodes = [node for node in joined.nodes if isinstance(node, Application)]
    layers = [node for node in nodes if node.operator.name == "_joint_cells"]
    return joined if all(_is_layer(joined, node, parameters) for node in layers) else graph


def _is_layer(graph: Graph, node: Application, parameters: Collection[str]) -> bool:
    """Whether PyTorch has this layer: gates in its order, both biases or none, and weights that nothing else uses."""
    p = node.params
    weights = [
        entry
        for name, entry in zip(node.input_names, node.inputs, strict=True)
        if name.endswith(("weight", "bias"))
    ]
    return (
        p.gates in ((), tuple(range(len(GATES[p.mode]))))
        and p.no_i2h_bias == p.no_h2h_bias
        and all(entry.name in parameters and graph.uses[entry] == 1 for entry in weights)
    )
