"""`Service`: answers the workers of a job that connect to this process, as a parameter server."""

from __future__ import annotations

import contextlib
import logging
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from .. import errors
from ..distributed import FINISHED, JSON, Sign
from ..errors import MXNetError
from .parameter_server import ParameterServer, Unanswerable
from .wire import Address, Connection, Message, Scratch, listen

__all__ = ["LocalEnd", "Service", "error_of"]

logger = logging.getLogger(__name__)
#: How often it is looked whether the job has ended.
_INTERVAL = 0.2


class Service:
    """A parameter server with its connections: one thread for each.

    Parameters
    ----------
    num_workers
        How many workers there are.
    host
        The address to listen on; None for a service that only this process uses.
    timeout
        How many seconds to wait within a message, and for workers that are behind.
    sign_of
        Returns the last sign of life of a worker, which differs for one that has finished and one that is lost.

    Examples
    --------
    >>> service = Service(1, None, 5.0, lambda rank: None)
    >>> end = LocalEnd(service, 0, 0, None)
    >>> end.send(Message({"do": "init", "keys": ["w"]}, [torch.ones(2)]))
    >>> end.receive([]).header
    {}
    """

    def __init__(
        self, num_workers: int, host: str | None, timeout: float, sign_of: Callable[[int], Sign | None]
    ) -> None:
        self.num_workers, self._timeout, self._sign_of = num_workers, timeout, sign_of
        self._servers: dict[int, ParameterServer] = {}  # by the number of the store
        self._lock = threading.Lock()
        self._finished: set[int] = set()
        self._lost: dict[int, str] = {}
        self._talking: list[threading.Thread] = []
        self._listening = None if host is None else listen(host)
        self.address: Address | None = None
        if self._listening is not None:
            name, port = self._listening.getsockname()[:2]
            self.address = Address(name, port, secrets.token_hex(16))
            threading.Thread(target=self._accept, name="rebind-server", daemon=True).start()

    def server(self, store: int, bound: int | None) -> ParameterServer:
        """Return the server of a store; made when it is first asked for.

        >>> service = Service(1, None, 5.0, lambda rank: None)
        >>> service.server(0, None) is service.server(0, None)
        True
        """
        with self._lock:
            if store not in self._servers:
                made = ParameterServer(self.num_workers, bound, self._timeout)
                for rank, why in self._lost.items():
                    made.lose(rank, why)
                for rank in self._finished:
                    made.leave(rank)
                self._servers[store] = made
            return self._servers[store]

    # The end of workers.

    def finish(self, rank: int) -> None:
        """Note that a worker has finished."""
        with self._lock:
            self._finished.add(rank)
            for server in self._servers.values():
                server.leave(rank)

    def lose(self, rank: int, why: str) -> None:
        """Note that a worker is lost: all others get an error at their next request."""
        with self._lock:
            if rank in self._finished or rank in self._lost:
                return
            logger.warning("Lost worker %d: %s", rank, why)
            self._lost[rank] = why
            for server in self._servers.values():
                server.lose(rank, why)

    @property
    def ended(self) -> set[int]:
        """The workers that need this server no more."""
        with self._lock:
            return self._finished | set(self._lost)

    def wait_for_the_last(self, others: set[int]) -> None:
        """Wait until these workers have finished, or any is lost.

        >>> Service(1, None, 5.0, lambda rank: None).wait_for_the_last(set())
        """
        while not others <= self.ended and not self._lost:
            time.sleep(_INTERVAL)

    def close(self) -> None:
        """Take no more connections."""
        if self._listening is not None:
            with contextlib.suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
        # A thread that computes while Python ends would abort the process.
        for talking in self._talking:
            talking.join(_INTERVAL)

    # Connections.

    def _accept(self) -> None:
        assert self._listening is not None and self.address is not None
        while True:
            try:
                connected, _ = self._listening.accept()
            except OSError:  # closed
                return
            # A thread for each, so that one who connects and says nothing keeps nobody waiting.
            talking = threading.Thread(
                target=self._talk, args=(connected,), name="rebind-server-connection", daemon=True
            )
            self._talking.append(talking)
            talking.start()

    def _talk(self, connected: socket.socket) -> None:
        """Answer one connection until it ends."""
        assert self.address is not None
        connection = Connection(connected, self._timeout)
        if not connection.welcome(self.address.secret):
            logger.warning("Refused a connection that does not know the job's secret")
            return
        rank = -1
        try:
            header, _ = connection.receive_header()
            rank = _number(header["rank"])
            server = self.server(_number(header["store"]), _number_or_none(header["bound"]))
            connection.send(Message({}))
            self._answer_all(connection, rank, server)
        except (OSError, ValueError, KeyError) as error:
            self._judge(rank, f"its connection ended ({error})")
        finally:
            connection.close()

    def _answer_all(self, connection: Connection, rank: int, server: ParameterServer) -> None:
        received, sent = Scratch(), Scratch()
        while True:
            header, kinds = connection.receive_header(patient=True)
            arrays = received.arrays(kinds)
            connection.receive_arrays(arrays)
            if header["do"] == "finish":
                self.finish(rank)
                return
            connection.send(answered(server, rank, Message(header, arrays), sent))

    def _judge(self, rank: int, why: str) -> None:
        """Find out whether a worker whose connection has ended has finished."""
        if rank < 0 or rank in self.ended:
            return
        sign = self._sign_of(rank)
        if sign is not None and sign.ended == FINISHED:
            self.finish(rank)
        else:
            self.lose(rank, why if sign is None or not sign.ended else sign.ended)


