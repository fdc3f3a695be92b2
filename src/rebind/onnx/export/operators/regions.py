"""Pooling over regions of feature maps, and the proposals of regions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import onnx_ir as ir
import torch

from ....ops.contrib.proposal import base_anchors
from ..expressions import Expression, Operand, arange, concat, numbers, real, size, stack, where
from ..node_writer import NodeWriter
from ..translations import translation
from .interpolation import corners, pixel_table, weighted_rows
from .suppression import best_first, keep_best, numbered

__all__ = ["deformable_psroi_pooling", "proposal", "psroi_pooling", "roi_align", "roi_pooling", "rroi_align"]


#: Since this opset the operators on regions have forms that onnxruntime does not run.
_NEW_FORMS = 22


class _Regions:
    """The maps and the boxes of a node."""

    def __init__(self, writer: NodeWriter, data: ir.Value, rois: ir.Value) -> None:
        self.writer = writer
        self.maps = real(writer, data)
        boxes = real(writer, rois, 1).to(self.maps.dtype)
        shape = writer.shape()
        self.height, self.width = size(self.maps, shape, 2), size(self.maps, shape, 3)
        image = boxes.select(1, 0)
        #: Whether each is a box on an image; the others give zeros.
        self.inside = (image > -1.0) & (image < size(self.maps, shape, 0))
        self.image = where(self.inside, image, 0.0).to(torch.int64)
        self.box = boxes.slice(1, 1)

    @property
    def pixels(self) -> Operand:
        """How many pixels a map has, as an integer."""
        found = self.height * self.width
        return found.to(torch.int64) if isinstance(found, Expression) else found

    def finish(self, out: Expression) -> ir.Value:
        """Return the result of an array (R, C, h, w)."""
        held = where(self.inside.reshape(-1, 1, 1, 1), out, 0.0)
        return held.to(self.writer.output_dtype()).value


@translation("ROIPooling")
def roi_pooling(writer: NodeWriter, data: ir.Value, rois: ir.Value) -> ir.Value:
    """Write ONNX's operator, which rounds as MXNet's does.

    onnxruntime has none for float64, nor the one of opset 22: those are written out.
    """
    p, regions = writer.params, _Regions(writer, data, rois)
    if regions.maps.dtype == torch.float64 or writer.opset >= _NEW_FORMS:
        return regions.finish(_highest(regions, p.pooled_size, p.spatial_scale))
    boxes = concat([regions.image.to(torch.float32).unsqueeze(1), regions.box], 1)
    out = regions.maps.apply(
        "MaxRoiPool", boxes.value, pooled_shape=p.pooled_size, spatial_scale=p.spatial_scale
    )
    return regions.finish(out)


def _highest(regions: _Regions, pooled_size: Sequence[int], scale: float) -> Expression:
    """Return the maximum of each bin, along rows and then along columns."""
    edges = (regions.box * scale).round_half_away()
    extent = (edges.slice(1, 2, 4) - edges.slice(1, 0, 2) + 1.0).maximum(1.0)
    found = regions.maps.take(regions.image).unsqueeze(3)  # (R, C, H, 1, W)
    for axis, pooled, length in ((0, pooled_size[1], regions.width), (1, pooled_size[0], regions.height)):
        start, whole = edges.slice(1, axis, axis + 1), extent.slice(1, axis, axis + 1)
        inside, _ = _windows(start * 0.0, whole / float(pooled), pooled, length, start)
        found = where(inside.unsqueeze(1, 2), found, -math.inf).amax(-1)
        # Columns are done, (R, C, H, w): rows are the last axis now.
        found = found.permute(0, 1, 3, 2).unsqueeze(3) if axis == 0 else found.permute(0, 1, 3, 2)
    return where(found > -math.inf, found, 0.0)


@translation("_contrib_ROIAlign")
def roi_align(writer: NodeWriter, data: ir.Value, rois: ir.Value) -> ir.Value:
    """Write ONNX's operator; with `position_sensitive` each bin keeps its own maps of all."""
    p, regions = writer.params, _Regions(writer, data, rois)
    if p.aligned:
        extent = regions.box.slice(1, 2, 4) - regions.box.slice(1, 0, 2)
        regions.inside = regions.inside & (extent.select(1, 0).minimum(extent.select(1, 1)) > 0.0)
    h, w = p.pooled_size
    if writer.opset >= _NEW_FORMS or (p.aligned and writer.opset < 16):
        out = _aligned(writer, regions)
    else:
        mode = "half_pixel" if p.aligned else "output_half_pixel"
        out = regions.maps.apply(
            "RoiAlign",
            *(regions.box.value, regions.image.value),
            output_height=h,
            output_width=w,
            sampling_ratio=max(p.sample_ratio, 0),
            spatial_scale=p.spatial_scale,
            coordinate_transformation_mode=mode if writer.opset >= 16 else None,
        )
    if p.position_sensitive:
        # (R, C, maps, bins), of which bin i wants map i.
        own = numbers(writer, np.eye(h * w), out.dtype)
        out = (out.reshape(0, -1, h * w, h * w) * own).sum(2).reshape(0, 0, h, w)
    return regions.finish(out)


