"""What follows from parameters alone: computed once, and again when somebody has written into them.

Executors that have their parameters in common, of one network for several shapes, have in common what of it lies in
memory alike. Parameters that nothing else reads need not be in memory a second time (`released_weights.py`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter, is_
from typing import Any

from torch import Tensor, fx

from .._process import give_back_freed_memory
from ..grad_mode import grad_mode
from ..ndarray.deferred import held_tensor, memory_of
from ..ndarray.released import StandIn, is_held_elsewhere, put_away, values_of
from ..ndarray.storage import Storage
from ..ops.nn.inference_layers import lie_alike
from .prepared import Preparation
from .released_weights import Origin, give_up

__all__ = ["Kept"]

#: Bytes of weights that were given up, in gaps of memory that are too small for packed ones.
_MUCH = 1 << 24

_is_shared, _version_of = attrgetter("shared"), attrgetter("_version")

#: What executors keep now, by what was computed and from which tensors; of several shapes the newest.
_of_all: weakref.WeakValueDictionary[Hashable, _Values] = weakref.WeakValueDictionary()


class _Values:
    """What is kept, and what it was computed from: tensors, with what stands for weights that were given up."""

    def __init__(self, preparation: Preparation, sources: list[Tensor], values: Sequence[Any]) -> None:
        self.preparation, self.values = preparation, values
        self._note(sources)

    def _note(self, sources: list[Tensor]) -> None:
        """Note what it follows from, by which others find it too."""
        self._sources = sources
        # What stands for values is another when these were looked at, and so may have been written.
        self._open = [tensor for tensor in sources if not isinstance(tensor, StandIn)]
        self._versions = [*map(_version_of, self._open)]
        _of_all[_key(self.preparation, sources)] = self

    def hold(self, storages: Sequence[Storage]) -> bool:
        """Return whether the parameters are what they were, and nobody can write them unseen."""
        # In C, for every parameter in every run.
        if not all(map(is_, map(memory_of, storages), self._sources)):
            return False
        return not self._open or (
            [*map(_version_of, self._open)] == self._versions and not any(map(_is_shared, storages))
        )

    def follow_from(self, sources: list[Tensor]) -> bool:
        """Return whether the values follow from parameters as these are now, which may have come back since."""
        versions = iter(self._versions)
        for before, now in zip(self._sources, sources, strict=True):
            if isinstance(before, StandIn):
                is_same = now is before or before.is_restored_in(now)
            else:
                is_same = now is before and now._version == next(versions)
            if not is_same:
                return False
        self._note(sources)
        return True


def _key(preparation: Preparation, sources: Sequence[Tensor]) -> Hashable:
    return (preparation.what, *map(id, sources))


class _OneByOne(fx.Interpreter):
    """Runs code on tensors, or what stands for them, and hands on each of its results as soon as it is there.

    So of much that is exchanged or given up no more than one is there twice.

    Parameters
    ----------
    code
        What is run.
    finish
        Takes the position of a result, and the result; returns what takes its place.
    """

    def __init__(self, code: fx.GraphModule, finish: Callable[[int, Tensor], Tensor]) -> None:
        super().__init__(code)
        results = code.graph.output_node().args[0]
        assert isinstance(results, (tuple, list))
        self._positions = {node: i for i, node in enumerate(results)}
        self._finish = finish

    def run_on(self, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        """Run it; inputs are not held longer than they are read."""
        found: Sequence[Tensor] = self.run(
            initial_env=dict(zip(self.graph.find_nodes(op="placeholder"), inputs, strict=True))
        )
        return found

    def fetch_args_kwargs_from_env(self, n: fx.Node) -> tuple[Any, Any]:
        """Return what a node is given, with the values that something stands for."""
        find: Any = values_of  # arguments that are no tensors are what they are
        found: Any = fx.node.map_aggregate(super().fetch_args_kwargs_from_env(n), find)
        args, kwargs = found
        return args, kwargs

    def run_node(self, n: fx.Node) -> Any:
        """Run one node."""
        value = super().run_node(n)
        position = self._positions.get(n)
        return value if position is None else self._finish(position, value)


class Kept:
    """What an executor keeps until its parameters change.

    Parameters
    ----------
    before
        Of the executor that it was made from, for other shapes, which may not live until it runs.
    """

    def __init__(self, before: Kept | None = None) -> None:
        self._values: _Values | None = None if before is None else before._values
        # Loading, binding and packing leave free memory between arrays that stay; the first run's arrays lie in it, and
        # beside it, as chance has it, and those of later runs in other places.
        self._runs_to_clear = 2
        # Once: who writes parameters again and again would have them computed for it each time.
        self._may_give_up = True

    def values(
        self, preparation: Preparation, storages: Sequence[Storage], gives_up: bool = False
    ) -> Sequence[Any] | None:
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
        gives_up
            Whether weights that follow from the values may be given up until somebody asks for them: where no training
            will.

        Examples
        --------
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
        found = self._found(preparation, storages, gives_up)
        if found is None:
            return None
        if self._runs_to_clear:
            self._runs_to_clear -= 1
            give_back_freed_memory()
        return found.values

    def _found(self, preparation: Preparation, storages: Sequence[Storage], gives_up: bool) -> _Values | None:
        """Find what `values` returns: in a function of its own, whose memory is free before any is given back."""
        found = self._values
        if found is not None and found.preparation is not preparation:
            found = None
        if found is not None and found.hold(storages):
            return found
        held = [memory_of(storage) for storage in storages if not storage.shared]
        sources = [tensor for tensor in held if tensor is not None]
        if len(sources) < len(storages) or any(tensor.is_inference() for tensor in sources):
            return None
        if found is not None and found.follow_from(sources):
            return found
        if found is not None:
            found = self._values = None  # its memory first
        found = _in_common(preparation, sources)
        if found is None:
            self._values = None
            del held, sources  # they would hold weights that are given up
            if self._runs_to_clear:
                give_back_freed_memory()
            found = _computed(preparation, storages, gives_up and self._may_give_up)
            self._may_give_up = False
        self._values = found
        return found

    def clear(self) -> None:
        """Free all, before training changes the parameters.

        >>> Kept().clear()
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
        return known[position] if lie_alike(value, known[position]) else value

    assert isinstance(preparation.code, fx.GraphModule)
    with grad_mode(False):
        values = _OneByOne(preparation.code, exchange).run_on(sources)
    return _Values(preparation, sources, values)


