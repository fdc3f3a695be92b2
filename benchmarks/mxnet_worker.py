"""The real MXNet as a peer: a process in its own environment that does rounds on request.

It runs under the oracle's Python, which has neither torch nor rebind. One request is one line of JSON on
standard input, one answer is one line on standard output:

    {"do": "prepare", "row": "mlp"}           -> {"version": "1.9.1", "seconds": 0.1}
    {"do": "run", "steps": 100}               -> {"seconds": 0.05}
    {"do": "results", "file": "values.npz"}   -> {}

A failure is answered by {"error": "..."}. Whatever libraries print goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np


def main() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    worker = _Worker()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:  # the other side raises it again
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")


class _Worker:
    def __init__(self) -> None:
        self._driver: Any = None

    def prepare(self, row: str) -> dict[str, Any]:
        import mxnet as mx  # type: ignore[import-not-found]

        from .drivers import ModuleDriver
        from .networks import ROWS

        start = time.perf_counter()
        self._driver = ModuleDriver(mx, ROWS[row])
        mx.nd.waitall()
        return {"version": mx.__version__, "seconds": time.perf_counter() - start}

    def run(self, steps: int) -> dict[str, Any]:
        start = time.perf_counter()
        self._driver.run(steps)
        return {"seconds": time.perf_counter() - start}

    def results(self, file: str) -> dict[str, Any]:
        np.savez(file, **self._driver.results())
        return {}


if __name__ == "__main__":
    main()
