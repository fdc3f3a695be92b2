"""A call of `fit` as one run with those of other workers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..checkpoint import Position
from ..metric import EvalMetric
from ..progress import is_wanted
from .jobs import job_of
from .settings import FitSettings
from .steps import Steps
from .workers import Workers

__all__ = ["distributed_run"]


@contextlib.contextmanager
def distributed_run(
    module: Steps, settings: FitSettings, metric: EvalMetric, position: Position
) -> Iterator[Workers | None]:
    """Let this run be one with those of the other workers, in the ``with`` block; None where the store has no others.

    All begin with the same auxiliary states, and have agreed on what they share.

    Parameters
    ----------
    module
        What is trained; it has an optimizer.
    settings
        The arguments of `fit`.
    metric
        The training metric. A run that resumes within an epoch keeps what it has measured.
    position
        Where the run begins.
    """
    job = job_of(module.stores())
    if job is None:
        yield None
        return
    synchronous = all(store.capabilities.is_synchronous for store in module.stores())
    lead = min((store.update_every for store in module.stores()), default=1)
    module.workers = workers = Workers(job, synchronous=synchronous, lead=lead)
    try:
        workers.agree(settings, metric, position, bar=is_wanted(settings.progress))
        if position.batch:  # what it has measured stays
            workers.metrics.begin_within(metric)
        else:
            metric.reset()
            workers.metrics.begin(metric)
            workers.unify(module.auxiliary_arrays())
        with workers.named_in(module.logger):
            yield workers
    finally:
        module.workers = None
