"""One mistake in what is installed or set, and one check that looks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

__all__ = ["Check", "Finding"]


@dataclass(frozen=True)
class Finding:
    """A mistake in what is installed or set.

    Attributes
    ----------
    what
        The mistake.
    mend
        What to do.
    """

    what: str
    mend: str


@dataclass(frozen=True)
class Check:
    """A row of the table of checks.

    Attributes
    ----------
    name
        A word for it.
    looks_at
        What it looks at.
    mend
        What to do, in general; a finding says it with names and numbers.
    find
        Looks, and returns what is wrong.
    """

    name: str
    looks_at: str
    mend: str
    find: Callable[[], Iterable[Finding]]
