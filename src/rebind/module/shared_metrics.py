"""Metrics over workers: each measures its own batches, and where a figure is shown their sums are added up."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, cast

from ..distributed import JSON, Job
from ..errors import ArgumentError
from ..metric import EvalMetric
from ..metric.base import members_of

__all__ = ["SharedMetrics"]


class SharedMetrics:
    """Adds up what the workers of a job have measured.

    While batches run nothing is sent. A metric adds up unless it says that it does not (`EvalMetric.adds_up`), or has
    attributes of its own that have changed since it was reset, of which nothing is known: its figures stay those of
    each worker.

    Parameters
    ----------
    job
        The workers.

    Examples
    --------
    >>> import rebind as mx
    >>> shared, metric = SharedMetrics(mx.distributed.current_job()), mx.metric.MAE()
    >>> shared.begin(metric)
    >>> metric.update(mx.nd.array([1]), mx.nd.array([4]))
    >>> with shared.total(metric, "a figure") as apart:
    ...     print(metric.get(), apart)
    ('mae', 3.0) []
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._own: dict[int, str] = {}  # each metric's own attributes when it was reset
        self._apart: set[int] = set()  # metrics of which it was seen that they do not add up

    def begin(self, metric: object) -> None:
        """Note how a metric is when nothing is measured."""
        self._own = {id(leaf): _own_state(leaf) for leaf in _leaves(metric)}

    def begin_within(self, metric: EvalMetric) -> None:
        """Note how a metric was when nothing was measured; it keeps what it has, as in a run that was resumed."""
        state = metric.state_dict()
        metric.reset()
        self.begin(metric)
        metric.load_state_dict(state)

    @contextlib.contextmanager
    def total(self, metric: object, what: str) -> Iterator[list[str]]:
        """Let a metric hold the sums of all workers, in the ``with`` block; all must come here.

        Yields the names of metrics that do not add up, which stay as they are.
        """
        leaves = _leaves(metric)
        before = [
            (leaf, {name: vars(leaf)[name] for name in _WINDOWS if name in vars(leaf)}) for leaf in leaves
        ]
        try:
            yield self.hold_total(metric, what)
        finally:
            for leaf, windows in before:
                vars(leaf).update(windows)

    def hold_total(self, metric: object, what: str) -> list[str]:
        """Let a metric hold the sums of all workers from now on; return the names of those that do not add up."""
        leaves = _leaves(metric)
        of_workers = self._job.exchange(what, [self._packed(leaf) for leaf in leaves])
        apart = [] if leaves else [type(metric).__name__]  # no metric of ours
        for leaf, sums in zip(
            leaves, zip(*cast(Sequence[Sequence[Any]], of_workers), strict=True), strict=True
        ):
            if any(each is None for each in sums):
                apart.append(str(leaf.name))
                # Noted, as the next local window may begin with its attributes as they were.
                self._apart.add(id(leaf))
            else:
                leaf.hold_sums(sums)
        return apart

    def _packed(self, leaf: EvalMetric) -> JSON:
        """Return a metric's sums as JSON; None where they do not add up."""
        if not leaf.adds_up or id(leaf) in self._apart or self._own.get(id(leaf), "") != _own_state(leaf):
            return None
        try:
            return leaf.packed_sums()
        except ArgumentError:  # sums of a kind that is not known
            return None


#: What a metric's figures come from.
_WINDOWS = ("sum_metric", "num_inst", "global_sum_metric", "global_num_inst", "_earlier")


def _leaves(metric: object) -> list[EvalMetric]:
    """Return a metric, or the members of one that is made of several; none for what is no metric of ours."""
    return members_of(metric) if isinstance(metric, EvalMetric) else []


def _own_state(leaf: EvalMetric) -> str:
    """Return a metric's own attributes as text, to see whether they change."""
    own = leaf.own_attributes().items()
    return repr({name: value.tolist() if hasattr(value, "tolist") else value for name, value in own})
