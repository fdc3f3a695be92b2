"""What observes the operators of this process: nothing, while no profiler runs.

The profiler is above what it observes, so it puts itself here, and what runs operators looks here first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

__all__ = ["Observing", "observed_array_call", "observed_exchange", "observing"]

P = ParamSpec("P")
R = TypeVar("R")


class Observing:
    """What is notified of the operators of all threads.

    Attributes
    ----------
    programs
        An observer of all executors (`executor.observer.Observer`), beside an executor's own; None: there is none.
    kernels
        Takes an operator of a call of ``mx.nd`` and the function that computes it, and returns what is called in its
        place; None: the function is called.
    array_calls
        Takes what a call does that makes, copies, selects or writes arrays without an operator (``'copy'``,
        ``'convert'``, ``'select'``, ``'assign'``, or the name of MXNet's operator: ``'_ones'``) and its function, and
        returns what is called in its place; None: the function is called.
    exchanges
        Takes what a key-value store does, and a function that does it, and returns what is called in its place; None:
        the function is called.
    served
        As `exchanges`, of what a server of a key-value store is asked for.
    store
        The last key-value store that has servers, while it lives: ``profile_process='server'`` means these.
    updates
        As `kernels`, of an optimizer and the function by which it updates weights.
    batches
        Takes the batches that `fit` trains on, and returns what it iterates over in their place.
    """

    __slots__ = ("array_calls", "batches", "exchanges", "kernels", "programs", "served", "store", "updates")

    def __init__(self) -> None:
        self.programs: Any = None
        self.kernels: Callable[[Any, Callable[..., Any]], Callable[..., Any]] | None = None
        self.array_calls: Callable[[str, Callable[..., Any]], Callable[..., Any]] | None = None
        self.exchanges: Callable[[str, Callable[..., Any]], Callable[..., Any]] | None = None
        self.served: Callable[[str, Callable[..., Any]], Callable[..., Any]] | None = None
        self.store: Callable[[], Any] = lambda: None
        self.updates: Callable[[Any, Callable[..., Any]], Callable[..., Any]] | None = None
        self.batches: Callable[[Iterable[Any]], Iterable[Any]] | None = None


observing = Observing()


def observed_exchange(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator of a key-value store's method that exchanges values: a profiler that runs records its calls.

    >>> @observed_exchange("KVStorePush")
    ... def push(key):
    ...     return key
    >>> push("w")
    'w'
    """
    return _observed("exchanges", name)


def observed_array_call(kind: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator of a function that makes or copies arrays without an operator: a profiler records its calls.

    >>> @observed_array_call("copy")
    ... def copied(array):
    ...     return list(array)
    >>> copied([1])
    [1]
    """
    return _observed("array_calls", kind)


def _observed(slot: str, what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            observe = getattr(observing, slot)
            if observe is None:
                return function(*args, **kwargs)
            result: R = observe(what, function)(*args, **kwargs)
            return result

        return call

    return decorate
