"""`Updater`: the states of a set of weights, and the files that they are saved in."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

import torch

from .. import dtypes
from ..checks import BYTES, PATH, check_instance, check_kind
from ..device import Device
from ..errors import ArgumentError, FormatError, MXNetError, ShapeError
from ..executor.cache import RunCache
from ..ndarray import NDArray
from .arrays import StoredState, in_lists
from .base import Optimizer
from .cached_update import CachedUpdate
from .states import read_states, write_states

__all__ = ["Updater", "get_updater"]


class Updater:
    """Updates weights with an optimizer and holds their states, by index.

    ``updater(index, grad, weight)`` takes one index and its arrays, or lists of them: weights that are given
    together are updated together, which is faster. States are made at the first update of a weight.

    Parameters
    ----------
    optimizer
        The optimizer.

    Examples
    --------
    >>> import torch
    >>> from rebind.ndarray import NDArray
    >>> from rebind.optimizer import create
    >>> updater = Updater(create("sgd", learning_rate=0.5, momentum=0.9))
    >>> weight = NDArray(torch.ones(2))
    >>> updater(0, NDArray(torch.ones(2)), weight)
    >>> weight.asnumpy().tolist(), updater.states[0].asnumpy().tolist()
    ([0.5, 0.5], [-0.5, -0.5])
    """

    def __init__(self, optimizer: Optimizer) -> None:
        check_instance(optimizer, "Updater: optimizer")
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(
                f"Updater: optimizer must be an Optimizer; got {optimizer!r}. Use optimizer.create()."
            )
        self.optimizer = optimizer
        self.states: dict[Hashable, StoredState] = {}
        #: Which states were checked against their weights; those from a file were not.
        self.states_synced: dict[Hashable, bool] = {}
        self.path = ""  #: of the file that the states are from
        # By the first index: devices, or parts of a network, are updated in turn.
        self._caches: defaultdict[Hashable, RunCache[CachedUpdate]] = defaultdict(RunCache)

    @property
    def aggregate_updates(self) -> bool:
        """Whether the optimizer's methods take several weights, in lists.

        >>> from rebind.optimizer import create
        >>> Updater(create("sgd")).aggregate_updates
        True
        """
        return self.optimizer.takes_lists

    @property
    def is_ours(self) -> bool:
        """Whether weights may be updated together: a program overrides neither its call nor methods of its optimizer.

        >>> from rebind.optimizer import create
        >>> Updater(create("sgd")).is_ours
        True
        """
        return type(self).__call__ is Updater.__call__ and self.optimizer.is_ours

    @property
    def takes_all(self) -> bool:
        """Whether one call may have all weights; otherwise a store calls it for each key, as in MXNet.

        >>> from rebind.optimizer import create
        >>> Updater(create("sgd")).takes_all
        True
        """
        return type(self).__call__ is Updater.__call__ and self.optimizer.takes_all

    def __call__(
        self,
        index: Hashable | Sequence[Hashable],
        grad: NDArray | Sequence[NDArray],
        weight: NDArray | Sequence[NDArray],
    ) -> None:
        """Update one weight, or several, in place.

        Parameters
        ----------
        index
            An index (a number or a name), or a list of them.
        grad, weight
            The gradient and the weight; lists when `index` is one.
        """
        if isinstance(index, bytes):  # a name, as a store hands it to a function of a program's own
            index = index.decode()
        indices, weights, grads, _ = in_lists(index, weight, grad, ())
        if not len(indices) == len(grads) == len(weights):
            raise ArgumentError(
                f"Updater: there must be a gradient and a weight for each index; "
                f"got {len(indices)} indices, {len(grads)} gradients and {len(weights)} weights"
            )
        if not indices or self._update_again(indices, weights, grads):
            return
        self.optimizer._set_current_context(weights[0].context.device_id)
        if not self.optimizer.takes_all:
            self._update_in_turn(indices, grads, weights)
            return
        self.optimizer.update_multi_precision(indices, weights, grads, self.states_of(indices, weights))

    def _update_in_turn(
        self, index: Sequence[Hashable], grads: Sequence[NDArray], weights: Sequence[NDArray]
    ) -> None:
        """Call the optimizer's methods as MXNet does: a program overrides some of them."""
        optimizer = self.optimizer
        states = self.states_of(index, weights)
        # The norm is one over all gradients, so it is taken before the optimizer sees a part of them.
        grads = optimizer.clip_arrays_together(grads)
        if not optimizer.takes_lists:
            for each in zip(index, weights, grads, states, strict=True):
                optimizer.update_multi_precision(*each)
            return
        types: dict[torch.dtype, list[int]] = {}
        for k, weight in enumerate(weights):
            types.setdefault(weight.storage.dtype, []).append(k)
        for members in types.values():
            size = min(optimizer.aggregate_num, len(members))
            for first in range(0, len(members), size):
                some = members[first : first + size]
                optimizer.update_multi_precision(
                    tuple([index[k] for k in some]), tuple([weights[k] for k in some]),
                    tuple([grads[k] for k in some]), [states[k] for k in some],
                )  # fmt: skip

    def _update_again(
        self, index: Sequence[Hashable], weights: Sequence[NDArray], grads: Sequence[NDArray]
    ) -> bool:
        """Update weights as the last time; return whether that is the right thing, and was done."""
        if not self.states_synced.get(index[0]):
            return False  # the first time
        cache = self._caches[index[0]]
        cached = cache.find(lambda: self.cached_update(index, weights))
        return cached is not None and cache.note(cached.run(index, weights, grads))

    def cached_update(self, index: Sequence[Hashable], weights: Sequence[NDArray]) -> CachedUpdate | None:
        """Return the next updates of weights; None before the first one, and where each has more to look at.

        >>> from rebind import nd
        >>> from rebind.optimizer import create
        >>> updater, weights = Updater(create("sgd")), [nd.ones((2,))]
        >>> before = updater.cached_update([0], weights)
        >>> updater([0], [nd.ones((2,))], weights)
        >>> before is None, updater.cached_update([0], weights) is None
        (True, False)
        """
        if not self.is_ours or not self.optimizer.takes_all or not all(map(self.states_synced.get, index)):
            return None
        return CachedUpdate.of(lambda: (self.optimizer, self.states), index, weights)

    def states_of(self, index: Sequence[Hashable], weight: Sequence[NDArray]) -> list[StoredState]:
        """Return the states of weights; those of weights that have none yet are made.

        >>> from rebind import nd
        >>> from rebind.optimizer import create
        >>> updater = Updater(create("sgd", momentum=0.9))
        >>> updater.states_of(["w"], [nd.ones((2,))])[0] is updater.states["w"]
        True
        """
        # A state from a file may be another optimizer's; it is checked once, at its first use.
        synced = self.states_synced
        for i, each in zip(index, weight, strict=True):
            if not synced.get(i):
                self._make_state(i, each)
        return [self.states[i] for i in index]

    def _make_state(self, index: Hashable, weight: NDArray) -> None:
        # Made in any case: a state from a file is compared with what would be made.
        new = self.optimizer.create_state_multi_precision(index, weight)
        if index in self.states:  # from a file
            try:
                _check_fits(self.states[index], new, index)
            except MXNetError as error:
                kind = type(self.optimizer).__name__
                origin = f" They are from {self.path}; the optimizer is {kind}." if self.path else ""
                raise type(error)(f"{error.message}{origin}") from None
            self.states[index] = self.sync_state_context(self.states[index], weight.context)
        else:
            self.states[index] = new
        self.states_synced[index] = True

    def sync_state_context(self, state: StoredState, context: Device) -> StoredState:
        """Return `state` with its arrays on a device.

        >>> from rebind import cpu, nd
        >>> from rebind.optimizer import create
        >>> Updater(create("sgd")).sync_state_context((nd.ones((2,)), None), cpu(1))[0].context
        cpu(1)
        """
        if isinstance(state, NDArray):
            return state.as_in_context(context)
        if isinstance(state, (list, tuple)):
            return type(state)(self.sync_state_context(each, context) for each in state)
        return state

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """Return the states as the content of a ``.states`` file of MXNet.

        Parameters
        ----------
        dump_optimizer
            Whether to put the optimizer's settings and counts in too.

        Examples
        --------
        >>> from rebind import nd
        >>> from rebind.optimizer import create
        >>> updater = Updater(create("sgd", learning_rate=0.5, momentum=0.9))
        >>> updater(0, nd.ones((2,)), nd.ones((2,)))
        >>> resumed = Updater(create("sgd", learning_rate=0.5, momentum=0.9))
        >>> resumed.set_states(updater.get_states())
        >>> resumed.states[0].asnumpy().tolist()
        [-0.5, -0.5]
        """
        return write_states(self.states, self.optimizer if dump_optimizer else None)

    def load_states(self, path: str | os.PathLike[str]) -> None:
        """Take states from a ``.states`` file.

        Raises
        ------
        FormatError
            As `set_states`, with the file's name.

        Examples
        --------
        >>> import tempfile
        >>> from rebind.optimizer import create
        >>> with tempfile.NamedTemporaryFile(suffix=".states") as file:
        ...     Updater(create("sgd")).load_states(file.name)
        Traceback (most recent call last):
        rebind.errors.FormatError: /tmp/...states: must be a .states file; got what cannot be read: Ran out of input
        """
        check_kind("Updater.load_states", PATH, path=path)
        with open(path, "rb") as file:
            content = file.read()
        try:
            self.set_states(content)
        except FormatError as error:
            # The path says more than "optimizer states".
            text = error.message.removeprefix("optimizer states: ")
            raise FormatError(f"{os.fspath(path)}: {text}") from None
        self.path = os.fspath(path)

    def set_states(self, states: bytes) -> None:
        """Take states, and the optimizer if it is there, from the content of a ``.states`` file.

        Nothing in the file is run: what is not an array, a number, a text or an optimizer's settings is refused.

        Raises
        ------
        FormatError
            When the content is no such file, or holds something else.

        Examples
        --------
        >>> from rebind import nd
        >>> from rebind.optimizer import create
        >>> from rebind.optimizer.states import write_states
        >>> updater = Updater(create("sgd", momentum=0.9))
        >>> updater.set_states(write_states({0: nd.ones((2,))}))
        >>> updater.states[0].asnumpy().tolist()
        [1.0, 1.0]
        """
        check_kind("Updater.set_states", BYTES, states=states)
        self.states, optimizer = read_states(states)
        # They are checked against the weights at their first use.
        self.states_synced = {}
        if optimizer is not None:
            self.optimizer = optimizer


