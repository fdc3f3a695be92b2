"""The machines of a job: which process runs where, and at which address the others reach this one."""

from __future__ import annotations

import ipaddress
import itertools
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..distributed import Role
from ..errors import FormatError, MissingFileError

__all__ = ["Host", "Place", "own_address", "place_processes", "read_hosts"]


class Host(NamedTuple):
    """A machine, as ``ssh`` takes it."""

    name: str  # [user@]host
    port: int | None = None

    @property
    def address(self) -> str:
        """The name without the user's."""
        return self.name.rpartition("@")[2]


class Place(NamedTuple):
    """Where a process runs, and which of the machine's of its role it is."""

    role: Role
    number: int
    host: Host
    local_number: int
    on_host: int  # how many of its role are there


def read_hosts(path: Path) -> list[Host]:
    """Return the machines that a file lists: one on a line, as ``[user@]host[:port]``.

    What follows a name, such as ``slots=4``, is left to MPI; ``#`` begins a comment.

    Raises
    ------
    MissingFileError, FormatError
        When there is no such file, or no machine in it, or a port is not a number.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise MissingFileError(f"-H: the file of machines must exist; got {str(path)!r}") from None
    found = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        name, colon, port = words[0].partition(":")
        if colon and not port.isdecimal():
            raise FormatError(f"{path}, line {number}: must be [user@]host[:port]; got {words[0]!r}")
        found.append(Host(name, int(port) if colon else None))
    if not found:
        raise FormatError(f"{path}: must list machines, one on a line; got none")
    return found


def place_processes(hosts: Sequence[Host], workers: int, servers: int) -> list[Place]:
    """Return where processes run: round the machines, servers first, as MXNet's launcher places them.

    Examples
    --------
    >>> for place in place_processes([Host("a"), Host("b")], workers=3, servers=1):
    ...     print(place.role, place.number, place.host.name, place.local_number, place.on_host)
    server 0 a 0 1
    worker 0 b 0 2
    worker 1 a 0 1
    worker 2 b 1 2
    """
    wanted: list[tuple[Role, int]] = [("server", number) for number in range(servers)]
    wanted += [("worker", number) for number in range(workers)]
    placed = [(role, number, host) for (role, number), host in zip(wanted, itertools.cycle(hosts))]
    found = []
    for role, number, host in placed:
        there = [other for kind, other, where in placed if (kind, where) == (role, host)]
        found.append(Place(role, number, host, there.index(number), len(there)))
    return found


def own_address(others: Sequence[Host] = ()) -> str:
    """Return the address of this machine at which other machines reach it; the loopback one if there are no others.

    >>> own_address([Host("localhost"), Host("127.0.0.1")])
    '127.0.0.1'
    """
    away = [host.address for host in others if not _is_here(host.address)]
    if others and not away:
        return "127.0.0.1"
    # A datagram socket that is connected sends nothing; the system chooses the interface.
    for target in [*away, "192.0.2.1"]:  # the last is an address of nobody, for the way to any
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((target, 9))
            except OSError:
                continue
            return str(probe.getsockname()[0])
    return socket.gethostname()


def _is_here(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
