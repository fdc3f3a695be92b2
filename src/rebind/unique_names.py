"""Names that are each used once."""

from __future__ import annotations

__all__ = ["unique_name"]


def unique_name(wanted: str, used: set[str]) -> str:
    """Return a name that is not among those `used`, the wanted one where it can be, and add it to them.

    >>> used = set()
    >>> unique_name("conv", used), unique_name("conv", used), unique_name("conv", used)
    ('conv', 'conv_1', 'conv_2')
    """
    name, number = wanted, 0
    while name in used:
        number += 1
        name = f"{wanted}_{number}"
    used.add(name)
    return name
