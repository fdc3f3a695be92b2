"""What the TCP connections of a process have sent, as Linux counts it."""

from __future__ import annotations

import os
import socket
import stat
import struct

__all__ = ["BYTES_ACKED", "DATA_SEGMENTS_OUT", "sent_by_sockets"]

#: Where Linux's `struct tcp_info` has what a connection has sent, and how it is written: the bytes that the other side
#: has confirmed, of data alone, and the packets that had data.
BYTES_ACKED, DATA_SEGMENTS_OUT = (120, "Q"), (156, "I")


def sent_by_sockets(field: tuple[int, str] = BYTES_ACKED, but_port: int | None = None) -> int:
    """Return what the TCP connections of this process have sent: without headers, and nothing twice.

    Parameters
    ----------
    field
        What is counted: bytes, or packets with data.
    but_port
        Connections to or from this port are not counted.
    """
    offset, form = field
    total = 0
    for number in map(int, os.listdir("/proc/self/fd")):
        try:
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            with socket.socket(fileno=os.dup(number)) as each:
                if each.type == socket.SOCK_STREAM and each.family in (socket.AF_INET, socket.AF_INET6):
                    if but_port in (each.getsockname()[1], each.getpeername()[1]):
                        continue
                    info = each.getsockopt(
                        socket.IPPROTO_TCP, socket.TCP_INFO, offset + struct.calcsize(form)
                    )
                    total += struct.unpack_from(form, info, offset)[0]
        except OSError:  # closed meanwhile, or it listens
            continue
    return total
