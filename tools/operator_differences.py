"""Which rows of the pages on differences from MXNet name an operator."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rebind.ops import OPERATORS, find

__all__ = ["differences"]

_FOLDER = Path(__file__).parent.parent / "docs" / "differences"
#: Pages on what is no operator: there `norm` or `clip` are words of something else.
_PAGES = ("operators", "executors", "arrays", "sparse", "mixed_precision")


def differences(operators: Sequence[str]) -> dict[str, list[str]]:
    """Return the rows of tables that name each operator in their first cell, in code, by any of its names.

    >>> len(differences(["norm"])["norm"])
    1
    """
    rows: dict[str, list[str]] = {}
    for page in _PAGES:
        for line in (_FOLDER / f"{page}.md").read_text(encoding="utf-8").splitlines():
            if line.startswith("| ") and not line.startswith("| ---"):
                for name in sorted(named(line.split("|")[1]) & set(operators)):
                    rows.setdefault(name, []).append(_complete(line))
    return rows


def named(text: str) -> set[str]:
    """Return the first names of the operators that stand in code: alone, or called.

    >>> sorted(named("`LeakyReLU(act_type='selu')`, `contrib.box_nms`, `nd.histogram` without a `range`"))
    ['LeakyReLU', '_contrib_box_nms', '_histogram']
    """
    found = set()
    for span in re.findall(r"`([^`]*)`", text):
        word = re.match(r"(?:mx\.)?(?:nd\.|sym\.)?(?:_internal\.)?([\w.]+)", span)
        if word is not None:
            short = word[1].replace(".", "_")
            names = (short, f"_{short}", f"_contrib_{short}")
            found |= {find(name).name for name in names if name in OPERATORS}
    return found


def _complete(row: str) -> str:
    """Return a row of four cells: some tables have no reasons."""
    return row if len(re.split(r"(?<!\\)\|", row.strip().strip("|"))) == 4 else f"{row.rstrip()} |"
