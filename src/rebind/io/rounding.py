"""Batches of rows that come from files in order, and the last batch of an epoch: MXNet's ``round_batch``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..dtypes import numpy_type
from ..errors import ShapeError
from .batch import DataBatch, DataDesc
from .chunked_rows import FilesInStep
from .iterator import DataIter, State
from .rows import Rows, join_rows, rows_between, zero_rows

__all__ = ["RoundedBatches"]


class RoundedBatches(DataIter):
    """Batches of a reader's rows.

    With `round_batch`, rows from the start fill the last batch up, and the next epoch begins behind them. Without it,
    the last batch ends with samples of the batch before, and every epoch begins at the first row. In either case
    `pad` counts these rows, and `index` is the number of each row.

    Parameters
    ----------
    reader
        Reads the rows.
    name
        What the rows are from, for messages.
    data_name, label_name
        The names in `provide_data` and `provide_label`.
    """

    def __init__(
        self,
        reader: FilesInStep,
        name: str,
        data_name: str,
        label_name: str,
        *,
        batch_size: int,
        round_batch: bool,
    ) -> None:
        super().__init__(batch_size)
        dtype = numpy_type(reader.dtype)
        self.provide_data, self.provide_label = (
            [DataDesc(array, (batch_size, *shape), dtype)]
            for array, shape in zip((data_name, label_name), reader.shapes)
        )
        self.round_batch = round_batch
        self._reader = reader
        self._name = name
        self._row = 0  # the number of the next row
        self._ended = False
        self._carried = False  # the last batch has taken rows from the start
        # Without `round_batch`, the batch before and its index, for what fills up the last one; and where it began.
        self._before: tuple[list[Rows], np.ndarray] | None = None
        self._before_at: State = {}

    def next(self) -> DataBatch:
        at = {} if self.round_batch else {"reader": self._reader.state_dict(), "row": self._row}
        rows = [] if self._ended else self._reader.read(self.batch_size)
        count = rows[0].shape[0] if rows else 0
        if not count:
            if not (self._row or self._ended):
                raise ShapeError(f"{self._name} must have at least one sample; got none")
            self._ended = True
            raise StopIteration
        index = np.arange(self._row, self._row + count, dtype=np.uint64)
        self._row += count
        if count < self.batch_size:
            self._ended = True
            fill = self._from_the_start if self.round_batch else self._from_the_last
            rows, index = fill(rows, index)
        elif not self.round_batch:
            self._before, self._before_at = (rows, index), at
        data, label = self._reader.arrays(rows)
        return DataBatch([data], [label], pad=self.batch_size - count, index=index)

    def _from_the_start(self, rows: list[Rows], index: np.ndarray) -> tuple[list[Rows], np.ndarray]:
        parts, numbers, missing = [rows], [index], self.batch_size - len(index)
        self._carried = True
        while missing:  # more than once where a batch has more rows than there are
            self._reader.rewind()
            more = self._reader.read(missing)
            parts.append(more)
            self._row = more[0].shape[0]
            numbers.append(np.arange(self._row, dtype=np.uint64))
            missing -= self._row
        return _joined(parts), np.concatenate(numbers)

    def _from_the_last(self, rows: list[Rows], index: np.ndarray) -> tuple[list[Rows], np.ndarray]:
        count = len(index)
        if self._before is None:
            missing = self.batch_size - count
            rest, numbers = [zero_rows(missing, part) for part in rows], np.zeros(missing, np.uint64)
        else:
            before, numbers = self._before
            rest = [rows_between(part, count, self.batch_size) for part in before]
            numbers = numbers[count:]
        return _joined([rows, rest]), np.concatenate([index, numbers])

    def reset(self) -> None:
        """Begin a new epoch, behind the rows that the last batch has taken from the start."""
        if not self._carried:
            self._reader.rewind()
            self._row = 0
        self._carried = self._ended = False

    def state_dict(self) -> State:
        return {
            "reader": self._reader.state_dict(),
            "row": self._row,
            "ended": self._ended,
            "carried": self._carried,
            "before": None if self._before is None else self._before_at,
        }

    def load_state_dict(self, state: State) -> None:
        self._before = None
        if state["before"] is not None:  # read again, rather than saved in every position
            self._before_at = state["before"]
            self._reader.load_state_dict(self._before_at["reader"])
            first = int(self._before_at["row"])
            numbers = np.arange(first, first + self.batch_size, dtype=np.uint64)
            self._before = self._reader.read(self.batch_size), numbers
        self._reader.load_state_dict(state["reader"])
        self._row = int(state["row"])
        self._ended, self._carried = bool(state["ended"]), bool(state["carried"])


def _joined(parts: Sequence[Sequence[Rows]]) -> list[Rows]:
    return [join_rows(pieces) for pieces in zip(*parts)]
