"""`mx.misc`: the learning rate schedules of MXNet's first versions. `mx.lr_scheduler` has the newer ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..absent import old_names
from ..errors import ParameterError
from ..logs import log
from ..lr_scheduler import LRScheduler

__all__ = ["FactorScheduler", "LearningRateScheduler"]


class LearningRateScheduler(LRScheduler):
    """Base of the older schedules: `base_lr`, 0.01 unless an optimizer sets it, and ``__call__(iteration)``."""

    def __init__(self) -> None:
        super().__init__(base_lr=0.01)


class FactorScheduler(LearningRateScheduler):
    """Multiply the learning rate by `factor` every `step` updates: ``base_lr * factor ** (iteration // step)``.

    `lr_scheduler.FactorScheduler` does so one update later and stores its progress; this one computes the rate from
    the number alone.

    Examples
    --------
    >>> schedule = FactorScheduler(step=2, factor=0.5)
    >>> [schedule(n) for n in range(5)]
    [0.01, 0.01, 0.005, 0.005, 0.0025]
    """

    def __init__(self, step: int, factor: float = 0.1) -> None:
        super().__init__()
        if step < 1:
            raise ParameterError(f"FactorScheduler: step must be at least 1; got {step!r}")
        if factor >= 1.0:
            raise ParameterError(
                f"FactorScheduler: factor must be less than 1, to lower the rate; got {factor!r}"
            )
        self.step = step
        self.factor = factor
        self.old_lr = self.base_lr
        self.init = False  # the optimizer sets `base_lr` after construction: the first call reads it

    def __call__(self, iteration: int) -> float:
        """Return the learning rate for the update with this number; a change is logged."""
        if not self.init:
            self.init, self.old_lr = True, self.base_lr
        rate = self.base_lr * self.factor ** (iteration // self.step)
        if rate != self.old_lr:
            self.old_lr = rate
            log().info("Update[%d]: the learning rate is now %.5e", iteration, rate)
        return rate


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