def _aligned(writer: NodeWriter, regions: _Regions) -> Expression:
    """Return the mean over points of each bin, from a table of pixels: (R, C, h, w)."""
    p, found = writer.params, []
    for axis, bins in ((0, p.pooled_size[1]), (1, p.pooled_size[0])):
        start, end = (regions.box.slice(1, i, i + 1).unsqueeze(2) * p.spatial_scale for i in (axis, axis + 2))
        length = end - start if p.aligned else (end - start).maximum(1.0)
        place, share = _points(length, bins, p.sample_ratio)
        found.append((place + length / 2.0 + (start - 0.5 if p.aligned else start), share))
    (x, of_column), (y, of_row) = found
    return _means(
        writer,
        regions,
        (x.unsqueeze(1, 3), y.unsqueeze(2, 4)),
        of_row.unsqueeze(2, 4) * of_column.unsqueeze(1, 3),
    )


def _means(
    writer: NodeWriter, regions: _Regions, point: tuple[Expression, Expression], share: Expression
) -> Expression:
    """Return means of points (R, h, w, rows, columns) with shares; those more than a pixel outside count as 0."""
    x, y = point
    counted = (y >= -1.0) & (y <= regions.height) & (x >= -1.0) & (x <= regions.width)
    index, weight = corners(y, x, regions.height, regions.width)
    weight = where(counted.unsqueeze(-1), weight * share.unsqueeze(-1), 0.0)
    index = index + regions.image.reshape(-1, 1, 1, 1, 1, 1) * regions.pixels
    table = pixel_table(regions.maps, _channels(writer))
    out = weighted_rows(table, index.reshape(0, 0, 0, -1), weight.reshape(0, 0, 0, -1))
    return out.permute(0, 3, 1, 2)


@translation("_contrib_RROIAlign")
def rroi_align(writer: NodeWriter, data: ir.Value, rois: ir.Value) -> ir.Value:
    """Write the mean over points of turned boxes, which a table of pixels gives."""
    p, regions = writer.params, _Regions(writer, data, rois)
    h, w = p.pooled_size
    column = [regions.box.slice(1, i, i + 1).unsqueeze(2) for i in range(5)]
    wide, high = ((column[i] * p.spatial_scale).maximum(1.0) for i in (2, 3))
    (x, of_column), (y, of_row) = (
        _points(length, bins, p.sampling_ratio) for length, bins in ((wide, w), (high, h))
    )
    # Axes: box, row and column of the bin, row and column of the point.
    (x, of_column), (y, of_row) = (
        [each.unsqueeze(*axes) for each in pair]
        for pair, axes in (((x, of_column), (1, 3)), ((y, of_row), (2, 4)))
    )
    centre_x, centre_y, angle = (column[i].unsqueeze(3, 4) for i in (0, 1, 4))
    cosine, sine = ((angle * (math.pi / 180)).apply(kind) for kind in ("Cos", "Sin"))
    x, y = (
        x * cosine + y * sine + centre_x * p.spatial_scale,
        y * cosine - x * sine + centre_y * p.spatial_scale,
    )
    return regions.finish(_means(writer, regions, (x, y), of_row * of_column))


