"""The machine of a process as others see it: what they share, its address, and the interface that has it."""

from __future__ import annotations

import functools
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Literal

if sys.platform == "linux":
    import fcntl

__all__ = ["address_of_this_machine", "cores", "interface_of", "interface_to", "namespace"]

_SIOCGIFADDR = 0x8915  # of Linux: asks for the IPv4 address of an interface


def cores() -> list[int]:
    """Return the numbers of the processor's cores that this process may use.

    >>> len(cores()) >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


@functools.cache
def namespace(kind: Literal["pid", "net"]) -> str:
    """Return what tells this machine's or container's processes, or networks, from others'.

    Machines may have the same name, copies of one machine the same boot, and containers of one machine have networks
    and numbers of processes of their own. The answer is ``''`` where processes cannot be looked at; where the system
    knows no namespaces, a network has its machine's name.

    Parameters
    ----------
    kind
        ``'pid'`` for the numbers of processes, ``'net'`` for the network.

    Examples
    --------
    >>> namespace("net") == namespace("net")
    True
    """
    name = socket.gethostname()
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{name} {boot} {os.readlink(f'/proc/self/ns/{kind}')}"
    except OSError:
        return "" if kind == "pid" else name


def address_of_this_machine(store: tuple[str, int]) -> str:
    """Return the address by which other machines of a job reach this one.

    Parameters
    ----------
    store
        Host and port of the job's store, which all of them reach.

    Examples
    --------
    >>> address_of_this_machine(("127.0.0.1", 1)).count(".")
    3
    """
    # Nothing is sent: the system only chooses the interface. A machine's own name may be a loopback address to it.
    for target in (store, ("10.255.255.255", 1)):
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect(target)
                found = str(probe.getsockname()[0])
        except OSError:
            continue
        if not found.startswith("127."):
            return found
    return "127.0.0.1"


def interface_of(address: str) -> str | None:
    """Return the network interface that has an IPv4 address; None where the system does not tell.

    >>> interface_of("192.0.2.77") is None  # nobody's: an address for examples
    True
    """
    if sys.platform != "linux":
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                found = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:  # it has none
                continue
            if socket.inet_ntoa(found[20:24]) == address:
                return name
    return None


def interface_to(store: tuple[str, int]) -> str | None:
    """Return the interface through which other machines of a job reach this one; None where the system does not tell.

    PyTorch would take the address of this machine's name, which Debian's /etc/hosts says is a loopback address.

    >>> interface_to(("127.0.0.1", 1)) == "lo"
    False
    """
    address = address_of_this_machine(store)
    return None if address.startswith("127.") else interface_of(address)
