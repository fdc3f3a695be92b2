"""The records of one epoch after the other, in MXNet's order: parts, blocks, shuffled or not."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from ...errors import FormatError, MissingFileError
from ...recordio import RecordReader, read_index
from ..iterator import State
from ..partition import byte_bounds
from ..shuffling import Shuffler

__all__ = ["Order", "Record", "RecordFiles", "RecordSource", "record_source"]

#: Bytes that are read, and shuffled, together where there is no index.
BLOCK = 8 << 20

# What MXNet adds to the seeds that are given.
_ORDER_SEED, _PIECES_SEED = 111, 666


class Record(NamedTuple):
    """A record, and where it is."""

    content: bytes
    path: str
    position: int

    @property
    def where(self) -> str:
        """Where it is, for messages."""
        return f"record at byte {self.position} of {self.path!r}"


@dataclass(frozen=True)
class Order:
    """Which records there are, and in which order.

    Attributes
    ----------
    num_parts, part_index
        How many parts the records are divided into, and which of them is meant.
    shuffle
        Whether to shuffle, again in each epoch.
    seed
        Of the order within an index, or within each block.
    chunk_size
        Without an index: MB in a piece; pieces are shuffled. 0 for one piece.
    chunk_seed
        Of the order of pieces.
    """

    num_parts: int = 1
    part_index: int = 0
    shuffle: bool = False
    seed: int = 0
    chunk_size: int = 0
    chunk_seed: int = 0


class RecordFiles:
    """Record files as one: positions count through all of them.

    Parameters
    ----------
    paths
        Names of files with ``;`` between them, or a folder, for all files in it.
    """

    def __init__(self, paths: str) -> None:
        self.paths = _expanded(paths)
        for path in self.paths:
            if not os.path.isfile(path):
                raise MissingFileError(f"the record file {path!r} must exist")
        sizes = [os.path.getsize(path) for path in self.paths]
        self.starts = [0, *accumulate(sizes)]
        self.size = self.starts[-1]
        self._readers = [RecordReader(path) for path in self.paths]
        self._pid = os.getpid()

    def read(self, position: int) -> tuple[Record, int]:
        """Return the record at a position, and the position of the next one."""
        # In a child of a fork, which shares the position of open files with its parent.
        if self._pid != os.getpid():
            self._readers, self._pid = [RecordReader(path) for path in self.paths], os.getpid()
        at = bisect_right(self.starts, position) - 1
        reader, start = self._readers[at], self.starts[at]
        reader.position = position - start
        content = reader.read()
        if content is None:
            raise FormatError(
                f"{self.paths[at]!r} must have a record at byte {position - start}; got its end"
            )
        return Record(content, self.paths[at], position - start), start + reader.position

    def next_begin(self, position: int) -> int:
        """Return where the first record of a part begins whose bound is at a position."""
        if position in (0, self.size):
            return position
        at = bisect_right(self.starts, position) - 1
        return self.starts[at] + self._readers[at].next_begin(position - self.starts[at])

    def close(self) -> None:
        """Close the files."""
        for reader in self._readers:
            reader.close()


def _expanded(paths: str) -> list[str]:
    files: list[str] = []
    for path in filter(None, paths.split(";")):
        if os.path.isdir(path):
            names = sorted(os.listdir(path))
            files += [file for name in names if os.path.isfile(file := os.path.join(path, name))]
        else:
            files.append(path)
    if not files:
        raise MissingFileError(f"path_imgrec must name a record file; got {paths!r}")
    return files


class RecordSource(ABC):
    """Gives the records of an epoch in order; `reset` begins the next epoch."""

    def __init__(self, files: RecordFiles, order: Order) -> None:
        self.files = files
        self._order = order
        self._shuffler = Shuffler(_ORDER_SEED + order.seed)

    @abstractmethod
    def read(self, count: int) -> list[Record]:
        """Return the next `count` records, fewer at the end of the epoch, and none after it."""

    @abstractmethod
    def reset(self) -> None:
        """Begin an epoch."""

    @abstractmethod
    def state_dict(self) -> State:
        """Return the position, for `load_state_dict`."""

    @abstractmethod
    def load_state_dict(self, state: State) -> None:
        """Go back to a position that `state_dict` returned."""


class _IndexedRecords(RecordSource):
    """Records whose positions are known: all of them are shuffled together."""

    def __init__(self, files: RecordFiles, order: Order, index_path: str) -> None:
        super().__init__(files, order)
        positions = np.sort(np.array(read_index(index_path, str)[1], dtype=np.int64))
        step = -(-len(positions) // order.num_parts)
        self._positions = positions[step * order.part_index : step * (order.part_index + 1)]
        if len(positions) and positions[-1] >= files.size:
            raise FormatError(
                f"index file {index_path!r} must be that of {files.paths[0]!r}, which has {files.size} bytes; "
                f"got position {positions[-1]}"
            )
        self.reset()

    def reset(self) -> None:
        self._before = self._shuffler.state_dict()
        count = len(self._positions)
        permutation = self._shuffler.order(count) if self._order.shuffle else np.arange(count)
        self._permuted = self._positions[permutation]
        self._next = 0

    def read(self, count: int) -> list[Record]:
        chosen = self._permuted[self._next : self._next + count].tolist()
        records = [self.files.read(position)[0] for position in chosen]
        self._next += len(records)
        return records

    def state_dict(self) -> State:
        return {"shuffler": self._before, "next": self._next}

    def load_state_dict(self, state: State) -> None:
        self._shuffler.load_state_dict(state["shuffler"])
        self.reset()
        self._next = int(state["next"])


class _StreamedRecords(RecordSource):
    """Records that are read in blocks, from start to end: those of a block are shuffled together."""

    def __init__(self, files: RecordFiles, order: Order) -> None:
        super().__init__(files, order)
        pieces = 1
        if order.shuffle and order.chunk_size:
            # MXNet allows for a tenth more than the size of the files.
            part = files.size / order.num_parts
            pieces = max(math.ceil(1.1 * part / (order.chunk_size << 20)), 1)
        begin = order.part_index * pieces
        self._bounds = [
            tuple(map(files.next_begin, byte_bounds(files.size, order.num_parts * pieces, begin + i, unit=4)))
            for i in range(pieces)
        ]
        seed = _PIECES_SEED + order.num_parts + pieces + order.part_index + order.chunk_seed
        self._piece_shuffler = Shuffler(seed)
        self._pieces = np.arange(pieces)
        self.reset()

    def reset(self) -> None:
        if len(self._pieces) > 1:
            # The order of the epoch before is shuffled.
            self._pieces = self._pieces[self._piece_shuffler.order(len(self._pieces))]
        self._piece = 0
        self._begin_block(self._bounds[self._pieces[0]][0])

    def _begin_block(self, position: int) -> None:
        """Make the block at a position the next one; it is read when a record of it is asked for."""
        self._block_at = self._block_end = position
        self._before = self._shuffler.state_dict()
        self._block: list[Record] = []
        self._next = 0

    def read(self, count: int) -> list[Record]:
        records: list[Record] = []
        while len(records) < count:
            if self._next == len(self._block) and not self._read_block():
                break
            more = self._block[self._next : self._next + count - len(records)]
            records += more
            self._next += len(more)
        return records

    def _read_block(self) -> bool:
        """Read the next block; return whether there is one."""
        end = self._bounds[self._pieces[self._piece]][1]
        while self._block_end >= end:
            if self._piece + 1 == len(self._pieces):
                return False
            self._piece += 1
            self._block_end, end = self._bounds[self._pieces[self._piece]]
        self._begin_block(self._block_end)
        at = self._block_at
        while at < end:
            record, following = self.files.read(at)
            if following - self._block_at > BLOCK and self._block:
                break  # it begins the next block
            self._block.append(record)
            at = following
        self._block_end = at
        if self._order.shuffle:
            self._block = [self._block[i] for i in self._shuffler.order(len(self._block))]
        return True

    def state_dict(self) -> State:
        return {
            "shuffler": self._before,
            "piece_shuffler": self._piece_shuffler.state_dict(),
            "pieces": self._pieces,
            "piece": self._piece,
            "block": self._block_at,
            "next": self._next,
        }

    def load_state_dict(self, state: State) -> None:
        self._shuffler.load_state_dict(state["shuffler"])
        self._piece_shuffler.load_state_dict(state["piece_shuffler"])
        self._pieces = np.asarray(state["pieces"]).astype(np.int64)
        self._piece = int(state["piece"])
        self._begin_block(int(state["block"]))
        if state["next"]:  # the block had been begun
            self._read_block()
            self._next = int(state["next"])


def record_source(files: RecordFiles, order: Order, index_path: str = "") -> RecordSource:
    """Return the records of files, in an order; by an index file where there is one."""
    return _IndexedRecords(files, order, index_path) if index_path else _StreamedRecords(files, order)
