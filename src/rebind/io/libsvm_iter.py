"""Batches from LibSVM files: a label, and the columns that are not zero, in each line."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
import torch

from .. import dtypes
from ..errors import ShapeError
from ..ndarray import NDArray
from ..ndarray.creation import from_torch
from ..params import AtLeast
from .batch import DataDesc
from .chunked_rows import ChunkedRows, FilesInStep, writable
from .decimals import PADDING, NotANumber, find_pieces, padded, parse_decimals, parse_digits
from .json_numbers import read_lines
from .partition import chosen_part
from .read_ahead import ReadAheadIter
from .rounding import RoundedBatches
from .settings import settings
from .sparse_rows import SparseRows
from .text_chunks import TextChunk, TextChunks

__all__ = ["LibSVMIter"]

_WIDEST_ENTRY = 64  # bytes that a line may have for each of its columns

_OTHER, _BLANK, _COLON, _NEWLINE = range(4)
_KINDS = np.zeros(256, np.uint8)
_KINDS[[ord(" "), ord("\t"), ord("\r")]] = _BLANK
_KINDS[ord(":")] = _COLON
_KINDS[ord("\n")] = _NEWLINE

#: What a line may have beside label and columns: the number of a query, and a comment.
_ASIDE = re.compile(rb"\bqid:\d+|#[^\n]*")

#: What is parsed from a file: its rows, and the labels that its lines begin with.
Parsed = SparseRows | np.ndarray


class LibSVMIter(ReadAheadIter):
    """Batches from files in the format of LibSVM, one sample in each line: ``label column:value column:value ...``.

    Columns count from 0. A column without a value has 1; of several values for one column the last counts. The weight
    of a label (``1:0.5``), ``qid:3`` and comments behind ``#`` are skipped. The files are read in pieces, ahead of the
    training loop, and their numbers kept, as by `CSVIter`. MXNet skips what does not parse, and writes beyond its
    memory for a column that is not in `data_shape`; here both are errors with file, line and column.

    Batches are dense, where MXNet's are of storage type ``csr``, which rebind does not have yet.

    Parameters
    ----------
    data_libsvm
        The file of data: a path; a folder, whose files are read in the order of their names; a regular expression for
        names in a folder; or several of these with ``;`` between them.
    data_shape
        The number of columns, ``(n,)``.
    label_libsvm
        A file of labels that are rows themselves, with as many lines; the labels of `data_libsvm` are then not used.
    label_shape
        The number of columns of `label_libsvm`; ``(1,)`` without it.
    num_parts, part_index
        The part of the data to read; without both, that of this worker in a job of several. The files' bytes are
        divided evenly, and each part has the lines that begin in it.
    batch_size
        Samples in a batch.
    round_batch
        As for `CSVIter`. MXNet knows True only.
    prefetch_buffer
        How many batches are read ahead at most.
    ctx
        Without effect: the arrays are on the CPU, and a module copies them to its device.
    dtype
        The type of data and labels, float32 if None, which is the only one that MXNet knows.
    data_name, label_name
        The names in `provide_data` and `provide_label`.

    Raises
    ------
    FormatError
        For a line that does not parse.
    ShapeError
        When the shapes have other than one axis, or there are more labels than samples, or fewer.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "data.t")
    >>> with open(path, "w") as file:
    ...     print("1 0:0.5 2:1.2", "-2", "-3 1:2.5", sep=os.linesep, file=file)
    >>> batches = LibSVMIter(data_libsvm=path, data_shape=(3,), batch_size=3)
    >>> batch = batches.next()
    >>> batch.data[0].asnumpy()
    array([[0.5, 0. , 1.2],
           [0. , 0. , 0. ],
           [0. , 2.5, 0. ]], dtype=float32)
    >>> batch.label[0].asnumpy()
    array([ 1., -2., -3.], dtype=float32)
    >>> batches.close()
    >>> folder.cleanup()
    """

    @settings
    def __init__(
        self,
        *,
        data_libsvm: str,
        data_shape: tuple[Annotated[int, AtLeast(1)], ...],
        label_libsvm: str | None = None,
        label_shape: tuple[Annotated[int, AtLeast(1)], ...] = (1,),
        num_parts: int | None = None,
        part_index: int | None = None,
        batch_size: Annotated[int, AtLeast(1)],
        round_batch: bool = True,
        prefetch_buffer: Annotated[int, AtLeast(0)] = 4,
        ctx: Literal["cpu", "gpu"] = "gpu",
        dtype: torch.dtype | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
    ) -> None:
        kind = torch.float32 if dtype is None else dtype
        has_labels = label_libsvm is not None and label_libsvm != "NULL"  # as MXNet writes that there is none
        _check_shapes(data_shape, label_shape, has_labels)
        num_parts, part_index = chosen_part("LibSVMIter", num_parts, part_index)
        files = {"data_libsvm": _rows(data_libsvm, data_shape[0], num_parts, part_index)}
        labels: tuple[int, ...] = ()
        if has_labels:
            files["label_libsvm"] = _rows(str(label_libsvm), label_shape[0], num_parts, part_index)
            labels = label_shape
        given = dtypes.numpy_type(kind)
        widths = (*data_shape, *labels)
        super().__init__(
            RoundedBatches(
                _Lines(files, widths, kind),
                f"LibSVMIter: part {part_index} of {num_parts} of {data_libsvm}",
                [DataDesc(data_name, (batch_size, *data_shape), given)],
                [DataDesc(label_name, (batch_size, *labels), given)],
                batch_size=batch_size,
                round_batch=round_batch,
            ),
            prefetch_buffer,
        )
        self.num_parts, self.part_index = num_parts, part_index


def _check_shapes(data_shape: tuple[int, ...], label_shape: tuple[int, ...], has_labels: bool) -> None:
    for name, shape in (("data_shape", data_shape), ("label_shape", label_shape)):
        if len(shape) != 1:
            raise ShapeError(f"LibSVMIter: {name} must have one axis; got {shape}")
    if label_shape != (1,) and not has_labels:
        raise ShapeError(f"LibSVMIter: label_shape must be (1,) without label_libsvm; got {label_shape}")


def _rows(paths: str, width: int, num_parts: int, part_index: int) -> ChunkedRows[Parsed]:
    longest = max(1 << 20, width * _WIDEST_ENTRY)
    chunks = TextChunks("LibSVMIter", paths, longest, num_parts, part_index)
    return ChunkedRows(chunks, lambda chunk: parse_lines(chunk, width), join)


def join(parts: Sequence[Parsed]) -> Parsed:
    """Return several pieces of rows, or of labels, as one.

    >>> join([np.zeros(2), np.ones(1)])
    array([0., 0., 1.])
    """
    sparse = [part for part in parts if isinstance(part, SparseRows)]
    return SparseRows.join(sparse) if sparse else np.concatenate([np.asarray(part) for part in parts])


def parse_lines(chunk: TextChunk, width: int) -> tuple[SparseRows, np.ndarray]:
    r"""Return the rows of a chunk, and the labels that its lines begin with.

    >>> rows, labels = parse_lines(TextChunk(b"1 0:5 2:6\n\n-1:0.5 1 # a comment\n", "some.t", 0), 3)
    >>> rows.dense(), labels
    (array([[5., 0., 6.],
           [0., 1., 0.]], dtype=float32), array([ 1., -1.], dtype=float32))
    """
    return read_lines(chunk.text, width) or parse_any_lines(chunk, width)


def parse_any_lines(chunk: TextChunk, width: int) -> tuple[SparseRows, np.ndarray]:
    r"""Return the rows and labels of a chunk, or raise the error that says what is wrong with it.

    >>> rows, labels = parse_any_lines(TextChunk(b"+1 2:.5\n", "some.t", 0), 3)
    >>> rows.dense(), labels
    (array([[0. , 0. , 0.5]], dtype=float32), array([1.], dtype=float32))
    """
    text = chunk.text
    if b"#" in text or b"qid:" in text:
        text = _ASIDE.sub(lambda found: b" " * len(found[0]), text)  # as long, so that places stay right
    buffer = padded(text)
    kinds = _KINDS.take(buffer)
    starts, stops = find_pieces(kinds == _OTHER)
    line_starts = np.append(PADDING, np.flatnonzero(kinds == _NEWLINE)[:-1] + 1)
    first_pieces = np.unique(np.searchsorted(starts, line_starts))  # those of blank lines are of the next one
    first = np.zeros(len(starts) + 1, bool)  # one more, which a blank line at the end begins with
    first[first_pieces] = True
    after_first = np.append(False, first)[: len(starts)]
    first = first[:-1]
    behind_colon = kinds.take(starts - 1) == _COLON
    _check_colons(chunk, kinds, stops, behind_colon)
    is_value = behind_colon & ~after_first  # what is behind the colon of a label is its weight
    is_index = ~(first | behind_colon)
    with _placed(chunk, starts[is_index], stops[is_index], "a column, a whole number"):
        indices = parse_digits(buffer, starts[is_index], stops[is_index])
    _check_columns(chunk, indices, starts[is_index], width)
    values = np.ones(len(indices), np.float32)
    with _placed(chunk, starts[is_value], stops[is_value], "a number"):
        given = parse_decimals(buffer, starts[is_value], stops[is_value])
        values[kinds.take(stops[is_index]) == _COLON] = given
    with _placed(chunk, starts[first], stops[first], "a number, the label"):
        labels = parse_decimals(buffer, starts[first], stops[first])
    before = np.append(0, np.cumsum(is_index))  # columns before each piece, and before the end
    indptr = before[np.append(np.flatnonzero(first), len(starts))]
    return SparseRows(indptr, indices, values, width), labels


def _check_colons(chunk: TextChunk, kinds: np.ndarray, stops: np.ndarray, behind: np.ndarray) -> None:
    """Raise an error unless each colon has a piece on both sides, and each piece has one on one side at most."""
    colons = np.flatnonzero(kinds == _COLON)
    alone = colons[(kinds.take(colons - 1) != _OTHER) | (kinds.take(colons + 1) != _OTHER)]
    if alone.size:
        chunk.fail(int(alone[0]) - PADDING, "must have a column before it and a value behind it; got ':'")
    chained = stops[behind & (kinds.take(stops) == _COLON)]
    if chained.size:
        chunk.fail(int(chained[0]) - PADDING, "must be a blank, or the end of the line; got ':'")


@contextlib.contextmanager
def _placed(chunk: TextChunk, starts: np.ndarray, stops: np.ndarray, what: str) -> Iterator[None]:
    """Turn the error for one of the pieces into one that says where in the file it is."""
    try:
        yield
    except NotANumber as error:
        start, stop = (int(bounds[error.index]) - PADDING for bounds in (starts, stops))
        text = chunk.text[start : min(stop, start + 40)].decode("utf-8", "replace")
        chunk.fail(start, f"must be {what}; got {text!r}")


def _check_columns(chunk: TextChunk, indices: np.ndarray, starts: np.ndarray, width: int) -> None:
    outside = np.flatnonzero(indices >= width)
    if outside.size:
        hint = " Columns count from 0." if indices[outside[0]] == width else ""
        chunk.fail(
            int(starts[outside[0]]) - PADDING,
            f"must be a column in 0..{width - 1}, for the shape given; got {indices[outside[0]]}.{hint}",
        )


class _Lines(FilesInStep[Parsed]):
    """Reads the rows of data, with the labels of their lines or with those of another file."""

    num_data = 1

    def __init__(
        self, files: Mapping[str, ChunkedRows[Parsed]], widths: Sequence[int], dtype: torch.dtype
    ) -> None:
        super().__init__("LibSVMIter", files)
        self._widths = widths
        self._dtype = dtype

    def read(self, count: int) -> list[Parsed]:
        found = self.read_files(count)
        return [rows for rows, _ in found] if len(found) > 1 else list(*found)

    def join(self, parts: Sequence[list[Parsed]]) -> list[Parsed]:
        return [join(pieces) for pieces in zip(*parts)]

    def blank(self, count: int) -> list[Parsed]:
        blank: list[Parsed] = [SparseRows.blank(count, width) for width in self._widths]
        return blank if len(blank) > 1 else [*blank, np.zeros(count, np.float32)]

    def arrays(self, rows: list[Parsed]) -> list[NDArray]:
        # The one place that decides on storage.
        dense = [each.dense() if isinstance(each, SparseRows) else writable(each) for each in rows]
        return [from_torch(torch.from_numpy(each).to(dtype=self._dtype)) for each in dense]
