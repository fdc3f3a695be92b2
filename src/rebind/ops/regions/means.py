"""Means over the bins of boxes, at points between the pixels."""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import AtLeast, Params
from ...shapes import Shape
from .._bilinear import corners, taps, weighted_rows
from .._reading import can_read
from .._types import require_floating
from ..declaration import Shapes, operator
from ._boxes import (
    Weights,
    boxes_of,
    check_boxes,
    nothing,
    only_inside,
    pixel_table,
    two_sizes,
    weighted_sums,
)

__all__ = ["roi_align", "rroi_align"]


def _bins(start: Tensor, length: Tensor, pooled: int) -> tuple[Tensor, Tensor]:
    """Return where the bins of an axis begin, and their size: (R, pooled)."""
    size = (length / pooled).unsqueeze(1)
    low = start.unsqueeze(1) + torch.arange(pooled, dtype=start.dtype, device=start.device) * size
    return low, size.expand_as(low)


def _sample_taps(
    low: Tensor, bin_size: Tensor, last: Tensor, longest: int, ratio: int
) -> tuple[Tensor, Tensor]:
    """Return the pixels and weights for the means over points of bins: (K, R, bins), the two of a point in turn.

    There are `ratio` points to a bin. Where that is not positive they are as many as the bin has pixels, rounded up:
    then only those are given that can lie on the map, where two pixels hold four of them at most.

    Parameters
    ----------
    low, bin_size
        Where bins begin, and their size: (R, bins). Those of rows and of columns are together, so that half as many
        small arrays are computed. Points come before them, as loops over memory have many steps then.
    last
        The last pixel of each bin's axis.
    longest
        How many pixels the longest axis has.
    """
    if ratio > 0:
        # A fixed number of points in each bin, or about one for each pixel.
        points = torch.full_like(bin_size, ratio)
        number = torch.arange(ratio, dtype=low.dtype, device=low.device).view(-1, 1, 1)
    else:
        points = bin_size.ceil()
        # Points are more than half a pixel apart: at most 2 * size + 2 lie on the map.
        most = 2 * longest + 6
        if can_read(low):
            most = min(most, int(points.amax().clamp(0, most)))
        # The first point that can count.
        first = ((-1 - low) * (points / bin_size) - 1).floor().nan_to_num(0.0)
        first = torch.minimum(first.clamp(min=0), points).clamp(min=0)
        number = first + torch.arange(most, dtype=low.dtype, device=low.device).view(-1, 1, 1)
    points_or_one = points.clamp(min=1)
    position = low + (number + 0.5) * bin_size / points_or_one
    # A point up to a pixel outside of the map still reads its border, one beyond adds nothing.
    counted = (position >= -1) & (position <= last + 1) & (number < points)
    index, weight = taps(torch.minimum(position, last.to(dtype=position.dtype)), longest, dim=1)
    weight = torch.where(counted.unsqueeze(1), weight / points_or_one, 0.0)
    return torch.minimum(index, last).flatten(0, 1), weight.flatten(0, 1)


def _sums_at(index: Tensor, weight: Tensor, size: int) -> Weights:
    """Return the weights of all pixels of axes of `size`, from those of the pixels in `index`, both (K, R, bins)."""
    found = weight != 0
    first, last = size - torch.where(found, size - index, 0).amax(0), torch.where(found, index, -1).amax(0)
    index, weight = index.movedim(0, -1), weight.movedim(0, -1)
    pixels = weight.new_zeros(*weight.shape[:2], size).scatter_add(2, index, weight)
    return Weights(pixels, first, (last + 1 - first).clamp(min=0))


