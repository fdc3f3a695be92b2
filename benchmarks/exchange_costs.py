"""What an exchange over workers costs: measured on this machine, and the constants that describe it.

Jobs of several sizes run on the loopback address, and in network namespaces with delay, or with a bounded rate.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .jobs import run_job
from .namespaces import Link, Switch, start_workers

__all__ = ["FORMS", "Costs", "Form", "fit", "measure_exchanges"]

_WORKER = "benchmarks.exchange_worker"
#: The networks: how many workers they are measured with, how many bytes are exchanged, and how often.
_LOOPBACK = ((2, 4, 8, 16), (4096, 65536, 2**20, 2**22), 20)
_NETWORKS = {
    Link("2 ms", delay=0.002): ((2, 4, 8, 16), (4096,), 15),
    Link("10 ms", delay=0.010): ((2, 4, 8, 16), (4096,), 10),
    Link("40 Mbit/s", rate=5e6): ((2, 4, 8), (2**18, 2**20), 5),
}


@dataclass(frozen=True)
class Form:
    """What an exchange of a form takes of each worker, by the sizes of the mesh of workers.

    Attributes
    ----------
    messages
        How many messages it sends.
    stages
        How many times it waits for what others have received before.
    passes
        How many times each worker sends all parts but its own.

    Examples
    --------
    >>> (
    ...     FORMS["gradients"].messages((4, 2)),
    ...     FORMS["gradients"].stages((4, 2)),
    ...     FORMS["all_reduce"].stages((4, 2)),
    ... )
    (4, 2, 14)
    """

    messages: Callable[[Sequence[int]], int]
    stages: Callable[[Sequence[int]], int]
    passes: int = 1

    def sent(self, sizes: Sequence[int], size: float) -> float:
        """Return how many bytes a worker sends of an array of so many.

        >>> FORMS["all_reduce"].sent((4,), 1000)
        1500.0
        """
        workers = math.prod(sizes)
        return self.passes * size * (workers - 1) / workers


def _ring(passes: int) -> Form:
    """Return a form in which each sends to its neighbour only, what it received in the stage before."""

    def steps(sizes: Sequence[int]) -> int:
        return passes * (math.prod(sizes) - 1)

    return Form(steps, steps, passes)


_STAGED = Form(lambda sizes: sum(size - 1 for size in sizes), len)
#: rebind's two, and the collectives of `torch.distributed`. Gloo's reduce-scatter is an all-reduce inside.
FORMS: dict[str, Form] = {
    "gradients": _STAGED, "weights": _STAGED,
    "all_reduce": _ring(2), "reduce_scatter": _ring(2), "all_gather": _ring(1),
}  # fmt: skip


@dataclass(frozen=True)
class Costs:
    """The constants of a form of exchange.

    Attributes
    ----------
    call, stage, message, byte
        Seconds of the processor for an exchange, for each of its stages and messages, and for each byte that is sent.
    delays
        How many times the delay of the network passes in a stage.
    wire
        How many bytes the network carries for one that is sent: headers, and pauses.
    residuals
        The median of the relative differences between what was measured and what the constants say: of the processor's
        time, and of the rest on a network with delay, and with a bounded rate.
    """

    call: float
    stage: float
    message: float
    byte: float
    delays: float
    wire: float
    residuals: Mapping[str, float] = field(default_factory=dict)


def fit(form: Form, samples: Sequence[Mapping[str, Any]]) -> Costs:
    """Return the constants of a form that describe its samples best, by least squares of relative differences.

    >>> exact = [
    ...     {
    ...         "mesh": [n], "bytes": size, "delay": delay, "rate": rate, "busy": 1e-4 + 2e-4 * (n - 1),
    ...         "seconds": [1e-4 + 2e-4 * (n - 1) + 2 * delay + (size * (n - 1) / n / rate if rate else 0)],
    ...     }
    ...     for n in (2, 4) for size in (4096, 65536) for delay, rate in ((0, 0), (1, 0), (0, 1e3))
    ... ]
    >>> costs = fit(FORMS["weights"], exact)
    >>> round(costs.call + costs.stage, 6), round(costs.message, 6), round(costs.delays, 3), round(costs.wire, 3)
    (0.0001, 0.0002, 2.0, 1.0)
    """  # fmt: skip
    near = [each for each in samples if not (each["delay"] or each["rate"])]
    late = [each for each in samples if each["delay"]]
    slow = [each for each in samples if each["rate"]]
    work = [
        [1.0, form.stages(each["mesh"]), form.messages(each["mesh"]), form.sent(each["mesh"], each["bytes"])]
        for each in near
    ]
    (call, stage, message, byte), processor = _least_squares(work, [each["busy"] for each in near])
    stages = [[form.stages(each["mesh"]) * each["delay"]] for each in late]
    (delays,), delay = _least_squares(stages, list(map(_waited, late)))
    bytes_over_rate = [[form.sent(each["mesh"], each["bytes"]) / each["rate"]] for each in slow]
    (wire,), rate = _least_squares(bytes_over_rate, list(map(_waited, slow)))
    return Costs(
        call, stage, message, byte, delays, wire, {"processor": processor, "delay": delay, "rate": rate}
    )


def _waited(sample: Mapping[str, Any]) -> float:
    """Return the seconds of an exchange in which its worker's processor waited."""
    return max(statistics.median(sample["seconds"]) - sample["busy"], 1e-9)


def _least_squares(rows: Sequence[Sequence[float]], seconds: Sequence[float]) -> tuple[list[float], float]:
    """Return the factors of the columns of `rows`, none of them negative, and the median relative residual."""
    weighted = np.array(rows) / np.array(seconds)[:, None]
    columns = list(range(weighted.shape[1]))
    while True:
        found = np.linalg.lstsq(weighted[:, columns], np.ones(len(seconds)), rcond=None)[0]
        if (found >= 0).all():
            break
        columns.pop(int(found.argmin()))
    factors = np.zeros(weighted.shape[1])
    factors[columns] = found
    return factors.tolist(), float(np.median(np.abs(weighted @ factors - 1)))


def measure_exchanges(say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Yield a sample for each network, number of workers, form of exchange and number of bytes."""
    counts, sizes, repeats = _LOOPBACK
    for workers in counts:
        say(f"loopback, {workers} workers")
        yield from _samples(Link("loopback"), workers, run_job(_WORKER, _arguments(sizes, repeats), workers))
    for link, (counts, sizes, repeats) in _NETWORKS.items():
        for workers in counts:
            say(f"{link.title}, {workers} workers")
            yield from _samples(link, workers, _over(link, workers, _arguments(sizes, repeats)))


def _samples(link: Link, workers: int, printed: str) -> Iterator[dict[str, Any]]:
    for each in json.loads(printed.splitlines()[-1]):
        yield {"network": link.title, "delay": link.delay, "rate": link.rate, "workers": workers, **each}


def _arguments(sizes: Sequence[int], repeats: int) -> list[str]:
    return [",".join(map(str, sizes)), str(repeats)]


def _over(link: Link, workers: int, arguments: Sequence[str]) -> str:
    """Return what worker 0 prints of a job in namespaces."""
    started = start_workers(_WORKER, arguments, workers)
    switch = Switch(started, link)
    while any(worker.process.poll() is None for worker in started):
        switch.turn()
    outputs = [worker.process.communicate() for worker in started]
    for worker, (_, error) in zip(started, outputs, strict=True):
        os.close(worker.packets)
        if worker.process.returncode:
            raise RuntimeError(f"{link.title}, {workers} workers: a process failed\n{error}")
    return outputs[0][0]
