"""The objects of a picture while it is mirrored, padded and cropped: rows of class, x0, y0, x1, y1, from 0 to 1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Limits", "Region", "cropped", "mirrored", "seen_from", "split_label"]


class Region(NamedTuple):
    """A part of a picture, from 0 to 1."""

    left: float
    top: float
    width: float
    height: float


class Limits(NamedTuple):
    """What a region and at least one object must have in common, each from a lowest to a highest share."""

    overlap: tuple[float, float]
    sample_coverage: tuple[float, float]
    object_coverage: tuple[float, float]


def split_label(label: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the head of a label and its objects, a row each; None for a label of another form.

    A label is the width of its head, the width of an object, the rest of the head, and the objects.

    >>> head, objects = split_label(np.array([2, 5, 0, 0.1, 0.2, 0.3, 0.4], dtype=np.float32))
    >>> head.tolist(), objects.shape
    ([2.0, 5.0], (1, 5))
    """
    if len(label) < 2:
        return None
    head, width = int(label[0]), int(label[1])
    if head < 2 or width < 5 or len(label) < head or (len(label) - head) % width:
        return None
    return label[:head], label[head:].reshape(-1, width)


def mirrored(objects: np.ndarray) -> np.ndarray:
    """Return the objects of a mirrored picture."""
    out = objects.copy()
    out[:, 1], out[:, 3] = 1 - objects[:, 3], 1 - objects[:, 1]
    return out


def seen_from(objects: np.ndarray, region: Region) -> np.ndarray:
    """Return objects as seen from a region: its corners have coordinates 0 and 1."""
    out = objects.copy()
    out[:, [1, 3]] = (objects[:, [1, 3]] - region.left) / region.width
    out[:, [2, 4]] = (objects[:, [2, 4]] - region.top) / region.height
    return out


def cropped(
    objects: np.ndarray, region: Region, limits: Limits, least_inside: float | None
) -> np.ndarray | None:
    """Return the objects that are left in a region; None where it is not within the limits, or none is left.

    Parameters
    ----------
    objects
        The objects.
    region
        The region.
    limits
        What the region and one object at least must have in common.
    least_inside
        Share of an object that must be inside for it to be left; None for its centre.
    """
    left, top, right, bottom = objects[:, 1:5].T
    across = np.minimum(right, region.left + region.width) - np.maximum(left, region.left)
    down = np.minimum(bottom, region.top + region.height) - np.maximum(top, region.top)
    common = np.clip(across, 0, None) * np.clip(down, 0, None)
    area, sizes = region.width * region.height, np.maximum((right - left) * (bottom - top), 1e-12)
    shares = (common / (area + sizes - common), common / area, common / sizes)
    fits = np.ones(len(objects), bool)
    for share, (low, high) in zip(shares, limits):
        fits &= (share >= low) & (share <= high)
    if least_inside is None:
        x, y = (left + right) / 2, (top + bottom) / 2
        inside = (region.left <= x) & (x <= region.left + region.width)
        inside &= (region.top <= y) & (y <= region.top + region.height)
    else:
        inside = shares[2] > least_inside
    if not fits.any() or not inside.any():
        return None
    out = seen_from(objects[inside], region)
    out[:, 1:5] = np.clip(out[:, 1:5], 0, 1)
    return out