def _points(length: Expression, bins: int, ratio: int) -> tuple[Expression, Expression]:
    """Return where points lie on an axis, from the middle of their box, and what share of a bin each has.

    There are `ratio` points in a bin, or about one for each pixel where that is not positive; `length` is (R, 1, 1),
    results are (R, bins, points).
    """
    bin_size = length / float(bins)
    points, most = (bin_size.ceil(), None) if ratio <= 0 else (length * 0.0 + float(ratio), ratio)
    number = arange(length.writer, points.amax(0, 1, 2) if most is None else most, length.dtype)
    place = numbers(length.writer, np.arange(bins).reshape(-1, 1), length.dtype) * bin_size
    position = place + (number + 0.5) * bin_size / points - length / 2.0
    return position, where(number < points, 1.0 / points, 0.0)


def _channels(writer: NodeWriter) -> int:
    found = writer.shape()[1]
    if not found:
        raise writer.unknown("the number of channels")
    return found


def _parts(count: int, of: int) -> np.ndarray:
    """Return which of `of` parts each of `count` bins on an axis reads."""
    return np.arange(count) * of // count


def _sensitive_maps(maps: Expression, group: int, pooled: int, shape: Sequence[int]) -> Expression:
    """Return the maps that the bins read, (N, output_dim, bins, H, W)."""
    counts = numbers(maps.writer, [shape[1] // group**2, group**2], torch.int64)
    wanted = concat([maps.length(0), counts, maps.length(2), maps.length(3)], 0)
    chosen = _parts(pooled, group)
    index = (chosen[:, None] * group + chosen).flatten()
    return maps.apply("Reshape", wanted.value).take(numbers(maps.writer, index, torch.int64), 2)


@translation("_contrib_PSROIPooling")
def psroi_pooling(writer: NodeWriter, data: ir.Value, rois: ir.Value) -> ir.Value:
    """Write means over windows as products with the weights of rows and columns."""
    p, regions = writer.params, _Regions(writer, data, rois)
    _channels(writer)
    pooled = p.pooled_size
    corner = regions.box.round_half_away()
    start, end = corner.slice(1, 0, 2) * p.spatial_scale, (corner.slice(1, 2, 4) + 1.0) * p.spatial_scale
    bins = (end - start).maximum(0.1) / float(pooled)
    columns, rows = (
        _window_means(start.slice(1, axis, axis + 1), bins.slice(1, axis, axis + 1), pooled, length)
        for axis, length in enumerate((regions.width, regions.height))
    )
    maps = _sensitive_maps(regions.maps, p.group_size or pooled, pooled, writer.shape())
    row, column = (each.flatten() for each in np.indices((pooled, pooled)))
    rows, columns = (
        rows.take(numbers(writer, row, torch.int64), 1),
        columns.take(numbers(writer, column, torch.int64), 1),
    )
    own = regions.image.unsqueeze(1).equals(numbered(maps, 0)).to(maps.dtype)
    # Letters: r box, b bin, n image, c channel, y and x pixel.
    weights = rows.unsqueeze(3) * own.unsqueeze(1, 2)
    by_rows = weights.apply("Einsum", maps.value, equation="rbyn,ncbyx->rbcx")
    out = by_rows.apply("Einsum", columns.value, equation="rbcx,rbx->rcb")
    return regions.finish(out.reshape(0, 0, pooled, pooled))


def _windows(
    start: Expression, bin_size: Expression, pooled: int, length: Operand, origin: Operand = 0.0
) -> tuple[Expression, Expression]:
    """Return which pixels the bins of an axis have, (R, pooled, length), and how many, (R, pooled, 1)."""
    bins = numbers(start.writer, np.arange(pooled), start.dtype)
    low = ((bins * bin_size + start).floor() + origin).clamp(0.0, length).unsqueeze(2)
    high = (((bins + 1.0) * bin_size + start).ceil() + origin).clamp(0.0, length).unsqueeze(2)
    pixel = arange(start.writer, length, start.dtype)
    return (pixel >= low) & (pixel < high), high - low


def _window_means(start: Expression, bin_size: Expression, pooled: int, length: Operand) -> Expression:
    """Return the weights of pixels for the mean over each bin of an axis: (R, pooled, length)."""
    inside, count = _windows(start, bin_size, pooled, length)
    return inside.to(start.dtype) / count.maximum(1.0)


@translation("_contrib_DeformablePSROIPooling")
def deformable_psroi_pooling(
    writer: NodeWriter, data: ir.Value, rois: ir.Value, trans: ir.Value | None = None
) -> ir.Value:
    """Write the mean over the points of each bin, which a table of pixels gives."""
    p, regions = writer.params, _Regions(writer, data, rois)
    pooled, count, dtype = p.pooled_size, p.sample_per_part, regions.maps.dtype
    corner = regions.box.round_half_away()
    start = corner.slice(1, 0, 2) * p.spatial_scale - 0.5
    end = (corner.slice(1, 2, 4) + 1.0) * p.spatial_scale - 0.5
    extent = (end - start).maximum(0.1)
    classes, shifts = 1, None
    if trans is not None:
        classes, parts = writer.shape(2)[1] // 2, p.part_size or pooled
        part = numbers(writer, _parts(pooled, parts), torch.int64)
        shifts = real(writer, trans, 2).to(dtype).take(part, 2).take(part, 3) * p.trans_std
        shifts = shifts.reshape(0, classes, 2, pooled, pooled)
    # Axes: box, class, row and column of the bin, row and column of the point.
    places = []
    for axis, along in enumerate((3, 2)):
        side = extent.slice(1, axis, axis + 1).unsqueeze(1, 2, 3, 4)
        steps = [
            numbers(writer, _along(np.arange(n), at), dtype)
            for n, at in ((pooled, along), (count, along + 2))
        ]
        place = start.slice(1, axis, axis + 1).unsqueeze(1, 2, 3, 4) + steps[0] * (side / float(pooled))
        if shifts is not None:
            place = place + shifts.select(2, axis).unsqueeze(4, 5) * side
        places.append(place + steps[1] * (side / float(pooled * count)))
    x, y = places
    counted = (x >= -0.5) & (x <= regions.width - 0.5) & (y >= -0.5) & (y <= regions.height - 0.5)
    index, weight = corners(y, x, regions.height, regions.width)
    number = counted.to(dtype).sum(4, 5, keepdim=True).maximum(1.0)
    weight = where(counted.unsqueeze(-1), weight / number.unsqueeze(-1), 0.0)
    # Each class and bin has maps of its own; the images follow each other.
    first = np.arange(classes * pooled**2).reshape(classes, pooled, pooled, 1, 1, 1)
    image = regions.image.reshape(-1, 1, 1, 1, 1, 1, 1) * (classes * pooled**2)
    index = index + (numbers(writer, first, torch.int64) + image) * regions.pixels
    maps = _sensitive_maps(regions.maps, p.group_size, pooled, (0, _channels(writer)))
    channels = p.output_dim // classes
    table = maps.reshape(0, classes, channels, pooled**2, -1).permute(0, 1, 3, 4, 2).reshape(-1, channels)
    flat = (0, classes, pooled, pooled, -1)
    out = weighted_rows(table, index.reshape(*flat), weight.reshape(*flat))
    return regions.finish(out.permute(0, 1, 4, 2, 3).reshape(0, p.output_dim, pooled, pooled))


def _along(values: np.ndarray, axis: int) -> np.ndarray:
    """Return numbers along one of six axes."""
    return values.reshape([-1 if i == axis else 1 for i in range(6)])


@translation("_contrib_Proposal", "_contrib_MultiProposal")
def proposal(
    writer: NodeWriter, cls_prob: ir.Value, bbox_pred: ir.Value, im_info: ir.Value
) -> Sequence[ir.Value]:
    """Write the best regions of each image, and their scores."""
    p = writer.params
    boxes, scores = _candidates(writer, cls_prob, bbox_pred, im_info)
    before, after = scores.length(1), p.rpn_post_nms_top_n
    if p.rpn_pre_nms_top_n > 0:
        before = before.minimum(p.rpn_pre_nms_top_n)
    scores, order = scores.topk(before, 1)
    boxes = boxes.gather(1, _for_each_corner(order))
    allowed = scores.equals(scores)
    stays = keep_best(boxes, allowed, p.threshold, border=1.0, enough=after)
    # Those that stay, still the best first; fewer than asked for are repeated from the first one on.
    chosen = best_first(stays.to(torch.float32), before)
    count = stays.to(torch.int64).sum(1, keepdim=True).maximum(1)
    turn = numbers(writer, np.arange(after).reshape(1, -1), torch.int64).apply("Mod", count.value)
    chosen = chosen.gather(1, turn)
    found = boxes.gather(1, _for_each_corner(chosen))
    image = numbered(found, 0).to(found.dtype).reshape(-1, 1, 1) + found.slice(2, 0, 1) * 0.0
    regions = concat([image, found], 2).reshape(-1, 5)
    dtype = writer.output_dtype()
    return [regions.to(dtype).value, scores.gather(1, chosen).reshape(-1, 1).to(dtype).value]


def _for_each_corner(index: Expression) -> Expression:
    return concat([index.unsqueeze(2)] * 4, 2)


def _candidates(
    writer: NodeWriter, cls_prob: ir.Value, bbox_pred: ir.Value, im_info: ir.Value
) -> tuple[Expression, Expression]:
    """Return the box of each anchor at each position, (B, H * W * A, 4), and its score; -1 for what comes last."""
    p, shape = writer.params, writer.shape()
    anchors = base_anchors(p.feature_stride, p.ratios, p.scales)
    probabilities, info = real(writer, cls_prob), real(writer, im_info, 2)
    dtype = probabilities.dtype
    scores = probabilities.slice(1, len(anchors)).permute(0, 2, 3, 1)
    offsets = real(writer, bbox_pred, 1).permute(0, 2, 3, 1).reshape(0, 0, 0, -1, 4)
    row, column = (arange(writer, size(probabilities, shape, axis), dtype) for axis in (2, 3))
    # (H, W, A): anchors around each position.
    x = (column * float(p.feature_stride)).reshape(1, -1, 1)
    y = (row * float(p.feature_stride)).reshape(-1, 1, 1)
    base = np.array(anchors)
    corners_of = [numbers(writer, base[:, i], dtype) + (x, y)[i % 2] + 0.0 * (x + y) for i in range(4)]
    boxes = _shifted(stack(corners_of, -1), offsets, p.iou_loss)

    last = (info.take(numbers(writer, [1, 0, 1, 0], torch.int64), 1) - 1.0).unsqueeze(1, 2, 3)
    boxes = boxes.minimum(last).maximum(0.0)
    least = (info.select(1, 2) * float(p.rpn_min_size)).reshape(-1, 1, 1, 1)
    low, high = boxes.slice(-1, 0, 2), boxes.slice(-1, 2, 4)
    sides = high - low + 1.0
    small = (sides.select(-1, 0) < least) | (sides.select(-1, 1) < least)
    grown = (small.to(dtype) * (least / 2.0)).unsqueeze(-1)
    boxes = concat([low - grown, high + grown], -1)
    limits = (info.slice(1, 0, 2) / float(p.feature_stride)).floor()
    inside = (row < limits.slice(1, 0, 1)).unsqueeze(2) & (column < limits.slice(1, 1, 2)).unsqueeze(1)
    scores = where(inside.unsqueeze(-1) & ~small, scores, -1.0)
    return boxes.reshape(0, -1, 4), scores.reshape(0, -1)


def _shifted(boxes: Expression, offsets: Expression, iou_loss: bool) -> Expression:
    """Return boxes after the predicted offsets."""
    if iou_loss:
        return offsets + boxes
    low, extent = boxes.slice(-1, 0, 2), boxes.slice(-1, 2, 4) - boxes.slice(-1, 0, 2) + 1.0
    center = low + (extent - 1.0) / 2.0 + offsets.slice(-1, 0, 2) * extent
    half = (offsets.slice(-1, 2, 4).apply("Exp") * extent - 1.0) / 2.0
    return concat([center - half, center + half], -1)
