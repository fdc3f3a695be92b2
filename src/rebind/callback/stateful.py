"""The callbacks of `FeedForward.fit` that see how far training is."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from ..errors import ArgumentError

__all__ = ["BatchCallback", "EpochCallback"]


class _StateCallback:
    #: The argument that takes it, of `FeedForward.fit` only.
    slots: ClassVar[tuple[str, ...]] = ("callbacks of FeedForward.fit",)

    def __init__(self, function: Callable[..., object]) -> None:
        if not callable(function):
            raise ArgumentError(f"{type(self).__name__}: function must be callable; got {function!r}")
        self.function = function

    def __call__(self, *arguments: object) -> object:
        """Call the function."""
        return self.function(*arguments)


class BatchCallback(_StateCallback):
    """A callback of `FeedForward.fit` that sees how far training is, at each epoch's start and after each batch.

    Parameters
    ----------
    function
        ``function(state)``; `state` has `curr_epoch` (from 1), `curr_batch` (0 at the start of the epoch),
        `curr_iter` (batches since the start of `fit`) and `batch_size`.

    Examples
    --------
    >>> callback = BatchCallback(lambda state: print(state.curr_batch))  # fit(..., callbacks=[callback])
    """


class EpochCallback(_StateCallback):
    """A callback of `FeedForward.fit` that sees the model, before the first epoch and after each one.

    Parameters
    ----------
    function
        ``function(model, state, metric)``; before the first epoch `state.curr_epoch` is 0 and `metric` is empty, later
        it is the training metric, a list of ``(name, value)``. `model.arg_params` is up to date.

    Examples
    --------
    >>> callback = EpochCallback(lambda model, state, metric: model.save_checkpoint("digits", state))
    """
