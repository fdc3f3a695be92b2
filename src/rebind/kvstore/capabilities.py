"""What key-value stores can do, as data: nothing is inferred from the name of a store."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Capabilities"]


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What a store can do; a store's class declares it as ``capabilities``.

    Parameters
    ----------
    updates_weights
        It can hold an optimizer and return updated weights. Otherwise it returns the sums of gradients, and each
        device updates its weights.
    spans_processes
        Its sums are over several processes, so that it is needed for a single device too.
    is_synchronous
        A pull returns what all workers have pushed, as of their last average if they average. Otherwise updates are
        applied in the order in which they arrive.
    compresses
        It can compress gradients on their way between processes. (A store of one process says by its kind whether it
        compresses those of devices.)
    keeps_values
        It has `init`, `push` and `pull`. Otherwise it has `pushpull` and `broadcast` only.
    takes_ready_gradients
        A gradient can be pushed while backward still computes others: it has `begin_push`, `push_ready` and
        `end_push`.
    averages_weights
        Its workers can update weights of their own, and average them now and then: it has `with_averaging`.
    takes_lists
        Its methods take lists of keys too. Otherwise they get one key at a time, as from MXNet's `Module`: `init` or
        `broadcast`, then `pushpull`.

    Examples
    --------
    >>> Capabilities(spans_processes=True).updates_weights
    True
    """

    updates_weights: bool = True
    spans_processes: bool = False
    is_synchronous: bool = True
    compresses: bool = False
    keeps_values: bool = True
    takes_ready_gradients: bool = False
    averages_weights: bool = False
    takes_lists: bool = True
