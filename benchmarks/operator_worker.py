"""One engine times single calls of `mx.nd`: `PYTHON -m benchmarks.operator_worker ENGINE`.

Requests and answers are as in `worker`. It is the same code for rebind and for the real MXNet, and imports neither
before it is told which.

    {"do": "prepare", "sample": {...}}              -> {"modes": ["forward", "backward"]}
    {"do": "run", "mode": "forward", "calls": 10}   -> {"seconds": 0.05, "processor": 0.04}

`backward` is forward, recorded, and backward. `processor` is the time of all threads of the process.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.ops.sample import Array, Sample

from .worker import serve

__all__ = ["as_json", "sample_of"]

#: Submodules that MXNet sorts operators into, by how their names begin.
_SUBMODULES = {"_contrib_": "contrib", "_linalg_": "linalg", "_image_": "image", "_random_": "random"}


def as_json(sample: Sample) -> dict[str, Any]:
    """Return what a worker makes the sample from."""
    arrays = [
        {"recipe": vars(each)}
        if isinstance(each, Array)
        else {"values": each.tolist(), "dtype": str(each.dtype)}
        for each in sample.arrays
    ]
    return {
        "name": sample.name,
        "arrays": arrays,
        "parameters": sample.parameters,
        "training": sample.training,
    }


def sample_of(name: str, arrays: list[Any], parameters: dict[str, Any], training: bool) -> Sample:
    """Return the sample that `as_json` described."""
    made = [
        Array(**{**each["recipe"], "shape": tuple(each["recipe"]["shape"])})
        if "recipe" in each
        else np.array(each["values"], each["dtype"])
        for each in arrays
    ]
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in parameters.items()}
    return Sample(name, tuple(made), given, training)


class _Calls:
    def __init__(self, engine: str) -> None:
        self._mx = importlib.import_module(engine)
        self._modes: dict[str, Callable[[], Any]] = {}

    def prepare(self, sample: dict[str, Any]) -> dict[str, Any]:
        """Make the arrays, and see whether forward and backward work."""
        mx, made = self._mx, sample_of(**sample)
        function = _find(mx, made.name)
        arrays = [mx.nd.array(each, dtype=each.dtype) for each in made.inputs()]
        scope = mx.autograd.train_mode if made.training else mx.autograd.predict_mode

        def forward() -> Any:
            with scope():
                return function(*arrays, **made.parameters)

        def backward() -> None:
            with mx.autograd.record(train_mode=made.training):
                out = function(*arrays, **made.parameters)
            mx.autograd.backward(out if isinstance(out, list) else [out], train_mode=made.training)

        self._modes = {"forward": forward}
        self.run("forward", 1)
        for each in arrays:
            if each.dtype in (np.float32, np.float64):
                each.attach_grad()
        try:
            self._modes["backward"] = backward
            self.run("backward", 1)
        except Exception:  # not every operator has a gradient
            del self._modes["backward"]
        return {"modes": list(self._modes)}

    def run(self, mode: str, calls: int) -> dict[str, Any]:
        call = self._modes[mode]
        start, begun = time.perf_counter(), time.process_time()
        for _ in range(calls):
            call()
        self._mx.nd.waitall()
        return {"seconds": time.perf_counter() - start, "processor": time.process_time() - begun}


def _find(mx: Any, name: str) -> Callable[..., Any]:
    """Return the function of an operator, wherever the engine keeps it."""
    for module in (mx.nd._internal, mx.nd.op):
        if hasattr(module, name):
            return getattr(module, name)  # type: ignore[no-any-return]  # either engine's
    for prefix, module in _SUBMODULES.items():
        if name.startswith(prefix) and hasattr(getattr(mx.nd, module), name[len(prefix) :]):
            return getattr(getattr(mx.nd, module), name[len(prefix) :])  # type: ignore[no-any-return]
    raise LookupError(f"no operator {name}")


if __name__ == "__main__":
    serve(_Calls(sys.argv[1]))
