"""The store of a job: where its processes find each other, and leave small things for each other."""

from __future__ import annotations

import errno
import hashlib
import socket
from datetime import timedelta

import torch.distributed as dist

from ..errors import WorkerError
from .environment import JobEnvironment

__all__ = ["host_store", "open_store", "view_of_job"]


def open_store(environment: JobEnvironment, timeout: float) -> dist.Store:
    """Return a connection to the store of a job; opened by this process if it is the one to do so.

    Where the program has made a process group before, it is that group's.

    The names in the store begin with a digest of the job's token: who does not know that finds nothing there.

    >>> import socket
    >>> with socket.create_server(("127.0.0.1", 0)) as free:
    ...     port = free.getsockname()[1]
    >>> store = open_store(JobEnvironment(port=port, hosts_store=True), timeout=10)
    >>> store.set("a", "b")
    >>> store.get("a")
    b'b'
    """
    if environment.in_group:
        assert dist.group.WORLD is not None  # `JobEnvironment.read` has seen it
        store = dist.group.WORLD.get_group_store()
    elif environment.hosts_store:
        store = host_store(environment.host, environment.port, timeout)
    else:
        store = _store_at(environment.host, environment.port, timeout)
    return view_of_job(store, environment.token, environment.attempt)


def host_store(host: str, port: int, timeout: float) -> dist.TCPStore:
    """Open a store on this machine, on the address `host` only; on a free port where `port` is 0."""
    try:
        # Bound here, as PyTorch would listen on all addresses of the machine.
        listener = socket.create_server((host, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE or _is_loopback(host):
            raise WorkerError(
                f"the job: {host}:{port} must be free for its store; got {error}. Another job may use that port."
            ) from None
        # The name is one of another machine's making: of a service, a router.
        listener = socket.create_server(("", port))
    port = listener.getsockname()[1]
    return _store_at(host, port, timeout, listener.detach())


def _store_at(host: str, port: int, timeout: float, listener: int | None = None) -> dist.TCPStore:
    try:
        return dist.TCPStore(
            host,
            port,
            None,
            listener is not None,
            timedelta(seconds=timeout),
            wait_for_workers=False,
            multi_tenant=True,
            master_listen_fd=listener,
        )
    except RuntimeError as error:
        raise WorkerError(
            f"the job: its store must answer at {host}:{port}; got no connection ({error})"
        ) from None


def view_of_job(store: dist.Store, token: str, attempt: int) -> dist.Store:
    """Return what a store holds of one attempt to run a job; who does not know the job's token finds nothing."""
    secret = hashlib.sha256(token.encode()).hexdigest()[:32]
    return dist.PrefixStore(f"rebind/{secret}/{attempt}", store)


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
