"""What the TCP connections of a process have sent, as Linux counts it."""

from __future__ import annotations

import os
import socket
import stat
import struct
from collections.abc import Iterator

__all__ = ["data_packets_of_sockets", "sent_by_sockets"]

# Where Linux's `struct tcp_info` has a count, and how it is written. What the other side has acknowledged is also
# there, but is behind by what is on its way: a difference of two counts would take in earlier messages.
_BYTES_SENT, _BYTES_RETRANSMITTED, _BYTES_NOT_SENT, _DATA_PACKETS = (
    (200, "Q"),
    (208, "Q"),
    (144, "I"),
    (156, "I"),
)
_LENGTH = 216


def sent_by_sockets() -> int:
    """Return how many bytes this process has written to its TCP connections: data alone, nothing twice."""
    return sum(
        _count(info, _BYTES_SENT) - _count(info, _BYTES_RETRANSMITTED) + _count(info, _BYTES_NOT_SENT)
        for info in _tcp_infos()
    )


def data_packets_of_sockets(but_port: int) -> int:
    """Return how many packets with data the TCP connections of this process have sent, but for those of a port."""
    return sum(_count(info, _DATA_PACKETS) for info in _tcp_infos(but_port))


def _count(info: bytes, field: tuple[int, str]) -> int:
    offset, form = field
    return struct.unpack_from(form, info, offset)[0]


def _tcp_infos(but_port: int | None = None) -> Iterator[bytes]:
    for number in map(int, os.listdir("/proc/self/fd")):
        try:
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            with socket.socket(fileno=os.dup(number)) as each:
                if each.type == socket.SOCK_STREAM and each.family in (socket.AF_INET, socket.AF_INET6):
                    if but_port and but_port in (each.getsockname()[1], each.getpeername()[1]):
                        continue
                    yield each.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LENGTH)
        except OSError:  # closed meanwhile, or it listens
            continue