def get_updater(optimizer: Optimizer) -> Callable[..., None]:
    """Return an `Updater` with the optimizer.

    >>> from rebind import nd
    >>> from rebind.optimizer import create
    >>> weight = nd.ones((2,))
    >>> get_updater(create("sgd", learning_rate=0.5))(0, nd.ones((2,)), weight)
    >>> weight.asnumpy().tolist()
    [0.5, 0.5]
    """
    return Updater(optimizer)


def _check_fits(found: StoredState, wanted: StoredState, index: Hashable) -> None:
    """Check that a state from a file is one that the optimizer could have made."""
    if isinstance(found, (list, tuple)) and isinstance(wanted, (list, tuple)) and len(found) == len(wanted):
        for one, other in zip(found, wanted, strict=True):
            _check_fits(one, other, index)
        return
    # Numbers of every type are one kind, and arrays of every storage type.
    kinds = [
        NDArray
        if isinstance(each, NDArray)
        else type(each)
        if isinstance(each, (list, tuple, type(None)))
        else float
        for each in (found, wanted)
    ]
    if kinds[0] is not kinds[1] or isinstance(found, (list, tuple)):
        raise FormatError(
            f"Updater: the state of weight {index!r} must be one of this optimizer and its settings; "
            f"got {_describe(found)} instead of {_describe(wanted)}. Are the states of another one?"
        )
    if not (isinstance(found, NDArray) and isinstance(wanted, NDArray)):
        return
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        raise ShapeError(
            f"Updater: the state of weight {index!r} must have shape and type {_describe(wanted)}; "
            f"got {_describe(found)}. Are the states of another network?"
        )


def _describe(state: StoredState) -> str:
    if isinstance(state, NDArray):
        return f"{state.shape} {dtypes.name(state.storage.dtype)}"
    if isinstance(state, (list, tuple)):
        return f"({', '.join(map(_describe, state))})"
    return "none" if state is None else "a number"
