"""Non-maximum suppression, by ONNX's operator, with MXNet's rules."""

from __future__ import annotations

import numpy as np
import torch

from ..expressions import Expression, arange, concat, full, numbers, stack, where

__all__ = ["best_first", "keep_best", "numbered"]

_ALL = 2**31 - 1  # more boxes than there are


def best_first(scores: Expression, count: Expression) -> Expression:
    """Return where the `count` highest scores (B, N) are, the best first; of equals the first."""
    return scores.topk(count, 1)[1]


def numbered(array: Expression, axis: int) -> Expression:
    """Return 0, 1, 2, ... as many as an axis is long, as 64-bit integers."""
    return arange(array.writer, array.length(axis).squeeze(0), torch.int64)


def keep_best(
    boxes: Expression,
    allowed: Expression,
    threshold: float,
    *,
    classes: Expression | None = None,
    kinds: Expression | None = None,
    border: float = 0.0,
    inclusive: bool = False,
    enough: int = _ALL,
) -> Expression:
    """Return which boxes (B, N, 4) stay: those that no better box that stays overlaps by more than `threshold`.

    Parameters
    ----------
    boxes
        Corner boxes, the best first.
    allowed
        The candidates, (B, N).
    classes, kinds
        With them boxes of different classes do not suppress each other: the class of each box, (B, N), and all
        classes, (K,).
    border
        1 where the right and bottom pixels belong to a box.
    inclusive
        An overlap of just `threshold` is too much already.
    enough
        So many boxes of an image and class stay at most.
    """
    writer = boxes.writer
    low, high = boxes.slice(-1, 0, 2), boxes.slice(-1, 2, 4)
    # ONNX takes corners in any order; a box that is turned inside out is empty here.
    boxes = concat([low, (high + border if border else high).maximum(low)], -1).to(torch.float32)
    # Ranks in place of scores: equal scores are in order already.
    rank = allowed.length(1).to(torch.float32) - numbered(allowed, 1).to(torch.float32)
    scores = where(allowed, rank.unsqueeze(0).expand_as(allowed), -1.0).unsqueeze(1)
    if classes is not None and kinds is not None:
        scores = where(classes.unsqueeze(1).equals(kinds.reshape(1, -1, 1)), scores, -1.0)
    if threshold < 0:
        boxes, threshold = _overlapping(boxes), 0.0
    # The quotient is above the number before the threshold where it is not below the threshold.
    limit = np.nextafter(np.float32(threshold), np.float32(0)) if inclusive else threshold
    chosen = Expression(
        writer,
        writer.op(
            "NonMaxSuppression",
            *(boxes.value, scores.value, writer.ints([enough])),
            *(numbers(writer, [min(float(limit), 1.0)]).value, numbers(writer, [0.0]).value),
        ),
        torch.int64,
    )
    where_it_stays = concat([chosen.slice(1, 0, 1), chosen.slice(1, 2, 3)], 1)
    ones = full(chosen.length(0), 1.0, torch.float32)
    none = full(allowed.shape(), 0.0, torch.float32)
    return none.apply("ScatterND", where_it_stays.value, ones.value) > 0.5


def _overlapping(boxes: Expression) -> Expression:
    """Return boxes that overlap each other, but for empty ones, which do not overlap each other.

    So it is with a threshold below 0: boxes that do not meet have an overlap of 0, which is above it, but that of two
    empty boxes is not a number.
    """
    extent = boxes.slice(-1, 2, 4) - boxes.slice(-1, 0, 2)
    empty = (extent.select(-1, 0) * extent.select(-1, 1)).equals(0.0)
    # Side by side along x: an empty one covers its own part, any other all of them.
    left, count = numbered(empty, 1).to(torch.float32), empty.length(1).to(torch.float32)
    left, zeros = left.unsqueeze(0).expand_as(empty), full(empty.shape(), 0.0, torch.float32)
    columns = [where(empty, left, 0.0), zeros, where(empty, left + 1.0, count), zeros + 1.0]
    return stack(columns, -1)
