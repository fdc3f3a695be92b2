"""Detectors: anchors, boxes, and the suppression of those that overlap better ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import onnx_ir as ir
import torch

from ..expressions import Expression, arange, concat, full, numbers, real, size, stack, where, widened
from ..node_writer import NodeWriter
from ..translations import translation
from .suppression import best_first, keep_best, numbered

__all__ = ["box_decode", "box_encode", "box_iou", "box_nms", "multi_box_detection", "multi_box_prior"]


def _halves(boxes: Expression) -> tuple[Expression, Expression]:
    return boxes.slice(-1, 0, 2), boxes.slice(-1, 2, 4)


def to_corners(boxes: Expression) -> Expression:
    """Return boxes (x, y, width, height) as (left, top, right, bottom)."""
    center, extent = _halves(boxes)
    half = extent / 2
    return concat([center - half, center + half], -1)


def to_centers(boxes: Expression) -> Expression:
    """Return boxes (left, top, right, bottom) as (x, y, width, height)."""
    low, high = _halves(boxes)
    return concat([(low + high) / 2, high - low], -1)


def decode(
    anchors: Expression, offsets: Expression, factors: Sequence[float], limit: float | None = None
) -> Expression:
    """Return corner boxes from anchors (x, y, width, height) and offsets, times factors."""
    place, extent = _halves(anchors)
    moved, grown = _halves(offsets * numbers(anchors.writer, list(factors), offsets.dtype))
    if limit is not None:
        grown = grown.minimum(limit)
    center, half = moved * extent + place, grown.apply("Exp") * extent / 2
    return concat([center - half, center + half], -1)


@translation("_contrib_box_iou")
def box_iou(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Write the intersection over union of each box with each."""
    left, right = real(writer, lhs), real(writer, rhs, 1)
    shape = concat([left.shape().slice(0, 0, -1), right.shape().slice(0, 0, -1)], 0)
    left, right = left.reshape(-1, 1, 4), right.reshape(1, -1, 4)
    if writer.params.format == "center":
        left, right = to_corners(left), to_corners(right)
    (low, high), (other_low, other_high) = _halves(left), _halves(right)
    sides = (high.minimum(other_high) - low.maximum(other_low)).clamp(0.0)
    shared = sides.select(-1, 0) * sides.select(-1, 1)
    areas = [extent.select(-1, 0) * extent.select(-1, 1) for extent in (high - low, other_high - other_low)]
    union = areas[0] + areas[1] - shared
    # Boxes that do not meet have the quotient 0, also those without area.
    overlap = shared / where(shared.equals(0.0), shared.full_like(1.0), union)
    return overlap.apply("Reshape", shape.value).to(writer.output_dtype()).value


@translation("_contrib_box_encode")
def box_encode(writer: NodeWriter, *given: ir.Value) -> Sequence[ir.Value]:
    """Write the offsets from anchors to the boxes that they are matched with, and their mask."""
    samples, matches, anchors, refs, means, stds = (real(writer, each, i) for i, each in enumerate(given))
    dtype = writer.output_dtype()
    count = size(refs, writer.shape(3), 1)
    learns = ((samples > 0.5) & (matches > -1.0) & (matches < count)).unsqueeze(-1)
    index = where(learns.squeeze(-1), matches, 0.0).to(torch.int64).unsqueeze(-1)
    chosen = refs.gather(1, index.expand_as(anchors))
    (place, extent), (wanted, wide) = _halves(to_centers(anchors)), _halves(to_centers(chosen))
    offsets = concat([(wanted - place) / extent, (wide / extent).apply("Log")], -1)
    targets = where(learns, (offsets - means) / stds, 0.0)
    mask = learns.to(dtype).expand_as(anchors)
    return [targets.to(dtype).value, mask.value]


@translation("_contrib_box_decode")
def box_decode(writer: NodeWriter, data: ir.Value, anchors: ir.Value) -> ir.Value:
    """Write boxes from predicted offsets to anchors."""
    p = writer.params
    centers = real(writer, anchors, 1)
    if p.format == "corner":
        centers = to_centers(centers)
    limit = p.clip if p.clip > 0 else None
    boxes = decode(centers, real(writer, data), (p.std0, p.std1, p.std2, p.std3), limit)
    return boxes.to(writer.output_dtype()).value


