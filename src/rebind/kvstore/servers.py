"""`Servers`: the parameter servers of a job, as a worker sees them: processes, or threads of the workers."""

from __future__ import annotations

import itertools
import json
import logging
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace

import torch.distributed as dist
from torch import Tensor

from .. import config
from ..distributed import FINISHED, JSON, Job, address_of_this_machine, open_store
from ..distributed.liveness import Liveness
from ..errors import MXNetError, WorkerError
from ..tuning import current
from .parameter_server import ParameterServer
from .server_link import End, Request, ServerLink, SocketEnd, WorkersLost
from .service import LocalEnd, Service
from .wire import Address, Connection, Message

__all__ = ["Servers", "key_of_server"]

#: A worker waits longer than a server does for others, so that the server's error arrives.
_GRACE = 10.0
#: The stores of this process by number: all workers make them in the same order.
_numbers = itertools.count()
_services: dict[Job, Service] = {}


class Servers:
    """Connections to all servers.

    Parameters
    ----------
    job
        The workers. Where the job has no server processes, each worker serves the others from threads.

    Attributes
    ----------
    links
        One for each server.
    own
        The server in this process; None where servers are processes of their own.
    smallest
        Keys of fewer elements are not divided.
    bound
        How many pushes of a key a worker may be ahead of the slowest one; None for any number.

    Examples
    --------
    >>> from rebind.distributed import JobEnvironment
    >>> servers = Servers(Job(JobEnvironment()))
    >>> len(servers.links), servers.own is None
    (1, False)
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._timeout = float(config.get("REBIND_TIMEOUT"))
        number = next(_numbers)
        bound = int(config.get("REBIND_STALENESS"))
        self.bound = None if bound < 0 else bound
        self.smallest: int = config.get("MXNET_KVSTORE_BIGARRAY_BOUND") or current().divided_key_elements
        self.own: ParameterServer | None = None
        self._liveness: Liveness | None = None
        job.agree(
            "kvstore.create('dist_async')",
            "options",
            {
                "REBIND_STALENESS": bound,
                "MXNET_KVSTORE_BIGARRAY_BOUND": self.smallest,
                "store": number,
            },
        )
        introduction: dict[str, JSON] = {"rank": job.rank, "store": number, "bound": self.bound}
        if job.environment.num_servers > 0:
            self.links = self._processes(introduction)
        else:
            self.links = self._threads(number, introduction)
        job.before_close(self._close)

    @property
    def bytes_sent(self) -> int:
        """How many bytes of arrays were sent to servers, those in this process among them."""
        return sum(link.bytes_sent for link in self.links)

    # Asking.

    def ask(self, who: str, server: int, header: dict[str, JSON], arrays: Sequence[Tensor] = ()) -> Message:
        """Send a request to one server, and return the answer.

        >>> from rebind.distributed import JobEnvironment
        >>> servers = Servers(Job(JobEnvironment()))
        >>> servers.ask("this example", 0, {"do": "clear"}).header
        {}
        """
        link = self.links[server]
        return self.answer(who, link, link.submit(Request(Message(header, arrays))))

    def ask_all(self, who: str, header: dict[str, JSON]) -> None:
        """Send a request to all servers, and wait until each has answered."""
        asked = [(link, link.submit(Request(Message(header)))) for link in self.links]
        for link, answer in asked:
            self.answer(who, link, answer)

    def answer(self, who: str, link: ServerLink, answer: Future[Message]) -> Message:
        """Wait for an answer; what went wrong is raised, with who is missing.

        Parameters
        ----------
        who
            What it is for, as errors say it.
        link
            The server.
        answer
            What the request returned.
        """
        try:
            return answer.result()
        except MXNetError as error:
            raise self._failure(who, link, error) from None

    # Finding them.

    def _threads(self, number: int, introduction: dict[str, JSON]) -> list[ServerLink]:
        """Connect to the servers of all workers, which are threads of theirs."""
        job = self._job
        service = _service_of(job, self._timeout)
        self.own = service.server(number, self.bound)
        own = None if service.address is None else service.address.written()
        links = []
        for rank, written in enumerate(job.exchange("kvstore.create('dist_async')", own)):
            end: End = LocalEnd(service, rank, number, self.bound)
            if rank != job.rank:
                end = self._connected(Address.read(written), introduction)
            links.append(ServerLink(f"the server of worker {rank}", end))
        return links

    def _processes(self, introduction: dict[str, JSON]) -> list[ServerLink]:
        """Connect to the processes that are servers, which say in the job's store where they listen."""
        job, environment = self._job, self._job.environment
        # A worker alone is in no store yet.
        is_alone = job.size == 1
        store = open_store(
            replace(environment, hosts_store=environment.hosts_store and is_alone), self._timeout
        )
        if is_alone:
            self._liveness = Liveness(store, 0, 1)
        links = []
        for number in range(environment.num_servers):
            found = self._wait_for_server(store, number)
            end = self._connected(Address.read(found["address"]), introduction)
            links.append(ServerLink(f"server {number} (pid {found['pid']} on {found['host']})", end))
        return links

    def _wait_for_server(self, store: dist.Store, number: int) -> dict[str, JSON]:
        deadline = time.monotonic() + self._timeout
        while not store.check([key_of_server(number)]):
            if time.monotonic() > deadline:
                raise WorkerError(
                    f"kvstore.create('dist_async'): all {self._job.environment.num_servers} servers of the job "
                    f"(DMLC_NUM_SERVER) must start; server {number} did not within {self._timeout:g} s "
                    "(REBIND_TIMEOUT). Look at its log."
                )
            time.sleep(0.02)
        return json.loads(store.get(key_of_server(number)))

    def _connected(self, address: Address, introduction: dict[str, JSON]) -> SocketEnd:
        connection = Connection.to(address, self._timeout + _GRACE)
        connection.send(Message(introduction))
        connection.receive_header()
        return SocketEnd(connection)

    # Failing, and the end.

    def _failure(self, what: str, link: ServerLink, error: MXNetError) -> MXNetError:
        """Return the error to raise for one that a server's answer was, or that came in place of one."""
        job = self._job
        if isinstance(error, WorkersLost):
            return job.failure(what, error.ranks)
        if not isinstance(error, WorkerError):
            return error
        if self.own is not None and job.size > 1:
            return job.failure(what, [self.links.index(link)])
        return WorkerError(
            f"{what}: {error.message}. Restart the job from its newest checkpoint: fit(checkpoint=...) under "
            "`rebind launch --max-restarts N` does it by itself."
        )

    def _close(self, ended: str) -> None:
        for link in self.links:
            link.close(farewell=ended == FINISHED)
        if self._liveness is not None:
            self._liveness.stop(ended)


def key_of_server(number: int) -> str:
    """Return the key in the job's store under which a server says where it listens.

    >>> key_of_server(0)
    'server/0'
    """
    return f"server/{number}"


def _service_of(job: Job, timeout: float) -> Service:
    """Return the server in this process; one for all stores."""
    if job not in _services:
        host = None
        if job.size > 1:
            store_at = job.environment.address_of_store
            host = "127.0.0.1" if job.is_on_one_machine else address_of_this_machine(store_at)
        made = _services[job] = Service(job.size, host, timeout, job.sign_of)

        def close(ended: str) -> None:
            # The others may still push to this server, and pull what it has.
            if ended == FINISHED:
                _log_waiting(made, others)
                made.wait_for_the_last(others)
            made.close()

        others = {rank for rank in range(job.size) if rank != job.rank}
        job.before_close(close)
    return _services[job]


def _log_waiting(service: Service, others: Sequence[int] | set[int]) -> None:
    if missing := sorted(set(others) - service.ended):
        logging.getLogger(__name__).info("Serving workers %s until they have finished", missing)
