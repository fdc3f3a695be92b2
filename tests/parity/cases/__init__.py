"""The table of operator cases: what MXNet was asked to compute, and what rebind has to compute as well.

Each file beside this one is a group: its ``FAMILIES`` make the rows. To cover another operator, add rows to a group,
or a group to ``GROUPS``, and record it with ``python -m tests.parity.generate_operators GROUP``.
"""

from __future__ import annotations

from collections import Counter
from types import ModuleType

from . import densities, detection, image, layers, miscellany, quantized, regions, samplers, tensors
from .case import Case

__all__ = ["CASES", "GROUPS"]

GROUPS: dict[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module
    for module in (densities, detection, image, layers, miscellany, quantized, regions, samplers, tensors)
}


def _named(module: ModuleType) -> dict[str, Case]:
    """Return a group's rows by name; rows that would have the same name are numbered."""
    seen: Counter[str] = Counter()
    named = {}
    for row in (row for family in module.FAMILIES for row in family()):
        seen[row.name] += 1
        named[row.name if seen[row.name] == 1 else f"{row.name} #{seen[row.name]}"] = row
    return named


CASES: dict[str, dict[str, Case]] = {group: _named(module) for group, module in GROUPS.items()}
