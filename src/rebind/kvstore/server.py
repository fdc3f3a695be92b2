"""`run_server`: a process that is a parameter server of a job, from its start to the job's end."""

from __future__ import annotations

import json
import logging
import os
import socket
import time

import torch.distributed as dist

from .. import config
from ..distributed import JobEnvironment
from ..distributed.job import open_store
from ..distributed.liveness import Liveness
from ..errors import StateError
from .servers import address_of_this_machine, key_of_server
from .service import Service

__all__ = ["run_server"]

logger = logging.getLogger(__name__)
#: How often it is looked whether the job has ended.
_INTERVAL = 0.5


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
    timeout = float(config.get("REBIND_TIMEOUT"))
    store = open_store(job, timeout)
    number = store.add("servers", 1) - 1 if job.rank is None else job.rank
    # Servers give their signs after the workers.
    liveness = Liveness(
        store.clone() if hasattr(store, "clone") else store,
        job.num_workers + number,
        job.num_workers + job.num_servers,
    )
    if not (hosts := _hosts_of_workers(liveness, store, job)):
        return
    is_near = hosts == {socket.gethostname()}
    service = Service(
        job.num_workers, "127.0.0.1" if is_near else address_of_this_machine(job), timeout, liveness.read
    )
    assert service.address is not None  # it has a host
    said = {"address": service.address.written(), "pid": os.getpid(), "host": socket.gethostname()}
    store.set(key_of_server(number), json.dumps(said))
    logger.info("Server %d of %d serves %d workers", number, job.num_servers, job.num_workers)
    _wait_for_the_end(service, liveness, store, job)
    service.close()
    liveness.stop("it has finished, as all workers have")


def _hosts_of_workers(liveness: Liveness, store: dist.Store, job: JobEnvironment) -> set[str]:
    """Wait until all workers have come, and return their machines; none if the job ends before."""
    while True:
        signs = [liveness.read(rank) for rank in range(job.num_workers)]
        hosts = {sign.host for sign in signs if sign is not None}
        if all(sign is not None for sign in signs):
            return hosts
        if not _answers(store) or any(sign is not None and sign.ended for sign in signs):
            return set()
        time.sleep(_INTERVAL / 10)


def _wait_for_the_end(service: Service, liveness: Liveness, store: dist.Store, job: JobEnvironment) -> None:
    """Wait until no worker needs the server: each has said so, has ended, or is lost."""
    workers = set(range(job.num_workers))
    while True:
        ended = service.ended
        for rank in workers - ended:
            sign = liveness.read(rank)
            if sign is not None and sign.ended:
                ended.add(rank)
        # The store ends with the process that holds it: with the launcher, or with worker 0, which is the last.
        if ended >= workers or not _answers(store):
            return
        time.sleep(_INTERVAL)


def _answers(store: dist.Store) -> bool:
    try:
        store.check(["servers"])
    except RuntimeError:  # what PyTorch raises, whatever has happened
        return False
    return True
