"""Callbacks that write a line into a file for each epoch."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from abc import abstractmethod
from collections.abc import Mapping

from ..checks import PATH, check_kind, refuses_unknown
from ..errors import MXNetError
from ..protocols import StateTree
from .hooks import Callback, EpochRecord
from .records import TrainedModule
from .shared import shared_run

__all__ = ["CSVLogger", "JSONLogger"]


class _EpochFile(Callback):
    """Writes a line for each epoch; a run that resumes from a checkpoint continues the file where that was saved.

    Parameters
    ----------
    path
        The file; its folder must exist.
    append
        Whether to continue a file that exists; otherwise it is written from the start.
    """

    @refuses_unknown
    def __init__(self, path: str | os.PathLike[str], append: bool = False) -> None:
        check_kind(type(self).__name__, PATH, path=path)
        self.path, self.append = os.fspath(path), append
        self._size: int | None = None  # of the file, as far as this run wrote it
        self._resumes = False

    @property
    def writes_to(self) -> str:
        """Where its file goes."""
        return self.path

    @abstractmethod
    def _text(self, figures: Mapping[str, float | None], first: bool) -> str:
        """Return the text of an epoch; `first` in the file."""

    def on_train_begin(self, module: TrainedModule) -> None:
        """Begin the file, or cut off what was written after the checkpoint from which the run resumes."""
        keep = self._size if self._resumes else None
        self._resumes = False
        if not shared_run(module).writes(self.path):
            return
        with open(self.path, "ab") as file:
            if keep is None:
                keep = file.tell() if self.append else 0
            # A file that is shorter by now is not filled up with zeros.
            self._size = min(keep, file.tell())
            file.truncate(self._size)

    def on_epoch_end(self, record: EpochRecord) -> None:
        """Write a line."""
        if not shared_run(record.module).writes(self.path):
            return
        figures: dict[str, float | None] = {
            "epoch": record.epoch,
            "seconds": round(record.seconds, 3),
            "learning_rate": _learning_rate(record.module),
            **{f"train_{name}": value for name, value in record.train.items()},
            **{f"validation_{name}": value for name, value in record.validation.items()},
        }
        text = self._text(figures, first=not self._size)
        # Opened for each line, so that the file is whole whenever the program ends.
        with open(self.path, "ab") as file:
            file.write(text.encode())
            self._size = file.tell()

    def state_dict(self) -> StateTree:
        """Return how far the file is written, for `load_state_dict`.

        >>> CSVLogger("log.csv").state_dict()
        {'size': None}
        """
        return {"size": self._size}

    def load_state_dict(self, state: StateTree) -> None:
        """Continue from what `state_dict` returned."""
        size = state["size"]
        self._size = size if isinstance(size, int) else None
        self._resumes = True


class CSVLogger(_EpochFile):
    """Writes a table with a row for each epoch: number, seconds, learning rate, figures.

    Give it in ``fit(..., callbacks=[...])``. A run that resumes from a checkpoint continues the file where the
    checkpoint was saved.

    Parameters
    ----------
    path
        The file; its folder must exist.
    append
        Whether to continue a file that exists; otherwise it is written from the start.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rebind.module import PythonLossModule
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = CSVLogger(f"{folder}/log.csv")  # fit(..., callbacks=[table])
    ...     table.on_train_begin(PythonLossModule())
    ...     for epoch in range(2):
    ...         table.on_epoch_end(EpochRecord(epoch, PythonLossModule(), 1.5, {"acc": 0.5}))
    ...     print(pathlib.Path(table.path).read_text())
    epoch,seconds,learning_rate,train_acc
    0,1.5,,0.5
    1,1.5,,0.5
    <BLANKLINE>
    """

    def _text(self, figures: Mapping[str, float | None], first: bool) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if first:
            writer.writerow(figures)
        writer.writerow(figures.values())
        return text.getvalue()


class JSONLogger(_EpochFile):
    """Writes a JSON object, in a line of its own, for each epoch: what `CSVLogger` writes.

    >>> import pathlib, tempfile
    >>> from rebind.module import PythonLossModule
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lines = JSONLogger(f"{folder}/log.jsonl")  # fit(..., callbacks=[lines])
    ...     lines.on_train_begin(PythonLossModule())
    ...     lines.on_epoch_end(EpochRecord(0, PythonLossModule(), 1.5, {"acc": 0.5}))
    ...     print(pathlib.Path(lines.path).read_text())
    {"epoch": 0, "seconds": 1.5, "learning_rate": null, "train_acc": 0.5}
    <BLANKLINE>
    """

    def _text(self, figures: Mapping[str, float | None], first: bool) -> str:
        # JSON has no nan and no infinity.
        valid = {
            key: None if value is None or not math.isfinite(value) else value
            for key, value in figures.items()
        }
        return json.dumps(valid) + "\n"


def _learning_rate(module: TrainedModule) -> float | None:
    """Return the learning rate; None where a module has no optimizer of its own."""
    try:
        optimizers = module.optimizers()
    except MXNetError:
        return None
    return float(optimizers[0].learning_rate) if optimizers else None
