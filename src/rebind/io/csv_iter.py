"""Batches from files of comma-separated values."""

from __future__ import annotations

import re
from math import prod
from typing import Annotated, Literal, NoReturn

import numpy as np
import torch

from ..errors import ParameterError
from ..params import AtLeast
from .chunked_rows import ChunkedRows, FilesInStep
from .number_text import NotANumber, parse_numbers
from .read_ahead import ReadAheadIter
from .regular_text import read_table
from .rounding import RoundedBatches
from .rows import Rows
from .settings import settings
from .text_chunks import TextChunk, TextChunks

__all__ = ["CSVIter"]

_WIDEST_NUMBER = 512  # bytes that a line may have for each of its numbers

_BLANKS = b" \t\r"
_PIECE = re.compile(rb"[^ \t\r]+")


class CSVIter(ReadAheadIter):
    """Batches from files of comma-separated numbers, one sample in each line.

    The files are read in pieces, in a thread, ahead of the training loop; the numbers of the first pieces, up to 128 MB
    (the option ``REBIND_KEPT_NUMBERS``), are saved for the next epochs, as long as the files do not change. A line that
    is not `data_shape` numbers is an error with its file, line and column; MXNet reads ``1x`` as 1 and ``0x10`` as 0.
    Blank lines, blanks around numbers, a comma at the end of a line and a byte order mark are allowed.

    Parameters
    ----------
    data_csv
        The file of data: a path; a folder, whose files are read in the order of their names; a regular expression for
        names in a folder; or several of these with ``;`` between them.
    data_shape
        The shape of a sample.
    label_csv
        The file of labels, with as many lines. Without one the labels are zeros.
    label_shape
        The shape of a label; without `label_csv` it has no effect.
    batch_size
        Samples in a batch.
    round_batch
        Whether samples from the start fill the last batch up, in which case the next epoch begins behind them. If not,
        the last batch ends with samples of the batch before it, and each epoch begins with the first sample. A batch's
        `pad` counts these samples.
    prefetch_buffer
        How many batches are read ahead at most.
    ctx
        Without effect: the arrays are on the CPU, and a module copies them to its device.
    dtype
        The type of data and labels, float32 if None. MXNet knows float32, int32 and int64.
    data_name, label_name
        The names in `provide_data` and `provide_label`.

    Raises
    ------
    FormatError
        For a line that does not parse.
    ShapeError
        When there are more labels than samples, or fewer.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "data.csv")
    >>> np.savetxt(path, [[1, 2], [3, 4], [5, 6]], fmt="%d", delimiter=",")
    >>> batches = CSVIter(data_csv=path, data_shape=(2,), batch_size=2)
    >>> [(batch.data[0].asnumpy().tolist(), batch.pad) for batch in batches]
    [([[1.0, 2.0], [3.0, 4.0]], 0), ([[5.0, 6.0], [1.0, 2.0]], 1)]
    >>> batches.reset()
    >>> batches.next().data[0].asnumpy().tolist()
    [[3.0, 4.0], [5.0, 6.0]]
    >>> batches.close()
    >>> folder.cleanup()
    """

    @settings
    def __init__(
        self,
        *,
        data_csv: str,
        data_shape: tuple[Annotated[int, AtLeast(1)], ...],
        label_csv: str | None = None,
        label_shape: tuple[Annotated[int, AtLeast(1)], ...] = (1,),
        batch_size: Annotated[int, AtLeast(1)],
        round_batch: bool = True,
        prefetch_buffer: Annotated[int, AtLeast(0)] = 4,
        ctx: Literal["cpu", "gpu"] = "gpu",
        dtype: torch.dtype | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
    ) -> None:
        kind = torch.float32 if dtype is None else dtype
        files = {"data_csv": _table(data_csv, data_shape, kind)}
        if label_csv is None or label_csv == "NULL":  # as MXNet writes that there is none
            label_shape = (1,)
        else:
            files["label_csv"] = _table(label_csv, label_shape, kind)
        labels = () if label_shape == (1,) else label_shape
        super().__init__(
            RoundedBatches(
                FilesInStep("CSVIter", files, (data_shape, labels), kind),
                f"CSVIter: {data_csv}",
                data_name,
                label_name,
                batch_size=batch_size,
                round_batch=round_batch,
            ),
            prefetch_buffer,
        )


