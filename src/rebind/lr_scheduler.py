"""Schedules of the learning rate over updates.

A scheduler is called with the number of updates done and returns the learning rate. As in MXNet it has a state:
`FactorScheduler` and `MultiFactorScheduler` never return to an earlier rate.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .absent import old_names
from .checks import NUMBER, check_kind, check_numbers, refuses_unknown
from .errors import ArgumentError, ParameterError
from .logs import log

__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]


_ATTRIBUTES = {"pwr": "power"}  # arguments whose attributes have other names


class LRScheduler:
    """Base of schedules, with a warm-up before them.

    A subclass defines ``scheduled(num_update)``, the learning rate after the warm-up; or ``__call__``, as in MXNet.

    Parameters
    ----------
    base_lr
        The learning rate that the schedule starts from. An `Optimizer` with a `learning_rate` sets it.
    warmup_steps
        The number of updates in the warm-up.
    warmup_begin_lr
        The learning rate that the warm-up starts from.
    warmup_mode
        ``'linear'`` rises to `base_lr`, ``'constant'`` stays at `warmup_begin_lr`.

    Examples
    --------
    >>> schedule = FactorScheduler(step=2, factor=0.5, base_lr=1.0, warmup_steps=2)
    >>> [schedule(n) for n in range(6)]
    [0.0, 0.5, 1.0, 0.5, 0.5, 0.25]
    """

    @refuses_unknown
    def __init__(
        self,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        check_numbers(self._who, base_lr=base_lr, warmup_steps=warmup_steps, warmup_begin_lr=warmup_begin_lr)
        if not _is_int(warmup_steps) or warmup_steps < 0:
            raise ParameterError(f"{self._who}: warmup_steps must be an int >= 0; got {warmup_steps!r}")
        if warmup_begin_lr > base_lr:
            raise ParameterError(
                f"{self._who}: warmup_begin_lr must be at most base_lr, {base_lr}; got {warmup_begin_lr}"
            )
        if warmup_mode not in ("linear", "constant"):
            raise ParameterError(
                f"{self._who}: warmup_mode must be one of 'linear', 'constant'; got {warmup_mode!r}"
            )
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_final_lr = base_lr
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_mode = warmup_mode

    def __repr__(self) -> str:
        # What it was made with; the rest of its attributes is where it stands.
        names = [_ATTRIBUTES.get(name, name) for name in inspect.signature(type(self)).parameters]
        settings = ", ".join(f"{name}={getattr(self, name)!r}" for name in names if hasattr(self, name))
        return f"{type(self).__name__}({settings})"

    def __call__(self, num_update: int) -> float:
        """Return the learning rate for the update with this number."""
        # The warm-up counts as updates: the schedule after it does not start from 0.
        try:
            warms_up = num_update < self.warmup_steps
        except TypeError:
            check_kind(self._who, NUMBER, num_update=num_update)
            raise
        return self.get_warmup_lr(num_update) if warms_up else self.scheduled(num_update)

    def scheduled(self, num_update: int) -> float:
        """Return the learning rate after the warm-up.

        >>> class Halving(LRScheduler):
        ...     def scheduled(self, num_update):
        ...         return self.base_lr * 0.5**num_update
        >>> [Halving(base_lr=1.0)(n) for n in range(3)]
        [1.0, 0.5, 0.25]
        """
        raise NotImplementedError(f"{self._who} must define scheduled(num_update) or __call__(num_update)")

    def get_warmup_lr(self, num_update: int) -> float:
        """Return the learning rate in the warm-up.

        >>> CosineScheduler(100, base_lr=1.0, warmup_steps=4).get_warmup_lr(3)
        0.75
        """
        if num_update >= self.warmup_steps:
            raise ParameterError(
                f"{self._who}.get_warmup_lr: num_update must be below warmup_steps, {self.warmup_steps}; "
                f"got {num_update}"
            )
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        # To `warmup_final_lr`, which stays while `base_lr` falls.
        rise = self.warmup_final_lr - self.warmup_begin_lr
        return self.warmup_begin_lr + rise * num_update / self.warmup_steps

    def rebase(self, base_lr: float) -> None:
        """Start from another learning rate; `Optimizer` calls this with its `learning_rate`.

        MXNet 1.9.1 changes `base_lr` alone, so that a warm-up still ends at the old one, and `PolyScheduler` and
        `CosineScheduler` do not change at all, contrary to its documentation.

        >>> schedule = PolyScheduler(max_update=4, base_lr=1.0, pwr=1)
        >>> schedule.rebase(0.5)
        >>> [schedule(n) for n in range(5)]
        [0.5, 0.375, 0.25, 0.125, 0.0]
        """
        self.base_lr = base_lr
        self.warmup_final_lr = base_lr

    def state_dict(self) -> dict[str, object]:
        """Return settings and progress, for `load_state_dict`.

        >>> LRScheduler(base_lr=0.5).state_dict()["base_lr"]
        0.5
        """
        return dict(vars(self))

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continue with what `state_dict` returned.

        >>> first, second = (FactorScheduler(step=2, factor=0.5, base_lr=1.0) for _ in range(2))
        >>> first(5)
        0.25
        >>> second.load_state_dict(first.state_dict())
        >>> second.base_lr, second.count
        (0.25, 4)
        """
        vars(self).update(state)

    @property
    def _who(self) -> str:
        return type(self).__name__


