"""An engine with one row prepared, as the runner sees it: in a worker process, or in this one."""

from __future__ import annotations

import functools
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .drivers import Driver
from .networks import Row
from .peers import PEERS

ROOT = Path(__file__).resolve().parent.parent

#: How many seconds a worker may take for an answer, by what it is asked to do: compiling takes minutes.
LIMITS_S = {"prepare": 1800.0}
#: And for anything else.
LIMIT_S = 600.0


class EngineError(RuntimeError):
    """A worker that failed, with what it said, or one that did not answer."""


@dataclass(frozen=True)
class Preparation:
    """What it took until the first step was done."""

    versions: dict[str, str]
    prepare_seconds: float  # building, binding or compiling
    import_seconds: float = 0.0
    peak_bytes: int = 0  # the most memory that the process had until then


class Engine(Protocol):
    """One engine with one row prepared."""

    preparation: Preparation

    def timed(self, steps: int) -> float:
        """Seconds that `steps` steps take."""

    def peak_bytes(self) -> tuple[int, int]:
        """The most memory that its process had during the steps, and that of a GPU; 0 where that is not known."""

    def results(self) -> dict[str, np.ndarray]:
        """As `Driver.results`."""

    def close(self) -> None:
        """Free what the row took."""


class LocalEngine:
    """An engine that runs in this process, through a `Driver`; its preparation is without the first step."""

    def __init__(self, versions: dict[str, str], make_driver: Callable[[], Driver]) -> None:
        start = time.perf_counter()
        self._driver: Driver | None = make_driver()
        self.preparation = Preparation(versions, time.perf_counter() - start)

    def timed(self, steps: int) -> float:
        assert self._driver is not None, "closed"
        start = time.perf_counter()
        self._driver.run(steps)
        return time.perf_counter() - start

    def peak_bytes(self) -> tuple[int, int]:
        return 0, 0

    def results(self) -> dict[str, np.ndarray]:
        assert self._driver is not None, "closed"
        return self._driver.results()

    def close(self) -> None:
        self._driver = None


@dataclass(frozen=True)
class Options:
    """What engines need to know beside the row."""

    threads: int | None = None  # None: each takes its own number
    mxnet: str | None = None  # the Python of MXNet's environment
    device: str = "cpu"
    tuned: bool = False  # with the settings of `rebind.tune`, which all engines get


#: What `rebind.tune` sets, as glibc reads it from the environment: for engines that are not rebind's.
TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1)}


class WorkerProcess:
    """A process that answers requests; see `worker` for what the two say to each other."""

    def __init__(self, module: str, name: str, options: Options) -> None:
        self._name = name
        python = options.mxnet if PEERS[name].own_python else sys.executable
        assert python is not None, "the command line refuses this"
        self._log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 (closed in close)
        self._folder = tempfile.TemporaryDirectory(prefix="rebind-benchmark-", ignore_cleanup_errors=True)
        self.folder = self._folder.name
        self._process = subprocess.Popen(
            [python, "-m", f"benchmarks.{module}", name],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=_environment(name, options, self.folder),
        )

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.close()
            self._process.wait(timeout=10)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            pass
        finally:
            self._process.kill()  # also when the benchmark is interrupted while it waits
            self._process.wait()
            self._process.stdout.close()
            self._log.close()
            self._folder.cleanup()

    @property
    def ended(self) -> bool:
        """Whether it answers no more."""
        return self._process.poll() is not None

    def ask(self, *, limit_s: float | None = None, **request: Any) -> dict[str, Any]:
        """Send a request and return its answer; raise an EngineError where there is none.

        A process that takes longer than `limit_s` seconds is ended; by default they are those of `LIMITS_S`.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        limit = LIMITS_S.get(request["do"], LIMIT_S) if limit_s is None else limit_s
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            # An answer is one short line, written at once; what is timed is timed in the worker.
            answers = bool(select.select([self._process.stdout], [], [], limit)[0])
            line = self._process.stdout.readline() if answers else ""
        except BrokenPipeError:
            answers, line = True, ""
        if not answers:
            self._process.kill()
            self._process.wait()
            raise EngineError(
                f"{self._name} at {request}: no answer within {limit:g} s, so its process was ended; it had said:\n"
                f"{self._said()}"
            )
        if not line:
            status = self._process.wait()
            raise EngineError(
                f"the process of {self._name} ended with status {status} at {request}:\n{self._said()}"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise EngineError(f"{self._name} at {request}: {answer['error']}")
        return answer

    def _said(self) -> str:
        """The end of what it has written to standard error."""
        self._log.seek(0)
        return self._log.read()[-2000:]


class WorkerEngine:
    """An engine in a process of its own."""

    def __init__(self, name: str, row: Row, options: Options) -> None:
        self._process = WorkerProcess("worker", name, options)
        try:
            self.preparation = Preparation(
                **self._process.ask(
                    do="prepare", row=row.name, threads=options.threads, device=options.device
                )
            )
        except BaseException:
            self.close()
            raise

    def timed(self, steps: int) -> float:
        return float(self._process.ask(do="run", steps=steps)["seconds"])

    def peak_bytes(self) -> tuple[int, int]:
        answer = self._process.ask(do="memory")
        return int(answer["peak_bytes"]), int(answer["peak_device_bytes"])

    def results(self) -> dict[str, np.ndarray]:
        file = os.path.join(self._process.folder, "values.npz")
        self._process.ask(do="results", file=file)
        with np.load(file) as values:
            return dict(values)

    def close(self) -> None:
        self._process.close()


def _environment(name: str, options: Options, folder: str) -> dict[str, str]:
    """This process's environment, with a number of threads if one is asked for, tuned or not.

    What is compiled is compiled again, in `folder`, so that the time for it is that of the first use; the folder goes
    with the engine. What would lead
    MXNet's Python to packages that are not its own is left out.
    """
    environment = {**os.environ, "TMPDIR": folder, "TORCHINDUCTOR_CACHE_DIR": folder}
    environment["REBIND_TUNE"] = str(int(options.tuned))
    if options.tuned and "rebind" not in PEERS[name].needs:
        environment |= TUNED
    if PEERS[name].own_python:
        for key in ("PYTHONPATH", "PYTHONHOME"):
            environment.pop(key, None)
        # By itself MXNet takes half of the cores that it sees, which would not compare engines.
        environment.setdefault("OMP_NUM_THREADS", str(_threads_of_torch()))
    if options.threads is not None:
        # OpenMP of PyTorch and MXNet; XLA's threads. The others are told by their drivers.
        environment.update(OMP_NUM_THREADS=str(options.threads), NPROC=str(options.threads))
    return environment


@functools.cache
def _threads_of_torch() -> int:
    """How many threads PyTorch takes by itself; asked in another process, since this one does without it."""
    program = "import torch; print(torch.get_num_threads())"
    return int(subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True).stdout)


def find_mxnet(given: str | None) -> str | None:
    """The Python of an environment with MXNet: as given, else `REBIND_ORACLE`, else None."""
    python = given or os.environ.get("REBIND_ORACLE")
    if python and not os.access(python, os.X_OK):
        sys.exit(
            f"{python} (from {'--mxnet' if given else 'REBIND_ORACLE'}) is not a program that can be run"
        )
    return python
