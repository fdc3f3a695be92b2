"""What callbacks know of the other workers of a run: who shows figures, who writes files, what all have measured."""

from __future__ import annotations

from typing import Protocol

from ..protocols import Metric
from .records import BatchEndParam

__all__ = ["ALONE", "Alone", "SharedRun", "run_of", "shared_run"]


class SharedRun(Protocol):
    """A training run over several workers, as far as callbacks need it."""

    @property
    def speaks(self) -> bool:
        """Whether this worker shows figures; by default worker 0 does, for all."""

    def pace(self, callback: object) -> int:
        """Return of how many workers the figures are that a callback shows: of all, or of this one."""

    def figures(self, callback: object, metric: Metric) -> list[tuple[str, float]]:
        """Return the figures of a metric's local window: those of all workers, or of this one."""

    def writes(self, path: str) -> bool:
        """Return whether this worker writes the files at a path; of workers with the same path the first does."""


class Alone:
    """A run of one worker.

    >>> ALONE.speaks, ALONE.writes("net")
    (True, True)
    """

    speaks = True

    def pace(self, callback: object) -> int:
        """Return 1."""
        return 1

    def figures(self, callback: object, metric: Metric) -> list[tuple[str, float]]:
        """Return the metric's figures."""
        return metric.get_name_value()

    def writes(self, path: str) -> bool:
        """Return True."""
        return True


ALONE = Alone()


def shared_run(module: object) -> SharedRun:
    """Return the run that trains a module.

    >>> shared_run(None) is ALONE
    True
    """
    return getattr(module, "workers", None) or ALONE


def run_of(param: BatchEndParam) -> SharedRun:
    """Return the run that a batch's record comes from.

    >>> run_of(BatchEndParam(epoch=0, nbatch=3, eval_metric=None, locals=None)) is ALONE
    True
    """
    # A training loop of the user's own may give any mapping.
    return shared_run((param.locals or {}).get("self"))