@operator("_contrib_ROIAlign")
def roi_align(
    data: Tensor,
    rois: Tensor,
    *,
    pooled_size: Annotated[tuple[int, ...], AtLeast(1)],
    spatial_scale: float,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
) -> Tensor:
    """Mean of `data` over each bin of each box, at evenly spaced points between the pixels; nothing is rounded.

    A point takes its value from the four pixels around it. Points more than a pixel outside the map count as 0. The
    boxes get no gradient.

    Parameters
    ----------
    pooled_size
        Rows and columns of bins, ``(h, w)``.
    spatial_scale
        Factor from the boxes' pixels to those of `data`.
    sample_ratio
        Points on each axis of a bin. If not positive, as many as the bin has pixels, rounded up.
    position_sensitive
        Each bin reads maps of its own: channel ``(c * h + i) * w + j`` of `data` for channel c of bin (i, j).
    aligned
        Coordinates count from the corners of pixels instead of their centres (half a pixel is taken off), and boxes
        may be smaller than a pixel; one without an inside gives zeros, where MXNet ends the process.

    Shapes
    ------
    data : (N, C, H, W)        with `position_sensitive`: (N, C * h * w, H, W)
    rois : (R, 5)              image, x1, y1, x2, y2
    out : (R, C, h, w)

    References
    ----------
    He et al., Mask R-CNN.

    >>> image = torch.arange(16.0).reshape(1, 1, 4, 4)
    >>> roi_align(image, torch.tensor([[0.0, 0, 0, 2, 2]]), pooled_size=(1, 1), spatial_scale=1.0)
    tensor([[[[5.]]]])
    """
    require_floating(data)
    check_boxes(data.shape, rois.shape)
    n, channels, height, width = data.shape
    h, w = pooled_size
    # One map for each bin, as in `PSROIPooling`.
    if position_sensitive:
        _check_sensitive(data.shape, h * w)
        channels //= h * w
    if not (data.numel() and len(rois)):
        return nothing(data, len(rois), channels, h, w)
    image, inside, box = boxes_of(rois, n)
    # Without `aligned`, the first form of the paper's authors: half a pixel off the middles of pixels.
    box = box * spatial_scale - (0.5 if aligned else 0.0)
    extent = box[:, 2:] - box[:, :2]
    if aligned:
        inside = inside & (extent > 0).all(1)
    else:
        # At least a pixel large, which `aligned` does away with.
        extent = extent.clamp(min=1.0)
    if position_sensitive:
        data = data.unflatten(1, (-1, h, w))
    low, bin_size = (
        torch.cat(both, 1)
        for both in zip(_bins(box[:, 1], extent[:, 1], h), _bins(box[:, 0], extent[:, 0], w), strict=True)
    )
    longest = max(height, width)
    last = torch.where(torch.arange(h + w, device=data.device) < h, height - 1, width - 1)
    index, weight = _sample_taps(low, bin_size, last, longest, sample_ratio)
    # The number of points varies by box: weights over whole axes hold any number of them.
    if sample_ratio <= 0:
        every = _sums_at(index, weight, longest)
        down, right = zip(*(part.split((h, w), 1) for part in every), strict=True)
        return weighted_sums(
            data,
            image,
            inside,
            Weights(down[0][..., :height], *down[1:]),
            Weights(right[0][..., :width], *right[1:]),
        )

    rows, columns = index.split((h, w), 2)
    row_weights, column_weights = weight.split((h, w), 2)
    origin = image.view(-1, 1, 1)
    if position_sensitive:
        data = data.movedim(1, 3)  # (N, h, w, C, H, W)
        origin = origin * (h * w) + torch.arange(h * w, device=data.device).view(h, w)
    # Points and their two pixels on one axis: rows (R, h, 1, 2 K, 1), columns (R, 1, w, 1, 2 K).
    rows, row_weights = (a.movedim(0, -1)[:, :, None, :, None] for a in (rows, row_weights))
    columns, column_weights = (a.movedim(0, -1)[:, None, :, None, :] for a in (columns, column_weights))
    # (R, h, w, pixels down, pixels across), as rows of the table of pixels.
    index = (origin[..., None, None] * height + rows) * width + columns
    weight = row_weights * column_weights
    out = weighted_rows(pixel_table(data), index.flatten(0, 2).flatten(1), weight.flatten(0, 2).flatten(1))
    return only_inside(inside, out.view(len(rois), h, w, channels).permute(0, 3, 1, 2))


roi_align.check(two_sizes)


@roi_align.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    check_boxes(shapes["data"], shapes["rois"])
    if shapes["data"] and p.position_sensitive:
        _check_sensitive(shapes["data"], p.pooled_size[0] * p.pooled_size[1])
    return {}


def _check_sensitive(data: Shape, bins: int) -> None:
    if data[1] % bins:
        raise ShapeError(
            f"data must have a multiple of {bins} channels, one for each bin; got shape {tuple(data)}"
        )


