"""`Job`: the processes that train together, and how they agree, wait for each other, and fail together."""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.graph import increment_version

from .. import config
from .._version import __version__
from ..errors import MXNetError, WorkerError
from .difference import difference
from .environment import JobEnvironment, listening_on, loopback
from .liveness import INTERVAL, Liveness, Sign
from .machine import cores, interface_to, namespace
from .rounds import view_of_round
from .store import open_store
from .tags import Tag
from .waiting import Waiting, sign_timeout

__all__ = ["FINISHED", "JSON", "Job", "Transfer"]

#: How many seconds a worker that is refused stays at most, until the others have read why.
_STAY = 5.0

#: What a process says of itself when it has done all it was to do.
FINISHED = "it has finished"

# PyTorch 2.13 has new names for these, and warns of the old ones.
_reduce_scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
_all_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"


class Job:
    """The processes that train together.

    Small things (who is there, whether all train the same network) go through a store that all are connected to, as
    JSON text; arrays go from process to process as they are. Nothing that is received is unpickled.

    Use `current_job`; a process takes part in one job.

    Parameters
    ----------
    environment
        The job, and this process's place in it.

    Attributes
    ----------
    rank, size
        The number of this worker, and how many there are.
    machines
        By worker the network of its machine or container: workers of one reach each other by its loopback address.
    shares_cores
        Whether more workers of this machine are on this one's cores than there are cores.
    bytes_sent
        How many bytes of arrays this process has sent.

    Examples
    --------
    >>> job = Job(JobEnvironment(rank=0, num_workers=1))  # alone: there is nobody to connect to
    >>> job.rank, job.size, job.exchange("a question", "an answer")
    (0, 1, ['an answer'])
    """

    def __init__(self, environment: JobEnvironment) -> None:
        self.environment = environment
        self.size = environment.num_workers
        self.rank = environment.rank or 0
        self.local_rank = environment.local_rank
        self.machines = [""] * self.size
        self.shares_cores = False
        self.bytes_sent = 0
        self._counting = threading.Lock()  # arrays are sent from several threads
        self._exchanges = 0
        self._timeout = float(config.get("REBIND_TIMEOUT"))
        self._patience = min(sign_timeout(), self._timeout)
        self._closed = False
        self._pid = os.getpid()
        self._before_close: list[Callable[[str], None]] = []
        self._store: dist.Store | None = None
        self._liveness: Liveness | None = None
        self._group: dist.ProcessGroup | None = None
        self._waiting: Waiting | None = None
        if self.size > 1:
            self._connect()

    @property
    def is_on_one_machine(self) -> bool:
        """Whether all workers are on this machine; they then listen on its loopback address only.

        >>> Job(JobEnvironment()).is_on_one_machine
        True
        """
        return len(set(self.machines)) == 1

    def __repr__(self) -> str:
        return f"<Job, worker {self.rank} of {self.size}>"

    # Connecting.

    def _connect(self) -> None:
        environment = self.environment
        store = open_store(environment, self._timeout)
        if environment.rank is None:
            # MXNet's launcher leaves it to the scheduler to number the workers.
            self.rank = self.local_rank = store.add("workers", 1) - 1
        if environment.store_is_reused:
            store = view_of_round(store, self.rank, self.size, self._timeout)
        self._store = store
        self._liveness = Liveness(store.clone(), self.rank, self.size)  # type: ignore[attr-defined]  # stubs lack it
        atexit.register(self._close_at_exit)
        versions = {"rebind": __version__, "torch": str(torch.__version__)}
        place: dict[str, JSON] = {"network": namespace("net"), "cores": " ".join(map(str, cores()))}
        about: JSON = {**place, "life": self._liveness.life, "versions": dict(versions)}
        joined = [each for each in self.exchange("joining", about) if isinstance(each, dict)]
        self._liveness.know({rank: str(each["life"]) for rank, each in enumerate(joined)})
        self.machines = [str(each["network"]) for each in joined]
        beside = [str(each["cores"]).split() for each in joined if each["network"] == place["network"]]
        own = set(map(str, cores()))
        self.shares_cores = sum(not own.isdisjoint(each) for each in beside) > len(own)
        store.add("read", 1)
        try:
            self._agreed("the job", "versions", [each["versions"] for each in joined])
        except WorkerError:
            if self.rank == 0:
                self._stay_until_all_have_read(store)
            raise
        self._group = self._connect_group(store)
        self._waiting = Waiting(self._liveness, self._patience, self._break_off)
        self._liveness.after_sign = self._waiting.look
        logging.getLogger(__name__).info("Worker %d of %d has joined", self.rank, self.size)

    def _stay_until_all_have_read(self, store: dist.Store) -> None:
        """Let the others say what differs, too: worker 0, which may hold the store, takes it away when it ends."""
        deadline = time.monotonic() + _STAY
        while store.add("read", 0) < self.size and time.monotonic() < deadline:
            time.sleep(0.01)

    def _connect_group(self, store: dist.Store) -> dist.ProcessGroup:
        """Return the process group, PyTorch's default one unless the program has made that itself."""
        timeout = timedelta(seconds=self._timeout)
        backend = "cpu:gloo,cuda:nccl" if _has_nccl() else "gloo"
        store_at = self.environment.address_of_store
        interface = loopback() if self.is_on_one_machine else interface_to(store_at)
        with self.guard("joining"), listening_on(interface):
            if dist.is_initialized():
                return dist.new_group(backend=backend, timeout=timeout)
            dist.init_process_group(
                backend,
                store=dist.PrefixStore("group", store),
                rank=self.rank,
                world_size=self.size,
                timeout=timeout,
            )
        group = dist.group.WORLD
        assert group is not None  # it was made above
        return group

    def before_close(self, action: Callable[[str], None]) -> None:
        """Do something when this process leaves the job, while the others still see it; the last one comes first.

        Parameters
        ----------
        action
            It is given how this process ends: `FINISHED`, or an error.

        Examples
        --------
        >>> job = Job(JobEnvironment())
        >>> job.before_close(print)
        >>> job.close()
        it has finished
        """
        self._before_close.append(action)
        if self.size == 1:
            atexit.register(self._close_at_exit)

    def close(self, ended: str = FINISHED) -> None:
        """Leave the job, without waiting for the others."""
        # The end of a child of a fork is not that of the worker.
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        if self._liveness is not None:
            ended = self._liveness.ended or ended
            if ended != FINISHED:
                self._liveness.stop(ended)
        while self._before_close:
            self._before_close.pop()(ended)
        if self._liveness is None:
            return
        self._liveness.stop(ended)
        if self.environment.hosts_store:
            self._wait_for_the_last()

    def _close_at_exit(self) -> None:
        # The interpreter leaves an error that ends the program here, and runs exit handlers after it has printed it.
        error = getattr(sys, "last_value", None)
        self.close(FINISHED if error is None else f"{type(error).__name__}: {str(error)[:200]}")

    def _wait_for_the_last(self) -> None:
        # The store ends with this process, and the others still say there that they are alive.
        assert self._liveness is not None
        for rank in range(self.size):
            sign, heard = self._liveness.read(rank), time.monotonic()
            while rank != self.rank and sign is not None and not sign.ended:
                if self._liveness.lost([rank], patience=INTERVAL * 3):
                    break
                last, sign = sign, self._liveness.read(rank)
                if sign is not None and sign.count > last.count:
                    heard = time.monotonic()
                elif time.monotonic() - heard > self._timeout:  # its network is cut
                    break

    def sign_of(self, rank: int) -> Sign | None:
        """Return the last sign of life of a worker; None if it gave none.

        >>> Job(JobEnvironment()).sign_of(0) is None  # alone, it gives none
        True
        """
        return None if self._liveness is None else self._liveness.read(rank)

    # Agreeing.

    def exchange(self, what: str, value: JSON) -> list[JSON]:
        """Return what each worker gives, by rank. All must call it, in the same order.

        Parameters
        ----------
        what
            What it is for, as errors say it.
        value
            This worker's.

        Raises
        ------
        WorkerError
            When a worker is lost, is doing something else, or does not come within ``REBIND_TIMEOUT`` seconds.
        """
        if self._store is None:
            return [value]
        number, self._exchanges = self._exchanges, self._exchanges + 1
        keys = [f"exchange/{number}/{rank}" for rank in range(self.size)]
        with self.guard(what):
            self._store.set(keys[self.rank], json.dumps({"what": what, "value": value}))
            self._wait_for(what, keys)
            found = [json.loads(text) for text in self._store.multi_get(keys)]
            if number > 1:  # all have read those of two exchanges ago: they have come to the last one since
                self._store.delete_key(f"exchange/{number - 2}/{self.rank}")
        for rank, each in enumerate(found):
            if each["what"] != what:
                raise WorkerError(
                    f"{what}: all workers must come here together; got worker {rank} at {each['what']}, and worker "
                    f"{self.rank} here. The workers must run the same program."
                )
        return [each["value"] for each in found]

    def _wait_for(self, what: str, keys: Sequence[str]) -> None:
        """Wait until all keys are there; sooner or later say who is missing."""
        assert self._store is not None and self._liveness is not None
        started = looked = time.monotonic()
        pause = 0.0005
        while not self._store.check(list(keys)):
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
            now = time.monotonic()
            if now - looked < 2 * INTERVAL and now - started < self._timeout:
                continue
            looked = now
            missing = [rank for rank, key in enumerate(keys) if not self._store.check([key])]
            seen = [rank for rank in missing if self._liveness.read(rank) is not None]
            # Who was never there may still be starting; who was there and is silent is lost, unless it came meanwhile.
            lost = [rank for rank in self._liveness.lost(seen) if not self._store.check([keys[rank]])]
            if now - started >= self._timeout or lost:
                raise self.failure(what, missing)

    def agree(self, who: str, what: str, value: JSON) -> None:
        """Check that all workers give the same value.

        Raises
        ------
        WorkerError
            When they do not; it shows this worker's value beside that of the first who has another.

        Examples
        --------
        >>> Job(JobEnvironment()).agree("KVStore.init", "shapes", {"w": [2, 3]})
        """
        if self.size > 1:
            self._agreed(who, what, self.exchange(f"{who} ({what})", value))

    def _agreed(self, who: str, what: str, values: Sequence[JSON]) -> None:
        mine = values[self.rank]
        for rank, other in enumerate(values):
            if other != mine:
                # The lowest rank that differs, and on rank 0's side the first that does.
                ours, theirs = difference(mine, other)
                raise WorkerError(
                    f"{who}: all workers must have the same {what}; worker {self.rank} has {ours}, and worker {rank} "
                    f"has {theirs}"
                )

    def barrier(self, what: str = "barrier") -> None:
        """Wait until all workers have reached this call.

        >>> Job(JobEnvironment()).barrier()
        """
        self.exchange(what, None)

    # Arrays.

    def transfer(self, outgoing: Mapping[int, Tensor], incoming: Mapping[int, Tensor], tag: int) -> Transfer:
        """Begin to send arrays to other workers and to receive theirs; return what waits for the end.

        Parameters
        ----------
        outgoing
            By worker a contiguous array for it; nothing is sent to oneself.
        incoming
            By worker an array to receive into, of the size that the other one sends.
        tag
            The number of this transfer: arrays meet those that were sent under the same one.
        """
        operations: list[dist.P2POp] = []
        sent = 0
        # Each begins with its neighbour, so that not all send to worker 0 first.
        for rank in sorted(
            {*outgoing, *incoming} - {self.rank}, key=lambda rank: (rank - self.rank) % self.size
        ):
            target, source = incoming.get(rank), outgoing.get(rank)
            if target is not None and target.numel():
                increment_version(target)  # torch.distributed writes without a trace
                operations.append(dist.P2POp(dist.irecv, target, None, self._group, tag, rank))
            if source is not None and source.numel():
                sent += source.nbytes
                operations.append(dist.P2POp(dist.isend, source, None, self._group, tag, rank))
        # Another thread may wait for other arrays meanwhile: what this process does is what it waits for.
        with self.guard("transfer", notes=False):
            works = _begin(operations)
        with self._counting:
            self.bytes_sent += sent
        return Transfer(self, works, list(dict.fromkeys(each.group_peer for each in operations)))

    def reduce_scatter(self, target: Tensor, source: Tensor) -> Transfer:
        """Begin to sum arrays over the workers by the backend's collective; each gets a row of the sum as `target`.

        All workers must begin their collectives in the same order.
        """
        increment_version(target)  # torch.distributed writes without a trace
        return self._collective(_reduce_scatter, target, source, source.nbytes)

    def all_gather(self, target: Tensor, row: Tensor) -> Transfer:
        """Begin to give all workers a row of each by the backend's collective; `row` may be that of `target`.

        All workers must begin their collectives in the same order.
        """
        increment_version(target)
        return self._collective(_all_gather, target, row, target.nbytes)

    def _collective(
        self, begin: Callable[..., dist.Work], target: Tensor, source: Tensor, of_all: int
    ) -> Transfer:
        with self.guard("transfer", notes=False), torch.cuda.device_of(target):
            work = begin(target, source, group=self._group, async_op=True)
        with self._counting:
            self.bytes_sent += of_all * (self.size - 1) // self.size
        return Transfer(self, [work], self._others)

    def backend_for(self, device: str) -> str:
        """Return the name of the backend that carries arrays of a kind of device.

        >>> Job(JobEnvironment()).backend_for("cpu")
        'gloo'
        """
        return "nccl" if device == "cuda" and _has_nccl() else "gloo"

    @property
    def _others(self) -> list[int]:
        return [rank for rank in range(self.size) if rank != self.rank]

    def broadcast(self, tensor: Tensor, root: int = 0) -> None:
        """Give all workers the values that worker `root` has, in place.

        >>> import torch
        >>> Job(JobEnvironment()).broadcast(torch.ones(2))
        """
        if self.size > 1:
            with self.waiting("broadcast", self._others):
                self.bytes_sent += tensor.nbytes if self.rank == root else 0
                dist.broadcast(tensor, group=self._group, group_src=root)
                increment_version(tensor)  # torch.distributed writes without a trace

    def sum(self, tensor: Tensor) -> None:
        """Replace a small array by its sum over the workers, in place.

        >>> import torch
        >>> Job(JobEnvironment()).sum(torch.ones(2))
        """
        if self.size > 1:
            with self.waiting("sum", self._others):
                self.bytes_sent += tensor.nbytes
                dist.all_reduce(tensor, group=self._group)
                increment_version(tensor)

    def largest(self, tensor: Tensor) -> Transfer:
        """Begin to replace the numbers of a small array by the largest of all workers, in place.

        All workers must begin their collectives in the same order.

        >>> import torch
        >>> Job(JobEnvironment()).largest(torch.ones(2)).wait("example")
        """
        if self.size == 1:
            return Transfer(self, [], [])
        with self.guard("largest", notes=False):
            work = dist.all_reduce(tensor, dist.ReduceOp.MAX, group=self._group, async_op=True)
        increment_version(tensor)
        with self._counting:
            self.bytes_sent += tensor.nbytes
        return Transfer(self, [work], self._others)

    # Failing.

    @contextlib.contextmanager
    def guard(self, what: str, notes: bool = True) -> Iterator[None]:
        """Turn errors of the connections into a `WorkerError` that names who is missing.

        Parameters
        ----------
        what
            What is being done.
        notes
            Whether this process says to the others that it does that.
        """
        liveness = self._liveness
        if liveness is not None:
            if notes:
                liveness.note(what)
            if liveness.is_alone:
                raise self.failure(what)
        began = time.monotonic()
        try:
            yield
        except MXNetError:
            raise
        except RuntimeError as error:  # what PyTorch raises, whatever has happened
            early = time.monotonic() - began < self._timeout
            raise self.failure(what, cause=error if early else None) from error
        if liveness is not None and notes:
            liveness.note("")

    @contextlib.contextmanager
    def waiting(self, what: str, ranks: Sequence[int]) -> Iterator[None]:
        """As `guard`, for a wait for some workers within PyTorch: it ends when one of them is silent for too long."""
        with self.guard(what):
            if self._waiting is None:
                yield
                return
            self._waiting.begin(ranks)
            try:
                yield
            finally:
                self._waiting.end()

    def _break_off(self, rank: int) -> None:
        """End what another thread waits for within Gloo."""
        # There is no call for that. A time-out closes all connections, and one comes by waiting for what never comes.
        never = dist.P2POp(dist.irecv, torch.empty(1), None, self._group, Tag.NOBODY, rank)
        with contextlib.suppress(RuntimeError):
            for work in _begin([never]):
                work.wait(timedelta(milliseconds=1))

    def failure(
        self, what: str, missing: Sequence[int] | None = None, cause: Exception | None = None
    ) -> WorkerError:
        """Find out who is lost, tell the others, and return the error to raise.

        Parameters
        ----------
        what
            What was being done.
        missing
            Who has not come, if that is known.
        cause
            The error of a connection, if it is one rather than a wait that was too long.
        """
        assert self._liveness is not None
        others = self._others if missing is None else missing
        lost: dict[int, str] = {} if self._waiting is None else self._waiting.lost
        if not self._liveness.can_be_read:
            environment = self.environment
            if environment.host_of_store == "worker 0":
                lost = {0: ""}
            at = f" at {environment.host}:{environment.port}" if environment.host else ""
            text = (
                f"{what}: all {self.size} workers must take part; lost {environment.host_of_store}, which held the "
                f"job's store{at}"
            )
        elif lost := lost or self._liveness.lost(others):
            listed = "; ".join(f"worker {rank}: {why}" for rank, why in lost.items())
            text = f"{what}: all {self.size} workers must take part; lost {listed}"
        else:
            text = f"{what}: worker {self.rank} {self._waited(others, cause)}"
        self._liveness.stop(f"it stopped, since it lost {_workers(lost or others)}", list(lost))
        return WorkerError(
            f"{text}. Restart the job from its newest checkpoint: fit(checkpoint=...) under "
            "`rebind launch --max-restarts N` does it by itself."
        )

    def _waited(self, others: Sequence[int], cause: Exception | None) -> str:
        """Say for whom this worker has waited, or what happened to its connection, and where they are."""
        assert self._liveness is not None
        signs = {rank: self._liveness.read(rank) for rank in others}
        places = "; ".join(
            f"worker {rank} is {('in ' + sign.doing) if sign.doing else 'in no call'} ({sign})"
            if sign is not None
            else f"worker {rank} never joined, or has another REBIND_JOB_TOKEN"
            for rank, sign in signs.items()
        )
        if cause is not None:
            return f"cannot reach the others ({str(cause).splitlines()[0]}); {places}"
        return (
            f"has waited for the others for {self._timeout:g} s (REBIND_TIMEOUT). All must make the same calls; "
            f"{places}"
        )


@dataclass(frozen=True)
class Transfer:
    """Arrays on their way; `wait` for them before they are used, or written again."""

    job: Job
    works: Sequence[dist.Work]
    ranks: Sequence[int]

    def wait(self, what: str) -> None:
        """Wait until all is sent and received; `what` is said in errors."""
        with self.job.waiting(what, self.ranks):
            for work in self.works:
                work.wait()


def _begin(operations: list[dist.P2POp]) -> list[dist.Work]:
    """Begin to send and receive arrays of one device."""
    if not operations:
        return []
    # NCCL must be given what goes both ways at once, or each side may wait for the other to receive.
    with torch.cuda.device_of(operations[0].tensor):
        return dist.batch_isend_irecv(operations)


def _has_nccl() -> bool:
    return torch.cuda.is_available() and dist.is_nccl_available()


def _workers(ranks: Sequence[int] | dict[int, str]) -> str:
    listed = sorted(ranks)
    return f"worker{'s' if len(listed) > 1 else ''} {', '.join(map(str, listed))}"
