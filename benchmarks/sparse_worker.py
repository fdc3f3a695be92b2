"""One engine with works of `benchmarks.sparse`: `PYTHON -m benchmarks.sparse_worker ENGINE`.

Requests and answers are as in `worker`.

    {"do": "prepare", "engine": "scipy", "kind": "product", "settings": {"width": 16}, "folder": "/tmp/x"}   -> {}
    {"do": "run", "calls": 10}      -> {"seconds": 0.05, "processor": 0.04}
    {"do": "memory"}                -> {"peak_bytes": 2e8}

`processor` is the time of all threads of the process, `peak_bytes` the most memory that it has had.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from .sparse_work import make
from .worker import peak_memory, serve


class _Worker:
    def __init__(self) -> None:
        self._call: Callable[[], object] = int
        self._wait: Callable[[], object] = int

    def prepare(self, engine: str, kind: str, settings: dict[str, Any], folder: str) -> dict[str, Any]:
        """Make a work ready, and do it once."""
        self._call = int  # the last one's memory is free
        self._call = make(engine, kind, settings, folder)
        if engine in ("rebind", "mxnet"):
            self._wait = sys.modules[engine].nd.waitall
        self.run(1)
        return {}

    def run(self, calls: int) -> dict[str, Any]:
        call = self._call
        start, begun = time.perf_counter(), time.process_time()
        for _ in range(calls):
            call()
        self._wait()
        return {"seconds": time.perf_counter() - start, "processor": time.process_time() - begun}

    def memory(self) -> dict[str, Any]:
        return {"peak_bytes": peak_memory()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # PyTorch's of its csr tensors
    serve(_Worker())
