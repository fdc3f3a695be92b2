"""What of a network follows from parameters alone, as code of its own.

Passes for inference fold batch norms into weights and pack filters. Those operators (`Kernels.prepared`) are taken out
of a graph; their results, which executors hold (`prepared_parameters.py`), are further inputs of the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..graph import Application, Entry, Facts, Graph, Node, Variable
from ..graph.passes.substitution import substitute
from ..ops.nn.inference_layers import PACK_FILTERS, PACK_TRANSPOSED_FILTERS
from ..ops.quantization.inference_layers import PACK_DENSE_LEVELS, PACK_LEVELS

__all__ = ["Preparation", "Split", "split", "what_is_computed"]

#: By operator that packs weights, its parameters that say for which data.
_OF_DATA = {
    PACK_FILTERS: ("data_shape",),
    PACK_TRANSPOSED_FILTERS: ("data_shape",),
    PACK_LEVELS: ("data_shape",),
    PACK_DENSE_LEVELS: ("rows",),
}


@dataclass(frozen=True, eq=False)
class Preparation:
    """The code for what is retained.

    Attributes
    ----------
    code
        From parameters to what is retained; the code of a graph, or a function that makes something else of them.
    positions
        Which of a plan's tensors, arguments and then auxiliary states, these parameters are.
    what
        What is computed: equal for preparations whose values may differ only in where they lie in memory.
    """

    code: Callable[..., Sequence[Any]]
    positions: tuple[int, ...]
    what: Hashable


class Split(NamedTuple):
    """A graph in two: what is retained, and the rest, in which it is given as variables.

    Attributes
    ----------
    retained
        The graph of what is retained.
    rest, facts
        The graph of all else, and what is known of it.
    variables
        Of `rest`, for the outputs of `retained` in their order.
    """

    retained: Graph
    rest: Graph
    facts: Facts
    variables: tuple[Variable, ...]


def split(graph: Graph, facts: Facts) -> Split | None:
    """Take operators whose results are retained out of a graph; None if it has none.

    >>> import rebind as mx
    >>> split(mx.sym.exp(mx.sym.var("x")).graph, Facts()) is None
    True
    """
    inside = {node for node in graph.nodes if node.operator is not None and node.operator.kernels.prepared}
    if not inside:
        return None
    used = [entry for node in graph.nodes if node not in inside for entry in node.inputs]
    wanted = [entry for entry in dict.fromkeys([*used, *graph.outputs]) if entry.node in inside]
    variables = tuple(Variable(entry.name) for entry in wanted)
    rest, replaced = substitute(graph, dict(zip(wanted, map(Entry, variables), strict=True)))
    return Split(Graph(wanted), rest, facts.after(replaced), variables)


def what_is_computed(graph: Graph, variables: Mapping[Node, int] | None = None) -> Hashable:
    """Return what a graph computes, where packed weights lie in memory left aside: equal for most shapes of data.

    Variables are distinguished by `variables`, their numbers, or, without them, by where they are.

    >>> import rebind as mx
    >>> graphs = [mx.sym.exp(mx.sym.var(name)).graph for name in "ab"]
    >>> what_is_computed(graphs[0]) == what_is_computed(graphs[1])
    True
    """
    numbers = {node: i for i, node in enumerate(graph.nodes)}

    def place(entry: Entry) -> tuple[int, int]:
        return numbers[entry.node], entry.index

    calls: list[Hashable] = []
    for node in graph.nodes:
        if isinstance(node, Application):
            params = dict(node.params)
            # Only the layout follows from the shape of data.
            for name in _OF_DATA.get(node.operator, ()):
                del params[name]
            calls.append((node.operator, tuple(params.items()), tuple(map(place, node.inputs))))
        else:
            calls.append(None if variables is None else variables[node])
    return tuple(calls), tuple(map(place, graph.outputs))
