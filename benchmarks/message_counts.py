"""How many messages a worker sends in a step of `fit`: counted in jobs of many processes on this machine.

The network is tiny, so that 64 processes fit on a machine of two cores; what is counted does not depend on speed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from tests.distributed.workers import run_job

import rebind as mx
from rebind.distributed import current_job

from .sockets import data_packets_of_sockets

__all__ = ["Counts", "count_messages"]

_STEPS = 4


@dataclass(frozen=True)
class Counts:
    """What one worker sends in a step.

    Attributes
    ----------
    arrays
        Those that `Job.transfer` is given: of gradients and weights.
    packets
        Packets with data at the sockets, but for those of the job's store: what `fit` asks of the next batch, too.
    """

    arrays: float
    packets: float


def count_messages(counts: Sequence[int]) -> Iterator[tuple[int, Counts]]:
    """Yield for each number of workers what the worker that sends most sends in a step."""
    patient = {"REBIND_TIMEOUT": "600", "REBIND_SIGN_TIMEOUT": "300"}  # each gets little of the processor
    for workers in counts:
        found: list[Any] = run_job(_train, workers, environment=patient, timeout=900)
        yield workers, Counts(*map(max, zip(*map(astuple, found), strict=True)))


def _train() -> Counts:
    """Train a tiny network as one worker; return what it sent in a step of the second half."""
    job, port = current_job(), int(os.environ["MASTER_PORT"])
    arrays, transfer = [0], job.transfer

    def counting(outgoing: Any, incoming: Any, tag: int) -> Any:
        arrays[0] += sum(rank != job.rank and source.numel() > 0 for rank, source in outgoing.items())
        return transfer(outgoing, incoming, tag)

    job.transfer = counting  # type: ignore[method-assign]
    seen: list[tuple[int, int]] = []

    def note(_: object) -> None:
        seen.append((arrays[0], data_packets_of_sockets(but_port=port)))

    data = mx.io.NDArrayIter(
        np.ones((2 * _STEPS, 64), "float32"), np.zeros(2 * _STEPS, "float32"), 1, label_name="softmax_label"
    )
    mx.mod.Module(_network()).fit(
        data, num_epoch=1, kvstore="dist_sync", initializer=mx.init.Xavier(), batch_end_callback=note
    )
    first, last = seen[_STEPS - 1], seen[-1]
    return Counts(*((after - before) / _STEPS for before, after in zip(first, last, strict=True)))


def _network() -> mx.sym.Symbol:
    """Return a network of small keys, and of large ones that are divided over the workers."""
    hidden = mx.sym.var("data")
    for layer in range(3):
        hidden = mx.sym.FullyConnected(hidden, num_hidden=128, name=f"layer{layer}")
        hidden = mx.sym.Activation(hidden, act_type="relu")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=2, name="last"), name="softmax")