def _computed(preparation: Preparation, storages: Sequence[Storage], gives_up: bool) -> _Values:
    # What had been given up comes back: of what another executor kept, which is no more, or of other values.
    alone = [i for i in preparation.alone if not is_held_elsewhere(storages[i])] if gives_up else []
    sources = [tensor for storage in storages if (tensor := storage.tensor) is not None]
    weights = [origin for origin in preparation.weights if origin.weight in alone]
    with grad_mode(False):
        if weights:
            values = _computed_for_weights(preparation, weights, storages, sources)
        else:
            values = preparation.code(*sources)
    for i in alone:
        if not (isinstance(sources[i], StandIn) or sources[i].requires_grad):
            # So no run need ask whether it was written.
            put_away(storages[i])
    # Two of them may be one array.
    return _Values(preparation, [held_tensor(storage) for storage in storages], values)


def _computed_for_weights(
    preparation: Preparation,
    weights: Sequence[Origin],
    storages: Sequence[Storage],
    sources: list[Tensor],
) -> Sequence[Any]:
    """Compute what is kept, and give up weights that follow from it: what stands for them is in `sources` then."""
    origins = {origin.value: origin for origin in weights}
    free = 0

    def finish(position: int, value: Tensor) -> Tensor:
        nonlocal free
        origin = origins.get(position)
        if origin is None:
            return value
        stand_in = give_up(origin, storages[origin.weight], value, sources)
        if stand_in is not None:
            sources[origin.weight] = stand_in
            free += stand_in.nbytes
            if free >= _MUCH:
                give_back_freed_memory()
                free = 0
        return value

    assert isinstance(preparation.code, fx.GraphModule)
    return _OneByOne(preparation.code, finish).run_on(sources)
