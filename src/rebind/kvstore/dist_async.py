"""`DistAsyncStore`: servers hold the weights, and update them by each worker's gradients as these arrive."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import ClassVar, cast

from torch import Tensor

from .. import files
from ..autograd import pause
from ..distributed import JSON
from ..errors import ArgumentError, MXNetError, StateError
from ..ndarray import NDArray
from ..observing import observed_exchange
from ..optimizer import Updater, UpdateScope
from ..optimizer.arrays import StoredState
from ..optimizer.plain import settings_of, to_plain
from ..optimizer.states import write_states
from ..tuning import current
from .base import Key, Keys, UpdateFunction, Values, stores
from .capabilities import Capabilities
from .compression import Compression, Residuals
from .plan import PushPlan, row_size
from .records import is_dense, to_record
from .remote_store import ServedStore
from .server_link import Request
from .server_states import gather_states, give_states
from .sharding import Sharding
from .staleness import Staleness
from .updater_agreement import describe_updater, scope_of
from .wire import Message, Scratch

__all__ = ["DistAsyncStore"]

logger = logging.getLogger(__name__)


class DistAsyncStore(ServedStore):
    """A store over all workers of a job, in which no worker waits for the others.

    Servers hold the values: processes of their own, or threads of the workers where the job has no servers. A big key
    is cut, so that each server has a part. A push is applied when it arrives at the server, as an update of its own; a
    pull returns what is there then, with the earlier pushes of this worker in it. So the gradients of a worker may be
    of weights that others have updated since: `staleness` says by how many updates.

    `init`, `set_optimizer` and `barrier` wait for all workers, which must call them in the same order.

    Parameters
    ----------
    kind
        ``'dist_async'``.

    Examples
    --------
    >>> import rebind as mx
    >>> kv = DistAsyncStore()  # a job of one worker, as no launcher started this program
    >>> kv.init("w", mx.nd.zeros((2,)))
    >>> kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.5))
    >>> kv.push("w", mx.nd.ones((2,)))
    >>> kv.pull("w", out=(out := mx.nd.zeros((2,))))
    >>> out.asnumpy().tolist()
    [-0.5, -0.5]
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        spans_processes=True, is_synchronous=False, compresses=True, takes_ready_gradients=True
    )

    def __init__(self, kind: str = "dist_async") -> None:
        super().__init__(kind)
        self._residuals: Residuals | None = None  # with compressed gradients
        self._open: list[PushPlan] = []  # of the push that has begun, those that were not sent yet
        self._ready: dict[Key, NDArray] = {}  # the gradients of that push
        self._priority = 0
        self._settings: dict[str, object] = {}  # of the optimizer, as the servers know them
        self._job.before_close(self._report)

    def staleness(self, reset: bool = False) -> Staleness:
        """Return how many updates the weights had got since this worker pulled them, when its gradients were applied.

        Parameters
        ----------
        reset
            Whether to count again from now on, such as at the end of an epoch.

        Examples
        --------
        >>> import rebind as mx
        >>> kv = DistAsyncStore()
        >>> kv.init("w", mx.nd.zeros((2,)))
        >>> kv.set_optimizer(mx.optimizer.create("sgd"))
        >>> for _ in range(3):
        ...     kv.push("w", mx.nd.ones((2,)))  # without a pull in between
        >>> kv.barrier()
        >>> kv.staleness()
        Staleness(pushes=3, mean=1, largest=2)
        """
        self._hear("KVStore.staleness")
        found = self._staleness
        if reset:
            self._staleness = Staleness()
        return found

    # Pushing.

    def set_gradient_compression(self, compression_params: Mapping[str, object]) -> None:
        """Compress the gradients that are sent to servers; weights come back as they are. All workers must call it.

        The gradients of a worker's devices are summed first. What is not sent is held, and added to the next gradient.

        Parameters
        ----------
        compression_params
            The ``'type'``, ``'2bit'`` or ``'1bit'`` (or ``'none'``), and the ``'threshold'``; see `Compression`.

        Examples
        --------
        >>> import rebind as mx
        >>> kv = DistAsyncStore()
        >>> kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
        >>> kv.init("w", mx.nd.zeros((3,)))
        >>> kv.set_optimizer(mx.optimizer.create("test"))
        >>> for _ in range(2):
        ...     kv.push("w", mx.nd.array([0.3, 0.7, -9.0]))
        ...     kv.pull("w", out=(out := mx.nd.zeros((3,))))
        ...     print(out.asnumpy())
        [ 0.   0.5 -0.5]
        [ 0.5  1.  -1. ]
        """
        compression = Compression.of(compression_params)
        described: JSON = None if compression is None else [compression.type, compression.threshold]
        self._job.agree("KVStore.set_gradient_compression", "compression", described)
        if compression is None:
            self._residuals = None
        elif self._residuals is None:
            self._residuals = Residuals(compression)  # a server has the place of a device
        else:
            self._residuals.compression = compression

    @observed_exchange("KVStorePush")
    def push(self, key: Keys, value: Values, priority: int = 0) -> None:
        """Send the sum of the arrays of each key to the servers, which update their values by it; returns at once.

        Parameters
        ----------
        key, value
            As in `KVStoreBase.push`.
        priority
            The higher, the sooner it is sent where others wait.
        """
        pairs = self._pairs("push", key, value)
        for k, arrays in pairs:
            self._stored("push", k, arrays)
        if self._updater is None:
            raise StateError(
                "KVStore.push: a 'dist_async' store updates its values when something is pushed; it needs "
                "set_optimizer() first"
            )
        if not self._open:
            self.begin_push(list(dict.fromkeys(k for k, _ in pairs)))
        try:
            with pause():
                for k, total in self._totals(pairs).items():
                    self._add(k, total, priority)
            self.end_push()
        finally:
            self._open = []  # the next push is a new one, if this one has failed

    def begin_push(self, keys: Sequence[Key], sparse: Collection[Key] = ()) -> None:
        """Say which keys are pushed next, each when it is ready; a message is sent when all of its keys are."""
        self._hear("KVStore.push")
        self._follow_settings()
        self._open = list(self._plan(tuple(keys)))
        self._ready = {}

    def push_ready(self, key: Key, value: NDArray | Sequence[NDArray]) -> None:
        """Push one of the keys that `begin_push` was given."""
        pairs = self._pairs("push", key, value)
        self._stored("push", key, pairs[0][1])
        with pause():
            self._add(key, self._totals(pairs)[key], 0)

    def end_push(self) -> None:
        """Send what waits for other keys, when all that `begin_push` was given are there."""
        if isinstance(self._updater, Updater) and self._updater.optimizer.clip_global_norm is not None:
            # Here, as no server has all gradients.
            clipped = self._updater.optimizer.clip_arrays_together(list(self._ready.values()))
            self._ready = dict(zip(self._ready, clipped, strict=True))
        waiting, self._open = self._open, []
        if missing := [key for plan in waiting for key in plan.keys if key not in self._ready]:
            raise StateError(f"KVStore.push: must give all keys of begin_push(); {missing[:3]} are missing")
        for plan in waiting:
            self._send(plan)
        self._ready = {}

    def _add(self, key: Key, total: NDArray, priority: int) -> None:
        """Take the gradient of a key; messages whose gradients are all there are sent."""
        self._ready[key] = total
        self._priority = priority
        is_clipped = isinstance(self._updater, Updater) and self._updater.optimizer.clip_global_norm
        for plan in [] if is_clipped else list(self._open):
            if key in plan.keys and all(each in self._ready for each in plan.keys):
                self._open.remove(plan)
                self._send(plan)

    def _send(self, plan: PushPlan) -> None:
        """Send the gradients of a message."""
        header: dict[str, JSON] = {"do": "push", "keys": list(plan.keys)}
        if isinstance(self._updater, Updater):
            header["rescale"] = self._updater.optimizer.rescale_grad
        parts, rows = ([], []) if plan.is_record else self._ready_parts(plan)
        if plan.is_record:
            header["records"] = True
            copies, scratch = [to_record(self._ready[key]) for key in plan.keys], Scratch()
        elif self._residuals is not None:
            compression, scratch = self._residuals.compression, Scratch()
            header["compression"] = [compression.type, compression.threshold]
            copies = [
                self._residuals.quantized(key, part, plan.server)
                for key, part in zip(plan.keys, parts, strict=True)
            ]
        else:
            # A copy, as the caller writes into its gradients again.
            copies, scratch = plan.copies(parts)
            header["rows"] = rows
        if self._servers.own is None or plan.server != self.rank:
            self._job.bytes_sent += sum(each.nbytes for each in copies)
        link = self._servers.links[plan.server]
        answer = link.submit(Request(Message(header, copies), frozenset(plan.keys), self._priority))
        plan.waiting.append((scratch, answer))
        self._pushes.append((link, answer))
        if len(plan.waiting) > current().waiting_pushes:
            self._servers.answer("KVStore.push", link, plan.waiting[0][1])

    def _ready_parts(self, plan: PushPlan) -> tuple[list[Tensor], list[JSON]]:
        """Return the parts of gradients that are in a message, and the keys of which rows are there.

        For these there are two arrays: the rows, and which they are, counted from the first one of the part.
        """
        arrays: list[Tensor] = []
        keys: list[JSON] = []
        for key, (begin, end) in zip(plan.keys, plan.parts, strict=True):
            gradient = self._ready[key].storage
            present = gradient.row_indices
            if present is None:
                arrays.append(gradient.to_dense().detach().reshape(-1)[begin:end].cpu())
                continue
            row = row_size(gradient.shape)
            own = present[(present * row >= begin) & (present * row < end)]
            arrays += [gradient.rows(own).detach().cpu(), own.cpu() - begin // row]
            keys.append(key)
        return arrays, keys

    # Updating.

    def _set_updater(self, updater: UpdateFunction) -> None:
        self._job.agree("KVStore.set_optimizer", "optimizer", describe_updater(updater))
        if self._servers.own is None and not isinstance(updater, Updater):
            raise ArgumentError(
                "KVStore.set_updater: a function cannot be sent to the job's servers; got "
                f"{updater!r}. Use set_optimizer(), or start no servers (-s 0): then each worker updates a part of the "
                "weights itself."
            )
        plain = None
        if self._servers.own is None and isinstance(updater, Updater):
            plain = to_plain(updater.optimizer)  # before anything is changed
        with self._together("KVStore.set_optimizer"):
            self._divide_by(scope_of(updater))
            super()._set_updater(updater)
            if isinstance(updater, Updater):
                self._settings = dict(settings_of(updater.optimizer))
            if self._servers.own is not None:
                self._servers.own.adopt(updater)
            elif self.rank == 0:
                self._servers.ask_all("KVStore.set_optimizer", {"do": "optimizer", "optimizer": plain})
        if isinstance(updater, Updater) and updater.states:
            states, updater.states = updater.states, {}
            self.set_optimizer_states(states)

    def _divide_by(self, scope: UpdateScope) -> None:
        """Divide the keys over the servers so that an update sees at once what it must."""
        if scope == self._sharding.scope:
            return
        keys = list(self._values)
        if self.rank == 0 and keys:
            self._fetch("KVStore.set_optimizer", keys)
            self._servers.ask_all("KVStore.set_optimizer", {"do": "clear"})
        self._sharding = Sharding(len(self._servers.links), scope, self._servers.smallest)
        for key in keys:
            if is_dense(self._values[key]):
                self._divide(key)
        self._plans = {}
        if self.rank == 0:
            self._send_values(keys)

    def _follow_settings(self) -> None:
        """Tell the servers what the program has changed of the optimizer since, on worker 0: its learning rate."""
        if self.rank != 0 or not isinstance(self._updater, Updater):
            return
        now = settings_of(self._updater.optimizer)
        changed = {
            name: value
            for name, value in now.items()
            if name not in self._settings or self._settings[name] != value
        }
        if changed:
            self._settings = dict(now)
            self._servers.ask_all("KVStore.push", {"do": "settings", "settings": cast(JSON, changed)})

    # The optimizer's states.

    def optimizer_states(self) -> dict[Hashable, StoredState]:
        """Return the optimizer's states by key; worker 0 gets them from the servers, and the others get none."""
        self._need_updater("optimizer_states")
        self._hear("KVStore.optimizer_states", wait=True)
        return self._gathered_states() if self.rank == 0 else {}

    def _gathered_states(self) -> dict[Hashable, StoredState]:
        plans = self._plan(tuple(self._values))
        return gather_states(self._servers, "KVStore.optimizer_states", plans, self._values)

    def set_optimizer_states(self, states: Mapping[Hashable, StoredState]) -> None:
        """Give the servers the states that worker 0 has; all workers must call it.

        The counts of updates are those of worker 0's optimizer.
        """
        optimizer = self._need_updater("set_optimizer_states").optimizer
        who = "KVStore.set_optimizer_states"
        with self._together(who):
            if self.rank == 0:
                plans = self._plan(tuple(self._values))
                give_states(self._servers, who, plans, self._values, states, optimizer)

    def save_optimizer_states(self, fname: str | os.PathLike[str], dump_optimizer: bool = False) -> None:
        """Write the optimizer's states to a file, which appears whole or not at all: worker 0 does it.

        The others need not call it, and do nothing. MXNet refuses.
        """
        optimizer = self._need_updater("save_optimizer_states").optimizer
        self._hear("KVStore.save_optimizer_states", wait=True)
        if self.rank == 0:
            content = write_states(self._gathered_states(), optimizer if dump_optimizer else None)
            with files.atomic_write(fname) as file:
                file.write(content)

    def load_optimizer_states(self, fname: str | os.PathLike[str]) -> None:
        """Read the optimizer's states from a file; all workers must call it, and worker 0 reads."""
        updater = self._need_updater("load_optimizer_states")
        loaded = Updater(updater.optimizer)
        if self.rank == 0:
            loaded.load_states(fname)
        self.set_optimizer_states(loaded.states)

    def _report(self, ended: str) -> None:
        """Say at the end how stale gradients were."""
        with contextlib.suppress(MXNetError):
            self._hear("KVStore, at the end", wait=True)
        if self._staleness.pushes and self.num_workers > 1:
            logger.info("Worker %d of kvstore 'dist_async': %s", self.rank, self._staleness)


stores.register("dist_async")(DistAsyncStore)
