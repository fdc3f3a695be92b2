"""Record what a monitor shows of the operator cases."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
from typing import Any

from .cases.case import Case
from .golden import DATA, write_manifest
from .monitored import cases, shown
from .oracle import mx, origin


def generate_monitored() -> None:
    """Record every case that runs so; each in a process of its own, since some end theirs."""
    recorded = {}
    for name, case in cases():
        reader, writer = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(target=_record, args=(case, writer))
        process.start()
        writer.close()
        with contextlib.suppress(EOFError):
            recorded[name] = reader.recv()
        process.join()
    write_manifest(DATA / "monitored.json", {"origin": origin(), "cases": recorded})


def _record(case: Case, answer: Any) -> None:
    found: dict[str, Any] = {}
    for mode in ("inference", "training"):
        names, values = shown(mx, case, mode == "training", _to_array)
        found[mode] = " ".join(names)
        if values:
            found[f"{mode} values"] = values
    answer.send(found)


def _to_array(handle: Any) -> Any:
    return mx.nd.NDArray(ctypes.cast(handle, mx.base.NDArrayHandle), writable=False)
