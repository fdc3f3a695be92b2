"""Pooling over regions of interest: each box on an image becomes a small map of one size.

Boxes stand in an array `rois`, one a row: the index of its image in the batch, then coordinates in pixels of the
original image, which `spatial_scale` turns into those of the feature map. Boxes are taken as they are: no gradient
flows to them. A box whose index names no image (-1 fills up arrays of boxes) gives zeros.
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from ..errors import ParameterError, ShapeError
from ..params import AtLeast, Params
from ..shapes import Shape
from ._bilinear import corners, taps, weighted_rows
from ._spec import Shapes, operator
from ._types import require_floating
from .unary import round_

__all__ = ["deformable_psroi_pooling", "psroi_pooling", "roi_align", "roi_pooling", "rroi_align"]

Size = Annotated[int, AtLeast(1)]

_FAR = 1 << 30  # pixels


# ---- boxes --------------------------------------------------------------------------------------------


def _check(who: str, data: Shape | None, rois: Shape | None, columns: int = 5) -> None:
    """Raise a ShapeError for shapes that are no maps and boxes; an unknown size is 0."""
    if data is not None and len(data) != 4:
        raise ShapeError(f"{who}: data must have 4 axes, (N, C, H, W); got shape {tuple(data)}")
    if rois is not None and (len(rois) != 2 or rois[1] not in (0, columns)):
        raise ShapeError(f"{who}: rois must have shape (R, {columns}); got {tuple(rois)}")


def _boxes(rois: Tensor, images: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the image of each box, whether it is a box on one, and its other columns.

    Coordinates of half precision are counted in single precision, for half has no pixel numbers above 2048.
    """
    rois = rois.detach().to(torch.promote_types(rois.dtype, torch.float32))
    index, box = rois[:, 0], rois[:, 1:]
    # What is no number, or no number of pixels, would become an index far outside of memory.
    inside = (index > -1) & (index < images) & (box.abs() < _FAR).all(1)
    return torch.where(inside, index, 0.0).long(), inside, torch.where(inside.unsqueeze(1), box, 0.0)


def _nothing(data: Tensor, *shape: int) -> Tensor:
    """Return zeros of `shape`, still a function of `data`: for no boxes, or maps without pixels."""
    return data.new_zeros(shape) + data.sum() * 0


def _only_inside(inside: Tensor, out: Tensor) -> Tensor:
    return torch.where(inside.view(-1, *(1,) * (out.ndim - 1)), out, 0.0)


def _pixel_table(data: Tensor) -> Tensor:
    """Return ``(N, ..., C, H, W)`` as a table of pixels: ``(N * ... * H * W, C)``."""
    return data.movedim(-3, -1).reshape(-1, data.shape[-3])


def _windows(
    start: Tensor, bin_size: Tensor, pooled: int, size: int, origin: Tensor
) -> tuple[Tensor, Tensor]:
    """Return first and last (excluded) pixel of each bin on an axis: (R, pooled)."""
    bins = torch.arange(pooled, dtype=start.dtype, device=start.device)
    low = (bins * bin_size.unsqueeze(1) + start.unsqueeze(1)).floor()
    high = ((bins + 1) * bin_size.unsqueeze(1) + start.unsqueeze(1)).ceil()
    return tuple((edge + origin.unsqueeze(1)).clamp(0, size).long() for edge in (low, high))  # type: ignore[return-value]


# ---- maxima -------------------------------------------------------------------------------------------


