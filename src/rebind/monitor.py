"""Monitors: statistics of the arrays in a network while it trains, and the origin of the first NaN."""

from __future__ import annotations

import functools
import math
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
import torch

from .absent import old_names
from .checks import FUNCTION, Kind, check_kind, check_pattern, or_none, refuses_unknown
from .errors import ArgumentError, NonFiniteError, ParameterError
from .executor import Executor
from .logs import log
from .ndarray import NDArray

__all__ = ["Monitor", "NaNMonitor"]

#: What a monitor computes from an array.
Statistic: TypeAlias = "NDArray | np.ndarray | np.generic | float | Sequence[Statistic]"


class Watched(Protocol):
    """What a monitor can watch besides an `Executor`."""

    @property
    def arg_dict(self) -> Mapping[str, NDArray]:
        """The arguments."""

    @property
    def aux_dict(self) -> Mapping[str, NDArray]:
        """The auxiliary states."""

    @property
    def grad_dict(self) -> Mapping[str, NDArray | None]:
        """The gradients."""

    def set_monitor_callback(
        self, callback: Callable[[str, NDArray], None], monitor_all: bool = False, /
    ) -> None:
        """Call `callback` with the name and the array of each output that is computed."""


AnyExecutor: TypeAlias = Executor | Watched


def root_mean_square(array: NDArray) -> NDArray:
    """Return the norm divided by the root of the size: what a monitor shows by default.

    >>> import rebind as mx
    >>> round(root_mean_square(mx.nd.array([3, 4])).item(), 3)  # the root of 12.5
    3.536
    """
    tensor = array.tensor.detach()
    # In float16 the sum of squares would overflow from 65504 on.
    wide = tensor if tensor.dtype == torch.float64 else tensor.float()
    norm = torch.linalg.vector_norm(wide) / math.sqrt(max(1, tensor.numel()))
    return NDArray(norm.reshape(1), array.device)


_EXECUTOR = Kind("an executor", lambda value: hasattr(value, "set_monitor_callback"))


