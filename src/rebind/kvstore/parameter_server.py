"""`ParameterServer`: parts of weights that workers push gradients to, each applied as it arrives."""

from __future__ import annotations

import contextlib
import copy
import importlib
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

import torch
from torch import Tensor

from .. import dtypes
from ..device import cpu
from ..distributed import JSON
from ..errors import NameLookupError, StateError, WorkerError, near_names
from ..ndarray import NDArray
from ..ndarray.base import wrap
from ..ndarray.sparse.row_sparse import RowSparseStorage
from ..observing import observing
from ..optimizer import Updater
from ..optimizer.arrays import StoredState
from ..optimizer.plain import Plain, add_counts, counts_of, from_plain
from ..tuning import current
from .base import Key, UpdateFunction
from .compression import Compression
from .records import from_record, is_dense, to_record
from .state_forms import Form, build_state, form_of, tensors_of
from .updating import handed_keys
from .wire import Message, Scratch

__all__ = ["ParameterServer", "Unanswerable"]


@dataclass
class _Part:
    """A key, or a part of one, and what its workers have done with it."""

    value: NDArray
    lock: threading.Lock = field(default_factory=threading.Lock)
    updates: int = 0
    #: For each worker, how many updates there were when it pulled the value, and how often it has pushed.
    pulled: dict[int, int] = field(default_factory=dict)
    pushed: dict[int, int] = field(default_factory=dict)
    has_diverged: bool = False

    def look(self) -> None:
        """See now and then whether all elements are finite."""
        values = next(iter(self.value.storage.tensors.values()))
        if self.updates % current().finite_check_updates == 1 and values.is_floating_point():
            self.has_diverged = not bool(torch.isfinite(values.sum(dtype=torch.float32)))


class Unanswerable(WorkerError):
    """A worker is lost, so that the others must stop; `lost` says which, and how that is known."""

    def __init__(self, lost: Mapping[int, str]) -> None:
        super().__init__(f"the server has lost {dict(lost)}")
        self.lost = dict(lost)


