"""What follows from parameters alone: computed once, and again when somebody has written into them.

Passes for inference fold batch norms into weights and pack filters. Those operators (`Kernels.kept`) are taken out of a
graph and make code of their own, whose results are further inputs of the rest. Executors that have their parameters in
common, of one network for several shapes, have in common what of it lies in memory alike.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any, NamedTuple

from torch import Tensor, fx

from .._process import give_back_freed_memory
from ..grad_mode import grad_mode
from ..graph import Application, Entry, Facts, Graph, Variable
from ..graph.passes.substitution import substitute
from ..ndarray.storage import Storage
from ..ops.nn.inference_layers import PACK_FILTERS, PACK_TRANSPOSED_FILTERS, lie_alike
from ..ops.quantization.inference_layers import PACK_DENSE_LEVELS, PACK_LEVELS

__all__ = ["Kept", "Preparation", "Split", "split", "what_is_computed"]

#: By operator that packs weights, its parameters that say for which data.
_OF_DATA = {
    PACK_FILTERS: ("data_shape",),
    PACK_TRANSPOSED_FILTERS: ("data_shape",),
    PACK_LEVELS: ("data_shape",),
    PACK_DENSE_LEVELS: ("rows",),
}


@dataclass(frozen=True, eq=False)
class Preparation:
    """The code for what is kept.

    Attributes
    ----------
    code
        From parameters to what is kept; the code of a graph, or a function that makes something else of them.
    positions
        Which of a plan's tensors, arguments and then auxiliary states, these parameters are.
    what
        What is computed: equal for preparations whose values may differ only in where they lie in memory.
    """

    code: Callable[..., Sequence[Any]]
    positions: tuple[int, ...]
    what: Hashable


class Split(NamedTuple):
    """A graph in two: what is kept, and the rest, in which it is given as variables.

    Attributes
    ----------
    kept
        The graph of what is kept.
    rest, facts
        The graph of all else, and what is known of it.
    variables
        Of `rest`, for the outputs of `kept` in their order.
    """

    kept: Graph
    rest: Graph
    facts: Facts
    variables: tuple[Variable, ...]


def split(graph: Graph, facts: Facts) -> Split | None:
    """Take operators whose results are kept out of a graph; None if it has none.

    >>> import rebind as mx
    >>> split(mx.sym.exp(mx.sym.var("x")).graph, Facts()) is None
    True
    """
    inside = {node for node in graph.nodes if node.operator is not None and node.operator.kernels.kept}
    if not inside:
        return None
    used = [entry for node in graph.nodes if node not in inside for entry in node.inputs]
    wanted = [entry for entry in dict.fromkeys([*used, *graph.outputs]) if entry.node in inside]
    variables = tuple(Variable(entry.name) for entry in wanted)
    rest, replaced = substitute(graph, dict(zip(wanted, map(Entry, variables), strict=True)))
    return Split(Graph(wanted), rest, facts.after(replaced), variables)


def what_is_computed(graph: Graph) -> Hashable:
    """Return what a graph of operators whose results are kept computes; equal for all shapes of data.

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
            calls.append((node.operator.name, tuple(params.items()), tuple(map(place, node.inputs))))
        else:
            calls.append(None)
    return tuple(calls), tuple(map(place, graph.outputs))


@dataclass(frozen=True, eq=False)
class _Values:
    preparation: Preparation
    sources: Sequence[Tensor]
    versions: Sequence[int]
    values: Sequence[Any]


#: What executors keep now, by what was computed and from which tensors; of several shapes the newest.
_of_all: weakref.WeakValueDictionary[Hashable, _Values] = weakref.WeakValueDictionary()


class _InCommon(fx.Interpreter):
    """Runs code, with another executor's results in place of those that are the same.

    They are exchanged one by one, so that never more than one of them is there twice.
    """

    def __init__(self, code: fx.GraphModule, known: Sequence[Tensor]) -> None:
        super().__init__(code)
        outputs = code.graph.output_node().args[0]
        assert isinstance(outputs, (tuple, list))
        self._known = dict(zip(outputs, known, strict=True))

    def run_node(self, n: fx.Node) -> Any:
        """Run one node."""
        value = super().run_node(n)
        known = self._known.get(n)
        return value if known is None or not lie_alike(value, known) else known


class Kept:
    """What an executor keeps, for each preparation, until its parameters change."""

    def __init__(self) -> None:
        self._values: dict[Preparation, _Values] = {}
        # Loading, binding and packing leave free memory between arrays that stay; the first run's arrays lie in it, and
        # beside it, as chance has it, and those of later runs in other places.
        self._runs_to_clear = 2

    def values(self, preparation: Preparation, storages: Sequence[Storage]) -> Sequence[Any] | None:
        """Return the values for parameters; None if these may change unseen.

        A write is seen by the tensor's version, or by another tensor in its place. Where a view of the memory may exist
        NumPy or another library may hold it, whose writes leave no trace: an array that came from a tensor, or of which
        a row was taken.

        >>> import torch, rebind as mx
        >>> from rebind.ndarray.storage import DenseStorage
        >>> double = fx.symbolic_trace(lambda x: (x * 2,))
        >>> kept, weight = Kept(), DenseStorage(torch.ones(1))
        >>> preparation = Preparation(double, (0,), "double")
        >>> first = kept.values(preparation, [weight])
        >>> first is kept.values(preparation, [weight])
        True
        >>> _ = weight.tensor.fill_(5)
        >>> kept.values(preparation, [weight])
        (tensor([10.]),)
        """
        sources = [
            storage.tensor for storage in storages if not storage.shared and storage.tensor is not None
        ]
        if len(sources) < len(storages) or any(tensor.is_inference() for tensor in sources):
            return None
        versions = [tensor._version for tensor in sources]
        found = self._values.get(preparation)
        if found is None or found.versions != versions or not all(map(is_, found.sources, sources)):
            self._values.pop(preparation, None)  # its memory first
            found = self._values[preparation] = _computed(preparation, sources, versions)
        if self._runs_to_clear:
            self._runs_to_clear -= 1
            give_back_freed_memory()
        return found.values

    def clear(self) -> None:
        """Free all, before training changes the parameters.

        >>> Kept().clear()
        """
        self._values.clear()


def _computed(preparation: Preparation, sources: Sequence[Tensor], versions: Sequence[int]) -> _Values:
    # As long as it is there, its sources are too, and nothing else has their ids.
    key = (preparation.what, *map(id, sources))
    other = _of_all.get(key)
    with grad_mode(False):
        if other is None or other.versions != versions:
            values = preparation.code(*sources)
        elif other.preparation is preparation:
            return other
        else:
            assert isinstance(preparation.code, fx.GraphModule)
            values = _InCommon(preparation.code, other.values).run(*sources)
    found = _of_all[key] = _Values(preparation, sources, versions, values)
    return found
