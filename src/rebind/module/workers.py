"""Which workers a run is over."""

from __future__ import annotations

from collections.abc import Sequence

from ..distributed import Job, started_job
from ..kvstore import KVStoreBase

__all__ = ["job_in_step", "job_of", "writes_files"]


def job_of(stores: Sequence[KVStoreBase]) -> Job | None:
    """Return the job over which stores sum; None when they are of this process alone.

    >>> import rebind as mx
    >>> job_of([mx.kv.create("local")]) is None
    True
    """
    spans = any(store.capabilities.spans_processes and store.num_workers > 1 for store in stores)
    job = started_job() if spans else None
    return job if job is not None and job.size > 1 else None


def job_in_step(stores: Sequence[KVStoreBase]) -> Job | None:
    """Return the job whose workers update together, each time by the gradients of all; None when there is none.

    >>> import rebind as mx
    >>> job_in_step([mx.kv.create("local")]) is None
    True
    """
    return job_of(stores) if all(store.capabilities.is_synchronous for store in stores) else None


def writes_files(stores: Sequence[KVStoreBase]) -> bool:
    """Return whether this process writes the files of a module: worker 0 does, for all of a job.

    >>> import rebind as mx
    >>> writes_files([mx.kv.create("local")])
    True
    """
    job = job_of(stores)
    return job is None or job.rank == 0
