"""`Callback`: one object for all of a training run's events, given as ``fit(..., callbacks=[...])``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from .records import BatchEndParam, TrainedModule

__all__ = [
    "EVALUATION_HOOKS", "HOOKS", "Callback", "EpochRecord", "Hook", "OnBatchEnd", "OnEvalEnd", "has_hooks",
    "hooks_of",
]  # fmt: skip

#: The events, in the order of their first call.
HOOKS = (
    "on_train_begin", "on_epoch_begin", "on_batch_end", "on_eval_batch_end", "on_eval_end", "on_epoch_end",
    "on_train_end",
)  # fmt: skip
#: Those that only a validation calls.
EVALUATION_HOOKS = frozenset({"on_eval_batch_end", "on_eval_end"})

Hook: TypeAlias = Callable[..., object]


@dataclass
class EpochRecord:
    """The argument of `on_epoch_end`.

    Attributes
    ----------
    epoch
        The epoch's number, from 0.
    train, validation
        The figures, by the names of the metrics; none without a validation.
    seconds
        How long the training took, without the validation.
    module
        What is trained.
    """

    epoch: int
    module: TrainedModule
    seconds: float = 0.0
    train: dict[str, float] = field(default_factory=dict)
    validation: dict[str, float] = field(default_factory=dict)


class Callback:
    """Base of callbacks for ``fit(..., callbacks=[...])``: a subclass defines the hooks that it needs.

    A class need not derive from it; the hooks are found by their names. One with `state_dict` and `load_state_dict` is
    saved and restored with the run. A hook ends the training by raising `StopTraining`.

    Examples
    --------
    >>> import rebind as mx
    >>> class Shout(mx.callback.Callback):
    ...     def on_batch_end(self, param):
    ...         print("batch", param.nbatch)
    ...
    ...     def on_epoch_end(self, record):
    ...         print("epoch", record.epoch, record.train)
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("data"), mx.sym.var("label"))
    >>> data = mx.io.NDArrayIter(mx.nd.array([1, 2]), mx.nd.array([1, 4]), 1, label_name="label")
    >>> module = mx.mod.Module(net, label_names=["label"])
    >>> history = module.fit(data, eval_metric="mse", num_epoch=1, callbacks=[Shout()])
    batch 0
    batch 1
    epoch 0 {'mse': 2.0}
    """

    def on_train_begin(self, module: TrainedModule) -> None:
        """Called once, before the first epoch; in a run that resumes, after its state is restored."""

    def on_epoch_begin(self, epoch: int) -> None:
        """Called before an epoch's first batch."""

    def on_batch_end(self, param: BatchEndParam) -> None:
        """Called after each batch, with the argument of `batch_end_callback`."""

    def on_eval_batch_end(self, param: BatchEndParam) -> None:
        """Called after each batch of the validation, with the argument of `eval_batch_end_callback`."""

    def on_eval_end(self, param: BatchEndParam) -> None:
        """Called after the validation, with the argument of `eval_end_callback`."""

    def on_epoch_end(self, record: EpochRecord) -> None:
        """Called at the end of an epoch, after its validation; in the epoch in which the run is stopped, too."""

    def on_train_end(self, module: TrainedModule) -> None:
        """Called once, at the end of a run that no error ended."""


class OnBatchEnd:
    """For a callback of batches: makes it a member of `callbacks` too."""

    def __call__(self, param: BatchEndParam) -> object:
        """Take the record of a batch."""
        raise NotImplementedError

    def on_batch_end(self, param: BatchEndParam) -> None:
        """Take the record of a batch."""
        self(param)


class OnEvalEnd:
    """For a callback of evaluations: makes it a member of `callbacks` too."""

    def __call__(self, param: BatchEndParam) -> object:
        """Take the record of an evaluation."""
        raise NotImplementedError

    def on_eval_end(self, param: BatchEndParam) -> None:
        """Take the record of an evaluation."""
        self(param)


def hooks_of(members: Sequence[object], event: str) -> list[Hook]:
    """Return the hooks for an event, in the order of the members; those that do nothing are left out.

    >>> class Quick(Callback):
    ...     def on_epoch_begin(self, epoch):
    ...         print("go")
    >>> [hook(0) for hook in hooks_of([Quick(), Callback()], "on_epoch_begin")]
    go
    [None]
    """
    nothing = getattr(Callback, event)
    found = [getattr(member, event, None) for member in members]
    return [hook for hook in found if hook is not None and getattr(hook, "__func__", None) is not nothing]


def has_hooks(member: object) -> bool:
    """Return whether an object knows a hook.

    >>> has_hooks(Callback()), has_hooks(print)
    (True, False)
    """
    return not isinstance(member, type) and any(callable(getattr(member, event, None)) for event in HOOKS)
