"""Rows that come from files in order, and the last batch of an epoch: MXNet's ``round_batch``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from ..errors import ShapeError
from ..ndarray import NDArray
from .batch import DataBatch, DataDesc
from .iterator import DataIter, State

__all__ = ["RoundedBatches", "RowReader", "Rows"]


class Rows(Protocol):
    """Consecutive rows of one array of a batch, in any form; a slice of them has the same form."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: slice) -> Any: ...


Piece = TypeVar("Piece", bound=Rows)


class RowReader(Protocol[Piece]):
    """Reads rows in order, for each array of a batch: those of its data, then those of its labels."""

    #: How many of the arrays are data.
    num_data: int

    def read(self, count: int) -> list[Piece]:
        """Return the next `count` rows of each array, fewer at the end, and none after it."""

    def join(self, parts: Sequence[list[Piece]]) -> list[Piece]:
        """Return several answers of `read` as one."""

    def blank(self, count: int) -> list[Piece]:
        """Return `count` rows of zeros."""

    def arrays(self, rows: list[Piece]) -> list[NDArray]:
        """Return the arrays of a batch."""

    def rewind(self) -> None:
        """Go back to the first row."""

    def state_dict(self) -> State:
        """Return the position, for `load_state_dict`."""

    def load_state_dict(self, state: State) -> None:
        """Go back to a position that `state_dict` returned."""


class RoundedBatches(DataIter, Generic[Piece]):
    """Batches of a reader's rows.

    With `round_batch`, rows from the start fill the last batch up, and the next epoch begins behind them. Without it,
    the last batch keeps what the batch before had in its place, and every epoch begins at the first row. In either case
    `pad` counts these rows, and `index` is the number of each row.

    Parameters
    ----------
    reader
        Reads the rows.
    name
        What the rows are from, for messages.
    provide_data, provide_label
        What the batches have.
    """

    def __init__(
        self,
        reader: RowReader[Piece],
        name: str,
        provide_data: Sequence[DataDesc],
        provide_label: Sequence[DataDesc],
        *,
        batch_size: int,
        round_batch: bool,
    ) -> None:
        super().__init__(batch_size)
        self.provide_data, self.provide_label = provide_data, provide_label
        self.round_batch = round_batch
        self._reader = reader
        self._name = name
        self._row = 0  # the number of the next row
        self._ended = False
        self._carried = False  # the last batch has taken rows from the start
        # Without `round_batch`, the batch before and its index, for what fills up the last one; and where it began.
        self._before: tuple[list[Piece], np.ndarray] | None = None
        self._before_at: State = {}

    def next(self) -> DataBatch:
        """Return the next batch; StopIteration at the end."""
        at = {} if self.round_batch else {"reader": self._reader.state_dict(), "row": self._row}
        rows = [] if self._ended else self._reader.read(self.batch_size)
        count = len(rows[0]) if rows else 0
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
        arrays = self._reader.arrays(rows)
        data, label = arrays[: self._reader.num_data], arrays[self._reader.num_data :]
        return DataBatch(data, label, pad=self.batch_size - count, index=index)

    def _from_the_start(self, rows: list[Piece], index: np.ndarray) -> tuple[list[Piece], np.ndarray]:
        parts, numbers, missing = [rows], [index], self.batch_size - len(index)
        self._carried = True
        while missing:  # more than once where a batch has more rows than there are
            self._reader.rewind()
            more = self._reader.read(missing)
            parts.append(more)
            self._row = len(more[0])
            numbers.append(np.arange(self._row, dtype=np.uint64))
            missing -= self._row
        return self._reader.join(parts), np.concatenate(numbers)

    def _from_the_last(self, rows: list[Piece], index: np.ndarray) -> tuple[list[Piece], np.ndarray]:
        count = len(index)
        if self._before is None:
            before, numbers = self._reader.blank(self.batch_size), np.zeros(self.batch_size, np.uint64)
        else:
            before, numbers = self._before
        rest = [each[count:] for each in before]
        return self._reader.join([rows, rest]), np.concatenate([index, numbers[count:]])

    def reset(self) -> None:
        """Begin a new epoch, behind the rows that the last batch has taken from the start."""
        if not self._carried:
            self._reader.rewind()
            self._row = 0
        self._carried = self._ended = False

    def state_dict(self) -> State:
        """Return the position in the data, for `load_state_dict`."""
        return {
            "reader": self._reader.state_dict(),
            "row": self._row,
            "ended": self._ended,
            "carried": self._carried,
            "before": None if self._before is None else self._before_at,
        }

    def load_state_dict(self, state: State) -> None:
        """Go back to a position that `state_dict` returned."""
        self._before = None
        if state["before"] is not None:  # read again, rather than kept in every saved position
            self._before_at = state["before"]
            self._reader.load_state_dict(self._before_at["reader"])
            first = int(self._before_at["row"])
            numbers = np.arange(first, first + self.batch_size, dtype=np.uint64)
            self._before = self._reader.read(self.batch_size), numbers
        self._reader.load_state_dict(state["reader"])
        self._row = int(state["row"])
        self._ended, self._carried = bool(state["ended"]), bool(state["carried"])
