"""Region proposals.

Ren et al., "Faster R-CNN: Towards Real-Time Object Detection with Region Proposal Networks", 2015.
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import AtLeast, Params
from .._types import require_floating
from ..declaration import Operator, Shapes, operator
from ..ordering import first_positions
from ._geometry import keep_best, widened

__all__ = ["base_anchors", "multi_proposal", "proposal"]


@torch.no_grad()
def _proposals(
    cls_prob: Tensor,
    bbox_pred: Tensor,
    im_info: Tensor,
    *,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: Annotated[int, AtLeast(0)] = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: tuple[float, ...] = (4.0, 8.0, 16.0, 32.0),
    ratios: tuple[float, ...] = (0.5, 1.0, 2.0),
    feature_stride: Annotated[int, AtLeast(1)] = 16,
    output_score: bool = False,
    iou_loss: bool = False,
) -> tuple[Tensor, Tensor]:
    """Regions (image, left, top, right, bottom) that may hold an object, the best of an image first, and scores.

    Around each position of the feature map there is an anchor of each ratio and scale. Predicted offsets move and size
    it; the result is cut at the border of the image. A region smaller than `rpn_min_size` is made larger by half of
    that on each side, and comes after all others, with score -1, as do those at positions beyond the image. The best
    regions go through non-maximum suppression, in which the right and bottom pixels belong to a region. When fewer
    regions stay than are asked for, they are repeated from the first one on. The gradient is zero. Any number of
    images is taken (MXNet's `Proposal` takes one).

    Parameters
    ----------
    rpn_pre_nms_top_n
        How many regions, the best ones, go through suppression; 0 or less: all.
    rpn_post_nms_top_n
        How many regions are given for an image.
    threshold
        The intersection over union above which the region with the smaller score goes.
    rpn_min_size
        The smallest width and height, in pixels of the image before it was scaled.
    scales, ratios
        Of the anchors: sides in strides, height over width. There must be as many pairs of them as `cls_prob` has
        anchors.
    feature_stride
        How many pixels apart positions of the feature map are in the image.
    output_score
        Give the scores too.
    iou_loss
        Offsets are distances of the four sides in pixels, as a loss on overlaps learns them, not of centers and sizes.

    Shapes
    ------
    cls_prob : (B, 2 * A, H, W)     probabilities of background, then of an object; A = len(ratios) * len(scales)
    bbox_pred : (B, 4 * A, H, W)
    im_info : (B, 3)                height, width and scale of each image
    output : (B * rpn_post_nms_top_n, 5)
    score : (B * rpn_post_nms_top_n, 1)

    >>> boxes = torch.zeros(1, 4, 2, 2)
    >>> proposal(
    ...     torch.rand(1, 2, 2, 2), boxes, torch.tensor([[32.0, 32.0, 1.0]]), scales=(1.0,), ratios=(1.0,)
    ... )[0].shape
    torch.Size([300, 5])
    """
    anchors = base_anchors(feature_stride, ratios, scales)
    _check_arrays(cls_prob, bbox_pred, im_info, len(anchors), rpn_post_nms_top_n)
    boxes, scores = _candidates(
        cls_prob, bbox_pred, im_info, anchors, stride=feature_stride, min_size=rpn_min_size, iou_loss=iou_loss
    )
    boxes, scores = _best(boxes, scores, rpn_pre_nms_top_n, rpn_post_nms_top_n, threshold)
    image = torch.arange(len(boxes), dtype=boxes.dtype, device=boxes.device).view(-1, 1, 1)
    regions = torch.cat([image.expand(-1, boxes.shape[1], 1), boxes], -1)
    return regions.view(-1, 5).to(dtype=cls_prob.dtype), scores.view(-1, 1).to(dtype=cls_prob.dtype)


def _candidates(
    cls_prob: Tensor,
    bbox_pred: Tensor,
    im_info: Tensor,
    anchors: list[tuple[float, ...]],
    *,
    stride: int,
    min_size: int,
    iou_loss: bool,
) -> tuple[Tensor, Tensor]:
    """Return the box of each anchor at each position, (B, H * W * A, 4), and its score; -1 for what comes last."""
    height, width = cls_prob.shape[2:]
    # Positions row by row, the anchors of each beside each other: (B, H, W, A).
    # Of 2 A channels the first A are scores of the background, the others of objects.
    scores = widened(cls_prob[:, len(anchors) :]).permute(0, 2, 3, 1)
    offsets = widened(bbox_pred).unflatten(1, (-1, 4)).permute(0, 3, 4, 1, 2)
    info = widened(im_info)
    base = scores.new_tensor(anchors)
    row, column = (torch.arange(size, device=scores.device) for size in (height, width))
    position = torch.stack([column.expand(height, width), row.unsqueeze(1).expand(height, width)], -1)
    # Anchors (H, W, A, 4) and offsets (B, H, W, A, 4).
    boxes = _shifted(base + position.repeat(1, 1, 2).unsqueeze(2) * stride, offsets, iou_loss)

    # The last pixel of each image, x and y, twice: the limit of all four coordinates.
    last = (info[:, [1, 0]] - 1).repeat(1, 2).view(-1, 1, 1, 1, 4)
    boxes = torch.minimum(boxes, last).clamp_(min=0)
    # In pixels of the scaled image, as the boxes are.
    least = (min_size * info[:, 2]).view(-1, 1, 1, 1)
    left, top, right, bottom = boxes.unbind(-1)
    # The right and bottom pixels belong to a box: a side is `right - left + 1` long, here and below.
    small = (right - left + 1 < least) | (bottom - top + 1 < least)
    # Too small ones grow by half the least side on each side, and come last with a score of -1, as in MXNet.
    grown = torch.where(small, least / 2, 0).unsqueeze(-1)
    boxes = torch.cat([boxes[..., :2] - grown, boxes[..., 2:] + grown], -1)
    # Of a batch of images of several sizes the smaller ones do not fill the map.
    rows, columns = info[:, :2].div(stride).floor().unsqueeze(1).unbind(-1)
    inside = (row < rows).unsqueeze(2) & (column < columns).unsqueeze(1)
    scores = torch.where(inside.unsqueeze(-1) & ~small, scores, -1)
    return boxes.flatten(1, 3), scores.flatten(1)


def _best(boxes: Tensor, scores: Tensor, before: int, after: int, threshold: float) -> tuple[Tensor, Tensor]:
    """Return `after` boxes for each image, and their scores: what suppression leaves of the best `before` ones."""
    count = scores.shape[1]
    # Of equal scores the first is the better one.
    order = first_positions(scores, 1, min(before, count) if before > 0 else count, largest=True)
    scores = scores.gather(1, order)
    boxes = boxes.gather(1, order.unsqueeze(-1).expand(-1, -1, 4))
    stays = keep_best(boxes, torch.ones_like(order, dtype=torch.bool), threshold, border=1.0, enough=after)
    # Those that stay, still the best first.
    chosen = stays.to(dtype=torch.uint8).argsort(dim=1, descending=True, stable=True)
    # Fewer than asked for are repeated from the first one on.
    turn = torch.arange(after, device=scores.device) % stays.sum(1, keepdim=True).clamp_(min=1)
    chosen = chosen.gather(1, turn)
    return boxes.gather(1, chosen.unsqueeze(-1).expand(-1, -1, 4)), scores.gather(1, chosen)


def base_anchors(
    stride: int, ratios: tuple[float, ...], scales: tuple[float, ...]
) -> list[tuple[float, ...]]:
    """Return the anchors of the first position, as corner boxes; sides before scaling are whole numbers."""
    center = (stride - 1) / 2
    made: list[tuple[float, ...]] = []
    for ratio in ratios:
        # Not `round`: it takes halves to even numbers, MXNet takes them up.
        width = math.floor(math.sqrt(math.floor(stride * stride / ratio)) + 0.5)
        height = math.floor(width * ratio + 0.5)
        for scale in scales:
            x, y = (width * scale - 1) / 2, (height * scale - 1) / 2
            made.append((center - x, center - y, center + x, center + y))
    return made


def _shifted(boxes: Tensor, offsets: Tensor, iou_loss: bool) -> Tensor:
    """Return boxes after the predicted offsets."""
    if iou_loss:
        return boxes + offsets
    # Offsets are shares of the anchor, as in `decode`, but with sides that count both border pixels.
    size = boxes[..., 2:] - boxes[..., :2] + 1
    center = boxes[..., :2] + (size - 1) / 2 + offsets[..., :2] * size
    half = (offsets[..., 2:].exp() * size - 1) / 2
    return torch.cat([center - half, center + half], -1)


def _check_arrays(cls_prob: Tensor, bbox_pred: Tensor, im_info: Tensor, anchors: int, wanted: int) -> None:
    require_floating(cls_prob, "cls_prob")
    if cls_prob.ndim != 4 or cls_prob.shape[1] != 2 * anchors:
        raise ShapeError(
            f"cls_prob must have shape (B, {2 * anchors}, H, W), two numbers for each ratio and scale; "
            f"got {tuple(cls_prob.shape)}"
        )
    images, _, height, width = cls_prob.shape
    for name, array, shape in (
        ("bbox_pred", bbox_pred, (images, 4 * anchors, height, width)),
        ("im_info", im_info, (images, 3)),
    ):
        if array.shape != shape:
            raise ShapeError(
                f"{name} must have shape {shape} to match cls_prob {tuple(cls_prob.shape)}; "
                f"got {tuple(array.shape)}"
            )
    if wanted and not height * width * anchors:
        raise ShapeError(f"cls_prob must be at least 1 high and 1 wide; got shape {tuple(cls_prob.shape)}")


def _check_parameters(p: Params) -> str | None:
    if not p.scales or not p.ratios:
        return f"scales and ratios must hold at least one number each; got {p.scales} and {p.ratios}"
    return None if min(p.ratios) > 0 else f"ratios must be above 0; got {p.ratios}"


def _fill(shapes: Shapes, p: Params) -> Shapes:
    scores = shapes["cls_prob"]
    if not scores or len(scores) != 4:
        return {}
    return {"bbox_pred": (scores[0], 2 * scores[1], *scores[2:]), "im_info": (scores[0], 3)}


def _declare(name: str) -> Operator:
    made = operator(
        name, outputs=("output", "score"), visible=lambda p: 1 + p.output_score, head_gradient=False
    )(_proposals)
    made.check(_check_parameters)
    made.fill_shapes(_fill)
    return made


proposal = _declare("_contrib_Proposal")
multi_proposal = _declare("_contrib_MultiProposal")
