"""Regions that Faster R-CNN proposes."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .detection import non_maximum_suppression

__all__ = ["anchors_of_a_position", "propose"]


def anchors_of_a_position(
    stride: int, ratios: tuple[float, ...], scales: tuple[float, ...]
) -> list[tuple[float, ...]]:
    """Return the anchors of the first position; their sides are whole numbers before scaling."""
    center = (stride - 1) / 2
    anchors: list[tuple[float, ...]] = []
    for ratio in ratios:
        width = math.floor(math.sqrt(math.floor(stride * stride / ratio)) + 0.5)
        height = math.floor(width * ratio + 0.5)
        for scale in scales:
            x, y = (width * scale - 1) / 2, (height * scale - 1) / 2
            anchors.append((center - x, center - y, center + x, center + y))
    return anchors


def propose(
    cls_prob: Tensor,
    bbox_pred: Tensor,
    im_info: Tensor,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: tuple[float, ...] = (4.0, 8.0, 16.0, 32.0),
    ratios: tuple[float, ...] = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    iou_loss: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the best regions of each image, (image, left, top, right, bottom), and scores."""
    dtype = torch.promote_types(cls_prob.dtype, torch.float32)
    anchors = anchors_of_a_position(feature_stride, ratios, scales)
    images, _, height, width = cls_prob.shape
    scores = cls_prob.detach()[:, len(anchors) :].to(dtype).permute(0, 2, 3, 1)
    offsets = bbox_pred.detach().to(dtype).unflatten(1, (len(anchors), 4))
    offsets = offsets.permute(0, 3, 4, 1, 2)
    info = im_info.detach().to(dtype)
    row = torch.arange(height, device=scores.device)
    column = torch.arange(width, device=scores.device)
    shift = torch.stack(
        [column.expand(height, width), row.unsqueeze(1).expand(height, width)], -1
    )
    base = (
        scores.new_tensor(anchors) + shift.repeat(1, 1, 2).unsqueeze(2) * feature_stride
    )
    if iou_loss:
        boxes = base + offsets
    else:  # the right and bottom pixels belong to a box, here and below
        size = base[..., 2:] - base[..., :2] + 1
        center = base[..., :2] + (size - 1) / 2 + offsets[..., :2] * size
        half = (offsets[..., 2:].exp() * size - 1) / 2
        boxes = torch.cat([center - half, center + half], -1)
    last = (info[:, [1, 0]] - 1).repeat(1, 2).view(-1, 1, 1, 1, 4)
    boxes = torch.minimum(boxes, last).clamp(min=0)

    # Small ones grow, and come last with a score of -1, as do those beyond the image.
    least = (rpn_min_size * info[:, 2]).view(-1, 1, 1, 1)
    sides = boxes[..., 2:] - boxes[..., :2] + 1
    small = (sides[..., 0] < least) | (sides[..., 1] < least)
    grown = torch.where(small, least / 2, 0).unsqueeze(-1)
    boxes = torch.cat([boxes[..., :2] - grown, boxes[..., 2:] + grown], -1).flatten(
        1, 3
    )
    rows, columns = info[:, :2].div(feature_stride).floor().unsqueeze(1).unbind(-1)
    inside = (row < rows).unsqueeze(2) & (column < columns).unsqueeze(1)
    scores = torch.where(inside.unsqueeze(-1) & ~small, scores, -1).flatten(1)

    order = scores.argsort(dim=1, descending=True, stable=True)
    if rpn_pre_nms_top_n > 0:
        order = order[:, :rpn_pre_nms_top_n]
    scores = scores.gather(1, order)
    boxes = boxes.gather(1, order.unsqueeze(-1).expand(-1, -1, 4))
    stays = non_maximum_suppression(
        boxes,
        torch.ones_like(order, dtype=torch.bool),
        threshold,
        border=1.0,
        enough=rpn_post_nms_top_n,
    )
    # Fewer than asked for are repeated from the first one on.
    chosen = stays.int().argsort(dim=1, descending=True, stable=True)
    turn = torch.arange(rpn_post_nms_top_n, device=scores.device)
    chosen = chosen.gather(1, turn % stays.sum(1, keepdim=True).clamp(min=1))
    boxes = boxes.gather(1, chosen.unsqueeze(-1).expand(-1, -1, 4))
    scores = scores.gather(1, chosen)
    image = torch.arange(images, dtype=dtype, device=boxes.device).view(-1, 1, 1)
    regions = torch.cat([image.expand(-1, boxes.shape[1], 1), boxes], -1)
    dtype = cls_prob.dtype
    return regions.view(-1, 5).to(dtype), scores.view(-1, 1).to(dtype)