class FactorScheduler(LRScheduler):
    """Multiplies the learning rate by `factor` every `step` updates.

    Parameters
    ----------
    step
        The number of updates between two changes.
    factor
        At most 1.
    stop_factor_lr
        The lowest learning rate.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        As for `LRScheduler`.

    Examples
    --------
    >>> schedule = FactorScheduler(step=2, factor=0.5, base_lr=1.0)
    >>> [schedule(n) for n in range(6)]
    [1.0, 1.0, 1.0, 0.5, 0.5, 0.25]
    """

    @refuses_unknown
    def __init__(
        self,
        step: int,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        check_numbers(self._who, step=step, factor=factor, stop_factor_lr=stop_factor_lr)
        if step < 1:
            raise ParameterError(f"{self._who}: step must be >= 1; got {step}")
        _check_factor(factor, self._who)
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0

    def scheduled(self, num_update: int) -> float:
        """Return the learning rate after the warm-up."""
        # A loop, since calls may skip updates: a run that resumes starts at a late one. `>`, as in MXNet: the rate
        # falls with the first update after `step`.
        while num_update > self.count + self.step:
            self.count += self.step
            self.base_lr *= self.factor
            if self.base_lr < self.stop_factor_lr:
                self.base_lr = self.stop_factor_lr
                log().info(
                    "Update[%d]: now learning rate arrived at %0.5e, will not change in the future",
                    num_update,
                    self.base_lr,
                )
            else:
                log().info("Update[%d]: Change learning rate to %0.5e", num_update, self.base_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Multiplies the learning rate by `factor` after each of the given numbers of updates.

    Parameters
    ----------
    step
        Increasing numbers of updates.
    factor
        At most 1.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        As for `LRScheduler`.

    Examples
    --------
    >>> schedule = MultiFactorScheduler(step=[1, 3], factor=0.5, base_lr=1.0)
    >>> [schedule(n) for n in range(6)]
    [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]
    """

    @refuses_unknown
    def __init__(
        self,
        step: Sequence[int],
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(step, (list, tuple)) or not step:
            raise ArgumentError(f"{self._who}: step must be a list of numbers of updates; got {step!r}")
        check_numbers(self._who, factor=factor, **{f"step[{i}]": each for i, each in enumerate(step)})
        if step[0] < 1 or any(a >= b for a, b in itertools.pairwise(step)):
            raise ParameterError(f"{self._who}: step must be increasing numbers >= 1; got {step}")
        _check_factor(factor, self._who)
        self.step = list(step)
        self.cur_step_ind = 0
        self.factor = factor
        self.count = 0

    def scheduled(self, num_update: int) -> float:
        """Return the learning rate after the warm-up."""
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            log().info("Update[%d]: Change learning rate to %0.5e", num_update, self.base_lr)
        return self.base_lr


class _UntilMaxUpdate(LRScheduler):
    """A curve from `base_lr` to `final_lr`, which is reached at `max_update`."""

    @refuses_unknown
    def __init__(
        self,
        max_update: int,
        base_lr: float,
        final_lr: float,
        warmup_steps: int,
        warmup_begin_lr: float,
        warmup_mode: str,
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        check_numbers(self._who, max_update=max_update, final_lr=final_lr)
        if not _is_int(max_update) or max_update < 1:
            raise ParameterError(f"{self._who}: max_update must be an int >= 1; got {max_update!r}")
        self.base_lr_orig = base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = max_update - warmup_steps

    def scheduled(self, num_update: int) -> float:
        """Return the learning rate after the warm-up."""
        # From `base_lr_orig` each time, without state; after `max_update` the last rate stays.
        if num_update <= self.max_update:
            done = (num_update - self.warmup_steps) / self.max_steps if self.max_steps > 0 else 1.0
            self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * self._left(done)
        return self.base_lr

    def rebase(self, base_lr: float) -> None:
        """Start from another learning rate."""
        super().rebase(base_lr)
        self.base_lr_orig = base_lr

    def _left(self, done: float) -> float:
        raise NotImplementedError


class PolyScheduler(_UntilMaxUpdate):
    """Lowers the learning rate from `base_lr` to `final_lr` along a power of the fraction that is left.

    Parameters
    ----------
    max_update
        The number of updates, warm-up included, at which `final_lr` is reached.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        As for `LRScheduler`.
    pwr
        The power.
    final_lr
        The learning rate at the end.

    Examples
    --------
    >>> schedule = PolyScheduler(max_update=4, base_lr=1.0, pwr=2)
    >>> [schedule(n) for n in range(6)]
    [1.0, 0.5625, 0.25, 0.0625, 0.0, 0.0]
    """

    @refuses_unknown
    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: float = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        check_numbers(self._who, pwr=pwr)
        self.power = pwr

    def _left(self, done: float) -> float:
        return (1 - done) ** self.power


class CosineScheduler(_UntilMaxUpdate):
    """Lowers the learning rate from `base_lr` to `final_lr` along half a period of a cosine.

    Parameters
    ----------
    max_update
        The number of updates, warm-up included, at which `final_lr` is reached.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        As for `LRScheduler`.
    final_lr
        The learning rate at the end.

    Examples
    --------
    >>> schedule = CosineScheduler(max_update=2, base_lr=1.0)
    >>> [round(schedule(n), 6) for n in range(4)]
    [1.0, 0.5, 0.0, 0.0]
    """

    @refuses_unknown
    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def _left(self, done: float) -> float:
        return (1 + math.cos(math.pi * done)) / 2


def _is_int(value: object) -> bool:
    # NumPy's integers too; a bool has an index as well, but is certainly a mistake.
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _check_factor(factor: float, who: str) -> None:
    if factor > 1:
        raise ParameterError(
            f"{who}: factor must be at most 1, so that the learning rate falls; got {factor}"
        )


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