def answered(server: ParameterServer, rank: int, request: Message, scratch: Scratch) -> Message:
    """Return the answer to a request; what went wrong is an answer too.

    >>> answered(ParameterServer(1), 0, Message({"do": "pull", "keys": ["w"]}), Scratch()).header["error"]
    "KVStore: no key 'w'. Set it with init() first."
    """
    try:
        with torch.no_grad():
            return server.answer(rank, request, scratch)
    except Unanswerable as error:
        lost: dict[str, JSON] = {str(other): why for other, why in error.lost.items()}
        return Message({"lost": lost})
    except MXNetError as error:
        return Message({"error": str(error), "kind": type(error).__name__})
    except Exception as error:  # of an optimizer or function of the user's own
        logger.exception("A request of worker %d failed", rank)
        return Message({"error": f"{type(error).__name__}: {error}", "kind": "UserCodeError"})


class LocalEnd:
    """A worker's connection to the server in its own process, over which nothing is sent.

    Parameters
    ----------
    service
        The server.
    rank, store, bound
        The worker, the number of its store, and its bound.
    """

    depth = 1  # the arrays of an answer are there until the next one

    def __init__(self, service: Service, rank: int, store: int, bound: int | None) -> None:
        self._service, self._rank = service, rank
        self._server = service.server(store, bound)
        self._scratch = Scratch()
        self._answers: deque[Message] = deque()
        self._ready = threading.Semaphore(0)

    def send(self, message: Message) -> None:
        """Do what the message asks for."""
        if message.header["do"] == "finish":
            self._service.finish(self._rank)
        else:
            self._answers.append(answered(self._server, self._rank, message, self._scratch))
            self._ready.release()

    def receive(self, targets: Sequence[Tensor]) -> Message:
        """Return the next answer, with its arrays in `targets` as far as there are any."""
        self._ready.acquire()
        answer = self._answers.popleft()
        if not targets or not answer.arrays:
            return Message(answer.header, [each.clone() for each in answer.arrays])
        for target, array in zip(targets, answer.arrays, strict=True):
            target.copy_(array.view(target.shape))  # parts have no further axes at the worker
        return Message(answer.header, targets)

    def close(self) -> None:
        """Do nothing: the server ends with the process."""


def error_of(header: dict[str, JSON]) -> MXNetError:
    """Return the error that an answer tells.

    >>> error_of({"error": "it is so", "kind": "ShapeError"})
    ShapeError('it is so')
    """
    kind = getattr(errors, str(header["kind"]), MXNetError)
    return kind(str(header["error"]))


def _number(value: JSON) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"must be a number; got {value!r}")
    return value


def _number_or_none(value: JSON) -> int | None:
    return None if value is None else _number(value)
