"""Shapes of a program's tensors, in which some sizes are free, and MXNet's codes for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch

__all__ = ["Size", "is_free", "reshape_codes", "size_of", "sizes_of"]

#: A number, or SymPy's expression of free sizes.
Size: TypeAlias = Any


def size_of(size: Any) -> Size:
    """Return a size as a number, or as an expression where it is free: equal ones are equal for all inputs."""
    if not isinstance(size, torch.SymInt):
        return size
    found = size.node.expr
    return int(found) if found.is_number else found


def sizes_of(tensor: Any) -> list[Size]:
    """Return the shape of a tensor; one without axes has one of size 1, as it is in MXNet."""
    return [size_of(size) for size in tensor.shape] or [1]


def is_free(size: Size) -> bool:
    """Say whether a size is known only when the network runs."""
    return not isinstance(size, int)


def reshape_codes(shape: Sequence[Size], target: Sequence[Size]) -> tuple[int, ...] | None:
    """Return a new shape in MXNet's codes for `Reshape`, in which free sizes stay free; None where there are none.

    0 copies a size, -3 is the product of two, -4 splits one in two, and one size may be -1: what remains.

    >>> from sympy import Symbol
    >>> n, t = Symbol("n"), Symbol("t")
    >>> reshape_codes([n, 16, 4], [n, 64]), reshape_codes([n, t, 12], [n, t, 3, 4])
    ((0, 64), (0, 0, 3, 4))
    >>> reshape_codes([n, 3, t, 4], [3 * n, t, 4]), reshape_codes([3 * n, t, 4], [n, 3, t, 4])
    ((-3, 0, 4), (-4, -1, 3, 0, 4))
    """
    codes: list[int] = []
    source = target_axis = remaining = 0  # `source`: the axis of `shape` that the next code is about
    while target_axis < len(target):
        size = target[target_axis]
        own = shape[source] if source < len(shape) else None
        pair = shape[source : source + 2]
        split = target[target_axis : target_axis + 2]
        if size == own:
            codes.append(0 if is_free(size) else size)
        elif len(pair) == 2 and pair[0] * pair[1] == size and any(map(is_free, pair)):
            codes.append(-3)
            source += 1
        elif len(split) == 2 and split[0] * split[1] == own and sum(map(is_free, split)) == 1:
            codes += [-4, *(-1 if is_free(n) else n for n in split)]
            target_axis += 1
        elif is_free(size):
            codes.append(-1)
            remaining += 1
        else:
            codes.append(size)
        source += 1
        target_axis += 1
    return tuple(codes) if remaining <= 1 else None
