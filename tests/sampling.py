"""Big tables in the quick suite: one row of each kind; the others are marked slow, and `make slow` runs them.

`sampled` marks the rows of one table by their kind; the marker `sampled` (conftest.py) does it for stacked parameters.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

import pytest

Row = TypeVar("Row")


def sampled(
    rows: Iterable[Row], kind: Callable[[Row], Hashable], most: int = 1
) -> list[tuple[Row, list[pytest.MarkDecorator]]]:
    """Return the rows, each with its marks: those beyond `most` of their kind are slow.

    Which ones are not follows from the kind's text alone, so that they stay the same when other kinds are added, and
    are not always the first rows, which are often the plainest.

    >>> [row for row, marks in sampled(["a1", "a2", "b1"], lambda row: row[0]) if not marks]
    ['a2', 'b1']
    """
    table = list(rows)
    by_kind: dict[Hashable, list[int]] = {}
    for index, row in enumerate(table):
        by_kind.setdefault(kind(row), []).append(index)
    quick: set[int] = set()
    for key, indices in by_kind.items():
        start = zlib.crc32(str(key).encode()) % len(indices)
        quick.update(indices[(start + i) % len(indices)] for i in range(min(most, len(indices))))
    return [(row, [] if index in quick else [pytest.mark.slow]) for index, row in enumerate(table)]


def covering(rows: Sequence[frozenset[Hashable]]) -> set[int]:
    """Return the numbers of a few rows that have among them whatever is in any row.

    The order in which rows are tried follows from their numbers alone, and is not that of the table: where all rows of
    a product would do, the first values of its parameters are not always together.

    >>> sorted(covering([frozenset(row) for row in ("ax", "ay", "az", "bx", "by", "bz")]))
    [1, 2, 3]
    """
    missing = frozenset().union(*rows)
    order = sorted(range(len(rows)), key=lambda index: zlib.crc32(str(index).encode()))
    chosen = set()
    while missing:
        best = max(order, key=lambda index: len(rows[index] & missing))
        chosen.add(best)
        missing -= rows[best]
    return chosen
