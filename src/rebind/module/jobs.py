"""Which job a module trains or measures in, if it does so with other workers."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..distributed import Job, current_job, started_job
from ..io.partition import part_of
from ..kvstore import KVStoreBase

__all__ = ["any_of", "job_of", "scoring_job", "writes_files"]


def job_of(stores: Sequence[KVStoreBase]) -> Job | None:
    """Return the job over which stores sum; None when they are of this process alone.

    >>> import rebind as mx
    >>> job_of([mx.kv.create("local")]) is None
    True
    """
    spans = any(store.capabilities.spans_processes and store.num_workers > 1 for store in stores)
    job = started_job() if spans else None
    return job if job is not None and job.size > 1 else None


def any_of(stores: Sequence[KVStoreBase], holds: bool) -> bool:
    """Return whether a condition holds on one of the workers that update together through these stores.

    >>> import rebind as mx
    >>> any_of([mx.kv.create("local")], True)
    True
    """
    job = job_of(stores)
    if job is None or not all(store.capabilities.is_synchronous for store in stores):
        return holds
    found = torch.tensor([float(holds)])
    job.sum(found)
    return bool(found)


def scoring_job(data: object, together: bool | None) -> Job | None:
    """Return the job whose workers measure a data set together; None when this one measures it alone.

    Parameters
    ----------
    data
        The data set.
    together
        Whether they do; None for whether the data set is cut by rank.

    Examples
    --------
    >>> import rebind as mx
    >>> scoring_job(mx.io.NDArrayIter(mx.nd.ones((4, 1))), together=None) is None
    True
    """
    if together is False or (together is None and part_of(data)[1] == 1):
        return None
    job = current_job()
    if job.size == 1 or (together is None and part_of(data) != (job.rank, job.size)):
        return None
    return job


def writes_files(stores: Sequence[KVStoreBase]) -> bool:
    """Return whether this process writes the files of a module: worker 0 does, for all of a job.

    >>> import rebind as mx
    >>> writes_files([mx.kv.create("local")])
    True
    """
    job = job_of(stores)
    return job is None or job.rank == 0