# MXNet counts the places of the maxima among the outputs.
@operator("ROIPooling", rows=2)
def roi_pooling(
    data: Tensor, rois: Tensor, *, pooled_size: Annotated[tuple[int, ...], AtLeast(1)], spatial_scale: float
) -> Tensor:
    """Maximum of `data` over each bin of each box, whose edges are rounded to whole pixels.

    A bin covers every pixel that it touches, one at least, so that neighbours share pixels; one that lies outside the
    map gives 0. The first of equal maxima takes the gradient; the boxes get none.

    Parameters
    ----------
    pooled_size
        Rows and columns of bins, ``(h, w)``.
    spatial_scale
        Factor from the boxes' pixels to those of `data`: 1/16 behind a stride of 16.

    Shapes
    ------
    data : (N, C, H, W)
    rois : (R, 5)         image, x1, y1, x2, y2, both corners inside the box
    out : (R, C, h, w)

    References
    ----------
    Girshick, Fast R-CNN.

    >>> image = torch.arange(48.0).reshape(1, 1, 8, 6)
    >>> roi_pooling(image, torch.tensor([[0.0, 0, 0, 4, 4]]), pooled_size=(2, 2), spatial_scale=1.0)
    tensor([[[[14., 16.],
              [26., 28.]]]])
    """
    require_floating("ROIPooling", data)
    _check("ROIPooling", data.shape, rois.shape)
    n, channels, height, width = data.shape
    image, inside, box = _boxes(rois, n)
    out_shape = (len(rois), channels, *pooled_size)
    if not (data.numel() and len(rois)):
        return _nothing(data, *out_shape)
    edges = round_.function(box * spatial_scale)
    bins = (edges[:, 2:] - edges[:, :2] + 1).clamp(min=1) / edges.new_tensor(pooled_size[::-1])
    nowhere = torch.zeros_like(edges[:, 0])
    left, right = _windows(nowhere, bins[:, 0], pooled_size[1], width, edges[:, 0])
    top, bottom = _windows(nowhere, bins[:, 1], pooled_size[0], height, edges[:, 1])
    filled = (bottom > top).unsqueeze(2) & (right > left).unsqueeze(1) & inside.view(-1, 1, 1)

    pixels = data.flatten(2)
    order = pixels.detach().sort(dim=2, descending=True, stable=True).indices
    narrow = torch.int16 if height * width < 1 << 15 else torch.int32
    ranks = torch.empty_like(order, dtype=narrow)
    ranks.scatter_(2, order, torch.arange(height * width, dtype=narrow, device=data.device).expand_as(order))
    best = _lowest_rank(ranks.unflatten(2, (height, width)), image, (top, bottom), (left, right))
    maps = image.unsqueeze(1) * channels + torch.arange(channels, device=data.device)
    maps = maps.view(-1, 1, 1, channels) * (height * width)
    place = order.flatten().take(maps + best)
    found = data.flatten().index_select(0, (maps + place).movedim(3, 1).flatten()).view(out_shape)
    return torch.where(filled.unsqueeze(1), found, 0.0)


@roi_pooling.check
def _(p: Params) -> str | None:
    return _two_sizes(p)


@roi_pooling.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    _check("ROIPooling", shapes["data"], shapes["rois"])
    return {}


def _two_sizes(p: Params) -> str | None:
    return None if len(p.pooled_size) == 2 else f"pooled_size must be two sizes, (h, w); got {p.pooled_size}"


def _lowest_rank(
    ranks: Tensor, image: Tensor, rows: tuple[Tensor, Tensor], columns: tuple[Tensor, Tensor]
) -> Tensor:
    """Return the lowest rank in windows of an image: (R, h, w, C).

    The lowest of all blocks of ``2**i`` rows and ``2**j`` columns is found by doubling them; two blocks each way,
    which overlap, then cover a window of any size. So the work does not depend on the sizes of the windows.
    """
    n, channels, height, width = ranks.shape
    (top, bottom), (left, right) = rows, columns
    row_level, column_level = _level(bottom - top, height), _level(right - left, width)

    blocks = ranks.permute(0, 2, 3, 1).contiguous()
    by_rows = [blocks]
    for i in range(height.bit_length() - 1):
        blocks = blocks.clone()
        torch.minimum(by_rows[-1][:, : -(1 << i)], by_rows[-1][:, 1 << i :], out=blocks[:, : -(1 << i)])
        by_rows.append(blocks)
    blocks = torch.stack(by_rows)

    ends = torch.stack((top, bottom - (1 << row_level)), -1).clamp(0, height - 1)  # an empty window: whatever
    row = (row_level.unsqueeze(-1) * n + image.view(-1, 1, 1)) * height + ends
    ends = torch.stack((left, right - (1 << column_level)), -1)
    best = ranks.new_zeros(())
    for j in range(width.bit_length()):
        if j:
            blocks = torch.minimum(blocks[..., : -(1 << (j - 1)), :], blocks[..., 1 << (j - 1) :, :])
        places = blocks.shape[3]
        index = row[:, :, None, :, None] * places + ends.clamp(0, places - 1)[:, None, :, None, :]
        found = (
            blocks.flatten(0, 3).index_select(0, index.flatten()).view(*index.shape[:3], 4, channels).amin(3)
        )
        best = torch.where((column_level == j)[:, None, :, None], found, best)
    return best


def _level(extent: Tensor, size: int) -> Tensor:
    """Return the exponent of the largest power of 2 that is not above `extent`, which is at most `size`."""
    powers = 1 << torch.arange(1, max(size.bit_length(), 1), device=extent.device)
    return (extent.unsqueeze(-1) >= powers).sum(-1)


