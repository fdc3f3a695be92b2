"""Files of word vectors: a token and its numbers in each line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

import numpy as np

from ...checks import warn_user
from ...errors import FormatError, MissingFileError, ParameterError
from ...io.number_text import NotANumber, parse_numbers
from ...tuning import current

__all__ = ["read_vectors"]


def read_vectors(path: str, elem_delim: str = " ", encoding: str = "utf8") -> tuple[list[str], np.ndarray]:
    """Return the tokens of a file and their vectors, of float32.

    The first of several vectors of one token counts. A line with one number is taken for a header, and skipped with a
    warning. Blank lines and lines of another length are errors with file and line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w") as file:
    ...     print("a 1 2", "b 3 4.5", sep=chr(10), file=file, flush=True)
    ...     read_vectors(file.name)
    (['a', 'b'], array([[1. , 2. ],
           [3. , 4.5]], dtype=float32))
    """
    if not elem_delim:
        raise ParameterError("read_vectors: elem_delim must have at least one character; got ''")
    if not os.path.isfile(path):
        raise MissingFileError(f"{path} must be a file of word vectors; there is none of this name")
    tokens: dict[str, None] = {}
    parts: list[np.ndarray] = []
    width: int | None = None
    try:
        with open(path, encoding=encoding) as file:
            lines, size = enumerate(file, 1), current().parsed_lines
            while block := list(islice(lines, size)):
                numbers: list[str] = []
                line_numbers: list[int] = []
                for line_number, token, rest, count in _fields(path, block, elem_delim):
                    if count == 1:
                        warn_user(
                            f"{path}, line {line_number}: {token!r} with one number is taken for a header, and skipped"
                        )
                    elif token in tokens:
                        warn_user(
                            f"{path}, line {line_number}: {token!r} was there before; its first vector counts"
                        )
                    elif width not in (None, count):
                        raise FormatError(
                            f"{path}, line {line_number}: must have {width} numbers, as before; got {count}"
                        )
                    else:
                        width = count
                        tokens[token] = None
                        numbers.append(rest)
                        line_numbers.append(line_number)
                if numbers:
                    parts.append(_parse(path, numbers, line_numbers, elem_delim, width or 0))
    except UnicodeError as error:
        raise FormatError(f"{path} must be text in the encoding {encoding!r}; got {error}") from None
    if not parts:
        raise FormatError(f"{path} must have at least one vector; got none")
    return list(tokens), np.concatenate(parts)


def _fields(path: str, block: list[tuple[int, str]], elem_delim: str) -> Iterator[tuple[int, str, str, int]]:
    """Yield the line's number, its token, the text of its numbers, and how many these are."""
    for line_number, line in block:
        token, _, rest = line.rstrip().partition(elem_delim)
        if not rest:
            raise FormatError(
                f"{path}, line {line_number}: must be a token and its vector; got {line.rstrip()[:40]!r}"
            )
        yield line_number, token, rest, rest.count(elem_delim) + 1


def _parse(path: str, numbers: list[str], line_numbers: list[int], elem_delim: str, width: int) -> np.ndarray:
    # Numbers are ASCII; what is not becomes a question mark, which is none.
    pieces = [piece.encode("ascii", "replace") for text in numbers for piece in text.split(elem_delim)]
    try:
        return parse_numbers(pieces).reshape(-1, width)
    except NotANumber as error:
        wrong = error.index // width
    raise FormatError(
        f"{path}, line {line_numbers[wrong]}: must be a token and {width} numbers; got {numbers[wrong][:60]!r}"
    )
