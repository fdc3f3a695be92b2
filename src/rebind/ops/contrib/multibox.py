"""Single-shot detection (Liu et al., "SSD: Single Shot MultiBox Detector", 2016): anchors, targets, detections."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import Params
from ...shapes import Shape
from .._types import require_floating
from ..declaration import Shapes, operator
from ._geometry import decode, encode, keep_best, match_best, overlaps, to_centers, widened

__all__ = ["multi_box_detection", "multi_box_prior", "multi_box_target"]

#: Objects that overlap an anchor by no more than this are not matched with it.
_TOUCHES = 1e-6


@operator("_contrib_MultiBoxPrior", head_gradient=False)
@torch.no_grad()
def multi_box_prior(
    data: Tensor,
    *,
    sizes: tuple[float, ...] = (1.0,),
    ratios: tuple[float, ...] = (1.0,),
    clip: bool = False,
    steps: tuple[float, ...] = (-1.0, -1.0),
    offsets: tuple[float, ...] = (0.5, 0.5),
) -> Tensor:
    """Anchors around each position of a feature map, as (left, top, right, bottom), the whole map being 1 by 1.

    A position has an anchor of each size with the first ratio, then one of the first size with each further ratio;
    positions follow row after row of the map. Sizes are relative to the height: a ratio of 1 is a square in pixels of
    the map. Of `data` the shape alone counts.

    Parameters
    ----------
    sizes
        Heights of a square anchor; the whole map's is 1.
    ratios
        Width over height.
    clip
        Cut what is outside of the map.
    steps
        Distances between positions, along y and x; (-1, -1) divides the map evenly.
    offsets
        Where in its cell a position is, along y and x.

    Shapes
    ------
    data : (B, C, H, W)
    out : (1, H * W * A, 4)     A = len(sizes) + len(ratios) - 1

    >>> multi_box_prior(torch.zeros(1, 1, 1, 2), sizes=(0.5,))
    tensor([[[0.1250, 0.2500, 0.3750, 0.7500],
             [0.6250, 0.2500, 0.8750, 0.7500]]])
    """
    require_floating(data)
    if data.ndim < 4:
        raise ShapeError(f"data must have shape (B, C, H, W); got {tuple(data.shape)}")
    height, width = data.shape[2:4]
    # All sizes with the first ratio, then the first size with the other ratios: not each with each.
    first = math.sqrt(ratios[0])
    shapes = [(size * first, size / first) for size in sizes]  # width, height
    shapes += [(sizes[0] * math.sqrt(ratio), sizes[0] / math.sqrt(ratio)) for ratio in ratios[1:]]
    kind = torch.promote_types(data.dtype, torch.float32)
    half = torch.tensor(shapes, dtype=kind, device=data.device) / 2
    # Sizes are relative to the height, coordinates to each side.
    half[:, 0] *= height / max(width, 1)
    step_y, step_x = steps if steps[0] > 0 else (1 / max(height, 1), 1 / max(width, 1))
    y = (torch.arange(height, dtype=kind, device=data.device) + offsets[0]) * step_y
    x = (torch.arange(width, dtype=kind, device=data.device) + offsets[1]) * step_x
    # The anchors of a position follow each other: (W, A, 4) for left and right, (H, A, 4) for top and bottom, each with
    # zeros in the place of the others. Their sum runs along rows of 4 A numbers, not of 2.
    x, y = x.unsqueeze(1), y.unsqueeze(1)
    none_x, none_y = (axis.new_zeros(len(axis), len(shapes)) for axis in (x, y))
    across = torch.stack([x - half[:, 0], none_x, x + half[:, 0], none_x], 2)
    down = torch.stack([none_y, y - half[:, 1], none_y, y + half[:, 1]], 2)
    out = (across.flatten(1) + down.flatten(1).unsqueeze(1)).view(1, -1, 4)
    return (out.clamp_(0, 1) if clip else out).to(dtype=data.dtype)


@multi_box_prior.check
def _(p: Params) -> str | None:
    for name in ("sizes", "ratios"):
        if not p[name]:
            return f"{name} must hold at least one number; got ()"
    if min(p.ratios) <= 0:
        return f"ratios must be above 0; got {p.ratios}"
    for name in ("steps", "offsets"):
        if len(p[name]) != 2:
            return f"{name} must be two numbers, for y and x; got {p[name]}"
    if (p.steps[0] > 0) != (p.steps[1] > 0):
        return f"steps must both be above 0, or both be -1 (computed from the shape of data); got {p.steps}"
    return None


def _size(shape: Shape | None, axis: int) -> int:
    """Return a size of a shape, 0 where it is unknown."""
    return shape[axis] if shape and len(shape) > axis else 0


def _check_variances(p: Params) -> str | None:
    return None if len(p.variances) == 4 else f"variances must be four numbers; got {p.variances}"


@operator("_contrib_MultiBoxTarget", outputs=("loc_target", "loc_mask", "cls_target"), head_gradient=False)
@torch.no_grad()
def multi_box_target(
    anchor: Tensor,
    label: Tensor,
    cls_pred: Tensor,
    *,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1.0,
    negative_mining_ratio: float = -1.0,
    negative_mining_thresh: float = 0.5,
    minimum_negative_samples: int = 0,
    variances: tuple[float, ...] = (0.1, 0.1, 0.2, 0.2),
) -> tuple[Tensor, Tensor, Tensor]:
    """What anchors are to learn: offsets to the objects they are matched with, their mask, and classes.

    First each object gets the anchor that overlaps it most, the best pair of all first. Then each anchor that is left
    gets the object that it overlaps most, if by more than `overlap_threshold`. An anchor's class is 1 more than that
    of its object; 0 is the background. Anchors of an image without objects are all ignored. There is no gradient.

    Parameters
    ----------
    anchor, label
        Corner boxes; of a label the first number is the class, further ones after the box do not count. Objects end at
        the first label with class -1.
    overlap_threshold
        The intersection over union above which an anchor is matched; 0 or less leaves the second step out.
    ignore_label
        The class of anchors that the loss is to leave out.
    negative_mining_ratio
        Above 0, so many times as many anchors of the background count as there are matched ones, those which the
        predictions take for background the least; the others are ignored. Else all count.
    negative_mining_thresh
        Anchors that overlap an object by so much are no background; they are ignored.
    minimum_negative_samples
        With mining, at least so many anchors of the background count in an image with objects. (MXNet 1.9.1 takes no
        notice of it.)
    variances
        What the four offsets are divided by.

    Shapes
    ------
    anchor : (1, N, 4)
    label : (B, M, 5 or more)
    cls_pred : (B, C, N)      before softmax
    loc_target, loc_mask : (B, N * 4)
    cls_target : (B, N)

    >>> anchor = torch.tensor([[[0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 1.0, 1.0]]])
    >>> label = torch.tensor([[[2.0, 0.5, 0.5, 1.0, 0.9], [-1.0, -1.0, -1.0, -1.0, -1.0]]])
    >>> multi_box_target(anchor, label, torch.zeros(1, 4, 2))[2]
    tensor([[0., 3.]])
    """
    _check_target(anchor, label, cls_pred)
    images, anchors = label.shape[0], anchor.shape[1]
    # From the first -1 on everything is padding, whatever its own class says.
    objects = (label[..., 0] == -1).cumsum(1) == 0
    if not label.is_meta and label.numel():
        most = int(objects.sum(1).max())  # padding, often most of the labels, is not worth comparing
        label, objects = label[:, :most], objects[:, :most]
    if not label.shape[1]:
        nothing = cls_pred.new_zeros(images, anchors * 4)
        return nothing, nothing.clone(), cls_pred.new_full((images, anchors), ignore_label)
    boxes, given = widened(anchor), widened(label[..., 1:5])
    # Less than any overlap, so that padding is never the best: (B, N, M).
    found = overlaps(boxes, given).masked_fill_(~objects.unsqueeze(1), -1)
    # First step: each object gets an anchor of its own, whatever the threshold says.
    match = match_best(found, _TOUCHES)
    best, nearest = found.amax(2), found.argmax(2)
    # Second step: anchors that are left get the object that they overlap most.
    if overlap_threshold > 0:
        match = torch.where((match < 0) & (best > overlap_threshold), nearest, match)
    positive = match >= 0
    match = match.clamp_(min=0)

    rows = given.gather(1, match.unsqueeze(-1).expand(-1, -1, 4))
    offsets = encode(to_centers(boxes), to_centers(rows)) / given.new_tensor(variances)
    mask = positive.unsqueeze(-1)
    target = torch.where(mask, offsets, 0).to(dtype=anchor.dtype)
    # Class 0 is the background: those of the labels follow it.
    classes = torch.where(positive, label[..., 0].gather(1, match) + 1, 0)
    # Without mining all other anchors are background.
    if negative_mining_ratio > 0:
        candidates = ~positive & (best < negative_mining_thresh)
        negative = _hardest(cls_pred, candidates, positive, negative_mining_ratio, minimum_negative_samples)
        classes = torch.where(positive | negative, classes, ignore_label)
    # An image without objects teaches nothing, not even the background.
    classes = torch.where(objects[:, :1], classes, ignore_label).to(dtype=anchor.dtype)
    return target.flatten(1), mask.to(dtype=anchor.dtype).expand(-1, -1, 4).flatten(1), classes


def _hardest(cls_pred: Tensor, candidates: Tensor, positive: Tensor, ratio: float, least: int) -> Tensor:
    """Return, of the candidates for background, those that are to count."""
    background = torch.softmax(widened(cls_pred), 1)[:, 0]
    # Hard negatives first: those with the least probability of the background.
    order = torch.where(candidates, background, float("inf")).argsort(dim=1, stable=True)
    wanted = (positive.sum(1, dtype=torch.float32) * ratio).long().clamp_(min=least)
    first = torch.arange(order.shape[1], device=order.device) < wanted.unsqueeze(1)
    # From ranks back to anchors. With fewer candidates than wanted, the others in `order` are no candidates.
    return candidates & torch.zeros_like(candidates).scatter_(1, order, first)


def _check_target(anchor: Tensor, label: Tensor, cls_pred: Tensor) -> None:
    require_floating(anchor, "anchor")
    if anchor.ndim != 3 or anchor.shape[0] != 1 or anchor.shape[2] != 4:
        raise ShapeError(f"anchor must have shape (1, N, 4); got {tuple(anchor.shape)}")
    if label.ndim != 3 or label.shape[2] < 5:
        raise ShapeError(f"label must have shape (B, M, 5 or more); got {tuple(label.shape)}")
    if cls_pred.ndim != 3 or cls_pred.shape[0] != label.shape[0] or cls_pred.shape[2] != anchor.shape[1]:
        raise ShapeError(
            f"cls_pred must have shape ({label.shape[0]}, classes, {anchor.shape[1]}) to match label and "
            f"anchor; got {tuple(cls_pred.shape)}"
        )


multi_box_target.check(_check_variances)


@multi_box_target.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    anchor, label, scores = shapes["anchor"], shapes["label"], shapes["cls_pred"]
    count = _size(anchor, 1) or _size(scores, 2)
    batch = _size(label, 0) or _size(scores, 0)
    return {"anchor": (1, count, 4), "label": (batch, 0, 0), "cls_pred": (batch, 0, count)}


@operator("_contrib_MultiBoxDetection", head_gradient=False)
@torch.no_grad()
def multi_box_detection(
    cls_prob: Tensor,
    loc_pred: Tensor,
    anchor: Tensor,
    *,
    clip: bool = True,
    threshold: float = 0.01,
    background_id: int = 0,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: tuple[float, ...] = (0.1, 0.1, 0.2, 0.2),
    nms_topk: int = -1,
) -> Tensor:
    """Detections (class, score, left, top, right, bottom) of each image, the best first; class -1 is none.

    Each anchor detects the class with the highest probability, the background, class 0, left out: class 0 of the
    output is class 1 of `cls_prob`. A detection that a better one of its class suppresses has class -1 and its
    score and box. Rows without a detection are -1. The gradient is zero.

    Parameters
    ----------
    clip
        Cut boxes that reach outside of the image, [0, 1].
    threshold
        Probabilities below it detect nothing.
    background_id
        Has no effect, as in MXNet 1.9.1: the background is class 0.
    nms_threshold
        The intersection over union from which the box with the smaller score is suppressed. Outside of (0, 1] nothing
        is, and detections are in the order of the anchors.
    force_suppress
        Let detections of different classes suppress each other too.
    variances
        Factors of the four offsets.
    nms_topk
        Above 0, the number of detections, best first, that go into suppression. The rows after them hold other
        detections with class -1, in the order of the anchors.

    Shapes
    ------
    cls_prob : (B, C, N)
    loc_pred : (B, N * 4)
    anchor : (1, N, 4)
    out : (B, N, 6)

    >>> anchor = torch.tensor([[[0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 1.0, 1.0]]])
    >>> multi_box_detection(torch.tensor([[[0.25, 1.0], [0.75, 0.0]]]), torch.zeros(1, 8), anchor)
    tensor([[[ 0.0000,  0.7500,  0.0000,  0.0000,  0.5000,  0.5000],
             [-1.0000, -1.0000, -1.0000, -1.0000, -1.0000, -1.0000]]])
    """
    _check_detection(cls_prob, loc_pred, anchor)
    images, classes, count = cls_prob.shape
    if classes < 2:
        return cls_prob.new_full((images, count, 6), -1)
    objects = cls_prob[:, 1:]  # without the background
    kind = objects.argmax(1, keepdim=True)
    scores = objects.gather(1, kind).squeeze(1)
    valid = scores >= threshold
    boxes = decode(to_centers(widened(anchor)), widened(loc_pred).view(images, count, 4), variances)
    if clip:
        boxes.clamp_(0, 1)
    detections = torch.cat(
        [kind.squeeze(1).unsqueeze(-1).to(dtype=boxes.dtype), scores.unsqueeze(-1), boxes], -1
    )

    suppresses = 0 < nms_threshold <= 1
    chosen = min(nms_topk, count) if nms_topk > 0 and suppresses else count
    # Those that detect something, in the order of the anchors, then the others.
    order = valid.to(dtype=torch.uint8).argsort(dim=1, descending=True, stable=True)
    if suppresses:
        best = torch.where(valid, scores, float("-inf")).argsort(dim=1, descending=True, stable=True)
        order = torch.cat([best[:, :chosen], order[:, chosen:]], 1)
    out = detections.gather(1, order.unsqueeze(-1).expand(-1, -1, 6))
    # Valid detections come first in either order, so that their number says which rows are real.
    real = torch.arange(count, device=out.device) < valid.sum(1, keepdim=True)
    out.masked_fill_(~real.unsqueeze(-1), -1)
    if suppresses:
        stays = keep_best(
            out[:, :chosen, 2:],
            real[:, :chosen],
            nms_threshold,
            classes=None if force_suppress else out[:, :chosen, 0],
            inclusive=True,
        )
        out[:, :chosen, 0].masked_fill_(~stays, -1)
        out[:, chosen:, 0] = -1
    return out.to(dtype=cls_prob.dtype)


def _check_detection(cls_prob: Tensor, loc_pred: Tensor, anchor: Tensor) -> None:
    require_floating(cls_prob, "cls_prob")
    if cls_prob.ndim != 3:
        raise ShapeError(f"cls_prob must have shape (B, classes, N); got {tuple(cls_prob.shape)}")
    images, _, count = cls_prob.shape
    for name, array, shape in (
        ("loc_pred", loc_pred, (images, count * 4)),
        ("anchor", anchor, (1, count, 4)),
    ):
        if array.shape != shape:
            raise ShapeError(
                f"{name} must have shape {shape} to match cls_prob {tuple(cls_prob.shape)}; "
                f"got {tuple(array.shape)}"
            )


multi_box_detection.check(_check_variances)


@multi_box_detection.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    scores, offsets, anchor = shapes["cls_prob"], shapes["loc_pred"], shapes["anchor"]
    count = _size(scores, 2) or _size(anchor, 1) or _size(offsets, 1) // 4
    batch = _size(scores, 0) or _size(offsets, 0)
    return {"cls_prob": (batch, 0, count), "loc_pred": (batch, count * 4), "anchor": (1, count, 4)}