#: In which of NumPy's types the numbers of a file are read, for each type of arrays; float32 for the others.
_READ_AS: dict[torch.dtype, type[np.number]] = {
    torch.float64: np.float64, torch.int64: np.int64, torch.int32: np.int32,
    torch.int16: np.int16, torch.int8: np.int8, torch.uint8: np.uint8,
}  # fmt: skip


def _table(paths: str, shape: tuple[int, ...], dtype: torch.dtype) -> ChunkedRows:
    """Return the lines of CSV files as rows of a matrix, with labels of zeros."""
    if dtype is torch.bool:
        raise ParameterError("CSVIter: dtype must be a type of numbers; got bool")
    width, kind = prod(shape), _READ_AS.get(dtype, np.float32)
    chunks = TextChunks("CSVIter", paths, max(1 << 20, width * _WIDEST_NUMBER))

    def parse(chunk: TextChunk) -> list[Rows]:
        table = parse_table(chunk, width, kind)
        return [table, np.zeros((len(table), 1), kind)]

    return ChunkedRows(chunks, parse)


def parse_table(chunk: TextChunk, width: int, dtype: type[np.number] = np.float32) -> np.ndarray:
    r"""Return the numbers of a chunk, `width` in each line.

    >>> parse_table(TextChunk(b"1,2\n\n 3, 4,\n", "some.csv", 0), 2)
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    numbers = read_table(chunk.text, width, dtype)
    return parse_any_table(chunk, width, dtype) if numbers is None else numbers


def parse_any_table(chunk: TextChunk, width: int, dtype: type[np.number] = np.float32) -> np.ndarray:
    r"""Return the numbers of a chunk, `width` in each line, or raise the error that says what is wrong with it.

    >>> parse_any_table(TextChunk(b"+1,.2\n\n 3, 4,\n", "some.csv", 0), 2)
    array([[1. , 0.2],
           [3. , 4. ]], dtype=float32)
    """
    rows = [_fields(line) for line in chunk.text.split(b"\n")]
    rows = [row for row in rows if row]  # without blank lines
    try:
        if any(len(row) != width for row in rows):
            raise ValueError("another width")
        return parse_numbers([field for row in rows for field in row], dtype).reshape(-1, width)
    except ValueError:
        _refuse(chunk, width, dtype)


def _fields(line: bytes) -> list[bytes]:
    """Return the texts between the commas of a line; a comma at its end has none behind it."""
    fields = line.split(b",")
    if not fields[-1].strip(_BLANKS):
        fields.pop()
    return fields


def _refuse(chunk: TextChunk, width: int, dtype: type[np.number]) -> NoReturn:
    """Raise the error for the first mistake in a chunk."""
    start = 0
    for line in chunk.text.split(b"\n"):
        fields, at = _fields(line), start
        for field in fields:
            _check_field(chunk, at, at + len(field), dtype)
            at += len(field) + 1
        if len(fields) not in (0, width):
            chunk.fail_line(start, f"must have {width} numbers, for the shape given; got {len(fields)}")
        start += len(line) + 1
    raise AssertionError("a chunk without a mistake")


def _check_field(chunk: TextChunk, start: int, stop: int, dtype: type[np.number]) -> None:
    """Raise an error unless a field is one number of the type."""
    pieces = list(_PIECE.finditer(chunk.text, start, stop))
    if not pieces:
        chunk.fail(stop, "must be a number; got an empty field")
    if len(pieces) > 1:
        chunk.fail(pieces[1].start(), "must be a comma or the end of the line; got another number")
    try:
        parse_numbers([pieces[0][0]], dtype)
    except NotANumber:
        wanted = f"a number of {np.dtype(dtype).name}" if issubclass(dtype, np.integer) else "a number"
        hint = " Remove the line of names." if chunk.offset == 0 and b"\n" not in chunk.text[:start] else ""
        text = pieces[0][0][:40].decode("utf-8", "replace")
        chunk.fail(pieces[0].start(), f"must be {wanted}; got {text!r}" + (hint and f".{hint}"))
