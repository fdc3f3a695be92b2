"""What follows from parameters alone: computed once, and again when somebody has written into them.

Executors that have their parameters in common, of one network for several shapes, have in common what of it has the
same layout in memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter, is_
from typing import Any

from torch import Tensor, fx

from .._torch.tensors import version_of
from ..grad_mode import grad_mode
from ..ndarray.storage import DenseStorage, Storage
from ..ops.nn.inference_layers import have_same_layout
from ..tune import give_back_freed_memory
from .parameter_transform import Preparation

__all__ = ["PreparedParameters"]

_is_shared, _memory_of = map(attrgetter, ("shared", "memory"))

#: What executors keep now, by what was computed and from which tensors; of several shapes the newest.
_of_all: weakref.WeakValueDictionary[Hashable, _Values] = weakref.WeakValueDictionary()


class _Values:
    """What is retained, and the tensors that it was computed from."""

    def __init__(self, preparation: Preparation, sources: list[Tensor], values: Sequence[Any]) -> None:
        self.preparation, self.values = preparation, values
        self._sources, self._versions = sources, [*map(version_of, sources)]
        _of_all[_key(preparation, sources)] = self

    def hold(self, storages: Sequence[Storage]) -> bool:
        """Return whether the parameters are what they were, and nobody can write them unseen."""
        # In C, for every parameter in every run.
        return (
            {*map(type, storages)} == {DenseStorage}
            and all(map(is_, map(_memory_of, storages), self._sources))
            and [*map(version_of, self._sources)] == self._versions
            and not any(map(_is_shared, storages))
        )

    def follow_from(self, sources: list[Tensor]) -> bool:
        """Return whether the values were computed from these tensors as they are now."""
        return all(map(is_, sources, self._sources)) and [*map(version_of, sources)] == self._versions


def _key(preparation: Preparation, sources: Sequence[Tensor]) -> Hashable:
    return (preparation.what, *map(id, sources))


class _Exchanging(fx.Interpreter):
    """Runs code on tensors, and exchanges each result once it is computed, so that at most one is in memory twice.

    Parameters
    ----------
    code
        What is run.
    exchange
        Takes the position of a result, and the result; returns what takes its place.
    """

    def __init__(self, code: fx.GraphModule, exchange: Callable[[int, Tensor], Tensor]) -> None:
        super().__init__(code)
        results = code.graph.output_node().args[0]
        assert isinstance(results, (tuple, list))
        self._positions = {node: i for i, node in enumerate(results)}
        self._exchange = exchange

    def run_node(self, n: fx.Node) -> Any:
        """Run one node."""
        value = super().run_node(n)
        position = self._positions.get(n)
        return value if position is None else self._exchange(position, value)


class PreparedParameters:
    """What an executor keeps until its parameters change.

    Parameters
    ----------
    before
        Of the executor that it was made from, for other shapes, which may not live until it runs.
    """

    def __init__(self, before: PreparedParameters | None = None) -> None:
        self._values: _Values | None = None if before is None else before._values
        # Loading, binding and packing leave free memory between arrays that stay; the first run's arrays lie in it, and
        # beside it, as chance has it, and those of later runs in other places.
        self._runs_to_clear = 2

    def values(self, preparation: Preparation, storages: Sequence[Storage]) -> Sequence[Any] | None:
        """Return the values for parameters; None if these may change unseen.

        A write is seen by the tensor's version, or by another tensor in its place. Where a view of the memory may exist
        NumPy or another library may hold it, whose writes leave no trace: an array that came from a tensor, or of which
        a row was taken.

        Parameters
        ----------
        preparation
            What is computed.
        storages
            Of the parameters.

        Examples
        --------
        >>> import torch, rebind as mx
        >>> from rebind.ndarray.storage import DenseStorage
        >>> double = fx.symbolic_trace(lambda x: (x * 2,))
        >>> retained, weight = PreparedParameters(), DenseStorage(torch.ones(1))
        >>> preparation = Preparation(double, (0,), "double")
        >>> first = retained.values(preparation, [weight])
        >>> first is retained.values(preparation, [weight])
        True
        >>> _ = weight.tensor.fill_(5)
        >>> retained.values(preparation, [weight])
        (tensor([10.]),)
        """
        found = self._found(preparation, storages)
        if found is None:
            return None
        if self._runs_to_clear:
            self._runs_to_clear -= 1
            give_back_freed_memory()
        return found.values

    def _found(self, preparation: Preparation, storages: Sequence[Storage]) -> _Values | None:
        """Find what `values` returns: in a function of its own, whose memory is free before any is given back."""
        found = self._values
        if found is not None and found.preparation is not preparation:
            found = None
        if found is not None and found.hold(storages):
            return found
        dense = [each for each in storages if isinstance(each, DenseStorage) and not each.shared]
        sources = [each.memory for each in dense]
        if len(sources) < len(storages) or any(tensor.is_inference() for tensor in sources):
            return None
        found = self._values = None  # its memory first
        found = _in_common(preparation, sources)
        if found is None:
            if self._runs_to_clear:
                give_back_freed_memory()
            with grad_mode(False):
                found = _Values(preparation, sources, preparation.code(*sources))
        self._values = found
        return found

    def clear(self) -> None:
        """Free all, before training changes the parameters.

        >>> PreparedParameters().clear()
        """
        self._values = None


def _in_common(preparation: Preparation, sources: list[Tensor]) -> _Values | None:
    """Return what another executor has of the same parameters, or what is computed with it; None if there is none."""
    other = _of_all.get(_key(preparation, sources))
    if other is None or not other.follow_from(sources):
        return None
    if other.preparation is preparation:
        return other
    known = other.values

    def exchange(position: int, value: Tensor) -> Tensor:
        return known[position] if have_same_layout(value, known[position]) else value

    assert isinstance(preparation.code, fx.GraphModule)
    with grad_mode(False):
        values = _Exchanging(preparation.code, exchange).run(*sources)
    return _Values(preparation, sources, values)
