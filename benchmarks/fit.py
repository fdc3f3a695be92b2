"""The command `python -m benchmarks.fit`: what a batch costs in `Module.fit` beyond the bare step.

`fit` takes its batches from an iterator, measures accuracy, calls a `Speedometer`, and counts. The bare step is
`forward_backward` and `update` of the same module. The two take turns, batch by batch, in one thread, and are timed by
the processor, so that other work on the machine disturbs them little.
"""

from __future__ import annotations

import argparse
import operator
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from .command import Names, set_threads, wide
from .networks import LEARNING_RATE, MOMENTUM, ROWS, Row
from .report import describe_machine

__all__ = ["BATCHES", "FIRST", "TRAINED", "Fit", "main"]

#: Batches of an epoch, and the first that is timed: those before it set up what the others need.
BATCHES, FIRST = 100, 5
TRAINED = ("mlp", "lenet")


class Fit:
    """Epochs of `fit`, after each batch of which a callback takes a bare step.

    Attributes
    ----------
    in_fit, bare
        Microseconds of each batch, and of the bare step after it.
    """

    def __init__(self, row: Row, shuffle: bool = False) -> None:
        import rebind as mx

        size = row.batch_size
        data = np.random.default_rng(0).random((BATCHES * size, *row.data_shape[1:]), np.float32)
        self.batches = mx.io.NDArrayIter(data, np.arange(len(data)) % row.classes, size, shuffle=shuffle)
        # The bare step has its own, which are no more in the cache than those of `fit`.
        self._others = list(mx.io.NDArrayIter(data[::-1], np.arange(len(data)) % row.classes, size))
        self.module = mx.mod.Module(row.network(mx))
        self._speedometer = mx.callback.Speedometer(size, BATCHES // 2)
        self.in_fit: list[float] = []
        self.bare: list[float] = []
        self._began = 0.0

    def epoch(self) -> None:
        """Train an epoch."""
        self.module.fit(
            self.batches,
            num_epoch=1,
            optimizer_params={"learning_rate": LEARNING_RATE, "momentum": MOMENTUM},
            batch_end_callback=[self._speedometer, self._step],
        )

    def _step(self, record: Any) -> None:
        ended = time.process_time()
        batch = self._others[record.nbatch]
        self.module.forward_backward(batch)
        self.module.update()
        now = time.process_time()
        if record.nbatch >= FIRST:
            self.in_fit.append(1e6 * (ended - self._began))
            self.bare.append(1e6 * (now - ended))
        self._began = time.process_time()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is the exit status."""
    parser = argparse.ArgumentParser("python -m benchmarks.fit", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rows", type=Names(TRAINED), default=TRAINED, metavar="LIST", help=", ".join(TRAINED)
    )
    parser.add_argument("--epochs", type=int, default=20, metavar="N", help="epochs (default: 20)")
    parser.add_argument("--shuffle", action="store_true", help="in another order in each epoch")
    given = parser.parse_args(arguments)
    set_threads(1)
    table = Table("row", "fit, µs a batch", "bare step", "more in fit (quartiles)", "of the step")
    for name in given.rows:
        run = Fit(ROWS[name], given.shuffle)
        for _ in range(given.epochs):
            run.epoch()
        in_fit, bare = statistics.median(run.in_fit), statistics.median(run.bare)
        differences = map(operator.sub, run.in_fit, run.bare)
        low, more, high = statistics.quantiles(differences)
        table.add_row(
            name,
            f"{in_fit:.0f}",
            f"{bare:.0f}",
            f"{more:.0f} ({low:.0f}–{high:.0f})",
            f"{100 * more / bare:.1f} %",
        )
    console = Console()
    wide(console).print(table)
    machine = describe_machine()
    console.print(
        f"{machine['processor']}, {machine['cores']} cores; one thread, processor's time. Medians of {given.epochs} "
        f"epochs of {BATCHES} batches; the difference is taken within each pair.",
        highlight=False,
        soft_wrap=True,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
