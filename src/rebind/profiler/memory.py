"""The memory that a step allocates, measured: what is held at its peak, by node."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.graph import Node as GradientFunction
from torch.profiler import ProfilerActivity, record_function
from torch.profiler import profile as torch_profile

from ..checks import FUNCTION, check_kind
from ..executor.memory_use import memory_unit
from ..executor.observer import Observation, Observer
from ..graph import Node
from ..observing import observing
from .backward import functions_between, gradient_functions, time_backward
from .recording import Slice

__all__ = ["MemoryUse", "memory_of"]

#: What is allocated while no operator runs.
OUTSIDE = "(outside operators)"
_MARK = "rebind mark "


@dataclass(frozen=True)
class MemoryUse:
    """The memory that a step allocated, in bytes, without arrays that existed before it.

    Attributes
    ----------
    peak
        The most that was held at one time.
    at
        The node that ran then.
    holders
        What was held then, by the node that had allocated it; the largest first.
    allocated
        What each node allocated, by name, whether it was freed since or not; the largest first.
    left
        What was held after the step, by node.
    """

    peak: int
    at: str
    holders: Mapping[str, int]
    allocated: Mapping[str, int]
    left: Mapping[str, int]

    def __str__(self) -> str:
        unit, size = memory_unit(self.peak)
        lines = [f"peak {self.peak / size:.1f} {unit} in {self.at}, which holds"]
        lines += [
            f"  {count / size:8.1f} {unit} of {name}" for name, count in list(self.holders.items())[:20]
        ]
        return "\n".join(lines)


def memory_of(step: Callable[[], object]) -> MemoryUse:
    """Run a step once, and return the memory that it allocates, by node: what PyTorch's allocators report.

    Parameters
    ----------
    step
        Runs executors, forward alone or with backward. Run it once before: the first time more is made.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.sin(mx.sym.exp(mx.sym.var("x"), name="exp"), name="sin")
    >>> exe = net.simple_bind(mx.cpu(), x=(256, 1024))
    >>> def step():
    ...     exe.forward(is_train=True)
    ...     exe.backward(mx.nd.ones((256, 1024)))
    >>> step()
    >>> found = mx.profiler.memory_of(step)
    >>> found.allocated["exp"] // 2**20, found.holders["exp"] // 2**20
    (1, 1)
    """
    check_kind("profiler.memory_of", FUNCTION, step=step)
    marks, before = _Marks(), observing.programs
    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_initialized():
        activities.append(ProfilerActivity.CUDA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of arrays that were there before
        observing.programs = marks
        try:
            with torch_profile(activities=activities, profile_memory=True, acc_events=True) as found:
                step()
        finally:
            observing.programs = before
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        found.export_chrome_trace(path)
        with open(path) as file:
            return _memory_use(json.load(file)["traceEvents"], marks.spans)


class _Marks(Observer):
    """Puts marks into PyTorch's trace, before and after each operator: its clock counts them."""

    def __init__(self) -> None:
        self.spans: list[Slice] = []
        self._count = 0
        self._boundaries: list[set[GradientFunction]] = []

    def clock(self) -> float:
        self._count += 1
        with record_function(f"{_MARK}{self._count}"):
            return self._count

    def before(self, node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
        self._boundaries.append(gradient_functions(inputs))
        return inputs

    def after(self, observation: Observation, node: Node | None) -> None:
        name = observation.name
        self.spans.append(Slice("operator", name, observation.begin, observation.end))
        if node is not None:
            functions = functions_between(gradient_functions(observation.outputs), self._boundaries.pop())
            like = Slice("operator", f"{name}_backward", 0.0, 0.0)
            time_backward(functions, like, lambda span, _: self.spans.append(span), self.clock)


def _memory_use(events: Iterable[Mapping[str, Any]], spans: Iterable[Slice]) -> MemoryUse:
    """Return what the events of a trace say, with the marks of each node's span among them."""
    begins = {int(span.begin): span.name for span in spans}
    ends = {int(span.end) for span in spans}
    running: list[str] = []
    blocks: dict[tuple[int, int], tuple[str, int]] = {}  # what is held, by device and address
    allocated: Counter[str] = Counter()
    held = peak = 0
    at, holders = "", Counter[str]()
    for event in sorted(events, key=lambda event: float(event.get("ts", 0))):
        if event["name"].startswith(_MARK):
            number = int(event["name"].removeprefix(_MARK))
            if number in begins:
                running.append(begins[number])
            elif number in ends and running:
                running.pop()
        elif event["name"] == "[memory]":
            details, name = event["args"], running[-1] if running else OUTSIDE
            key, size = (details["Device Id"], details["Addr"]), details["Bytes"]
            if size > 0:
                blocks[key] = (name, size)
                allocated[name] += size
                held += size
            else:
                held -= blocks.pop(key, ("", 0))[1]
            if held > peak:
                peak, at, holders = held, name, _by_name(blocks.values())
    return MemoryUse(
        peak, at, *(dict(each.most_common()) for each in (holders, allocated, _by_name(blocks.values())))
    )


def _by_name(blocks: Iterable[tuple[str, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, size in blocks:
        found[name] += size
    return found
