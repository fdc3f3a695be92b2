"""`current_job`: the job that this process takes part in."""

from __future__ import annotations

import functools
import logging

from .environment import JobEnvironment
from .job import Job

__all__ = ["current_job", "started_job"]


@functools.cache
def current_job() -> Job:
    """Return the job that this process takes part in; it joins with the first call.

    A program that no launcher started is a job of one worker.

    >>> current_job().size
    1
    """
    environment = JobEnvironment.read()
    if environment is None:
        logging.getLogger(__name__).info(
            "No launcher started this program, so it is a job of one worker. "
            "To start more: rebind launch -n 4 python train.py"
        )
    return Job(environment or JobEnvironment(rank=0))


def started_job() -> Job | None:
    """Return the job that this process has joined; None before `current_job` was called.

    >>> _ = current_job()
    >>> started_job() is current_job()
    True
    """
    return current_job() if current_job.cache_info().currsize else None