@operator("_contrib_RROIAlign")
def rroi_align(
    data: Tensor,
    rois: Tensor,
    *,
    pooled_size: Annotated[tuple[int, ...], AtLeast(1)],
    spatial_scale: float,
    sampling_ratio: int = -1,
) -> Tensor:
    """Mean of `data` over each bin of each box, as `ROIAlign` has it, for boxes that are turned.

    Different from MXNet, where this operator has no gradient, `data` gets one.

    Parameters
    ----------
    pooled_size
        Rows and columns of bins, ``(h, w)``.
    spatial_scale
        Factor from the boxes' pixels to those of `data`.
    sampling_ratio
        Points on each axis of a bin. If not positive, as many as the bin has pixels, rounded up; how many that are
        together is read from the device.

    Shapes
    ------
    data : (N, C, H, W)
    rois : (R, 6)        image, x and y of the centre, width, height, angle in degrees
    out : (R, C, h, w)

    References
    ----------
    Ma et al., Arbitrary-Oriented Scene Text Detection via Rotation Proposals.

    Examples
    --------
    >>> image = torch.arange(16.0).reshape(1, 1, 4, 4)
    >>> boxes = torch.tensor([[0.0, 2, 2, 2, 2, 90]])
    >>> rroi_align(image, boxes, pooled_size=(1, 1), spatial_scale=1.0)
    tensor([[[[10.]]]])
    """
    require_floating(data)
    check_boxes(data.shape, rois.shape, 6)
    n, channels, height, width = data.shape
    h, w = pooled_size
    if not (data.numel() and len(rois)):
        return nothing(data, len(rois), channels, h, w)
    image, inside, box = boxes_of(rois, n)
    centre, extent = box[:, :2] * spatial_scale, (box[:, 2:4] * spatial_scale).clamp(min=1.0)
    # As many points as all boxes need together, one after the other: in turned boxes rows and columns do not separate.
    bin_high, bin_wide = extent[:, 1] / h, extent[:, 0] / w
    ratio = 1 if data.is_meta else sampling_ratio
    if ratio > 0:
        down = right = torch.full_like(image, ratio)
        of = torch.arange(len(rois), device=data.device).repeat_interleave(h * w * ratio * ratio)
    else:
        down, right = bin_high.ceil().long(), bin_wide.ceil().long()
        of = torch.repeat_interleave(down * right * (h * w))  # which box each point belongs to
    points = down * right
    ends = (points * (h * w)).cumsum(0)
    # The number of each point within its box, then its bin and its number there.
    number = torch.arange(len(of), device=data.device) - (ends - points * (h * w))[of]
    bin_number, number = number // points[of], number % points[of]
    y = _turned(bin_number // w, number // right[of], bin_high[of], down[of], extent[of, 1])
    x = _turned(bin_number % w, number % right[of], bin_wide[of], right[of], extent[of, 0])
    cosine, sine = torch.deg2rad(box[:, 4]).cos()[of], torch.deg2rad(box[:, 4]).sin()[of]
    # Counter-clockwise as one sees it: y points down.
    x, y = x * cosine + y * sine + centre[of, 0], y * cosine - x * sine + centre[of, 1]

    counted = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
    index, weight = corners(y, x, height, width)
    # The mean counts all points of a bin, those outside of the map as zeros.
    weight = torch.where(counted.unsqueeze(1), weight / points[of].unsqueeze(1), 0.0)
    index = index + (image[of] * (height * width)).unsqueeze(1)
    # Each point reads four pixels.
    counts = (4 * points).repeat_interleave(h * w)
    # (R * h * w, C)
    out = weighted_rows(pixel_table(data), index.flatten(), weight.flatten(), counts)
    return only_inside(inside, out.view(len(rois), h, w, channels).permute(0, 3, 1, 2))


rroi_align.check(two_sizes)


@rroi_align.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    check_boxes(shapes["data"], shapes["rois"], 6)
    return {}


def _turned(bins: Tensor, number: Tensor, bin_size: Tensor, points: Tensor, length: Tensor) -> Tensor:
    """Return where points lie on an axis, from the middle of their box."""
    # Points are in the middles of equal parts of a bin.
    return bins * bin_size + (number + 0.5) * bin_size / points - length / 2
