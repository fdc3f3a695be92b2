"""Messages between workers and parameter servers: a header of JSON, and arrays as they are in memory, over a socket.

Nothing that is received is unpickled. Both sides of a connection show first that they know the secret that the job's
store gives its members; the challenge is that of `multiprocessing.connection`. The messages do not go through that
module's connections, which copy what they receive: over the loopback address of a machine with two cores these sent
and received 0.56 GB/s in messages of 64 MiB, and a plain socket 2.5 GB/s (of 1 MiB: 0.4 to 0.8, and 3 to 6).
"""

from __future__ import annotations

import contextlib
import json
import math
import socket
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing import AuthenticationError
from multiprocessing.connection import answer_challenge, deliver_challenge

import torch
from torch import Tensor

from .. import dtypes
from ..distributed import JSON
from ..errors import WorkerError
from ..tuning import current

__all__ = ["Address", "Connection", "Message", "Scratch", "listen"]

#: A longer header is no header of ours.
_LONGEST_HEADER = 64 * 1024 * 1024
#: Arrays begin at multiples of so many bytes: a cache line.
_ALIGNMENT = 64
_LENGTH = struct.Struct("!I")


@dataclass(frozen=True)
class Message:
    """What is sent at once.

    Attributes
    ----------
    header
        Text, numbers, lists and dicts.
    arrays
        Tensors on the CPU, each contiguous.
    """

    header: dict[str, JSON]
    arrays: Sequence[Tensor] = ()

    @property
    def nbytes(self) -> int:
        """How many bytes the arrays have.

        >>> Message({}, [torch.zeros(3)]).nbytes
        12
        """
        return sum(each.nbytes for each in self.arrays)


@dataclass
class Scratch:
    """Memory for the arrays of one message after the other, which is not allocated again for each.

    >>> scratch = Scratch()
    >>> first = scratch.arrays([("float32", (2, 3))])[0]
    >>> scratch.arrays([("int32", (2,))])[0].data_ptr() == first.data_ptr()
    True
    """

    memory: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.uint8))

    def arrays(self, kinds: Iterable[tuple[str, Sequence[int]]]) -> list[Tensor]:
        """Return arrays with these types and shapes, whose values are any."""
        described = [(dtypes.torch_dtype(name), tuple(shape)) for name, shape in kinds]
        sizes = [math.prod(shape) * dtype.itemsize for dtype, shape in described]
        lengths = [size + -size % _ALIGNMENT for size in sizes]
        if self.memory.numel() < sum(lengths):
            self.memory = torch.empty(sum(lengths), dtype=torch.uint8)
        pieces = self.memory[: sum(lengths)].split(lengths)
        return [
            piece[:size].view(dtype).view(shape)
            for piece, size, (dtype, shape) in zip(pieces, sizes, described, strict=True)
        ]


@dataclass(frozen=True)
class Address:
    """Where a server listens, and the secret that shows that one may connect.

    >>> Address.read(Address("127.0.0.1", 9000, "ab").written()).port
    9000
    """

    host: str
    port: int
    secret: str

    def written(self) -> JSON:
        """Return it as plain data."""
        return [self.host, self.port, self.secret]

    @classmethod
    def read(cls, written: JSON) -> Address:
        """Return what `written` gave."""
        assert isinstance(written, list)  # it comes from the job's store, where only its members write
        host, port, secret = written
        return cls(str(host), int(str(port)), str(secret))


def listen(host: str) -> socket.socket:
    """Return a socket that listens on an address of this machine, at a free port.

    >>> with listen("127.0.0.1") as listening:
    ...     listening.getsockname()[0]
    '127.0.0.1'
    """
    return socket.create_server((host, 0), backlog=1024)


