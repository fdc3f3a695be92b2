"""Detections of single-shot detectors, and non-maximum suppression."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from .loops import repeat_while

__all__ = [
    "box_nms",
    "multi_box_detection",
    "multi_box_prior",
    "non_maximum_suppression",
]


def multi_box_prior(
    data: Tensor,
    sizes: tuple[float, ...] = (1.0,),
    ratios: tuple[float, ...] = (1.0,),
    clip: bool = False,
    steps: tuple[float, float] = (-1.0, -1.0),
    offsets: tuple[float, float] = (0.5, 0.5),
) -> Tensor:
    """Return the anchors of each position of a map (left, top, right, bottom), which is 1 by 1.

    A position has an anchor of each size with the first ratio, then one of the first size
    with each further ratio.
    """
    height, width = data.shape[2:4]
    roots = [math.sqrt(ratio) for ratio in ratios]
    shapes = [(size * roots[0], size / roots[0]) for size in sizes]
    shapes += [(sizes[0] * root, sizes[0] / root) for root in roots[1:]]
    dtype = torch.promote_types(data.dtype, torch.float32)
    half = torch.tensor(shapes, dtype=dtype, device=data.device) / 2
    wide, high = half[:, 0] * (height / width), half[:, 1]
    step_y, step_x = steps if steps[0] > 0 else (1 / height, 1 / width)
    row = torch.arange(height, dtype=dtype, device=data.device)
    column = torch.arange(width, dtype=dtype, device=data.device)
    y = ((row + offsets[0]) * step_y).view(-1, 1, 1)
    x = ((column + offsets[1]) * step_x).view(1, -1, 1)
    corners = (x - wide, y - high, x + wide, y + high)
    sides = [corner.expand(height, width, -1) for corner in corners]
    anchors = torch.stack(sides, -1).view(1, -1, 4)
    return (anchors.clamp(0, 1) if clip else anchors).to(data.dtype)


def non_maximum_suppression(
    boxes: Tensor,
    candidates: Tensor,
    threshold: float,
    classes: Tensor | None = None,
    border: float = 0.0,
    inclusive: bool = False,
    enough: int | None = None,
) -> Tensor:
    """Return which boxes (left, top, right, bottom) stay, (images, boxes).

    The best candidate of each image, which is the first one, stays, and what overlaps it by
    more than the threshold goes; then the best of the rest, and so on, until `enough` stay.
    """
    boxes = boxes.detach().clone()  # `torch.while_loop` takes no views of one array
    sides = boxes[..., 2:] - boxes[..., :2] + border
    area = sides[..., 0] * sides[..., 1]
    position = torch.arange(boxes.shape[1], device=boxes.device)
    most = boxes.shape[1] if enough is None else enough

    def go_on(rest: Tensor, stays: Tensor) -> Tensor:
        return (rest.any(1) & (stays.sum(1) < most)).any()

    def step(rest: Tensor, stays: Tensor) -> tuple[Tensor, Tensor]:
        first = rest.int().argmax(1, keepdim=True)
        is_first = (position == first) & rest
        best = boxes.gather(1, first.unsqueeze(-1).expand(-1, -1, 4))
        low = torch.maximum(boxes[..., :2], best[..., :2])
        high = torch.minimum(boxes[..., 2:], best[..., 2:])
        sides = (high - low + border).clamp(min=0)
        shared = sides[..., 0] * sides[..., 1]
        overlap = shared / (area + area.gather(1, first) - shared)
        gone = overlap >= threshold if inclusive else overlap > threshold
        if classes is not None:
            gone = gone & (classes == classes.gather(1, first))
        return rest & ~gone & ~is_first, stays | is_first

    state = candidates.clone(), torch.zeros_like(candidates)
    return repeat_while(go_on, step, state, min(most, boxes.shape[1]))[1]


def box_nms(
    data: Tensor,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: str = "corner",
    out_format: str = "corner",
) -> Tensor:
    """Return the boxes that no better one suppresses, the best first, and -1 after them."""
    if topk == 0:
        return data.clone()
    rows = data.reshape(-1, *data.shape[-2:])
    scores = rows[..., score_index]
    allowed = scores > valid_thresh
    if id_index >= 0:
        allowed = allowed & (rows[..., id_index] != background_id)
    ranks = torch.where(allowed, scores, float("-inf"))
    order = ranks.argsort(dim=1, descending=True, stable=True)
    if topk > 0:
        order = order[:, :topk]
    ordered = rows.gather(1, order.unsqueeze(-1).expand(-1, -1, rows.shape[2]))
    end = coord_start + 4
    boxes = ordered[..., coord_start:end]
    first, second = boxes.to(torch.promote_types(boxes.dtype, torch.float32)).chunk(
        2, -1
    )
    if in_format == "center":
        corners = torch.cat([first - second / 2, first + second / 2], -1)
        changed = corners
    else:
        corners = torch.cat([first, second], -1)
        changed = torch.cat([(first + second) / 2, second - first], -1)
    stays = non_maximum_suppression(
        corners,
        allowed.gather(1, order),
        overlap_thresh,
        classes=None if force_suppress or id_index < 0 else ordered[..., id_index],
    )
    if in_format != out_format:  # the gradient is that of the box in either format
        boxes = changed.to(boxes.dtype).detach() + (boxes - boxes.detach())
        ordered = torch.cat([ordered[..., :coord_start], boxes, ordered[..., end:]], -1)
    front = stays.int().argsort(dim=1, descending=True, stable=True)
    x = ordered.gather(1, front.unsqueeze(-1).expand_as(ordered))
    x = torch.where(stays.gather(1, front).unsqueeze(-1), x, -1)
    return F.pad(x, (0, 0, 0, rows.shape[1] - x.shape[1]), value=-1.0).view(data.shape)


def multi_box_detection(
    cls_prob: Tensor,
    loc_pred: Tensor,
    anchor: Tensor,
    clip: bool = True,
    threshold: float = 0.01,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: tuple[float, ...] = (0.1, 0.1, 0.2, 0.2),
    nms_topk: int = -1,
) -> Tensor:
    """Return the class, score and box of each anchor, the best first; class -1 is none."""
    images, classes, count = cls_prob.shape
    if classes < 2:  # the background alone
        return cls_prob.new_full((images, count, 6), -1.0)
    dtype = torch.promote_types(cls_prob.dtype, torch.float32)
    scores, kind = cls_prob.detach()[:, 1:].max(1)
    low, high = anchor.detach().to(dtype).chunk(2, -1)
    offsets = loc_pred.detach().to(dtype).view(images, count, 4)
    offsets = offsets * offsets.new_tensor(variances)
    center = offsets[..., :2] * (high - low) + (low + high) / 2
    half = offsets[..., 2:].exp() * (high - low) / 2
    boxes = torch.cat([center - half, center + half], -1)
    if clip:
        boxes = boxes.clamp(0, 1)
    rows = torch.cat(
        [kind.to(dtype).unsqueeze(-1), scores.to(dtype).unsqueeze(-1), boxes], -1
    )

    valid = scores >= threshold
    suppresses = 0 < nms_threshold <= 1
    chosen = min(nms_topk, count) if nms_topk > 0 and suppresses else count
    # Those that detect something, in the order of the anchors, then the others.
    order = valid.int().argsort(dim=1, descending=True, stable=True)
    if suppresses:
        ranks = torch.where(valid, scores, float("-inf"))
        best = ranks.argsort(dim=1, descending=True, stable=True)
        order = torch.cat([best[:, :chosen], order[:, chosen:]], 1)
    rows = rows.gather(1, order.unsqueeze(-1).expand(-1, -1, 6))
    is_valid = torch.arange(count, device=rows.device) < valid.sum(1, keepdim=True)
    rows = torch.where(is_valid.unsqueeze(-1), rows, -1)
    if suppresses:
        stays = non_maximum_suppression(
            rows[:, :chosen, 2:],
            is_valid[:, :chosen],
            nms_threshold,
            classes=None if force_suppress else rows[:, :chosen, 0],
            inclusive=True,
        )
        stays = F.pad(stays, (0, count - chosen))
        kinds = torch.where(stays, rows[..., 0], -1).unsqueeze(-1)
        rows = torch.cat([kinds, rows[..., 1:]], -1)
    return rows.to(cls_prob.dtype)
