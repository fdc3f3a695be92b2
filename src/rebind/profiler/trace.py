"""Traces in Chrome's format, which Perfetto (ui.perfetto.dev) and chrome://tracing show."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from ..files import atomic_write
from .recording import Array, Instant, Recording, Slice, Value

__all__ = ["events", "write"]

#: In a trace: the slices of a domain, which may overlap, have tracks of their own.
_OVERLAPPING = frozenset(("task", "frame", "event"))
#: Chrome's scopes of a marker.
_SCOPES = {"global": "g", "process": "p", "thread": "t", "task": "t", "marker": "t"}


def events(recording: Recording) -> list[dict[str, object]]:
    """Return the events of a trace; times are in microseconds since the recording began.

    Ids are small numbers: MXNet's are beyond 2^53, which JavaScript cannot read exactly.

    >>> recording = Recording()
    >>> recording.slices.append(Slice("operator", "fc1", recording.begin + 1, recording.begin + 1.5))
    >>> [(each["ph"], each["name"], each.get("dur")) for each in events(recording)][-1]
    ('X', 'fc1', 500000.0)
    """
    pid = os.getpid()
    threads: dict[int, int] = {}
    found = [_slice(each, recording.begin, pid, threads, i) for i, each in enumerate(list(recording.slices))]
    timed = [event for events in found for event in events]
    timed += [_value(each, recording.begin, pid) for each in list(recording.values)]
    timed += [_instant(each, recording.begin, pid, threads) for each in list(recording.instants)]
    timed.sort(key=lambda event: float(str(event["ts"])))
    names = [_named("process_name", "rebind", pid, 0)]
    names += [_named("thread_name", f"thread {tid}", pid, tid) for tid in threads.values()]
    return [*names, *timed]


def write(recording: Recording, path: str) -> None:
    """Write a trace to a file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "trace.json")
    ...     write(Recording(), path)
    ...     with open(path) as file:
    ...         sorted(json.load(file))
    ['displayTimeUnit', 'traceEvents']
    """
    with atomic_write(path, "w") as file:
        json.dump({"traceEvents": events(recording), "displayTimeUnit": "ms"}, file)


def _tid(thread: int, threads: dict[int, int]) -> int:
    return threads.setdefault(thread, len(threads) + 1)


def _microseconds(time: float, begin: float) -> float:
    return round(1e6 * (time - begin), 3)


def _named(what: str, name: str, pid: int, tid: int) -> dict[str, object]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _slice(
    each: Slice, begin: float, pid: int, threads: dict[int, int], number: int
) -> list[dict[str, object]]:
    common = {"name": each.name, "cat": each.category, "pid": pid, "tid": _tid(each.thread, threads)}
    start, end = _microseconds(each.begin, begin), _microseconds(each.end, begin)
    if each.kind in _OVERLAPPING:
        pair: tuple[Mapping[str, object], ...] = ({"ph": "b", "ts": start}, {"ph": "e", "ts": end})
        return [{**common, **half, "id": number} for half in pair]
    return [{**common, "ph": "X", "ts": start, "dur": round(end - start, 3), "args": _details(each)}]


def _details(each: Slice) -> dict[str, object]:
    """Return what is shown of a slice that is clicked at."""
    details: dict[str, object] = {}
    if each.statistic and each.statistic != each.name:
        details["operator"] = each.statistic
    for name, arrays in (("inputs", each.inputs), ("outputs", each.outputs)):
        if arrays:
            details[name] = ", ".join(map(_shown, arrays))
    if each.nodes:
        details["nodes"] = list(each.nodes)
    return details


def _shown(array: Array | None) -> str:
    if array is None:
        return "-"
    return f"{'x'.join(map(str, array.shape)) or '1'} {str(array.dtype).removeprefix('torch.')}"


def _value(each: Value, begin: float, pid: int) -> dict[str, object]:
    common = {"name": each.name, "cat": each.category, "pid": pid, "tid": 0}
    return {**common, "ph": "C", "ts": _microseconds(each.time, begin), "args": {each.name: each.value}}


def _instant(each: Instant, begin: float, pid: int, threads: dict[int, int]) -> dict[str, object]:
    common = {"name": each.name, "cat": each.category, "pid": pid, "tid": _tid(each.thread, threads)}
    return {**common, "ph": "i", "ts": _microseconds(each.time, begin), "s": _SCOPES[each.scope]}
