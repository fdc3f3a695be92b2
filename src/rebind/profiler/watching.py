"""What records the operators of this process, for all profiles that run."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from torch.autograd.graph import Node as GradientFunction

from ..executor.observer import Observation, Observer
from ..graph import Node
from ..ndarray import NDArray
from ..observing import observing
from ..ops import Operator
from ..optimizer import Optimizer
from .array_calls import row_of
from .backward import functions_between, gradient_functions, time_backward
from .memory_in_use import memory_in_use
from .recording import CUSTOM, Array, Recording, Slice, Step, Value, now
from .statistics import MEMORY

__all__ = ["Interest", "Watcher", "watcher"]

#: The category of the runs of executors, and their rows: in MXNet calls of its C library.
API = "MXNET_C_API"
_END = object()
_RUNS = {"forward": "MXExecutorForward", "backward": "MXExecutorBackwardEx"}


class Interest:
    """What one profile records.

    Parameters
    ----------
    recording
        Where it goes.
    symbolic, imperative, memory, runs
        Whether it records operators of graphs; calls of ``mx.nd``, and updates; the memory in use; runs of executors.
    finds_steps
        Whether an iteration begins when an executor runs again; otherwise the caller says when one begins.
    servers_only
        Whether it records what the servers of key-value stores do, and nothing else.
    """

    def __init__(
        self,
        recording: Recording,
        symbolic: bool = True,
        imperative: bool = True,
        memory: bool = False,
        runs: bool = True,
        finds_steps: bool = True,
        servers_only: bool = False,
    ) -> None:
        self.recording, self.finds_steps, self.servers_only = recording, finds_steps, servers_only
        self.symbolic, self.imperative, self.memory, self.runs = symbolic, imperative, memory, runs
        self._first: object = None  # what ran first

    def begin_run(self, runner: object) -> None:
        """Note that an executor runs forward."""
        if self.servers_only:
            return
        if self.finds_steps:
            self._first = self._first or runner
            if runner is self._first:
                self.recording.steps.append(Step(now()))
        if self.memory:
            time = now()
            found = [Value(MEMORY, f"Memory: {name}", time, used) for name, used in memory_in_use().items()]
            self.recording.values.extend(found)

    def takes(self, found: Slice, is_server: bool) -> bool:
        """Whether it records a slice, of a server or of something else."""
        if self.servers_only and not is_server:
            return False
        if found.kind == "run":
            return self.runs
        if found.category == "step":  # where the caller says when a step begins, it records this too
            return self.finds_steps
        return self.imperative if found.kind in ("call", "exchange", "update") else self.symbolic


class _Thread(threading.local):
    """What is going on in a thread.

    Attributes
    ----------
    last
        Its last slice.
    boundaries
        The gradient functions of the inputs of the operators of graphs that run in it.
    customs
        The names of the custom operators that run in it.
    run
        Direction and begin of the executor's run.
    is_exchanging, is_server
        Whether it exchanges values with a key-value store; whether it does what the store's server was asked for.
    """

    is_exchanging = is_server = False
    last: Slice | None = None
    run: tuple[str, float] | None = None

    def __init__(self) -> None:
        self.boundaries: list[set[GradientFunction]] = []
        self.customs: list[str] = []


class Watcher(Observer):
    """Records operators while a profile wants them; `observing` has it only then.

    Examples
    --------
    >>> import rebind as mx
    >>> interest = Interest(Recording())
    >>> watcher.add(interest)
    >>> x = mx.nd.ones((2, 3)) * 2
    >>> watcher.remove(interest)
    >>> [(each.name, each.outputs[0].shape) for each in interest.recording.slices]
    [('_ones', torch.Size([2, 3])), ('_mul_scalar', torch.Size([2, 3]))]
    """

    def __init__(self) -> None:
        self._interests: tuple[Interest, ...] = ()
        self._thread = _Thread()

    def add(self, interest: Interest) -> None:
        """Record for a profile."""
        self._set((*self._interests, interest))

    def remove(self, interest: Interest) -> None:
        """Record for a profile no more."""
        self._set(tuple(each for each in self._interests if each is not interest))

    def _set(self, interests: tuple[Interest, ...]) -> None:
        self._interests = interests
        observing.programs = self if any(each.symbolic or each.runs for each in interests) else None
        calls = any(each.imperative for each in interests)
        observing.kernels = self.timed_kernel if calls else None
        observing.array_calls = self.timed_array_call if calls else None
        observing.updates = self.timed_update if calls else None
        observing.exchanges = self.timed_exchange if calls else None
        observing.served = self.timed_service if calls else None
        observing.batches = self.timed_batches if any(each.finds_steps for each in interests) else None

    def record(self, found: Slice) -> None:
        """Record a slice for all who want it."""
        self._thread.last = found
        for each in self._interests:
            if each.takes(found, self._thread.is_server):
                each.recording.slices.append(found)

    def record_backward(self, found: Slice, continues: bool | None) -> None:
        """Record derivatives of an operator: more of one call, or the first; None: of one call if the last were."""
        last = self._thread.last
        if continues is not False and last is not None and (last.kind, last.name) == ("backward", found.name):
            last.end = found.end
            last.seconds += found.seconds
        else:
            found.calls = 0 if continues else 1
            self.record(found)

    def timed_batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield batches, and record how long each was waited for."""
        source = iter(batches)
        while True:
            begin = now()
            batch = next(source, _END)
            if batch is _END:
                return
            self.record(Slice("step", "data", begin, now(), "data"))
            yield batch

    # As an observer of executors.

    def clock(self) -> float:
        """Return the time, once GPUs have computed what they were given."""
        return now()

    def begin_run(self, runner: object, direction: str) -> None:
        """Note that an executor runs."""
        thread = self._thread
        thread.boundaries.clear()
        thread.customs.clear()
        thread.last = None
        if direction == "forward":
            for each in self._interests:
                each.begin_run(runner)
        thread.run = direction, now()

    def end_run(self) -> None:
        """Record the run."""
        thread = self._thread
        if thread.run is not None:
            direction, begin = thread.run
            self.record(Slice(API, direction, begin, now(), _RUNS[direction], "run"))
            thread.run = None

    def before(self, node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
        """Note where backward leaves the operator that is called next."""
        self._thread.boundaries.append(gradient_functions(inputs))
        if node.operator is not None and node.operator.name == "Custom":
            self._thread.customs.append(node.params.op_type)
        return inputs

    def after(self, observation: Observation, node: Node | None) -> None:
        """Record a call."""
        name, operator, inputs, outputs, begin, end, _, nodes = observation
        if node is None and operator.startswith("_backward_"):  # of one input; others follow
            self.record_backward(Slice("operator", name, begin, end, operator, "backward"), None)
        elif node is None and operator == "autograd":
            self.record(Slice("autograd", name, begin, end))
        else:
            kind = "forward" if node is not None else operator
            row = operator if node is not None else name
            arrays = (_described(inputs), _described(outputs))
            found = Slice("operator", name, begin, end, row, kind, 0.0, 1, *arrays, node, nodes)
            self._record_call(found, observation.outputs, operator)

    def _record_call(self, found: Slice, outputs: Sequence[Any], operator: str) -> None:
        """Record a call of an operator of a graph, and let backward record its derivatives."""
        thread = self._thread
        custom = thread.customs.pop() if operator == "Custom" and thread.customs else None
        if custom is not None:
            found.category, found.statistic = CUSTOM, f"{custom}::pure_python"
        self.record(found)
        if found.node is not None and thread.boundaries:
            self._time_backward(outputs, thread.boundaries.pop(), f"{found.name}_backward", operator, custom)

    # Calls of mx.nd, and updates.

    def timed_kernel(self, op: Operator, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Return what calls the kernel of an operator, and records the call."""
        return functools.partial(self._call, op, kernel)

    def _call(self, op: Operator, kernel: Callable[..., Any], *inputs: Any, **keywords: Any) -> Any:
        boundary, customs = gradient_functions(inputs), self._thread.customs
        custom = str(keywords["op_type"]) if op.name == "Custom" else None
        category, row = _row(op.name, customs, custom)
        if custom is not None:
            customs.append(custom)
        begin = now()
        try:
            result = kernel(*inputs, **keywords)
        finally:
            if custom is not None and customs:
                customs.pop()
        end = now()
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        arrays = (_described(inputs), _described(outputs))
        self.record(Slice(category, op.name, begin, end, row, "call", 0.0, 1, *arrays))
        self._time_backward(outputs, boundary, f"{op.name}_backward", op.name, custom)
        return result

    def timed_array_call(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return what calls a function that works on arrays without an operator, and records the call."""
        return functools.partial(self._array_call, kind, function)

    def _array_call(self, kind: str, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        before, begin = self._thread.last, now()
        result = function(*given, **named)
        end = now()
        row = row_of(kind, given, result)
        # What was done by an operator, or by another such call, is recorded already.
        if row is not None and self._thread.last is before:
            category, statistic = _row(row, self._thread.customs, None)
            inputs = [each.storage for each in given if isinstance(each, NDArray)]
            written = result.storage if isinstance(result, NDArray) else result
            outputs = inputs[:1] if written is None else [written]
            arrays = (_described(inputs), _described(outputs))
            self.record(Slice(category, row, begin, end, statistic, "call", 0.0, 1, *arrays))
        return result

    def timed_update(self, optimizer: Optimizer, update: Callable[..., Any]) -> Callable[..., Any]:
        """Return what calls the function by which an optimizer updates weights, and records the call."""
        return functools.partial(self._update, f"{type(optimizer).__name__.lower()}_update", update)

    def _update(self, name: str, update: Callable[..., Any], index: Any, weights: Any, *others: Any) -> Any:
        begin = now()
        result = update(index, weights, *others)
        self.record(Slice("operator", name, begin, now(), name, "update", 0.0, 1, _described(weights)))
        return result

    def timed_exchange(self, name: str, exchange: Callable[..., Any]) -> Callable[..., Any]:
        """Return what calls a function by which a key-value store exchanges values, and records the call."""
        return functools.partial(self._exchange, name, exchange)

    def _exchange(self, name: str, exchange: Callable[..., Any], *given: Any, **named: Any) -> Any:
        thread = self._thread
        if thread.is_exchanging:  # a push or a pull that another exchange makes
            return exchange(*given, **named)
        thread.is_exchanging = True
        begin = now()
        try:
            result = exchange(*given, **named)
        finally:
            thread.is_exchanging = False
        self.record(Slice("operator", name, begin, now(), name, "exchange"))
        return result

    def timed_service(self, name: str, command: Callable[..., Any]) -> Callable[..., Any]:
        """Return what calls a function that a server was asked for, and records the call."""
        return functools.partial(self._serve, name, command)

    def _serve(self, name: str, command: Callable[..., Any], *given: Any) -> Any:
        self._thread.is_server, begin = True, now()
        try:
            result = command(*given)
            self.record(Slice("operator", name, begin, now(), name, "exchange"))
        finally:
            self._thread.is_server = False
        return result

    def _time_backward(
        self,
        outputs: Sequence[Any],
        boundary: set[GradientFunction],
        name: str,
        operator: str,
        custom: str | None,
    ) -> None:
        functions = functions_between(gradient_functions(outputs), boundary)
        if not functions:
            return
        if custom is None:
            like = Slice("operator", name, 0.0, 0.0, f"_backward_{operator}", "backward")
            time_backward(functions, like, self.record_backward)
            return
        # Its backward runs Python code, whose calls are rows of the custom operator.
        inside = f"_backward_{custom}"

        def record(found: Slice, continues: bool) -> None:
            self._thread.customs.remove(inside)
            self.record_backward(found, continues)

        like = Slice(CUSTOM, name, 0.0, 0.0, f"{inside}::pure_python", "backward")
        time_backward(functions, like, record, begin=lambda: self._thread.customs.append(inside))


#: The one that there is.
watcher = Watcher()


def _row(operator: str, customs: Sequence[str], custom: str | None) -> tuple[str, str]:
    """Return category and row of a call: in custom operators MXNet has them by themselves."""
    if custom is not None:
        return CUSTOM, f"{custom}::pure_python"
    return (CUSTOM, f"{customs[-1]}::{operator}") if customs else ("operator", operator)


def _described(arrays: Sequence[Any]) -> tuple[Array | None, ...]:
    return tuple([None if each is None else Array(each.shape, each.dtype) for each in arrays])