class Connection:
    """One end of a connection between a worker and a server.

    A message may be sent by one thread while another one receives.

    Parameters
    ----------
    connected
        The socket.
    timeout
        How many seconds to wait for the other side.

    Examples
    --------
    >>> one, other = (Connection(each, 5) for each in socket.socketpair())
    >>> one.send(Message({"say": "hello"}, [torch.ones(2)]))
    >>> header, kinds = other.receive_header()
    >>> arrays = Scratch().arrays(kinds)
    >>> other.receive_arrays(arrays)
    >>> header["say"], arrays
    ('hello', [tensor([1., 1.])])
    >>> one.close(), other.close()
    (None, None)
    """

    def __init__(self, connected: socket.socket, timeout: float) -> None:
        connected.settimeout(timeout)
        _keep_alive(connected)
        self._socket = connected
        self._timeout = timeout

    @classmethod
    def to(cls, address: Address, timeout: float) -> Connection:
        """Return a connection to a server; a `WorkerError` when there is none, or it does not know the secret."""
        made = None
        try:
            made = cls(socket.create_connection((address.host, address.port), timeout), timeout)
            made._shake_hands(address.secret, begins=False)
        except (OSError, EOFError, AuthenticationError) as error:
            if made is not None:
                made.close()
            raise WorkerError(
                f"KVStore: a server must listen at {address.host}:{address.port}; got {error!r}. Is its process "
                "still running, and may this machine connect to that port?"
            ) from error
        return made

    def welcome(self, secret: str) -> bool:
        """Return whether the one who connected knows the secret."""
        try:
            self._shake_hands(secret, begins=True)
        except (OSError, EOFError, AuthenticationError):
            self.close()
            return False
        return True

    def _shake_hands(self, secret: str, begins: bool) -> None:
        # Each side asks for an HMAC of random bytes, so that neither can be a stranger.
        challenges = [deliver_challenge, answer_challenge]
        for challenge in challenges if begins else reversed(challenges):
            challenge(_Frames(self._socket), secret.encode())  # type: ignore[arg-type]  # it has the two methods that are used

    def send(self, message: Message) -> None:
        """Send a message."""
        kinds: JSON = [[dtypes.name(each.dtype), list(each.shape)] for each in message.arrays]
        header = json.dumps([message.header, kinds]).encode()
        waiting = bytearray(_LENGTH.pack(len(header)) + header)
        least = current().joined_array_bytes
        for each in message.arrays:
            content = _bytes_of(each)
            if len(content) < least:
                waiting += content
                continue
            self._socket.sendall(waiting)
            self._socket.sendall(content)
            waiting = bytearray()
        self._socket.sendall(waiting)

    def receive_header(self, *, patient: bool = False) -> tuple[dict[str, JSON], list[tuple[str, list[int]]]]:
        """Return the header of the next message, and types and shapes of its arrays, to be received next.

        Parameters
        ----------
        patient
            Whether to wait for as long as nothing comes.
        """
        prefix = bytearray(_LENGTH.size)
        self._socket.settimeout(None if patient else self._timeout)
        _receive_into(self._socket, memoryview(prefix)[:1])
        self._socket.settimeout(self._timeout)
        _receive_into(self._socket, memoryview(prefix)[1:])
        (length,) = _LENGTH.unpack(prefix)
        if length > _LONGEST_HEADER:
            raise ConnectionError(f"a header has {length} bytes")
        content = bytearray(length)
        _receive_into(self._socket, memoryview(content))
        header, kinds = json.loads(content)
        return header, [(name, shape) for name, shape in kinds]

    def receive_arrays(self, arrays: Sequence[Tensor]) -> None:
        """Receive the arrays of a message into memory of their types and sizes."""
        for each in arrays:
            _receive_into(self._socket, _bytes_of(each))

    def close(self) -> None:
        """Close the connection; who waits at either end gets an error."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _receive_into(source: socket.socket, target: memoryview) -> None:
    done = 0
    while done < len(target):
        count = source.recv_into(target[done:])
        if not count:
            raise ConnectionError("the other side has closed the connection")
        done += count


class _Frames:
    """What the challenge of `multiprocessing.connection` needs of a connection."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def send_bytes(self, content: bytes) -> None:
        """Send a few bytes."""
        self._socket.sendall(_LENGTH.pack(len(content)) + content)

    def recv_bytes(self, maxlength: int) -> bytes:
        """Return the next bytes, `maxlength` at most."""
        prefix = bytearray(_LENGTH.size)
        _receive_into(self._socket, memoryview(prefix))
        (length,) = _LENGTH.unpack(prefix)
        if length > maxlength:
            raise ConnectionError(f"a challenge has {length} bytes")
        content = bytearray(length)
        _receive_into(self._socket, memoryview(content))
        return bytes(content)


def _bytes_of(tensor: Tensor) -> memoryview:
    """Return the memory of a contiguous tensor."""
    return tensor.detach().view(-1).view(torch.uint8).numpy().data


def _keep_alive(connected: socket.socket) -> None:
    """Let the system find out when the other machine is gone, and send small messages at once."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {"TCP_NODELAY": 1, "TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
    if connected.family == getattr(socket, "AF_UNIX", None):
        return
    for name, value in options.items():
        if hasattr(socket, name):  # systems have some of them
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
