"""The columns of the table: every engine prepares a row and then does timed runs of it.

A new column (a compiled mode, another framework, another device) is one more entry in `ENGINES`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .drivers import Driver, ModuleDriver, SVRGDriver
from .networks import Row


class Engine(Protocol):
    """One engine with one row prepared."""

    version: str
    prepare_seconds: float

    def timed(self, steps: int) -> float:
        """Seconds that `steps` steps take."""

    def results(self) -> dict[str, np.ndarray]:
        """As `Driver.results`."""

    def close(self) -> None:
        """Free what the row took."""


class LocalEngine:
    """An engine that runs in this process, through a `Driver`."""

    def __init__(self, version: str, make_driver: Callable[[], Driver]) -> None:
        self.version = version
        start = time.perf_counter()
        self._driver: Driver | None = make_driver()
        self.prepare_seconds = time.perf_counter() - start

    def timed(self, steps: int) -> float:
        assert self._driver is not None, "closed"
        start = time.perf_counter()
        self._driver.run(steps)
        return time.perf_counter() - start

    def results(self) -> dict[str, np.ndarray]:
        assert self._driver is not None, "closed"
        return self._driver.results()

    def close(self) -> None:
        self._driver = None


class MXNetEngine:
    """MXNet 1.9.1 in a process of its own; see `mxnet_worker` for what the two say to each other."""

    def __init__(self, row: Row, python: str, threads: int) -> None:
        root = str(Path(__file__).resolve().parent.parent)
        self._log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 (closed in close)
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.mxnet_worker"],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=_worker_environment(threads),
        )
        try:
            answer = self._ask(do="prepare", row=row.name)
        except BaseException:
            self.close()
            raise
        self.version = answer["version"]
        self.prepare_seconds = answer["seconds"]

    def timed(self, steps: int) -> float:
        return float(self._ask(do="run", steps=steps)["seconds"])

    def results(self) -> dict[str, np.ndarray]:
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "values.npz")
            self._ask(do="results", file=file)
            with np.load(file) as values:
                return dict(values)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def _ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            status = self._process.wait()
            self._log.seek(0)
            raise RuntimeError(
                f"the MXNet process ended with status {status} at {request}:\n{self._log.read()[-2000:]}"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"MXNet at {request}: {answer['error']}")
        return answer


def _worker_environment(threads: int) -> dict[str, str]:
    """This process's environment with a number of threads for MXNet.

    By itself MXNet takes half of the cores that it sees, which would not compare engines. What would lead
    the oracle's Python to packages that are not its own is left out.
    """
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    return {**kept, "OMP_NUM_THREADS": str(threads)}


@dataclass(frozen=True)
class Options:
    """What engines need to know beside the row."""

    threads: int
    mxnet: str | None = None  # the Python of MXNet's environment


# --------------------------------------------------------------------------- how each engine is made


def _rebind(row: Row, options: Options) -> Engine:
    import rebind as mx

    return LocalEngine(mx.__version__, lambda: ModuleDriver(mx, row))


def _svrg(row: Row, options: Options) -> Engine | None:
    import rebind as mx

    if not row.training:
        return None
    return LocalEngine(mx.__version__, lambda: SVRGDriver(mx, row))


def _torch(row: Row, options: Options) -> Engine:
    import torch

    from .peers_torch import TorchDriver

    return LocalEngine(torch.__version__, lambda: TorchDriver(row))


def _torch_channels_last(row: Row, options: Options) -> Engine | None:
    import torch

    from .peers_torch import TorchDriver

    if not row.convolutional:
        return None
    return LocalEngine(torch.__version__, lambda: TorchDriver(row, channels_last=True))


def _mxnet(row: Row, options: Options) -> Engine:
    assert options.mxnet is not None, "the command line refuses this"
    return MXNetEngine(row, options.mxnet, options.threads)


# A maker answers None where its column says nothing about the row.
ENGINES: dict[str, Callable[[Row, Options], Engine | None]] = {
    "rebind": _rebind,
    "torch": _torch,
    "torch-channels-last": _torch_channels_last,
    "mxnet": _mxnet,
    "svrg": _svrg,
}

# Columns for questions of their own, which the table has only when they are named.
ASKED_FOR = ["svrg"]

TITLES = {
    "rebind": "rebind",
    "torch": "PyTorch eager",
    "torch-channels-last": "eager, channels_last",
    "mxnet": "MXNet",
    "svrg": "rebind, SVRG",
}


def find_mxnet(given: str | None) -> str | None:
    """The Python of an environment with MXNet: as given, else `REBIND_ORACLE`, else None."""
    python = given or os.environ.get("REBIND_ORACLE")
    if python and not os.access(python, os.X_OK):
        sys.exit(
            f"{python} (from {'--mxnet' if given else 'REBIND_ORACLE'}) is not a program that can be run"
        )
    return python
