"""The processes of MXNet's parameter server: with ``DMLC_ROLE`` set, ``import rebind`` does their work, and ends them.

MXNet's job files start the scheduler, the servers and the workers with the same command. The first two never come to
the script's own lines: they take their role in the import, and leave with the end of the job.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TypeAlias

from torch.distributed import Store

from .. import config
from ..errors import WorkerError
from .environment import JobEnvironment, Role
from .liveness import INTERVAL, Signs
from .store import open_store

__all__ = ["Loop", "take_role", "takes_role", "wait_for_workers"]

#: What a process does until the job has ended.
Loop: TypeAlias = Callable[[JobEnvironment], None]

_LOOPS: dict[Role, Loop] = {}


def takes_role(role: Role) -> Callable[[Loop], Loop]:
    """Return a decorator for the function that does the work of a role; the last one that is decorated counts."""

    def register(loop: Loop) -> Loop:
        _LOOPS[role] = loop
        return loop

    return register


def take_role() -> None:
    """Do the work of a server or scheduler and end the process, if the environment says that it is one.

    >>> take_role()  # a worker, or a program that was started by itself, goes on
    """
    if os.environ.get("DMLC_ROLE", "worker").lower() == "worker":
        return
    environment = JobEnvironment.read()
    if environment is None or environment.role == "worker":
        return
    try:
        _LOOPS[environment.role](environment)
    except WorkerError as error:
        sys.exit(f"{environment.role}: {error}")
    sys.exit(0)


@takes_role("scheduler")
def _schedule(environment: JobEnvironment) -> None:
    """Hold the job's store until all workers have ended."""
    timeout = float(config.get("REBIND_TIMEOUT"))
    wait_for_workers(open_store(environment, timeout), environment.num_workers, timeout)
    if environment.num_servers:
        # They look there for the end too, and PyTorch writes a page to standard error for a store that is gone.
        time.sleep(2 * INTERVAL)


def wait_for_workers(store: Store, size: int, timeout: float) -> None:
    """Wait until all workers of a job have ended.

    Parameters
    ----------
    store
        The job's.
    size
        How many workers there are.
    timeout
        How many seconds they have to join.

    Raises
    ------
    WorkerError
        When some do not join, or are lost.

    Examples
    --------
    >>> from torch.distributed import HashStore
    >>> from rebind.distributed.liveness import Liveness
    >>> store = HashStore()
    >>> Liveness(store, 0, 1).stop("it has finished")
    >>> wait_for_workers(store, 1, timeout=10)
    """
    signs, started = Signs(store, size), time.monotonic()
    while True:
        found = [signs.read(rank) for rank in range(size)]
        if not signs.can_be_read:
            return  # who holds the store has seen the end of the job
        absent = [rank for rank, sign in enumerate(found) if sign is None]
        running = [rank for rank, sign in enumerate(found) if sign is not None and not sign.ended]
        if not absent and not running:
            return
        if absent and time.monotonic() - started > timeout:
            raise WorkerError(
                f"all {size} workers must join within {timeout:g} s (REBIND_TIMEOUT); workers {absent} did not"
            )
        # Those that go on notice by themselves who is lost; when there is nobody else, nobody will end.
        lost = signs.lost(running) if not absent else {}
        silent = [rank for rank in lost if (sign := signs.read(rank)) is not None and not sign.ended]
        if silent and len(silent) == len(running):
            listed = "; ".join(f"worker {rank}: {why}" for rank, why in lost.items())
            raise WorkerError(f"all workers must end by themselves; lost {listed}")
        time.sleep(INTERVAL / 5)
