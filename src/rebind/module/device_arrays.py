"""The arrays of trained parameters on their devices, as updates take them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..ndarray import NDArray

__all__ = ["Trained", "copy_across"]


class Trained(NamedTuple):
    """A parameter that has gradients: its arrays, and its gradients, on each device.

    >>> from rebind import nd
    >>> Trained("w", weights=[nd.ones((1,))], gradients=[nd.zeros((1,))]).name
    'w'
    """

    name: str
    weights: Sequence[NDArray]
    gradients: Sequence[NDArray]


def copy_across(sources: Iterable[NDArray], targets: Iterable[NDArray]) -> None:
    """Copy each source into its target."""
    for source, target in zip(sources, targets, strict=True):
        source.copyto(target)
