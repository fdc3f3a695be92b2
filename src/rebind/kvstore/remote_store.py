"""`ServedStore`: a store whose values are at servers, from where they are pulled."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import cast

from torch import Tensor

from ..checks import warn_user
from ..device import cpu
from ..distributed import JSON, current_job
from ..errors import ArgumentError
from ..ndarray import NDArray
from ..ndarray.sparse.row_sparse import RowSparseStorage
from ..ndarray.storage import Storage
from ..observing import observed_exchange, observing
from ..optimizer import Updater
from ..optimizer.plain import add_counts
from .base import Key, Keys, Values
from .local import KVStore, is_sparse
from .plan import PushPlan, part_shape, plan_requests, row_size
from .records import description, from_record, is_dense, to_record
from .server_link import Request, ServerLink
from .servers import Servers
from .sharding import ALIGNMENT, Sharding
from .staleness import Staleness
from .wire import Message

__all__ = ["ServedStore"]


class ServedStore(KVStore):
    """A store whose values are at the servers of a job; what changes them there is a subclass's matter.

    Parameters
    ----------
    kind
        The name that `create` knows.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self._job = current_job()
        self._servers = Servers(self._job)
        self._sharding: Sharding[Key] = Sharding(len(self._servers.links), smallest=self._servers.smallest)
        self._plans: dict[tuple[Key, ...], list[PushPlan]] = {}
        #: Pushes that were not answered yet when it was last looked.
        self._pushes: list[tuple[ServerLink, Future[Message]]] = []
        self._staleness = Staleness()
        self._has_warned = False
        observing.store = weakref.ref(self)

    def profile_servers(self, call: str, arguments: dict[str, JSON]) -> None:
        """Have the profiler of each server do what a call with ``profile_process='server'`` asks for."""
        for i in range(len(self._servers.links)):
            header: dict[str, JSON] = {"do": "profile", "call": call, "arguments": arguments, "server": i}
            self._servers.ask(f"profiler.{call}", i, header)

    @property
    def rank(self) -> int:
        """The number of this worker.

        >>> ServedStore("served").rank
        0
        """
        return self._job.rank

    @property
    def num_workers(self) -> int:
        """How many workers there are.

        >>> ServedStore("served").num_workers
        1
        """
        return self._job.size

    def barrier(self) -> None:
        """Wait until all workers have come here, and all that they have pushed before is applied."""
        with self._together("KVStore.barrier"):
            pass

    # Values.

    def _copy_in(self, pairs: Iterable[tuple[Key, Sequence[NDArray]]]) -> None:
        given = list(pairs)
        described: JSON = {str(k): description(arrays[0]) for k, arrays in given}
        self._job.agree("KVStore.init", "keys and shapes", described)
        with self._together("KVStore.init"):
            for key, arrays in given:
                self._key_type = type(key)
                old = self._values.get(key)
                self._values[key] = arrays[0].copyto(cpu())
                if is_dense(arrays[0]) and (old is None or old.shape != arrays[0].shape or not is_dense(old)):
                    self._divide(key)
                self._plans = {}  # they refer to the arrays
            if self.rank == 0:  # whose values count
                self._send_values([key for key, _ in given])

    def _divide(self, key: Key) -> None:
        """Divide a key over the servers, by rows: gradients may be of some of them."""
        shape = self._values[key].shape
        unit = row_size(shape) if len(shape) > 1 else ALIGNMENT
        self._sharding.add(key, self._values[key].size, max(unit, 1))

    def _send_values(self, keys: Sequence[Key]) -> None:
        """Give the servers the values of keys."""
        for plan in self._plan(tuple(keys)):
            header: dict[str, JSON] = {"do": "init", "keys": list(plan.keys), "records": plan.is_record}
            values = [self._values[key] for key in plan.keys]
            if plan.is_record:
                arrays = [to_record(value) for value in values]
            else:
                arrays = [
                    part.view(part_shape(value.shape, *bounds))
                    for part, value, bounds in zip(self._parts(plan), values, plan.parts, strict=True)
                ]
            self._servers.ask("KVStore.init", plan.server, header, arrays)

    @observed_exchange("KVStorePull")
    def pull(
        self, key: Keys, out: Values | None = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        """Copy the values that the servers have into the arrays `out`.

        Parameters
        ----------
        key, out
            As in `KVStoreBase.pull`.
        priority
            The higher, the sooner it is asked for where other requests wait to be sent.
        ignore_sparse
            As in `KVStoreBase.pull`.
        """
        if out is None:
            raise ArgumentError("KVStore.pull: needs out, the arrays to write into")
        pairs = self._pairs("pull", key, out)
        for k, arrays in pairs:
            self._stored("pull", k, arrays)
        ignored = is_sparse if ignore_sparse else lambda array: False
        if wanted := [k for k, arrays in pairs if not all(map(ignored, arrays))]:
            self._fetch("KVStore.pull", wanted, priority)
        super().pull(key, out, priority, ignore_sparse)

    def _fetch(self, who: str, keys: Sequence[Key], priority: int = 0) -> None:
        """Copy the servers' values into this worker's."""
        asked = []
        for plan in self._plan(tuple(dict.fromkeys(keys))):
            message = Message({"do": "pull", "keys": list(plan.keys)})
            targets = [] if plan.is_record else self._parts(plan)
            request = Request(message, frozenset(plan.keys), priority, targets)
            asked.append((plan, self._servers.links[plan.server].submit(request)))
        what = f"{who} of {_listed(keys)}"
        with self._job.guard(what):
            for plan, answer in asked:
                found = self._pulled(what, plan.server, answer)
                if plan.is_record:
                    self._values[plan.keys[0]].exchange(from_record(found.arrays[0]).storage)
        self._hear(what)

    def _retained(self, key: Key, rows: Tensor) -> Storage:
        """Return some rows of the value that a server has; nothing else travels."""
        server, what = self._home(key), f"KVStore.row_sparse_pull of {key!r}"
        request = Request(Message({"do": "pull rows", "keys": [key]}, [rows]), frozenset([key]))
        with self._job.guard(what):
            found = self._pulled(what, server, self._servers.links[server].submit(request))
        self._hear(what)
        return RowSparseStorage(found.arrays[0], rows, self._values[key].shape)

    def _pulled(self, what: str, server: int, answer: Future[Message]) -> Message:
        """Wait for the values that a server sends."""
        found = self._servers.answer(what, self._servers.links[server], answer)
        self._note_counts(found.header)
        self._warn(bool(found.header["diverged"]))
        return found

    # What the servers answer to pushes.

    def _hear(self, who: str, wait: bool = False) -> None:
        """Take note of the answers to pushes, of those that are there or of all; the first error is raised."""
        rest = []
        for link, answer in self._pushes:
            if not wait and not answer.done():
                rest.append((link, answer))
                continue
            header = self._servers.answer(who, link, answer).header
            self._staleness = self._staleness.with_pushes(cast("list[int]", header["staleness"]))
            self._note_counts(header)
        self._pushes = rest

    def _note_counts(self, header: dict[str, JSON]) -> None:
        """Let this worker's optimizer know how many updates there were: programs ask it for the learning rate."""
        if isinstance(self._updater, Updater) and "num_update" in header:
            counts = dict(cast("list[tuple[Hashable, int]]", header["counts"]))
            add_counts(self._updater.optimizer, counts, cast(int, header["num_update"]))

    def _warn(self, has_diverged: bool) -> None:
        """Warn once of weights that are not finite."""
        if has_diverged and not self._has_warned:
            self._has_warned = True
            warn_user(
                f"KVStore.pull: weights are not finite any more, so training has diverged ({self._staleness}). Where "
                "training with one worker does not: lower the learning rate, set REBIND_STALENESS so that workers "
                "wait for the slowest one, or use optimizer='dcasgd', which makes up for the age of gradients."
            )

    # Requests.

    def _plan(self, keys: tuple[Key, ...]) -> list[PushPlan]:
        """Return in which messages some keys go to the servers; made once for each combination."""
        if keys not in self._plans:
            values = {key: self._values[key] for key in keys}
            sizes = {key: value.storage.dtype.itemsize for key, value in values.items() if is_dense(value)}
            self._plans[keys] = plan_requests(self._sharding, sizes)
            # Others are not cut: each is at one server.
            self._plans[keys] += [
                PushPlan(self._home(key), (key,), ((0, values[key].size),), is_record=True)
                for key in keys
                if key not in sizes
            ]
        return self._plans[keys]

    def _home(self, key: Key) -> int:
        """Return the server of a key that is not cut; the same on all workers, which have the keys in one order."""
        return list(self._values).index(key) % len(self._servers.links)

    def _parts(self, plan: PushPlan) -> list[Tensor]:
        """Return the parts of this worker's values that are in a message, as views."""
        flat = [self._values[key].tensor.view(-1) for key in plan.keys]
        return [each[begin:end] for each, (begin, end) in zip(flat, plan.parts, strict=True)]

    @contextlib.contextmanager
    def _together(self, who: str) -> Iterator[None]:
        """Do something when all that this worker has pushed is applied; all workers have done it afterwards."""
        self._hear(who, wait=True)
        is_bound = self._servers.bound is not None and self.num_workers > 1
        if is_bound:
            self._servers.ask_all(
                who, {"do": "pause", "on": True}
            )  # those that are ahead need not wait for who waits for them
        self._job.barrier(f"{who} (begin)")
        yield
        if is_bound:
            self._servers.ask_all(who, {"do": "pause", "on": False})
        self._job.barrier(who)


def _listed(keys: Sequence[object]) -> str:
    return repr(keys[0]) if len(keys) == 1 else f"{keys[0]!r} and {len(keys) - 1} more"