@translation("_contrib_MultiBoxPrior")
def multi_box_prior(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the anchors around each position of a map: constants where its size is known."""
    p = writer.params
    found = real(writer, data)
    height, width = (size(found, writer.shape(), axis) for axis in (2, 3))
    first = math.sqrt(p.ratios[0])
    shapes = [(each * first, each / first) for each in p.sizes]
    shapes += [(p.sizes[0] * math.sqrt(ratio), p.sizes[0] / math.sqrt(ratio)) for ratio in p.ratios[1:]]
    step_y, step_x = p.steps if p.steps[0] > 0 else (1 / height, 1 / width)
    y = ((arange(writer, height, found.dtype) + p.offsets[0]) * step_y).reshape(-1, 1, 1)
    x = ((arange(writer, width, found.dtype) + p.offsets[1]) * step_x).reshape(1, -1, 1)
    half = np.array(shapes, np.float32) / 2
    # Sizes are relative to the height, coordinates to each side.
    half_x = numbers(writer, half[:, 0], found.dtype) * (height / width)
    half_y = numbers(writer, half[:, 1], found.dtype)
    zeros = (x + y) * 0.0
    corners = [zeros + x - half_x, zeros + y - half_y, zeros + x + half_x, zeros + y + half_y]
    out = stack(corners, -1).reshape(1, -1, 4)
    return (out.clamp(0.0, 1.0) if p.clip else out).to(writer.output_dtype()).value


@translation("_contrib_MultiBoxDetection")
def multi_box_detection(
    writer: NodeWriter, cls_prob: ir.Value, loc_pred: ir.Value, anchor: ir.Value
) -> ir.Value:
    """Write the class, score and box of each anchor, the best first; class -1 is none."""
    p = writer.params
    given = Expression(writer, cls_prob, writer.dtype())
    if writer.shape()[1] == 1:  # nothing but the background
        rows = concat([given.length(0), given.length(2), numbers(writer, [6], torch.int64)], 0)
        return full(rows, -1.0, given.dtype).value
    objects = given.slice(1, 1)
    kind, scores = objects.argmax(1), objects.amax(1)
    boxes = decode(
        to_centers(real(writer, anchor, 2)), real(writer, loc_pred, 1).reshape(0, -1, 4), p.variances
    )
    if p.clip:
        boxes = boxes.clamp(0.0, 1.0)
    valid, scores = scores >= p.threshold, scores.to(boxes.dtype)
    detections = concat([kind.to(boxes.dtype).unsqueeze(-1), scores.unsqueeze(-1), boxes], -1)
    suppresses = 0 < p.nms_threshold <= 1
    count = scores.length(1)
    # Those that detect something, in the order of the anchors, then the others.
    order = best_first(valid.to(torch.float32), count)
    chosen = count
    if suppresses:
        every = p.nms_topk <= 0 or 0 < writer.shape()[2] <= p.nms_topk
        chosen = count if every else count.minimum(p.nms_topk)
        best = best_first(where(valid, scores, -math.inf), chosen)
        order = best if every else concat([best, order.slice_from(1, chosen)], 1)
    out = detections.gather(1, order.unsqueeze(-1).expand_as(detections))
    real_rows = numbered(valid, 1) < valid.to(torch.int64).sum(1, keepdim=True)
    out = where(real_rows.unsqueeze(-1), out, -1.0)
    if suppresses:
        classes = writer.shape()[1] - 1
        stays = keep_best(
            out.slice(-1, 2, 6),
            real_rows & (numbered(valid, 1) < chosen),
            p.nms_threshold,
            classes=None if p.force_suppress else out.select(-1, 0),
            kinds=numbers(writer, np.arange(classes), out.dtype),
            inclusive=True,
        )
        out = concat([where(stays, out.select(-1, 0), -1.0).unsqueeze(-1), out.slice(-1, 1)], -1)
    return out.to(writer.output_dtype()).value


@translation("_contrib_box_nms")
def box_nms(writer: NodeWriter, data: ir.Value) -> Sequence[ir.Value]:
    """Write the boxes that stay, the best first, and -1 in the rows that remain."""
    p = writer.params
    given = Expression(writer, data, writer.dtype())
    if p.topk == 0:
        return [given.apply("Identity").value]
    shape = given.shape()
    batched = concat([numbers(writer, [-1], torch.int64), shape.slice(0, -2)], 0)
    rows = given.apply("Reshape", batched.value) if writer.rank() != 3 else given
    scores = rows.select(-1, p.score_index)
    allowed = scores > p.valid_thresh
    if p.id_index >= 0:
        allowed = allowed & ~rows.select(-1, p.id_index).equals(p.background_id)
    order = best_first(where(allowed, scores, -math.inf), scores.length(1))
    candidates = allowed.to(torch.float32).gather(1, order) > 0.5
    if p.topk > 0:
        candidates = candidates & (numbered(scores, 1) < p.topk)
    ordered = rows.gather(1, order.unsqueeze(-1).expand_as(rows))
    boxes = widened(ordered.slice(-1, p.coord_start, p.coord_start + 4))
    classes = kinds = None
    if p.id_index >= 0 and not p.force_suppress:
        classes = widened(ordered.select(-1, p.id_index))
        kinds = classes.apply("Unique")
    stays = keep_best(
        to_corners(boxes) if p.in_format == "center" else boxes,
        candidates,
        p.overlap_thresh,
        classes=classes,
        kinds=kinds,
    )
    if p.in_format != p.out_format:
        changed = to_centers(boxes) if p.out_format == "center" else to_corners(boxes)
        before, after = ordered.slice(-1, 0, p.coord_start), ordered.slice(-1, p.coord_start + 4)
        ordered = concat([before, changed.to(given.dtype), after], -1)
    first = best_first(stays.to(torch.float32), stays.length(1))
    filled = numbered(stays, 1) < stays.to(torch.int64).sum(1, keepdim=True)
    out = ordered.gather(1, first.unsqueeze(-1).expand_as(ordered))
    return [where(filled.unsqueeze(-1), out, -1.0).apply("Reshape", shape.value).value]
