"""Do the engines compute the same thing? The same parameters, batch and steps must give the same numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .engines import Options, WorkerEngine
from .networks import Row, initial_value

REFERENCE = "torch"


@dataclass(frozen=True)
class Limits:
    """How many steps to do, and how far results may lie apart then (relative lengths of vectors)."""

    steps: int  # a second step uses the momentum that the first one left
    output: float
    update: float
    statistics: float


# Measured between two layouts of one PyTorch network, and between PyTorch and MXNet: rounding alone stays
# below 1e-4 in the shallow networks. In the residual networks at this batch it grows to 1% (18 layers) and 5%
# (50 layers) of the update within one step, and a second step is ruled by it, so these do one.
# PyTorch moves its statistics by the unbiased variance and MXNet by the biased one: up to 2% here.
SHALLOW = Limits(steps=2, output=1e-4, update=1e-3, statistics=0.0)
RESIDUAL = Limits(steps=1, output=1e-3, update=0.1, statistics=0.05)
INFERENCE = Limits(steps=1, output=1e-4, update=0.0, statistics=0.0)


def limits_of(row: Row) -> Limits:
    """What is asked of `row`."""
    if not row.training:
        return INFERENCE
    return RESIDUAL if row.name.startswith("resnet") else SHALLOW


@dataclass(frozen=True)
class Agreement:
    """Largest deviations of one engine from the reference, and the names where they are."""

    output: float
    update: float
    update_name: str
    statistics: float
    statistics_name: str

    def __str__(self) -> str:
        return (
            f"  output {self.output:.1e}  update {self.update:.1e} ({self.update_name})"
            f"  statistics {self.statistics:.1e} ({self.statistics_name})"
        )

    def within(self, limits: Limits) -> bool:
        """True if no deviation is above its limit (NaN is)."""
        return (
            self.output <= limits.output
            and self.update <= limits.update
            and self.statistics <= limits.statistics
        )  # fmt: skip


def results_of(engine: str, row: Row, options: Options) -> dict[str, np.ndarray]:
    """Output, parameters and statistics after the steps of the check, of which the preparation does the first."""
    made = WorkerEngine(engine, row, options)
    try:
        made.timed(limits_of(row).steps - 1)
        return made.results()
    finally:
        made.close()


def compare(found: dict[str, np.ndarray], expected: dict[str, np.ndarray], row: Row) -> Agreement:
    """Deviation of the output relative to the output, of all others relative to how far they moved.

    Engines for inference only may keep their parameters to themselves.
    """
    if found.keys() != (expected.keys() if row.training else found.keys() & expected.keys() | {"output"}):
        raise ValueError(f"the names differ: {sorted(found.keys() ^ expected.keys())}")
    worst = {"update": (0.0, "-"), "statistics": (0.0, "-")}
    output = 0.0
    for name in found:
        value = expected[name]
        if found[name].shape != value.shape:
            raise ValueError(f"{name}: shape {found[name].shape} where the reference has {value.shape}")
        difference, size = _length(found[name] - value), _length(value)
        if name == "output":
            output = difference / size
            continue
        moved = _length(value - initial_value(name, value.shape))
        deviation = difference / max(moved, 1e-3 * size)  # below that, rounding of the value itself rules
        kind = "statistics" if "_moving_" in name else "update"
        if not deviation <= worst[kind][0]:
            worst[kind] = (deviation, name)
    return Agreement(output, *worst["update"], *worst["statistics"])


def _length(values: np.ndarray) -> float:
    return float(np.linalg.norm(values.astype(np.float64)))
