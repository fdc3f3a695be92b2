"""Which workers a run is over."""

from __future__ import annotations

from collections.abc import Sequence

from ..distributed import Job, started_job
from ..kvstore import KVStoreBase

__all__ = ["job_of"]


def job_of(stores: Sequence[KVStoreBase]) -> Job | None:
    """Return the job over which stores sum; None when they are of this process alone.

    >>> import rebind as mx
    >>> job_of([mx.kv.create("local")]) is None
    True
    """
    spans = any(store.capabilities.spans_processes and store.num_workers > 1 for store in stores)
    job = started_job() if spans else None
    return job if job is not None and job.size > 1 else None
