"""Reading labels and pictures, still encoded, from a record file, a list or a folder, in an order."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import Any, TypeAlias

from ..checks import FLAG, LIST, PATH, check_kind, or_none, warn_user
from ..errors import ArgumentError, FormatError, MissingFileError, ParameterError
from ..io import DataIter
from ..io.partition import chosen_part, rank_and_size, sample_bounds
from ..logs import log
from ..ndarray import NDArray
from ..recordio import MXIndexedRecordIO, MXRecordIO, unpack
from ..recordio.packing import Label
from .lists import Entries, ListedPicture, entries_in, entries_of

__all__ = ["Path", "RawLabel", "SampleIter"]

#: A label as a record or a list has it.
RawLabel: TypeAlias = "Label | NDArray"

Path: TypeAlias = "str | os.PathLike[str]"


class SampleIter(DataIter):
    """Base of iterators over pictures: which there are, in which order, and reading one after the other.

    Parameters
    ----------
    batch_size
        Pictures in a batch.
    path_imgrec, path_imgidx, path_imglist, path_root, imglist
        Where the pictures are; see `ImageIter`.
    shuffle
        Whether to shuffle them at each `reset`.
    part_index, num_parts
        Which part of them to read, of how many.

    Attributes
    ----------
    imgrec
        The record file; None without one.
    imgidx
        Its keys, in the order of the index; None without an index.
    imglist
        Label and path by key; None without a list.
    seq
        The keys in the order of this epoch; None for a record file without an index.
    num_image
        How many there are; None for a record file without an index.
    cur
        How many of the epoch have been read.
    """

    def __init__(
        self,
        batch_size: int,
        path_imgrec: Path | None,
        path_imgidx: Path | None,
        path_imglist: Path | None,
        path_root: Path | None,
        imglist: Sequence[ListedPicture] | None,
        shuffle: bool,
        part_index: int | None,
        num_parts: int | None,
    ) -> None:
        super().__init__(batch_size)
        check_kind(
            self._who, or_none(PATH), path_imgrec=path_imgrec, path_imgidx=path_imgidx, path_imglist=path_imglist,
            path_root=path_root,
        )  # fmt: skip
        check_kind(self._who, or_none(LIST), imglist=imglist)
        check_kind(self._who, FLAG, shuffle=shuffle)
        self.path_root = None if path_root is None else os.fspath(path_root)
        self.shuffle = shuffle
        self.cur = 0
        self._open(path_imgrec, path_imgidx, path_imglist, imglist)
        self._part(part_index, num_parts)

    @property
    def _who(self) -> str:
        return type(self).__name__

    def _open(
        self,
        record: str | os.PathLike[str] | None,
        index: str | os.PathLike[str] | None,
        list_file: str | os.PathLike[str] | None,
        imglist: Sequence[ListedPicture] | None,
    ) -> None:
        """Open the files; set `imgrec`, `imgidx`, `imglist`, and `seq`, the keys in their order."""
        if record is None and list_file is None and imglist is None:
            raise ArgumentError(f"{self._who}: path_imgrec, path_imglist or imglist must be given; got none")
        if imglist is not None and record is not None:
            raise ArgumentError(
                f"{self._who}: imglist is a list of files; it cannot be given with path_imgrec"
            )
        self.imgrec: MXRecordIO | None = None
        self.imgidx: list[Any] | None = None
        self.imglist: Entries | None = None
        self.seq: list[Any] | None = None
        if record is not None:
            log().info("%s: loading recordio %s...", self._who, record)
            if index is not None:
                self.imgrec = indexed = MXIndexedRecordIO(index, record, "r")
                self.imgidx = list(indexed.keys)
                self.seq = list(indexed.keys)
            else:
                self.imgrec = MXRecordIO(record, "r")
        if list_file is not None:
            log().info("%s: loading image list %s...", self._who, list_file)
            self.imglist = entries_in(os.fspath(list_file), self._who)
        elif imglist is not None:
            log().info("%s: loading image list...", self._who)
            self.imglist = entries_of(imglist, self._who)
        if record is None:
            self._check_root()
            self.seq = list(self.imglist or ())
        elif self.imglist is not None:
            self._check_labels(os.fspath(record))
        if self.seq == []:
            raise ParameterError(f"{self._who}: there must be a picture in the files; got none")

    def _check_root(self) -> None:
        if self.path_root is None:
            raise ArgumentError(
                f"{self._who}: path_root must be given with a list, the folder of its files; got None"
            )
        # The empty one is this folder, and whole paths need none.
        needed = any(not os.path.isabs(name) for _, name in (self.imglist or {}).values())
        if needed and self.path_root and not os.path.isdir(self.path_root):
            raise MissingFileError(f"{self._who}: the folder path_root={self.path_root!r} must exist")

    def _check_labels(self, record: str) -> None:
        """Check that a list has the labels of all records."""
        assert self.imglist is not None
        if self.imgidx is None:
            warn_user(
                f"{self._who}: labels are those of the records: the list is not used without path_imgidx."
            )
            return
        missing = [key for key in self.imgidx if key not in self.imglist]
        if missing:
            raise FormatError(
                f"{self._who}: the image list must have a line for each record of {record!r}; it has none "
                f"for {missing[0]!r}, and {len(missing) - 1} others"
            )

    def _part(self, part_index: int | None, num_parts: int | None) -> None:
        """Keep one of equal parts of the keys: that of this worker, where none is given."""
        self.num_image = None if self.seq is None else len(self.seq)
        self.num_parts, self.part_index = 1, 0
        if self.seq is None:
            for name, given in (("shuffle", self.shuffle), ("num_parts", (num_parts or 1) > 1)):
                if given:
                    raise ArgumentError(
                        f"{self._who}: {name} needs the index of the record file. Give path_imgidx; "
                        "'rebind im2rec' writes it."
                    )
            if (worker := rank_and_size()) is not None and num_parts is None:
                log().warning(
                    "%s: reads all of the file, as each of the %d workers does: parts of it need path_imgidx. "
                    "'rebind im2rec' writes it.",
                    self._who,
                    worker[1],
                )
            return
        by_rank = num_parts is None and part_index is None
        num_parts, part_index = chosen_part(self._who, num_parts, part_index)
        if not 0 <= part_index < num_parts:
            raise ParameterError(
                f"{self._who}: part_index must be >= 0 and < num_parts, {num_parts}; got {part_index}"
            )
        size = len(self.seq) // num_parts
        if not size:
            raise ParameterError(
                f"{self._who}: num_parts must be at most the number of pictures, {len(self.seq)}; got {num_parts}"
            )
        if by_rank:  # nothing is left out
            self.seq = self.seq[slice(*sample_bounds(len(self.seq), num_parts, part_index))]
        elif num_parts > 1:  # MXNet's equal parts, which leave out the rest
            self.seq = self.seq[part_index * size : (part_index + 1) * size]
        self.num_parts, self.part_index = num_parts, part_index
        self.num_image = len(self.seq)

    def reset(self) -> None:
        """Begin a new epoch."""
        if self.shuffle and self.seq is not None:
            random.shuffle(self.seq)
        self._rewind()

    def _rewind(self) -> None:
        if self.imgrec is not None and self.imgidx is None:
            self.imgrec.reset()
        self.cur = 0

    def next_sample(self) -> tuple[RawLabel, bytes]:
        """Return the label and the bytes of the next picture; StopIteration at the end of the epoch."""
        if self.seq is not None:
            if self.cur >= len(self.seq):
                raise StopIteration
            key = self.seq[self.cur]
            self.cur += 1
            if self.imgrec is None:
                assert self.imglist is not None
                label, path = self.imglist[key]
                return label, self.read_image(path)
            assert isinstance(self.imgrec, MXIndexedRecordIO)
            header, encoded = unpack(self.imgrec.read_idx(key))
            return header.label if self.imglist is None else self.imglist[key][0], encoded
        assert self.imgrec is not None
        record = self.imgrec.read()
        if record is None:
            raise StopIteration
        self.cur += 1
        header, encoded = unpack(record)
        return header.label, encoded

    def read_image(self, fname: str) -> bytes:
        """Return the bytes of a file below `path_root`.

        Raises
        ------
        FileNotFoundError
            When there is no such file.
        """
        if self.path_root is None:
            raise ArgumentError(f"{self._who}: path_root must be given, the folder of the files; got None")
        path = os.path.join(self.path_root, fname)
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            raise MissingFileError(f"{self._who}: {self._where()} must exist") from None

    def _where(self) -> str:
        """Return what the sample that was read last is called in messages."""
        if self.seq is None:
            return f"record {self.cur} of {self.imgrec.uri!r}" if self.imgrec is not None else "the picture"
        if not 0 < self.cur <= len(self.seq):
            return "the picture"
        key = self.seq[self.cur - 1]
        if self.imgrec is not None:
            return f"the record with key {key!r} of {self.imgrec.uri!r}"
        assert self.imglist is not None
        return f"the picture {os.path.join(self.path_root or '', self.imglist[key][1])!r}"

    def _position(self) -> int | None:
        """Return where the next record begins; None for files that are read by key."""
        handle = None if self.imgrec is None or self.imgidx is not None else self.imgrec.handle
        return None if handle is None else handle.position

    def _go_to(self, position: int | None) -> None:
        """Go back to a `_position`."""
        if position is not None and self.imgrec is not None and self.imgrec.handle is not None:
            self.imgrec.handle.position = int(position)
