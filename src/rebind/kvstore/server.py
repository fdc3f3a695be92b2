"""`run_server`: a process that is a parameter server of a job, from its start to the job's end."""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import time

from .. import config
from ..distributed import (
    JobEnvironment,
    Signs,
    address_of_this_machine,
    namespace,
    open_store,
    takes_role,
    wait_for_workers,
)
from ..errors import StateError
from .servers import key_of_server
from .service import Service

__all__ = ["run_server"]

logger = logging.getLogger(__name__)
#: How often it is looked whether all workers have come.
_INTERVAL = 0.05


@takes_role("server")
def run_server(environment: JobEnvironment | None = None) -> None:
    """Serve the workers of a job with ``kvstore='dist_async'``, until all of them have finished or are lost.

    Parameters
    ----------
    environment
        The job; by default what the environment describes (``DMLC_ROLE=server``).

    Raises
    ------
    StateError
        When no job is described.
    """
    job = JobEnvironment.read() if environment is None else environment
    if job is None:
        raise StateError(
            "run_server: the environment must describe a job; it has no address. `rebind launch -s` starts servers."
        )
    _let_threads_import()
    timeout = float(config.get("REBIND_TIMEOUT"))
    store = open_store(job, timeout)
    number = store.add("servers", 1) - 1 if job.rank is None else job.rank
    signs = Signs(store, job.num_workers)
    if not (networks := _networks_of_workers(signs, job, timeout)):
        wait_for_workers(store, job.num_workers, timeout)  # which says what is wrong, if something is
        return
    is_near = networks == {namespace("net")}
    host = "127.0.0.1" if is_near else address_of_this_machine(job.address_of_store)
    service = Service(job.num_workers, host, timeout, signs.read)
    assert service.address is not None  # it has a host
    said = {"address": service.address.written(), "pid": os.getpid(), "host": socket.gethostname()}
    store.set(key_of_server(number), json.dumps(said))
    logger.info("Server %d of %d serves %d workers", number, job.num_servers, job.num_workers)
    wait_for_workers(store, job.num_workers, timeout)
    service.close()


def _let_threads_import() -> None:
    """Let threads import what this thread has begun to import: a server never returns from ``import rebind``.

    Otherwise the thread that imports the module of a user's optimizer, which imports rebind, would wait for ever.
    """
    for module in list(sys.modules.values()):
        spec = getattr(module, "__spec__", None)
        if getattr(spec, "_initializing", False):
            setattr(spec, "_initializing", False)  # noqa: B010  # its type does not declare it


def _networks_of_workers(signs: Signs, job: JobEnvironment, timeout: float) -> set[str]:
    """Wait until all workers have come, and return their networks; none if the job ends before, or they do not come."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline and signs.can_be_read:
        found = [sign for rank in range(job.num_workers) if (sign := signs.read(rank)) is not None]
        if len(found) == job.num_workers:
            return {sign.network for sign in found}
        if any(sign.ended for sign in found):
            break
        time.sleep(_INTERVAL)
    return set()
