"""`ServerLink`: a worker's requests to one server, sent by a thread in the order of their priority."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor

from ..errors import MXNetError, WorkerError
from .service import error_of
from .wire import Connection, Message, Scratch

__all__ = ["End", "Request", "ServerLink", "SocketEnd", "WorkersLost"]

#: How many seconds a thread has to end when its connection is closed.
_ENDING = 1.0


class WorkersLost(WorkerError):
    """The server says that workers are lost; `ranks` are those."""

    def __init__(self, ranks: Sequence[int]) -> None:
        super().__init__(f"lost workers {list(ranks)}")
        self.ranks = list(ranks)


class End(Protocol):
    """A worker's end of a connection to a server."""

    #: How many requests may be on their way at once.
    depth: int

    def send(self, message: Message) -> None:
        """Send a request."""

    def receive(self, targets: Sequence[Tensor]) -> Message:
        """Return the next answer; its arrays are written into `targets`, as far as there are any."""

    def close(self) -> None:
        """Close the connection."""


class SocketEnd:
    """A connection to a server in another process.

    Parameters
    ----------
    connection
        The connection, after both sides have introduced themselves.
    """

    depth = 16

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._scratch = Scratch()

    def send(self, message: Message) -> None:
        """Send a request."""
        self._connection.send(message)

    def receive(self, targets: Sequence[Tensor]) -> Message:
        """Return the next answer."""
        header, kinds = self._connection.receive_header()
        # Straight to where they belong; without targets into memory of their own.
        arrays = list(targets) if targets and kinds else Scratch().arrays(kinds)
        self._connection.receive_arrays(arrays)
        return Message(header, arrays)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@dataclass(eq=False)
class Request:
    """A message to a server, and what becomes of it.

    Attributes
    ----------
    message
        What is sent.
    keys
        The keys that it is about: requests of one key keep their order.
    priority
        The higher, the sooner it is sent.
    targets
        Where the arrays of the answer go.
    answer
        The answer, once it is there.
    """

    message: Message
    keys: frozenset[str | int] = frozenset()
    priority: int = 0
    targets: Sequence[Tensor] = ()
    answer: Future[Message] = field(default_factory=Future)


class ServerLink:
    """Sends requests to one server, and receives the answers, by a thread for each.

    Parameters
    ----------
    name
        The server, as errors say it.
    end
        The connection.

    Examples
    --------
    >>> from rebind.kvstore.service import LocalEnd, Service
    >>> import torch
    >>> link = ServerLink("server 0", LocalEnd(Service(1, None, 5.0, lambda rank: None), 0, 0, None))
    >>> link.submit(Request(Message({"do": "init", "keys": ["w"]}, [torch.ones(2)]))).result().header
    {}
    >>> pulled = torch.zeros(2)
    >>> link.submit(Request(Message({"do": "pull", "keys": ["w"]}), targets=[pulled])).result().header
    {'diverged': False}
    >>> pulled
    tensor([1., 1.])
    >>> link.close()
    """

    def __init__(self, name: str, end: End) -> None:
        self.name = name
        self.bytes_sent = 0
        self._end = end
        self._waiting: list[Request] = []  # in the order in which they were made
        self._sent: deque[Request] = deque()
        self._changed = threading.Condition()
        self._on_their_way = threading.Semaphore(end.depth)
        self._failure: MXNetError | None = None
        self._closed = False
        self._threads = [
            threading.Thread(target=work, name=f"rebind-{work.__name__.strip('_')}", daemon=True)
            for work in (self._send_all, self._receive_all)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, request: Request) -> Future[Message]:
        """Send a request soon; return its answer to come."""
        with self._changed:
            if self._failure is not None:
                request.answer.set_exception(self._failure)
                return request.answer
            self._raise_priorities(request)
            self._waiting.append(request)
            self._changed.notify_all()
        return request.answer

    def close(self, farewell: bool = False) -> None:
        """Close the connection, and say before that this worker needs the server no more if it does not."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if farewell and self._failure is None:
            # Where the server is gone, nobody waits for it any more.
            with contextlib.suppress(OSError):
                self._end.send(Message({"do": "finish"}))
        self._end.close()
        self._on_their_way.release()  # for a request that waits for the answers to others
        # A thread that computes while Python ends would abort the process.
        for thread in self._threads:
            thread.join(_ENDING)

    def _raise_priorities(self, request: Request) -> None:
        """Let what waits about the same keys, and what that waits for, not be overtaken."""
        keys = set(request.keys)
        for earlier in reversed(self._waiting):
            if earlier.keys & keys:
                earlier.priority = max(earlier.priority, request.priority)
                keys |= earlier.keys

    def _next(self) -> Request | None:
        """Wait for a request and take it; None when the connection is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed or self._failure)
            if self._closed or self._failure is not None:
                return None
            # The first of those with the highest priority.
            chosen = max(self._waiting, key=lambda request: request.priority)
            self._waiting.remove(chosen)
            return chosen

    def _send_all(self) -> None:
        while (request := self._next()) is not None:
            self._on_their_way.acquire()
            with self._changed:
                if self._closed:
                    return
                self._sent.append(request)
            try:
                self._end.send(request.message)
                self.bytes_sent += request.message.nbytes
            except Exception as error:  # whatever it is, who waits must hear of it
                self._fail(error)
            with self._changed:
                self._changed.notify_all()

    def _receive_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._sent or self._closed)
                if not self._sent:
                    return
                request = self._sent[0]
            try:
                answer = self._end.receive(request.targets)
            except Exception as error:
                self._fail(error)
                return
            with self._changed:
                self._sent.popleft()
            self._on_their_way.release()
            _settle(request, answer)

    def _fail(self, error: Exception) -> None:
        """Let all that waits, and all that comes, fail."""
        with self._changed:
            if self._failure is None:
                self._failure = WorkerError(f"{self.name} must answer; got {error!r}")
            failed = [*self._sent, *self._waiting]
            self._sent.clear()
            self._waiting.clear()
            self._changed.notify_all()
        self._on_their_way.release()
        for request in failed:
            if not request.answer.done():
                request.answer.set_exception(self._failure)


def _settle(request: Request, answer: Message) -> None:
    header = answer.header
    if "lost" in header:
        lost = header["lost"]
        assert isinstance(lost, dict)
        request.answer.set_exception(WorkersLost([int(rank) for rank in lost]))
    elif "error" in header:
        request.answer.set_exception(error_of(header))
    else:
        request.answer.set_result(answer)
