"""An engine in a process of its own, which does what it is asked: `python -m benchmarks.worker ENGINE`.

Each runs as in a user's program: with its own defaults, nothing else imported, and, for MXNet, under its own Python.
One request is one line of JSON on standard input, one answer is one line on standard output:

    {"do": "prepare", "row": "mlp", "threads": null, "device": "cpu"}
        -> {"versions": {"torch": "2.13.0"}, "import_seconds": 1.2, "prepare_seconds": 0.1, "peak_bytes": 2e8}
    {"do": "run", "steps": 100}               -> {"seconds": 0.05}
    {"do": "memory"}                          -> {"peak_bytes": 2e8, "peak_device_bytes": 0}
                                                 of the steps since `prepare`, and a GPU's
    {"do": "results", "file": "values.npz"}   -> {}

A failure is answered by {"error": "..."}. Whatever libraries print goes to standard error. The worker ends with its
standard input, so also when the runner is killed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from . import export_onnx
from .drivers import Driver, Setting
from .networks import row_named
from .peers import PEERS


def serve(worker: Any) -> None:
    """Answer requests by the methods of `worker` until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:  # the other side raises it again
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")


class _Worker:
    def __init__(self, engine: str) -> None:
        self._peer = PEERS[engine]
        self._driver: Driver | None = None

    def prepare(self, row: str, threads: int | None, device: str) -> dict[str, Any]:
        """Import the engine, build and bind or compile, and do the first step, which may compile too."""
        work = row_named(row)
        file = export_onnx.write(work) if self._peer.reads_onnx else ""
        begun = time.perf_counter()
        make = self._peer.get_ready(Setting(work, threads, file, device))
        start = time.perf_counter()
        self._driver = make()
        self._driver.run(1)
        answer = {
            "versions": _versions(self._peer.needs),
            "import_seconds": start - begun,
            "prepare_seconds": time.perf_counter() - start,
            "peak_bytes": peak_memory(),
        }
        forget_peak()
        return answer

    def run(self, steps: int) -> dict[str, Any]:
        assert self._driver is not None, "prepare comes first"
        start = time.perf_counter()
        self._driver.run(steps)
        return {"seconds": time.perf_counter() - start}

    def memory(self) -> dict[str, Any]:
        return {"peak_bytes": peak_memory(), "peak_device_bytes": _peak_memory_of_gpu()}

    def results(self, file: str) -> dict[str, Any]:
        import numpy as np

        assert self._driver is not None, "prepare comes first"
        values: dict[str, Any] = self._driver.results()
        np.savez(file, **values)
        return {}


def _versions(packages: Sequence[str]) -> dict[str, str]:
    """The versions of what has been imported."""
    answer = {}
    for name in packages:
        if name in sys.modules:
            try:
                answer[name] = version(name)
            except PackageNotFoundError:
                answer[name] = str(getattr(sys.modules[name], "__version__", "unknown"))
    return answer


def peak_memory() -> int:
    """The most memory that this process has had at once, in bytes."""
    try:
        with open("/proc/self/status") as status:
            kib = next(line.split()[1] for line in status if line.startswith("VmHWM"))
        return 1024 * int(kib)
    except (OSError, StopIteration):  # not Linux
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else 1024 * most


def _gpus_of_torch() -> Any:
    """PyTorch's module for GPUs where this process uses one, else None."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


def _peak_memory_of_gpu() -> int:
    """The most memory of a GPU that PyTorch's allocator has held at once, in bytes."""
    cuda = _gpus_of_torch()
    return 0 if cuda is None else int(cuda.max_memory_reserved())


def forget_peak() -> None:
    """Have the peaks count from now on: of the process where the system can do that (Linux)."""
    if cuda := _gpus_of_torch():
        cuda.empty_cache()
        cuda.reset_peak_memory_stats()
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


if __name__ == "__main__":
    serve(_Worker(sys.argv[1]))