# ---- means --------------------------------------------------------------------------------------------


def _means(data: Tensor, image: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Return sums over whole images with weights for the rows and the columns of each bin.

    How many pixels a bin covers only the boxes tell; as matrix products the work does not depend on it. What is not
    finite, though, spreads to all boxes.

    Shapes
    ------
    data : (N, C, H, W)         or (N, C, h, w, H, W): a map for each bin
    rows, columns : (R, h, H), (R, w, W)
    out : (R, C, h, w)
    """
    # The weights of a box stand at its image; elsewhere they are 0, so that one product serves all images.
    chosen = (image.unsqueeze(1) == torch.arange(len(data), device=data.device)).to(data.dtype)
    rows, columns = rows.to(data.dtype), columns.to(data.dtype)
    if data.ndim == 6:
        by_rows = torch.einsum("rhny,nchwyx->hrwcx", rows.unsqueeze(2) * chosen[:, None, :, None], data)
        return torch.einsum("hrwcx,rwx->rchw", by_rows, columns)
    if columns.shape[1] * data.shape[2] <= rows.shape[1] * data.shape[3]:  # the smaller array in between
        by_columns = torch.einsum("rwnx,ncyx->rwcy", columns.unsqueeze(2) * chosen[:, None, :, None], data)
        return torch.einsum("rwcy,rhy->rchw", by_columns, rows)
    by_rows = torch.einsum("rhny,ncyx->rhcx", rows.unsqueeze(2) * chosen[:, None, :, None], data)
    return torch.einsum("rhcx,rwx->rchw", by_rows, columns)


def _sample_taps(start: Tensor, length: Tensor, pooled: int, size: int, ratio: int) -> tuple[Tensor, Tensor]:
    """Return the pixels and weights for the mean over points on an axis: (R, pooled, K, 2).

    There are `ratio` points to a bin. Where that is not positive they are as many as the bin has pixels, rounded up:
    then only those are given that can lie on the map, where two pixels hold four of them at most.
    """
    bin_size = (length / pooled).view(-1, 1, 1)
    bins = torch.arange(pooled, dtype=start.dtype, device=start.device).view(-1, 1)
    low = start.view(-1, 1, 1) + bins * bin_size
    if ratio > 0:
        points = torch.full_like(bin_size, ratio)
        number = torch.arange(ratio, dtype=start.dtype, device=start.device)
    else:
        points = bin_size.ceil()
        first = ((-1 - low) * (points / bin_size) - 1).floor().nan_to_num(0.0)
        first = torch.minimum(first.clamp(min=0), points).clamp(min=0)
        number = first + torch.arange(2 * size + 6, dtype=start.dtype, device=start.device)
    position = low + (number + 0.5) * bin_size / points.clamp(min=1)
    counted = (position >= -1) & (position <= size) & (number < points)
    index, weight = taps(position, size)
    return index, torch.where(counted.unsqueeze(-1), weight / points.clamp(min=1).unsqueeze(-1), 0.0)


def _sums_at(index: Tensor, weight: Tensor, size: int) -> Tensor:
    """Return the weights of all pixels of an axis, from those of the pixels in `index`: (R, pooled, size)."""
    return weight.new_zeros(*weight.shape[:2], size).scatter_add(2, index.flatten(2), weight.flatten(2))


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
    require_floating("_contrib_ROIAlign", data)
    _check("_contrib_ROIAlign", data.shape, rois.shape)
    n, channels, height, width = data.shape
    h, w = pooled_size
    if position_sensitive:
        _check_sensitive("_contrib_ROIAlign", data.shape, h * w)
        channels //= h * w
    if not (data.numel() and len(rois)):
        return _nothing(data, len(rois), channels, h, w)
    image, inside, box = _boxes(rois, n)
    box = box * spatial_scale - (0.5 if aligned else 0.0)
    extent = box[:, 2:] - box[:, :2]
    if aligned:
        inside = inside & (extent > 0).all(1)
    else:
        extent = extent.clamp(min=1.0)
    if position_sensitive:
        data = data.unflatten(1, (-1, h, w))
    rows, row_weights = _sample_taps(box[:, 1], extent[:, 1], h, height, sample_ratio)
    columns, column_weights = _sample_taps(box[:, 0], extent[:, 0], w, width, sample_ratio)
    if sample_ratio <= 0:
        sums = _means(
            data, image, _sums_at(rows, row_weights, height), _sums_at(columns, column_weights, width)
        )
        return _only_inside(inside, sums)

    origin = image.view(-1, 1, 1)
    if position_sensitive:
        data = data.movedim(1, 3)  # (N, h, w, C, H, W)
        origin = origin * (h * w) + torch.arange(h * w, device=data.device).view(h, w)
    rows, columns = rows.flatten(2)[:, :, None, :, None], columns.flatten(2)[:, None, :, None, :]
    index = (origin[..., None, None] * height + rows) * width + columns
    weight = row_weights.flatten(2)[:, :, None, :, None] * column_weights.flatten(2)[:, None, :, None, :]
    out = weighted_rows(_pixel_table(data), index.flatten(0, 2).flatten(1), weight.flatten(0, 2).flatten(1))
    return _only_inside(inside, out.view(len(rois), h, w, channels).permute(0, 3, 1, 2))


@roi_align.check
def _(p: Params) -> str | None:
    return _two_sizes(p)


@roi_align.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    _check("_contrib_ROIAlign", shapes["data"], shapes["rois"])
    if shapes["data"] and p.position_sensitive:
        _check_sensitive("_contrib_ROIAlign", shapes["data"], p.pooled_size[0] * p.pooled_size[1])
    return {}


def _check_sensitive(who: str, data: Shape, bins: int) -> None:
    if data[1] % bins:
        raise ShapeError(
            f"{who}: data must have a multiple of {bins} channels, one for each bin; got shape {tuple(data)}"
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
    """
    require_floating("_contrib_RROIAlign", data)
    _check("_contrib_RROIAlign", data.shape, rois.shape, 6)
    n, channels, height, width = data.shape
    h, w = pooled_size
    if not (data.numel() and len(rois)):
        return _nothing(data, len(rois), channels, h, w)
    image, inside, box = _boxes(rois, n)
    centre, extent = box[:, :2] * spatial_scale, (box[:, 2:4] * spatial_scale).clamp(min=1.0)
    # As many points as all boxes need together, one behind the other: turned, rows and columns do not separate.
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
    number = torch.arange(len(of), device=data.device) - (ends - points * (h * w))[of]
    bin_number, number = number // points[of], number % points[of]
    y = _turned(bin_number // w, number // right[of], bin_high[of], down[of], extent[of, 1])
    x = _turned(bin_number % w, number % right[of], bin_wide[of], right[of], extent[of, 0])
    cosine, sine = torch.deg2rad(box[:, 4]).cos()[of], torch.deg2rad(box[:, 4]).sin()[of]
    x, y = x * cosine + y * sine + centre[of, 0], y * cosine - x * sine + centre[of, 1]

    counted = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
    index, weight = corners(y, x, height, width)
    weight = torch.where(counted.unsqueeze(1), weight / points[of].unsqueeze(1), 0.0)
    index = index + (image[of] * (height * width)).unsqueeze(1)
    bag = (of * (h * w) + bin_number).repeat_interleave(4)
    out = weighted_rows(_pixel_table(data), index.flatten(), weight.flatten(), bag, len(rois) * h * w)
    return _only_inside(inside, out.view(len(rois), h, w, channels).permute(0, 3, 1, 2))


@rroi_align.check
def _(p: Params) -> str | None:
    return _two_sizes(p)


@rroi_align.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    _check("_contrib_RROIAlign", shapes["data"], shapes["rois"], 6)
    return {}


def _turned(bins: Tensor, number: Tensor, bin_size: Tensor, points: Tensor, length: Tensor) -> Tensor:
    """Return where points lie on an axis, from the middle of their box."""
    return bins * bin_size + (number + 0.5) * bin_size / points - length / 2


# ---- position-sensitive means -------------------------------------------------------------------------


def _sensitive_maps(who: str, data: Tensor, output_dim: int, group: int, pooled: int) -> Tensor:
    """Return the maps that the bins read: (N, output_dim, pooled, pooled, H, W)."""
    maps = data.unflatten(1, (output_dim, group, group))
    if group == pooled:
        return maps
    part = torch.arange(pooled, device=data.device) * group // pooled
    return maps.index_select(2, part).index_select(3, part)


def _check_groups(who: str, data: Shape | None, output_dim: int, group: int) -> None:
    if data is not None and data[1] not in (0, output_dim * group * group):
        raise ShapeError(
            f"{who}: data must have output_dim * group_size**2 = {output_dim * group * group} channels; "
            f"got shape {tuple(data)}"
        )


@operator("_contrib_PSROIPooling")
def psroi_pooling(
    data: Tensor,
    rois: Tensor,
    *,
    spatial_scale: float,
    output_dim: Size,
    pooled_size: Size,
    group_size: Annotated[int, AtLeast(0)] = 0,
) -> Tensor:
    """Mean of `data` over each bin of each box, where each bin reads maps of its own (R-FCN).

    Corners of boxes are rounded to whole pixels of the original image; a bin covers every pixel of `data` that it
    touches, and gives 0 where that is none. The boxes get no gradient.

    Parameters
    ----------
    spatial_scale
        Factor from the boxes' pixels to those of `data`.
    output_dim
        Channels of the result.
    pooled_size
        Rows, and columns, of bins.
    group_size
        Rows, and columns, of maps; `pooled_size` when 0. Bin i reads map ``i * group_size // pooled_size``.

    Shapes
    ------
    data : (N, output_dim * group_size**2, H, W)     channel ``(c * group_size + i) * group_size + j`` for map (i, j)
    rois : (R, 5)                                    image, x1, y1, x2, y2, both corners inside the box
    out : (R, output_dim, pooled_size, pooled_size)

    References
    ----------
    Dai et al., R-FCN: Object Detection via Region-based Fully Convolutional Networks.
    """
    who = "_contrib_PSROIPooling"
    require_floating(who, data)
    _check(who, data.shape, rois.shape)
    group = group_size or pooled_size
    _check_groups(who, data.shape, output_dim, group)
    if not (data.numel() and len(rois)):
        return _nothing(data, len(rois), output_dim, pooled_size, pooled_size)
    n, _, height, width = data.shape
    image, inside, box = _boxes(rois, n)
    corner = round_.function(box)
    start, end = corner[:, :2] * spatial_scale, (corner[:, 2:] + 1) * spatial_scale
    bins = (end - start).clamp(min=0.1) / pooled_size
    nowhere = torch.zeros_like(start[:, 0])
    columns, rows = (
        _window_means(*_windows(start[:, axis], bins[:, axis], pooled_size, size, nowhere), size)
        for axis, size in enumerate((width, height))
    )
    maps = _sensitive_maps(who, data, output_dim, group, pooled_size)
    return _only_inside(inside, _means(maps, image, rows, columns))


@psroi_pooling.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    _check("_contrib_PSROIPooling", shapes["data"], shapes["rois"])
    _check_groups("_contrib_PSROIPooling", shapes["data"], p.output_dim, p.group_size or p.pooled_size)
    return {}


def _window_means(low: Tensor, high: Tensor, size: int) -> Tensor:
    """Return weights for the mean over windows of an axis: (R, pooled, size)."""
    pixel = torch.arange(size, device=low.device)
    inside = (pixel >= low.unsqueeze(-1)) & (pixel < high.unsqueeze(-1))
    return inside / (high - low).clamp(min=1).unsqueeze(-1)


# MXNet counts the numbers of points among the outputs.
@operator("_contrib_DeformablePSROIPooling", skip=lambda name, p: name == "trans" and p.no_trans, rows=2)
def deformable_psroi_pooling(
    data: Tensor,
    rois: Tensor,
    trans: Tensor | None = None,
    *,
    spatial_scale: float,
    output_dim: Size,
    group_size: Size,
    pooled_size: Size,
    part_size: Annotated[int, AtLeast(0)] = 0,
    sample_per_part: Size = 1,
    trans_std: float = 0.0,
    no_trans: bool = False,
) -> Tensor:
    """Mean of `data` over each bin of each box, where each bin reads maps of its own and is moved by `trans`.

    The mean is over points between the pixels; those more than half a pixel outside the map do not count, and a bin
    without points gives 0. `data` and `trans` get a gradient, the boxes none.

    Parameters
    ----------
    spatial_scale
        Factor from the boxes' pixels to those of `data`.
    output_dim
        Channels of the result.
    group_size
        Rows, and columns, of maps: bin i reads map ``i * group_size // pooled_size``.
    pooled_size
        Rows, and columns, of bins.
    part_size
        Rows, and columns, of `trans`; `pooled_size` when 0. Bin i takes part ``i * part_size // pooled_size``.
    sample_per_part
        Points on each axis of a bin, the first in its corner.
    trans_std
        By how much of the box's size a 1 in `trans` moves a bin.
    no_trans
        Move nothing; there is no input `trans` then.

    Shapes
    ------
    data : (N, output_dim * group_size**2, H, W)
    rois : (R, 5)                                    image, x1, y1, x2, y2, both corners inside the box
    trans : (R, 2 * K, part_size, part_size)         x and y for each of K classes, which have output_dim / K channels
    out : (R, output_dim, pooled_size, pooled_size)

    References
    ----------
    Dai et al., Deformable Convolutional Networks.
    """
    who = "_contrib_DeformablePSROIPooling"
    require_floating(who, data)
    _check(who, data.shape, rois.shape)
    _check_groups(who, data.shape, output_dim, group_size)
    if not (data.numel() and len(rois)):
        return _nothing(data, len(rois), output_dim, pooled_size, pooled_size)
    n, _, height, width = data.shape
    image, inside, box = _boxes(rois, n)
    corner = round_.function(box)
    start, end = corner[:, :2] * spatial_scale - 0.5, (corner[:, 2:] + 1) * spatial_scale - 0.5
    extent = (end - start).clamp(min=0.1)
    bins = torch.arange(pooled_size, device=data.device)
    place = start.unsqueeze(2) + bins * (extent / pooled_size).unsqueeze(2)  # (R, 2, pooled)
    x, y = place[:, 0, None, None, :], place[:, 1, None, :, None]
    classes = 1
    if not no_trans:
        if trans is None:
            raise ParameterError(f"{who}: trans must be given unless no_trans is True")
        parts = part_size or pooled_size
        _check_trans(who, trans.shape, output_dim, parts)
        if len(trans) != len(rois):
            raise ShapeError(
                f"{who}: trans must have a row for each of the {len(rois)} boxes; got {len(trans)}"
            )
        classes = trans.shape[1] // 2
        part = bins * parts // pooled_size
        moved = trans.to(place.dtype).index_select(2, part).index_select(3, part).unflatten(1, (classes, 2))
        moved = moved * trans_std * extent.view(-1, 1, 2, 1, 1)
        x, y = x + moved[:, :, 0], y + moved[:, :, 1]
    # (R, classes, pooled, pooled, points, points)
    step = (extent / (pooled_size * sample_per_part)).view(-1, 2, *(1,) * 5)
    points = torch.arange(sample_per_part, dtype=place.dtype, device=data.device)
    x = (x[..., None, None] + points * step[:, 0]).expand(-1, -1, pooled_size, -1, sample_per_part, -1)
    y = (y[..., None, None] + points.unsqueeze(1) * step[:, 1]).expand(
        -1, -1, -1, pooled_size, -1, sample_per_part
    )
    counted = (x >= -0.5) & (x <= width - 0.5) & (y >= -0.5) & (y <= height - 0.5)
    index, weight = corners(y, x, height, width)
    count = counted.sum((-2, -1), keepdim=True).clamp(min=1)
    weight = torch.where(counted.unsqueeze(-1), weight / count.unsqueeze(-1), 0.0)

    maps = _sensitive_maps(who, data, output_dim, group_size, pooled_size)
    table = _pixel_table(
        maps.unflatten(1, (classes, -1)).movedim(2, 4)
    )  # (N, classes, pooled, pooled, C, H, W)
    origin = torch.arange(classes * pooled_size**2, device=data.device) * (height * width)
    origin = origin.view(classes, pooled_size, pooled_size) + (image * len(origin) * height * width).view(
        -1, 1, 1, 1
    )
    index = index + origin[..., None, None, None]
    out = weighted_rows(table, index.flatten(0, 3).flatten(1), weight.flatten(0, 3).flatten(1))
    out = out.view(len(rois), classes, pooled_size, pooled_size, -1).movedim(4, 2).flatten(1, 2)
    return _only_inside(inside, out)


@deformable_psroi_pooling.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    who = "_contrib_DeformablePSROIPooling"
    _check(who, shapes["data"], shapes["rois"])
    _check_groups(who, shapes["data"], p.output_dim, p.group_size)
    if trans := shapes.get("trans"):
        _check_trans(who, trans, p.output_dim, p.part_size or p.pooled_size)
    return {}


def _check_trans(who: str, trans: Shape, output_dim: int, parts: int) -> None:
    if (
        len(trans) != 4
        or trans[1] % 2
        or (trans[1] and output_dim % (trans[1] // 2))
        or any(size not in (0, parts) for size in trans[2:])
    ):
        raise ShapeError(
            f"{who}: trans must have shape (R, 2 * K, {parts}, {parts}) with K a divisor of output_dim {output_dim}; "
            f"got {tuple(trans)}"
        )
