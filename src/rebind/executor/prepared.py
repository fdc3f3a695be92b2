"""What follows from parameters alone: computed once, and again when somebody has written into them.

Passes for inference fold batch norms into weights and pack filters. Those operators (`Kernels.kept`) are taken out of a
graph and make code of their own, whose results are further inputs of the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_
from typing import NamedTuple

from torch import Tensor, fx

from ..grad_mode import grad_mode
from ..graph import Entry, Facts, Graph, Variable
from ..graph.passes.substitution import substitute
from ..ndarray.storage import Storage

__all__ = ["Kept", "Preparation", "Split", "split"]


@dataclass(frozen=True, eq=False)
class Preparation:
    """The code for what is kept.

    Attributes
    ----------
    code
        From parameters to what is kept.
    positions
        Which of a plan's tensors, arguments and then auxiliary states, these parameters are.
    """

    code: fx.GraphModule
    positions: tuple[int, ...]


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


class _Values(NamedTuple):
    sources: Sequence[Tensor]
    versions: Sequence[int]
    values: Sequence[Tensor]


class Kept:
    """What an executor keeps, for each preparation, until its parameters change."""

    def __init__(self) -> None:
        self._values: dict[Preparation, _Values] = {}

    def values(self, preparation: Preparation, storages: Sequence[Storage]) -> Sequence[Tensor] | None:
        """Return the values for parameters; None if these may change unseen.

        A write is seen by the tensor's version, or by another tensor in its place. Where a view of the memory may exist
        NumPy or another library may hold it, whose writes leave no trace: an array that came from a tensor, or of which
        a row was taken.

        >>> import torch, rebind as mx
        >>> from rebind.ndarray.storage import DenseStorage
        >>> double = fx.symbolic_trace(lambda x: (x * 2,))
        >>> kept, preparation, weight = Kept(), Preparation(double, (0,)), DenseStorage(torch.ones(1))
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
            with grad_mode(False):
                found = _Values(sources, versions, preparation.code(*sources))
            self._values[preparation] = found
        return found.values

    def clear(self) -> None:
        """Free all, before training changes the parameters.

        >>> Kept().clear()
        """
        self._values.clear()