class Monitor:
    """Logs a statistic of each operator's outputs, of the gradients of its inputs, of arguments and states.

    ``fit(..., monitor=monitor)`` does it all; by hand it is ``module.install_monitor(monitor)`` once, then for each
    batch `tic`, forward, backward, `toc_print`. Names are ``fc1_output``, ``fc1_backward_output0`` (the gradient of the
    operator's first input; without the number when it has one only), ``fc1_weight`` and so on. The other batches
    run at full speed.

    Parameters
    ----------
    interval
        The number of batches from one that is watched to the next.
    stat_func
        Takes an NDArray and returns the statistic: an NDArray, a number, or a list of these. By default the norm
        divided by the root of the size.
    pattern
        A regular expression that a name must begin with to be shown: ``'.*weight'``, ``'.*backward.*'``.
    sort
        Whether to sort by name; otherwise the order is that of computation.
    monitor_all
        Whether to show the inputs of each operator too.

    Examples
    --------
    >>> import rebind as mx
    >>> exe = mx.sym.exp(mx.sym.var("x"), name="e").simple_bind(mx.cpu(), x=(2,))
    >>> monitor = Monitor(1, pattern="e_")
    >>> monitor.install(exe)
    >>> monitor.tic()
    >>> _ = exe.forward(is_train=True)
    >>> [(step, name, text.strip()) for step, name, text in monitor.toc()]
    [(1, 'e_output', '1.0')]
    """

    @refuses_unknown
    def __init__(
        self,
        interval: int,
        stat_func: Callable[[NDArray], Statistic] | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        who = type(self).__name__
        if isinstance(interval, bool) or not isinstance(interval, int) or interval < 1:
            raise ParameterError(f"{who}: interval must be an int >= 1; got {interval!r}")
        check_pattern(who, pattern=pattern)
        self.re_prog = re.compile(pattern)
        check_kind(who, or_none(FUNCTION), stat_func=stat_func)
        self.interval = interval
        self.stat_func = root_mean_square if stat_func is None else stat_func
        self.sort = sort
        self.monitor_all = monitor_all
        self.activated = False
        self.step = 0
        # Weak references: a module drops executors for shapes that have not occurred for long, and their memory.
        self._exes: list[weakref.ref[AnyExecutor]] = []
        self.queue: list[tuple[int, str, Statistic]] = []

    def install(self, exe: AnyExecutor) -> None:
        """Watch an executor.

        >>> import rebind as mx
        >>> exe = mx.sym.exp(mx.sym.var("x"), name="e").simple_bind(mx.cpu(), x=(2,))
        >>> monitor = Monitor(1, stat_func=lambda array: array.sum())
        >>> monitor.install(exe)
        >>> monitor.tic()
        >>> _ = exe.forward()
        >>> [(name, text.strip()) for _, name, text in monitor.toc()]
        [('e_output', '2.0'), ('x', '0.0')]
        """
        check_kind(f"{type(self).__name__}.install", _EXECUTOR, exe=exe)
        self._watch(exe, self.stat_helper)

    def _watch(self, exe: AnyExecutor, callback: Callable[[str, NDArray], None]) -> None:
        if isinstance(exe, Executor):
            exe.set_monitor_callback(callback, self.monitor_all, active=lambda: self.activated)
        else:
            exe.set_monitor_callback(callback, self.monitor_all)
        if not any(exe is each for each in self.exes):
            self._exes.append(weakref.ref(exe))

    @property
    def exes(self) -> list[AnyExecutor]:
        """The executors that are watched, without those that are no longer in use.

        >>> import rebind as mx
        >>> exe = mx.sym.exp(mx.sym.var("x")).simple_bind(mx.cpu(), x=(2,))
        >>> monitor = Monitor(1)
        >>> monitor.install(exe)
        >>> monitor.exes == [exe]
        True
        """
        # Looked through at every call: executors come and go with the shapes of batches.
        self._exes = [each for each in self._exes if each() is not None]
        return [exe for each in self._exes if (exe := each()) is not None]

    def stat_helper(self, name: str, array: NDArray) -> None:
        """Handle an array that an executor reports."""
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def tic(self) -> None:
        """Begin a batch."""
        # A batch that is not watched leaves `activated` off: the executor then runs its plan without callbacks.
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """End a batch: return its number, the name and the statistic as text for all arrays; nothing between intervals.

        >>> import rebind as mx
        >>> exe = mx.sym.exp(mx.sym.var("x"), name="e").simple_bind(mx.cpu(), x=(2,))
        >>> monitor = Monitor(interval=2, pattern="e_")
        >>> monitor.install(exe)
        >>> for _ in range(3):
        ...     monitor.tic()
        ...     _ = exe.forward()
        ...     print(len(monitor.toc()))
        1
        0
        1
        """
        if not self.activated:
            return []
        for _, name, array in _held(self.exes):
            self.stat_helper(name, array)
        self.activated = False
        found, self.queue = self.queue, []
        if self.sort:
            # By name; equal names stay in the order in which they were seen.
            found.sort(key=lambda each: each[1])
        return [(step, name, _text(name, value)) for step, name, value in found]

    def toc_print(self) -> None:
        """End a batch, and log what `toc` returns.

        >>> import rebind as mx
        >>> exe = mx.sym.exp(mx.sym.var("x"), name="e").simple_bind(mx.cpu(), x=(2,))
        >>> monitor = Monitor(1)
        >>> monitor.install(exe)
        >>> monitor.tic()
        >>> _ = exe.forward()
        >>> monitor.toc_print()  # logs: Batch:       1 e_output                       1.0
        """
        for step, name, text in self.toc():
            log().info("Batch: %7d %-30s %s", step, name, text)


def _held(executors: Sequence[AnyExecutor]) -> list[tuple[AnyExecutor, str, NDArray]]:
    """Return the arguments and auxiliary states of executors; those that several share, once."""
    # By identity: devices and buckets share arrays under one name or several.
    found: dict[int, tuple[AnyExecutor, str, NDArray]] = {}
    for exe in executors:
        for name, array in (*exe.arg_dict.items(), *exe.aux_dict.items()):
            if array is not None:
                found.setdefault(id(array), (exe, name, array))
    return list(found.values())


def _text(name: str, value: Statistic) -> str:
    """Return a statistic as text: each of its values, followed by a tab, as in MXNet."""
    texts = []
    for each in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(each, NDArray):
            each = each.asnumpy()
        if not isinstance(each, (np.ndarray, np.generic, int, float)):
            raise ArgumentError(
                f"Monitor: stat_func must return an NDArray, a number or a list of these; got {each!r} for {name!r}"
            )
        if isinstance(each, np.ndarray) and each.size == 1:
            each = each.reshape(-1)[0]
        # `str`: formatting makes a double of a float32, 0.10000000149011612 of 0.1.
        texts.append(f"{each!s}\t")
    return "".join(texts)


class NaNMonitor(Monitor):
    """Finds the operator that the first NaN or infinite number comes from, forward or backward.

    Nothing is logged for a batch that is all finite. Otherwise there is one line for the first array, in the order of
    computation, that is not: ``Batch 7: the forward pass of log 'likelihood' gives 3 NaN and 1 inf in
    likelihood_output, 64 numbers``. Inputs (a batch of data, a weight) and parameters after
    an update are named as such. Numbers are counted on the device and read once, in `toc`.

    Parameters
    ----------
    interval
        The number of batches from one that is watched to the next.
    pattern
        A regular expression that a name must begin with to count.
    inf
        Whether infinite numbers count; set it to False for a network that masks with ``-inf``.
    stop
        Whether to raise `NonFiniteError` with the line, instead of a warning in the log.

    Examples
    --------
    >>> import rebind as mx
    >>> exe = mx.sym.log(mx.sym.var("x") - 1, name="likelihood").simple_bind(mx.cpu(), x=(2,))
    >>> monitor = NaNMonitor()
    >>> monitor.install(exe)
    >>> monitor.tic()
    >>> _ = exe.forward(is_train=True)
    >>> monitor.toc()[0][2]
    "the forward pass of log 'likelihood' gives 2 NaN and 0 inf in likelihood_output, 2 numbers"
    """

    @refuses_unknown
    def __init__(self, interval: int = 1, pattern: str = ".*", inf: bool = True, stop: bool = False) -> None:
        super().__init__(interval, _count_nonfinite, pattern, monitor_all=True)
        self.inf = inf
        self.stop = stop
        self._seen: list[tuple[Callable[[], AnyExecutor | None], bool, str, NDArray, int]] = []

    def install(self, exe: AnyExecutor) -> None:
        """Watch an executor."""
        # A weak reference, since the executor itself holds the callback.
        self._watch(exe, functools.partial(self._see, weakref.ref(exe), True))

    def stat_helper(self, name: str, array: NDArray) -> None:
        """Handle an array that an executor reports."""
        self._see(lambda: None, True, name, array)

    def _see(self, exe: Callable[[], AnyExecutor | None], running: bool, name: str, array: NDArray) -> None:
        if self.activated and self.re_prog.match(name):
            self._seen.append((exe, running, name, _count_nonfinite(array), array.size))

    def tic(self) -> None:
        """Begin a batch."""
        super().tic()
        self._seen = []

    def toc(self) -> list[tuple[int, str, str]]:
        """End a batch: return its number, the name of the first array that is not finite, and its origin.

        >>> import rebind as mx
        >>> exe = mx.sym.exp(mx.sym.var("x"), name="e").bind(mx.cpu(), [mx.nd.array([float("nan")])])
        >>> monitor = NaNMonitor()
        >>> monitor.install(exe)
        >>> monitor.tic()
        >>> _ = exe.forward()
        >>> monitor.toc()[0][1:]
        ('x', '1 NaN and 0 inf came in with x, 1 numbers')
        """
        if not self.activated:
            return []
        # Arguments and states after the update come last, of executors that ran: others hold old batches.
        ran = {id(exe()) for exe, *_ in self._seen}
        for exe, name, array in _held([exe for exe in self.exes if id(exe) in ran]):
            if _is_learned(exe, name):
                self._see(weakref.ref(exe), False, name, array)
        self.activated = False
        seen, self._seen = self._seen, []
        counts = _read([count for _, _, _, count, _ in seen])
        for (found, running, name, _, size), (nans, infs) in zip(seen, counts, strict=True):
            if nans or (infs and self.inf):
                return [
                    (self.step, name, _origin(found(), running, name, f"{nans} NaN and {infs} inf", size))
                ]
        return []

    def toc_print(self) -> None:
        """End a batch, and warn of what `toc` returns, or raise it.

        >>> import rebind as mx
        >>> exe = mx.sym.log(mx.sym.var("x"), name="l").simple_bind(mx.cpu(), x=(2,))
        >>> monitor = NaNMonitor(stop=True)
        >>> monitor.install(exe)
        >>> monitor.tic()
        >>> _ = exe.forward()
        >>> monitor.toc_print()
        Traceback (most recent call last):
        rebind.errors.NonFiniteError: Batch 1: the forward pass of log 'l' gives 0 NaN and 2 inf in l_output, 2 numbers
        """
        for step, _, text in self.toc():
            if self.stop:
                raise NonFiniteError(f"Batch {step}: {text}")
            log().warning("Batch %d: %s", step, text)


def _is_learned(exe: AnyExecutor, name: str) -> bool:
    """Return whether an array may have changed since `forward`: inputs have not."""
    return not isinstance(exe, Executor) or name in exe.aux_dict or exe.grad_dict.get(name) is not None


def _count_nonfinite(array: NDArray) -> NDArray:
    # Both counts in one tensor on the device: nothing waits for them before `_read`.
    tensor = array.tensor.detach()
    return NDArray(torch.stack((tensor.isnan().sum(), tensor.isinf().sum())), array.device)


def _read(counts: Sequence[NDArray]) -> list[tuple[int, int]]:
    """Return the counts as numbers, waiting once for each device."""
    # One copy to the host for each device, however many arrays: each copy waits for the device.
    found = [(0, 0)] * len(counts)
    for device in {count.tensor.device for count in counts}:
        here = [i for i, count in enumerate(counts) if count.tensor.device == device]
        values = torch.stack([counts[i].tensor for i in here]).tolist()
        for i, (nans, infs) in zip(here, values, strict=True):
            found[i] = (nans, infs)
    return found


def _origin(exe: AnyExecutor | None, running: bool, name: str, what: str, size: int) -> str:
    """Return a description of where numbers that are not finite were seen first."""
    where = f"{name}, {size} numbers"
    if not running:
        return f"after the update there are {what} in {where}"
    if not isinstance(exe, Executor):  # another kind of executor, or one that no longer exists
        return f"there are {what} in {where}"
    operator = exe.operator_of(name)
    if operator is None:
        return f"{what} came in with {where}"
    # Inputs are reported before outputs: one that is seen first was computed outside.
    if re.search(r"_backward_input\d+$", name):
        return f"{what} came in with the gradient of an output of {operator}: {where}"
    way = "backward" if re.search(r"_backward_output\d*$", name) else "forward"
    return f"the {way} pass of {operator} gives {what} in {where}"


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
