"""Callbacks that watch a validation metric."""

from __future__ import annotations

import math
from typing import ClassVar

from ..checkpoint import save_checkpoint
from ..checks import check_numbers, refuses_unknown
from ..errors import ParameterError
from ..logs import log
from ..protocols import StateTree
from .hooks import OnEvalEnd
from .records import BatchEndParam, StopTraining, check_positive, module_of
from .shared import run_of

__all__ = ["BestCheckpoint", "EarlyStopping", "ReduceLROnPlateau"]


class _Watch(OnEvalEnd):
    """Tracks the best value of a validation metric."""

    #: The arguments of `fit` that take it.
    slots: ClassVar[tuple[str, ...]] = ("eval_end_callback",)

    def __init__(self, monitor: str | None, mode: str, min_delta: float) -> None:
        if mode not in ("max", "min", "auto"):
            raise ParameterError(
                f"{type(self).__name__}: mode must be one of 'max', 'min', 'auto'; got {mode!r}"
            )
        check_numbers(type(self).__name__, min_delta=min_delta)
        self.monitor, self.mode, self.min_delta = monitor, mode, min_delta
        self.best: float | None = None
        self.best_epoch: int | None = None

    def _improves(self, param: BatchEndParam) -> bool:
        """Take the record of an evaluation; return whether it is the best so far."""
        values = {} if param.eval_metric is None else dict(param.eval_metric.get_name_value())
        if not values:
            return False
        name = next(iter(values)) if self.monitor is None else self.monitor
        if name not in values:
            raise ParameterError(
                f"{type(self).__name__}: monitor must be one of {', '.join(map(repr, values))}; got {name!r}"
            )
        value = float(values[name])
        larger = self.mode == "max" or (self.mode == "auto" and not _falls(name))
        # The first number is the best so far; NaN never is, and compares as false to everything.
        gain = -math.inf if math.isnan(value) else math.inf
        if self.best is not None and not math.isnan(value):
            gain = value - self.best if larger else self.best - value
        if gain <= self.min_delta:
            return False
        self.best, self.best_epoch = value, param.epoch
        return True

    def state_dict(self) -> StateTree:
        """Return what was seen, for `load_state_dict`."""
        return {"best": self.best, "best_epoch": self.best_epoch}

    def load_state_dict(self, state: StateTree) -> None:
        """Continue from what `state_dict` returned."""
        for name, value in state.items():
            setattr(self, name, value)


def _falls(metric: str) -> bool:
    """Return whether a metric of this name is better when it is smaller."""
    # Nothing else is known of a user's own metric; `mode` is for names that mislead.
    return any(
        word in metric.lower() for word in ("loss", "error", "entropy", "mae", "mse", "likelihood", "perplex")
    )


