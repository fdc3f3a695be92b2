"""Protocols of objects from higher layers that the data-parallel code uses: batches, metrics, monitors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from ...dtypes import DTypeLike
from ...ndarray import NDArray
from ...protocols import Logger
from ...shapes import Shape
from ..executor import Executor

__all__ = ["ArrayLike", "Batch", "InputDesc", "Labels", "Logger", "MetricLike", "MonitorLike"]

#: An array of a batch: an NDArray, or what becomes one.
ArrayLike: TypeAlias = "NDArray | np.ndarray | Sequence[float]"


#: Labels of a batch, or a list of such lists, one for each device.
Labels: TypeAlias = "Sequence[ArrayLike] | Sequence[Sequence[ArrayLike]]"


class InputDesc(Protocol):
    """The description of one input: `io.DataDesc` is one."""

    @property
    def name(self) -> str:
        """The name of the network's input."""

    @property
    def shape(self) -> Shape:
        """Its shape, batch axis included."""

    @property
    def dtype(self) -> DTypeLike:
        """The type of its elements."""

    @property
    def layout(self) -> str | None:
        """A letter for each axis; ``N`` is the batch axis."""


class Batch(Protocol):
    """A batch: `io.DataBatch` is one. `label` may be absent."""

    @property
    def data(self) -> Sequence[ArrayLike] | None:
        """The data, in the order of the descriptions."""


class MetricLike(Protocol):
    """What takes labels and outputs by name: `metric.EvalMetric` is one."""

    def update_dict(self, label: Mapping[str, NDArray], pred: Mapping[str, NDArray], /) -> None:
        """Add one batch."""


class MonitorLike(Protocol):
    """What watches executors: `monitor.Monitor` is one."""

    def install(self, exe: Executor, /) -> None:
        """Watch an executor."""
