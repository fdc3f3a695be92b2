"""Other work on the machine while steps are timed (`--busy`).

A load is one or several kinds joined by `+`: `loops:4` is four Python loops, `training` a LeNet in PyTorch with its own
number of threads. Each is a process that ends with its standard input, so also when the benchmark is killed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from types import TracebackType

from .engines import ROOT

__all__ = ["Load"]


@dataclass
class Load:
    """Processes that compute between `with` and its end."""

    name: str
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list, repr=False)

    @classmethod
    def parse(cls, text: str) -> list[Load]:
        """Loads out of the command line: `loops:2,loops:2+training`."""
        loads = [cls(name) for name in text.split(",")]
        for load in loads:
            load._kinds()
        return loads

    def _kinds(self) -> list[str]:
        """What each process does."""
        kinds = []
        for part in self.name.split("+"):
            kind, _, count = part.partition(":")
            if part != "training" and not (kind == "loops" and count.isdecimal() and int(count) > 0):
                raise argparse.ArgumentTypeError(
                    f"{part!r} is neither 'training' nor 'loops:N', with N processes"
                )
            kinds += [kind] * int(count or 1)
        return kinds

    def __enter__(self) -> Load:
        try:
            for kind in self._kinds():
                self._processes.append(_start(kind))
            for process in self._processes:
                assert process.stdout is not None
                if not process.stdout.readline():
                    raise RuntimeError(f"a process of the load {self.name} did not start")
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ended = [process for process in self._processes if process.poll() is not None]
        self._stop()
        if ended and error is None:
            raise RuntimeError(f"{len(ended)} processes of the load {self.name} ended while steps were timed")

    def _stop(self) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
            for stream in (process.stdin, process.stdout):
                assert stream is not None
                stream.close()
        self._processes.clear()


def _start(kind: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.busy", kind],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # An interrupt from the keyboard is for the benchmark, which then stops them. Of the same session they stay: the
        # system may give each session the same share of the processors, however many processes it has.
        preexec_fn=os.setpgrp,
    )


# --------------------------------------------------------------------------- in the processes of the load


def _end_with_standard_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def _loop() -> None:
    print("ready", flush=True)
    while True:
        pass


def _train() -> None:
    from .networks import ROWS
    from .peers_torch import TorchDriver

    driver = TorchDriver(ROWS["lenet"])
    driver.run(2)
    print("ready", flush=True)
    while True:
        driver.run(100)


if __name__ == "__main__":
    threading.Thread(target=_end_with_standard_input, daemon=True).start()
    {"loops": _loop, "training": _train}[sys.argv[1]]()