class EarlyStopping(_Watch):
    """Ends `fit` when the validation has not improved for some epochs; give it as `eval_end_callback`.

    Parameters
    ----------
    monitor
        The validation metric to watch; by default the first.
    patience
        How many epochs in a row may bring no improvement.
    mode
        ``'max'``: larger is better; ``'min'``: smaller is; ``'auto'`` takes 'min' for losses, errors, entropies and
        perplexities, else 'max'.
    min_delta
        By how much a value must be better to count.

    Examples
    --------
    >>> import rebind as mx
    >>> metric = mx.metric.Loss()
    >>> metric.update(None, [mx.nd.array([3])])
    >>> stopping = EarlyStopping(patience=2)  # fit(..., eval_data=..., eval_end_callback=stopping)
    >>> for epoch in range(3):  # the loss stays where it is
    ...     stopping(BatchEndParam(epoch, 0, metric, None))
    Traceback (most recent call last):
    rebind.callback.records.StopTraining: The validation was best in epoch 0 (3) and has not improved in the 2 since.
    """

    @refuses_unknown
    def __init__(
        self, monitor: str | None = None, patience: int = 3, mode: str = "auto", min_delta: float = 0.0
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        check_positive(patience, "EarlyStopping: patience")
        self.patience = patience
        self.waited = 0

    def __call__(self, param: BatchEndParam) -> None:
        """Take the record of an evaluation."""
        if self._improves(param):
            self.waited = 0
            return
        self.waited += 1
        if self.waited >= self.patience:
            raise StopTraining(
                f"The validation was best in epoch {self.best_epoch} ({self.best:g}) and has not improved in "
                f"the {self.waited} since."
                if self.best is not None
                else f"The validation has yielded no number in {self.waited} epochs."
            )

    def state_dict(self) -> StateTree:
        """Return what was seen, for `load_state_dict`.

        >>> EarlyStopping().state_dict()
        {'best': None, 'best_epoch': None, 'waited': 0}
        """
        return {**super().state_dict(), "waited": self.waited}


class ReduceLROnPlateau(_Watch):
    """Lowers the learning rate when the validation has not improved for some epochs.

    Give it as `eval_end_callback` or in `callbacks`. An optimizer with an `lr_scheduler` cannot be used: that decides
    the learning rate.

    Parameters
    ----------
    monitor, mode, min_delta
        As for `EarlyStopping`.
    factor
        What the learning rate is multiplied by.
    patience
        How many epochs in a row may bring no improvement.
    cooldown
        How many epochs after a reduction are not counted.
    min_lr
        The learning rate is not made smaller than this.

    Examples
    --------
    >>> import rebind as mx
    >>> module = mx.mod.Module(mx.sym.var("data") * mx.sym.var("w", shape=(1,)), label_names=None)
    >>> module.bind([("data", (1,))])
    >>> module.init_params(mx.init.One(), arg_params={"w": mx.nd.ones((1,))})
    >>> module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    >>> metric = mx.metric.Loss()
    >>> metric.update(None, [mx.nd.array([3])])
    >>> reduce = ReduceLROnPlateau(patience=2)  # fit(..., eval_data=..., callbacks=[reduce])
    >>> for epoch in range(3):  # the loss stays where it is
    ...     reduce(module.batch_record(epoch, 0, metric, batch=None))
    ...     print(module.optimizers()[0].learning_rate)
    0.5
    0.5
    0.05
    """

    @refuses_unknown
    def __init__(
        self,
        monitor: str | None = None,
        factor: float = 0.1,
        patience: int = 10,
        mode: str = "auto",
        min_delta: float = 0.0,
        cooldown: int = 0,
        min_lr: float = 0.0,
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        check_positive(patience, "ReduceLROnPlateau: patience")
        check_numbers("ReduceLROnPlateau", factor=factor, cooldown=cooldown, min_lr=min_lr)
        if not 0 < factor < 1:
            raise ParameterError(f"ReduceLROnPlateau: factor must be between 0 and 1; got {factor}")
        if cooldown < 0 or min_lr < 0:
            raise ParameterError(
                f"ReduceLROnPlateau: cooldown and min_lr must be >= 0; got {cooldown} and {min_lr}"
            )
        self.factor, self.patience, self.cooldown, self.min_lr = factor, patience, cooldown, min_lr
        self.waited = self.cooling = 0

    def __call__(self, param: BatchEndParam) -> None:
        """Take the record of an evaluation."""
        improves = self._improves(param)
        # Right after a change of the rate the metric says nothing of it yet.
        if self.cooling:
            self.cooling -= 1
            self.waited = 0
            return
        self.waited = 0 if improves else self.waited + 1
        if self.waited >= self.patience:
            self.waited, self.cooling = 0, self.cooldown
            self._reduce(param)

    def _reduce(self, param: BatchEndParam) -> None:
        for optimizer in module_of(param).optimizers():
            rate = optimizer.learning_rate
            reduced = max(rate * self.factor, self.min_lr)
            if reduced < rate:
                optimizer.set_learning_rate(reduced)
                if run_of(param).speaks:
                    log().info("Epoch[%d] The learning rate is now %g", param.epoch, reduced)

    def state_dict(self) -> StateTree:
        """Return what was seen, for `load_state_dict`.

        >>> ReduceLROnPlateau().state_dict()
        {'best': None, 'best_epoch': None, 'waited': 0, 'cooling': 0}
        """
        return {**super().state_dict(), "waited": self.waited, "cooling": self.cooling}


class BestCheckpoint(_Watch):
    """Saves the network and its parameters whenever the validation is the best so far; an `eval_end_callback`.

    The files are ``prefix-symbol.json`` and ``prefix-0000.params``, each replaced when it is whole.

    Parameters
    ----------
    prefix
        Where the files go, and how their names begin.
    monitor, mode, min_delta
        As for `EarlyStopping`.
    epoch
        The number in the file's name.

    Examples
    --------
    >>> best = BestCheckpoint("digits-best", "accuracy")  # fit(..., eval_data=..., eval_end_callback=best)
    """

    @refuses_unknown
    def __init__(
        self,
        prefix: str,
        monitor: str | None = None,
        mode: str = "auto",
        min_delta: float = 0.0,
        epoch: int = 0,
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        self.prefix, self.epoch = prefix, epoch

    @property
    def writes_to(self) -> str:
        """Where its files go."""
        return self.prefix

    def __call__(self, param: BatchEndParam) -> None:
        """Take the record of an evaluation."""
        if self._improves(param) and run_of(param).writes(self.prefix):
            module = module_of(param)
            save_checkpoint(self.prefix, self.epoch, module.symbol, *module.get_params())
