"""Operators whose results have as many elements as their values ask for; their shapes are not inferred."""

from __future__ import annotations

import torch
from torch import Tensor

from ..declaration import operator

__all__ = ["non_max_suppression", "non_zero", "unique"]


@operator("_onnx_non_zero", types={"data": "any", "output": torch.int64}, head_gradient=False)
def non_zero(data: Tensor) -> Tensor | None:
    """Positions of the elements that are not 0, a row for each axis.

    >>> non_zero(torch.tensor([[0, 5], [7, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    return None if data.is_meta else torch.nonzero(data).T.contiguous()


@operator(
    "_onnx_unique",
    outputs=("output", "first", "inverse", "counts"),
    types={"data": "T", "output": "T", "first": torch.int64, "inverse": torch.int64, "counts": torch.int64},
    head_gradient=False,
)
def unique(
    data: Tensor, *, axis: int | None = None, sorted: bool = True
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    """Distinct elements or slices, where they are first, which of them each one is, and how often they occur.

    >>> unique(torch.tensor([3, 1, 3]), sorted=False)[0]
    tensor([3, 1])
    """
    if data.is_meta:
        return None, None, None, None
    if axis is None:
        data, axis = data.reshape(-1), 0
    values, inverse, counts = torch.unique(data, return_inverse=True, return_counts=True, dim=axis)
    positions = torch.arange(len(inverse), device=data.device)
    first = torch.full_like(counts, len(inverse)).scatter_reduce(0, inverse, positions, "amin")
    if not sorted:
        order = torch.argsort(first)
        values, first, counts = values.index_select(axis, order), first[order], counts[order]
        inverse = torch.argsort(order)[inverse]
    return values, first, inverse, counts


@operator(
    "_onnx_non_max_suppression",
    types={"boxes": "T", "scores": "T", "output": torch.int64},
    head_gradient=False,
)
def non_max_suppression(
    boxes: Tensor,
    scores: Tensor,
    *,
    most: int = 0,
    iou_threshold: float = 0.0,
    score_threshold: float | None = None,
    center_point: bool = False,
) -> Tensor | None:
    """Of each class the boxes, best first, that overlap no better one too far.

    Parameters
    ----------
    most
        How many boxes of a class are taken.
    iou_threshold, score_threshold
        The largest overlap, and the score that boxes must exceed.
    center_point
        Boxes are centres and sizes instead of corners.

    Shapes
    ------
    boxes : (N, B, 4)
    scores : (N, C, B)
    out : (K, 3)      numbers of batch, class and box
    """
    if boxes.is_meta:
        return None
    corners = _corners(boxes, center_point)
    rows: list[tuple[int, int, int]] = []
    for n in range(len(scores)):
        overlaps = _overlaps(corners[n])
        for c in range(scores.shape[1]):
            rows += [
                (n, c, box) for box in _best(scores[n, c], overlaps, most, iou_threshold, score_threshold)
            ]
    return torch.tensor(rows, dtype=torch.int64, device=boxes.device).reshape(-1, 3)


def _corners(boxes: Tensor, center_point: bool) -> Tensor:
    if center_point:
        centre, half = boxes[..., :2], boxes[..., 2:] / 2
        return torch.cat([centre - half, centre + half], -1)
    low, high = torch.minimum(boxes[..., :2], boxes[..., 2:]), torch.maximum(boxes[..., :2], boxes[..., 2:])
    return torch.cat([low, high], -1)


def _overlaps(corners: Tensor) -> Tensor:
    """Return intersections over unions of all pairs of boxes."""
    low = torch.maximum(corners[:, None, :2], corners[None, :, :2])
    high = torch.minimum(corners[:, None, 2:], corners[None, :, 2:])
    common = (high - low).clamp(min=0).prod(-1)
    areas = (corners[:, 2:] - corners[:, :2]).prod(-1)
    return common / (areas[:, None] + areas[None] - common)


def _best(scores: Tensor, overlaps: Tensor, most: int, limit: float, least: float | None) -> list[int]:
    chosen: list[int] = []
    for box in torch.argsort(scores, descending=True, stable=True).tolist():
        if len(chosen) >= most or (least is not None and not scores[box] > least):
            break
        if not chosen or not bool((overlaps[box, chosen] > limit).any()):
            chosen.append(box)
    return chosen
