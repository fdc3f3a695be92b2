"""The depths for which a network is described."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from ..errors import ArgumentError

__all__ = ["sizes_of"]

Sizes = TypeVar("Sizes")


def sizes_of(who: str, table: Mapping[int, Sizes], num_layers: int) -> Sizes:
    """Return the line of `table` for `num_layers`.

    >>> sizes_of("vgg", {11: (1, 1)}, 11)
    (1, 1)
    """
    if num_layers not in table:
        depths = ", ".join(map(str, table))
        raise ArgumentError(f"{who}: num_layers must be one of {depths}; got {num_layers!r}")
    return table[num_layers]
