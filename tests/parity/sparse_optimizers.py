"""Runs of optimizers with row_sparse gradients for the records of `generate_sparse_optimizers.py`: ten steps."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .optimizers import STEPS

SHAPES: dict[str, tuple[int, ...]] = {"table_weight": (7, 3), "other_weight": (5, 2), "third_bias": (4, 1)}
FULL = {"learning_rate": 0.02, "rescale_grad": 0.5, "clip_gradient": 0.6, "begin_num_update": 2}


@dataclass(frozen=True)
class SparseRun:
    """An optimizer with its settings, and the storage type of its weights.

    A `full` run has rescaled and clipped gradients, a schedule, a multiplier, and a number of updates done before.
    """

    optimizer: str
    stype: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    full: bool = False
    rtol: float = 2e-6

    @property
    def name(self) -> str:
        """The run as text."""
        settings = [f"{k}={v}" for k, v in self.settings.items()]
        return ", ".join([self.optimizer, self.stype, *settings, *(["full"] if self.full else [])])

    def create(self, library: Any) -> Any:
        """Make the optimizer with MXNet or with rebind."""
        settings: dict[str, Any] = {"param_idx2name": dict(enumerate(SHAPES)), **self.settings}
        if self.full:
            settings = {**FULL, **settings}
            rate = settings["learning_rate"]
            settings["lr_scheduler"] = library.lr_scheduler.FactorScheduler(4, 0.7, base_lr=rate)
        made = library.optimizer.create(self.optimizer, **settings)
        if self.full:
            made.set_lr_mult({"other_weight": 3.0})
        return made

    def weights(self, library: Any) -> list[Any]:
        """Draw the weights; always the same."""
        random = np.random.RandomState(zlib.crc32(self.name.encode()))
        drawn = [random.uniform(0.5, 1.5, shape).astype("float32") for shape in SHAPES.values()]
        return [library.nd.array(each).tostype(self.stype) for each in drawn]

    def gradients(self, library: Any) -> list[list[Any]]:
        """Draw for each step the gradients, of some rows, all or none; always the same."""
        random = np.random.RandomState(zlib.crc32(self.name.encode()) + 1)
        steps = []
        for _ in range(STEPS):
            drawn = []
            for shape in SHAPES.values():
                grad = (2 * random.randn(*shape)).astype("float32")
                grad[random.permutation(shape[0])[random.randint(0, shape[0] + 1) :]] = 0
                drawn.append(library.nd.array(grad).tostype("row_sparse"))
            steps.append(drawn)
        return steps


def _runs() -> Iterator[SparseRun]:
    decay, momentum = {"wd": 0.05}, {"momentum": 0.9}
    for stype in ("default", "row_sparse"):
        for name, settings in (
            ("sgd", {}),
            ("sgd", decay),
            ("sgd", {**momentum, **decay}),
            ("ccsgd", momentum),
            ("adam", {}),
            ("adam", {**decay, "beta1": 0.5, "epsilon": 1e-3}),
            ("adagrad", {"eps": 1e-4}),
            ("groupadagrad", {}),
        ):
            yield SparseRun(name, stype, settings)
            yield SparseRun(name, stype, settings, full=True)
        for settings in (decay, {**momentum, **decay}):
            yield SparseRun("sgd", stype, {**settings, "lazy_update": False}, full=True)
        yield SparseRun("adam", stype, {**decay, "lazy_update": False}, full=True)
        # What MXNet has no sparse kernels for: all rows change.
        for name in ("rmsprop", "signum", "adadelta", "ftml"):
            yield SparseRun(name, stype, decay)
        # NAG of a row_sparse weight takes the old weight for its decay, that of a dense one the new weight.
        yield SparseRun("nag", stype, momentum if stype == "row_sparse" else {**momentum, **decay})
        # Without momentum it is SGD.
        yield SparseRun("nag", stype, decay)
        yield SparseRun("lbsgd", stype, {**momentum, **decay})
    # Rows that a gradient lacks become 0 in a dense weight: left out.
    yield SparseRun("ftrl", "row_sparse", {})
    yield SparseRun("ftrl", "row_sparse", {**decay, "lamda1": 0.2}, full=True)


RUNS = {run.name: run for run in _runs()}
