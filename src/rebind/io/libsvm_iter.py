"""Batches from LibSVM files: a label, and the columns that are not zero, in each line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal, NoReturn

import numpy as np
import torch

from ..errors import ShapeError
from ..ndarray.sparse.csr import CSRStorage
from ..params import AtLeast
from .chunked_rows import ChunkedRows, FilesInStep
from .number_text import NotANumber, parse_numbers
from .partition import chosen_part
from .read_ahead import ReadAheadIter
from .regular_text import read_lines
from .rounding import RoundedBatches
from .rows import csr_rows
from .settings import settings
from .text_chunks import TextChunk, TextChunks

__all__ = ["LibSVMIter"]

_WIDEST_ENTRY = 64  # bytes that a line may have for each of its columns

_MOST_DIGITS = 18  # of a column: a number of 64 bits
_TOKEN = re.compile(rb"[^ \t\r\n]+")

#: What a line may have beside label and columns: the number of a query, and a comment.
_ASIDE = re.compile(rb"\bqid:\d+|#[^\n]*")
_ASIDE_WITH_BLANKS = re.compile(rb"[ \t]*(\bqid:\d+[ \t]*)|[ \t]*#[^\n]*")


class LibSVMIter(ReadAheadIter):
    """Batches from files in the format of LibSVM, one sample in each line: ``label column:value column:value ...``.

    The data are of storage type ``csr``; labels are dense, those of `label_libsvm` csr too. Columns count from 0, and
    stay in the order of the line; a column without a value has 1, several values for one column are summed. The weight
    of a label (``1:0.5``), ``qid:3`` and comments behind ``#`` are skipped. The files are read in pieces, ahead of the
    training loop, and their numbers saved for the next epochs, as by `CSVIter`. MXNet skips what does not parse, and
    writes beyond its memory for a column that is not in `data_shape`; here both are errors with file, line and column.

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
    >>> batch.data[0].stype, batch.data[0].indices.asnumpy().tolist()
    ('csr', [0, 2, 1])
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
        super().__init__(
            RoundedBatches(
                FilesInStep("LibSVMIter", files, (data_shape, labels), kind),
                f"LibSVMIter: part {part_index} of {num_parts} of {data_libsvm}",
                data_name,
                label_name,
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


def _rows(paths: str, width: int, num_parts: int, part_index: int) -> ChunkedRows:
    longest = max(1 << 20, width * _WIDEST_ENTRY)
    chunks = TextChunks("LibSVMIter", paths, longest, num_parts, part_index)
    return ChunkedRows(chunks, lambda chunk: parse_lines(chunk, width))


def parse_lines(chunk: TextChunk, width: int) -> tuple[CSRStorage, np.ndarray]:
    r"""Return the rows of a chunk, and the labels that its lines begin with.

    >>> rows, labels = parse_lines(TextChunk(b"1 0:5 2:6\n\n-1:0.5 1 # a comment\n", "some.t", 0), 3)
    >>> rows.to_dense(), labels
    (tensor([[5., 0., 6.],
            [0., 1., 0.]]), array([ 1., -1.], dtype=float32))
    """
    text = chunk.text
    if b"#" in text or b"q" in text:  # one letter is found in no time, ``qid:`` takes an eighth of parsing
        text = _ASIDE_WITH_BLANKS.sub(lambda match: b" " if match[1] else b"", text)
    return read_lines(text, width) or parse_any_lines(chunk, width)


def parse_any_lines(chunk: TextChunk, width: int) -> tuple[CSRStorage, np.ndarray]:
    r"""Return the rows and labels of a chunk, or raise the error that says what is wrong with it.

    >>> rows, labels = parse_any_lines(TextChunk(b"+1 2:.5\n", "some.t", 0), 3)
    >>> rows.to_dense(), labels
    (tensor([[0.0000, 0.0000, 0.5000]]), array([1.], dtype=float32))
    """
    text = _ASIDE.sub(lambda match: b" " * len(match[0]), chunk.text)  # as long, so that columns stay right
    lines = [tokens for line in text.split(b"\n") if (tokens := _TOKEN.findall(line))]
    labels = [tokens[0].partition(b":") for tokens in lines]
    entries = [token.partition(b":") for tokens in lines for token in tokens[1:]]
    try:
        for name, colon, value in (*labels, *entries):
            if not name or b":" in value or (colon and not value):
                raise ValueError("a colon")
        indices = _columns([name for name, _, _ in entries], width)
        values = parse_numbers([value if colon else b"1" for _, colon, value in entries])
        numbers = parse_numbers([name for name, _, _ in labels])  # what is behind the colon is a weight
    except ValueError:
        _refuse(chunk, text, width)
    indptr = np.cumsum([0, *(len(tokens) - 1 for tokens in lines)])
    return csr_rows(values, indptr, indices, width), numbers


def _columns(names: Sequence[bytes], width: int) -> np.ndarray:
    if not all(name.isdigit() and len(name) <= _MOST_DIGITS for name in names):
        raise ValueError("a column that is no whole number")
    columns = np.array(list(map(int, names)), np.int64)
    if (columns >= width).any():
        raise ValueError("a column outside")
    return columns


def _refuse(chunk: TextChunk, text: bytes, width: int) -> NoReturn:
    """Raise the error for the first mistake in a chunk, whose text is that without comments."""
    is_first = True
    for match in re.finditer(rb"\n|" + _TOKEN.pattern, text):
        token, start = match[0], match.start()
        if token != b"\n":
            _check_colons(chunk, token, start)
            name, colon, value = token.partition(b":")
            if is_first:
                _check_number(chunk, name, start, "a number, the label")
            else:
                _check_column(chunk, name, start, width)
                if colon:
                    _check_number(chunk, value, start + len(name) + 1, "a number")
        is_first = token == b"\n"
    raise AssertionError("a chunk without a mistake")


def _check_colons(chunk: TextChunk, token: bytes, start: int) -> None:
    """Raise an error unless a token has one colon at most, with a piece on both sides."""
    name, colon, value = token.partition(b":")
    if colon and not (name and value.strip(b":")):
        chunk.fail(start + len(name), "must have a column before it and a value behind it; got ':'")
    if b":" in value:
        second = start + len(name) + 1 + value.index(b":")
        chunk.fail(second, "must be a blank, or the end of the line; got ':'")


def _check_number(chunk: TextChunk, piece: bytes, start: int, what: str) -> None:
    try:
        parse_numbers([piece])
    except NotANumber:
        chunk.fail(start, f"must be {what}; got {piece[:40].decode('utf-8', 'replace')!r}")


def _check_column(chunk: TextChunk, name: bytes, start: int, width: int) -> None:
    if not name.isdigit() or len(name) > _MOST_DIGITS:
        text = name[:40].decode("utf-8", "replace")
        chunk.fail(start, f"must be a column, a whole number; got {text!r}")
    if int(name) >= width:
        hint = " Columns count from 0." if int(name) == width else ""
        chunk.fail(start, f"must be a column in 0..{width - 1}, for the shape given; got {int(name)}.{hint}")