class ParameterServer:
    """The values of one store, or parts of them, that a server holds.

    Many workers talk to it at once, each from a thread. Updates are made one at a time, since an optimizer counts them
    all; each value has a lock of its own, so that the others can be pulled meanwhile.

    Parameters
    ----------
    num_workers
        How many workers there are.
    bound
        How many pushes of a key a worker may be ahead of the slowest one; None for any number.
    timeout
        How many seconds a worker that is ahead waits.

    Examples
    --------
    >>> server = ParameterServer(1)
    >>> def ask(do, *arrays, **header):
    ...     return server.answer(0, Message({"do": do, **header}, arrays), Scratch())
    >>> server.adopt(lambda key, gradient, weight: weight.write(weight + gradient))
    >>> for do in "init", "push", "push":
    ...     _ = ask(do, torch.ones(2), keys=["w"])
    >>> ask("pull", keys=["w"]).arrays
    [tensor([3., 3.])]
    """

    def __init__(self, num_workers: int, bound: int | None = None, timeout: float = 300) -> None:
        self._num_workers, self._bound, self._timeout = num_workers, bound, timeout
        self._parts: dict[Key, _Part] = {}
        self._updater: UpdateFunction | None = None
        self._updating = threading.Lock()
        self._moved = threading.Condition()  # some worker has pushed, paused or gone
        self._paused: set[int] = set()
        self._lost: dict[int, str] = {}
        self._commands: dict[str, Callable[[int, Message, Scratch], Message]] = {
            "init": self._init,
            "clear": self._clear,
            "push": self._push,
            "pull": self._pull,
            "pull rows": self._pull_rows,
            "optimizer": self._set_optimizer,
            "settings": self._change_settings,
            "states": self._states,
            "set states": self._set_states,
            "progress": self._set_progress,
            "pause": self._pause,
            "profile": self._profile,
        }

    def answer(self, rank: int, request: Message, scratch: Scratch) -> Message:
        """Do what a worker asks for, and return what it is to get.

        Parameters
        ----------
        rank
            The worker.
        request
            Its header says what to ``do``, and with which ``keys``; its arrays are not retained.
        scratch
            Memory for the arrays of the answer.
        """
        if self._lost:
            raise Unanswerable(self._lost)
        do = str(request.header["do"])
        command = self._commands[do]
        if observing.served is not None:
            command = observing.served(f"KVStoreServer {do}", command)
        return command(rank, request, scratch)

    def adopt(self, updater: UpdateFunction) -> None:
        """Update by this from now on, or by a copy of its optimizer.

        >>> from rebind.optimizer import create
        >>> ParameterServer(1).adopt(Updater(create("sgd")))
        """
        if isinstance(updater, Updater):
            optimizer = copy.deepcopy(updater.optimizer)
            optimizer.clip_global_norm = None  # the worker has all gradients, and clips them
            updater = Updater(optimizer)
        with self._updating:
            self._updater = updater

    def lose(self, rank: int, why: str) -> None:
        """Let all who ask for something know that a worker is lost."""
        with self._moved:
            self._lost[rank] = why
            self._moved.notify_all()

    def leave(self, rank: int) -> None:
        """Wait for a worker no more: it has finished."""
        with self._moved:
            self._paused.add(rank)
            self._moved.notify_all()

    # Values.

    def _init(self, rank: int, request: Message, scratch: Scratch) -> Message:
        of_records = bool(request.header.get("records"))
        for key, array in zip(_keys(request), request.arrays, strict=True):
            with self._updating:  # no update in between
                self._parts[key] = _Part(from_record(array) if of_records else NDArray(array.clone(), cpu()))
        return Message({})

    def _clear(self, rank: int, request: Message, scratch: Scratch) -> Message:
        with self._updating:
            self._parts = {}
        return Message({})

    def _pull(self, rank: int, request: Message, scratch: Scratch) -> Message:
        keys = _keys(request)
        parts = [self._part(key) for key in keys]
        if not all(is_dense(part.value) for part in parts):
            return self._pull_records(rank, keys, parts)
        copies = scratch.arrays([(dtypes.name(part.value.tensor.dtype), part.value.shape) for part in parts])
        # A copy, as sending it takes longer than others can wait; never half of an update.
        for part, target in zip(parts, copies, strict=True):
            with part.lock:
                target.copy_(part.value.tensor)
                part.pulled[rank] = part.updates
        return self._pulled(keys, parts, copies)

    def _pull_records(self, rank: int, keys: Sequence[Key], parts: Sequence[_Part]) -> Message:
        records = []
        for part in parts:
            with part.lock:
                records.append(to_record(part.value))
                part.pulled[rank] = part.updates
        return self._pulled(keys, parts, records)

    def _pull_rows(self, rank: int, request: Message, scratch: Scratch) -> Message:
        """Return the rows of one key that are asked for."""
        keys = _keys(request)
        part = self._part(keys[0])
        with part.lock:
            rows = part.value.storage.rows(request.arrays[0])
            part.pulled[rank] = part.updates
        return self._pulled(keys, [part], [rows])

    def _pulled(self, keys: Sequence[Key], parts: Sequence[_Part], arrays: Sequence[Tensor]) -> Message:
        diverged: dict[str, JSON] = {"diverged": any(part.has_diverged for part in parts)}
        return Message(diverged | self._counts(keys), arrays)

    def _push(self, rank: int, request: Message, scratch: Scratch) -> Message:
        keys = _keys(request)
        parts = [self._part(key) for key in keys]
        gradients = self._gradients(request, parts)
        self._wait_for_the_slow(rank, keys, parts)
        with self._updating, contextlib.ExitStack() as locks:
            staleness: list[JSON] = [part.updates - part.pulled.get(rank, 0) for part in parts]
            for part in parts:
                # Who holds several locks holds `_updating`, and others hold one at a time.
                locks.enter_context(part.lock)
            self._update(request, keys, gradients, [part.value for part in parts])
            for part in parts:
                part.updates += 1
                part.look()
            counts = self._counts(keys)
        with self._moved:
            for part in parts:
                part.pushed[rank] = part.pushed.get(rank, 0) + 1
            self._moved.notify_all()
        return Message({"staleness": staleness, **counts})

    def _update(
        self, request: Message, keys: Sequence[Key], gradients: Sequence[NDArray], values: Sequence[NDArray]
    ) -> None:
        if self._updater is None:
            raise StateError(
                "KVStore.push: the server has no optimizer; all workers must call set_optimizer()"
            )
        if isinstance(self._updater, Updater):
            # That of the worker's optimizer, which may be another for a single push, as with scaled losses.
            self._updater.optimizer.rescale_grad = cast(float, request.header["rescale"])
        if isinstance(self._updater, Updater) and self._updater.takes_all:
            self._updater(keys, gradients, values)
        else:
            for each in zip(handed_keys(keys), gradients, values, strict=True):
                self._updater(*each)

    def _counts(self, keys: Sequence[Key]) -> dict[str, JSON]:
        """Return how often the optimizer has updated some keys, and any key."""
        if not isinstance(self._updater, Updater):
            return {}
        found, num_update = counts_of(self._updater.optimizer)
        counted: list[JSON] = [[key, found[key]] for key in keys if key in found]
        return {"counts": counted, "num_update": num_update}

    def _gradients(self, request: Message, parts: Sequence[_Part]) -> list[NDArray]:
        """Return the gradients of a push, with the shapes of the values."""
        arrays = list(request.arrays)
        if request.header.get("records"):
            return [from_record(array) for array in arrays]
        if "compression" in request.header:
            kind, threshold = cast("tuple[Literal['2bit', '1bit'], float]", request.header["compression"])
            compression = Compression(kind, threshold)
            values = [part.value.tensor for part in parts]
            arrays = [
                compression.dequantize(array, value.numel(), value.dtype)
                for array, value in zip(arrays, values, strict=True)
            ]
        rest = iter(arrays)
        of_rows = cast("list[Key]", request.header.get("rows", []))
        return [
            _rows(next(rest), next(rest), part.value)
            if key in of_rows
            else NDArray(next(rest).view(part.value.shape), cpu())
            for key, part in zip(_keys(request), parts, strict=True)
        ]

    # Waiting.

    def _wait_for_the_slow(self, rank: int, keys: Sequence[Key], parts: Sequence[_Part]) -> None:
        """Wait until this worker is not too far ahead of the slowest one; that one never waits."""
        if self._bound is None:
            return
        deadline = time.monotonic() + self._timeout
        with self._moved:
            self._paused.discard(rank)
            for key, part in zip(keys, parts, strict=True):
                while not self._lost and (slow := self._too_slow(rank, part)):
                    if not self._moved.wait(deadline - time.monotonic()):
                        raise WorkerError(
                            f"KVStore.push: worker {rank} waited {self._timeout:g} s (REBIND_TIMEOUT) for worker "
                            f"{slow[0]}, which is more than {self._bound} pushes of {key!r} behind (REBIND_STALENESS). "
                            "Is that worker still running?"
                        )
            if self._lost:
                raise Unanswerable(self._lost)

    def _too_slow(self, rank: int, part: _Part) -> list[int]:
        """Return the workers for which this one must wait."""
        assert self._bound is not None
        least = part.pushed.get(rank, 0) - self._bound
        return [
            other
            for other in range(self._num_workers)
            if other != rank and other not in self._paused and part.pushed.get(other, 0) < least
        ]

    def _pause(self, rank: int, request: Message, scratch: Scratch) -> Message:
        """Wait for a worker no more, or again; it goes on beside the first one, as all do that meet at a barrier."""
        with self._moved:
            if request.header["on"]:
                self._paused.add(rank)
            else:
                self._paused.discard(rank)
                for part in self._parts.values():
                    part.pushed[rank] = max(part.pushed.values(), default=0)
            self._moved.notify_all()
        return Message({})

    def _profile(self, rank: int, request: Message, scratch: Scratch) -> Message:
        """Call a function of the profiler, for the servers of this process."""
        # By name, since the profiler is above what it observes.
        importlib.import_module("rebind.profiler.control").serve(request.header)
        return Message({})

    # The optimizer.

    def _set_optimizer(self, rank: int, request: Message, scratch: Scratch) -> Message:
        plain = cast("dict[str, Plain]", request.header["optimizer"])
        self.adopt(Updater(from_plain(plain)))
        return Message({})

    def _need_updater(self) -> Updater:
        if not isinstance(self._updater, Updater):
            raise StateError("KVStore: the states of an optimizer need set_optimizer() first")
        return self._updater

    def _change_settings(self, rank: int, request: Message, scratch: Scratch) -> Message:
        changed = request.header["settings"]
        assert isinstance(changed, dict)
        with self._updating:
            vars(self._need_updater().optimizer).update(changed)
        return Message({})

    def _states(self, rank: int, request: Message, scratch: Scratch) -> Message:
        with self._updating:
            states = self._need_updater().states
            found = {key: states[key] for key in _keys(request) if key in states}
            forms: list[JSON] = [[key, form_of(state)] for key, state in found.items()]
            return Message(
                {"states": forms}, [each.clone() for state in found.values() for each in tensors_of(state)]
            )

    def _set_states(self, rank: int, request: Message, scratch: Scratch) -> Message:
        arrays = iter([each.clone() for each in request.arrays])
        forms = cast("list[tuple[Key, Form]]", request.header["states"])
        states: dict[Hashable, StoredState] = {key: build_state(form, arrays) for key, form in forms}
        with self._updating:
            updater = self._need_updater()
            updater.states.update(states)
            for key in states:
                updater.states_synced.pop(key, None)
        return Message({})

    def _set_progress(self, rank: int, request: Message, scratch: Scratch) -> Message:
        """Count updates from here, and forget all states."""
        counts = dict(cast("list[tuple[Hashable, int]]", request.header["counts"]))
        with self._updating:
            updater = self._need_updater()
            updater.states, updater.states_synced = {}, {}
            add_counts(updater.optimizer, counts, cast(int, request.header["num_update"]), start_over=True)
        return Message({})

    def _part(self, key: Key) -> _Part:
        found = self._parts.get(key)
        if found is None:
            raise NameLookupError(
                f"KVStore: no key {key!r}{near_names(str(key), map(str, self._parts))} Set it with init() first."
            )
        return found


def _rows(rows: Tensor, indices: Tensor, value: NDArray) -> NDArray:
    """Return a gradient of a value that has some rows."""
    return wrap(RowSparseStorage(rows, indices, value.shape), cpu())


def _keys(request: Message) -> list[Key]:
    return cast("list[Key]", request.header["keys"])
