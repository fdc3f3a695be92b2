"""Position-sensitive means: each bin of a box reads maps of its own."""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from ...errors import ParameterError, ShapeError
from ...params import AtLeast, Params
from ...shapes import Shape
from .._bilinear import corners, weighted_rows
from .._types import require_floating
from ..declaration import Shapes, operator
from ..unary import round_
from ._boxes import Weights, boxes_of, check_boxes, nothing, only_inside, pixel_table, weighted_sums, windows

__all__ = ["deformable_psroi_pooling", "psroi_pooling"]

Size = Annotated[int, AtLeast(1)]


def _sensitive_maps(data: Tensor, output_dim: int, group: int, pooled: int) -> Tensor:
    """Return the maps that the bins read: (N, output_dim, pooled, pooled, H, W)."""
    maps = data.unflatten(1, (output_dim, group, group))
    if group == pooled:
        return maps
    # Bins outnumber maps or the other way round: neighbours share a map, or maps are left out.
    chosen = torch.arange(pooled, device=data.device) * group // pooled
    return maps.index_select(2, chosen).index_select(3, chosen)


def _check_groups(data: Shape | None, output_dim: int, group: int) -> None:
    if data is not None and data[1] not in (0, output_dim * group * group):
        raise ShapeError(
            f"data must have output_dim * group_size**2 = {output_dim * group * group} channels; "
            f"got shape {tuple(data)}"
        )


@operator("_contrib_PSROIPooling", listed={"data": "Symbol", "rois": "Symbol"})
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

    Examples
    --------
    >>> image = torch.arange(16.0).reshape(1, 4, 2, 2)
    >>> boxes = torch.tensor([[0.0, 0, 0, 1, 1]])
    >>> psroi_pooling(image, boxes, spatial_scale=1.0, output_dim=1, pooled_size=2)
    tensor([[[[ 0.,  5.],
              [10., 15.]]]])
    """
    require_floating(data)
    check_boxes(data.shape, rois.shape)
    group = group_size or pooled_size
    _check_groups(data.shape, output_dim, group)
    if not (data.numel() and len(rois)):
        return nothing(data, len(rois), output_dim, pooled_size, pooled_size)
    n, _, height, width = data.shape
    image, inside, box = boxes_of(rois, n)
    corner = round_.kernels.function(box)
    # The last pixel belongs to the box.
    start, end = corner[:, :2] * spatial_scale, (corner[:, 2:] + 1) * spatial_scale
    # A box without an extent counts as a tenth of a pixel.
    bins = (end - start).clamp(min=0.1) / pooled_size
    nowhere = torch.zeros_like(start[:, 0])
    columns, rows = (
        _window_means(*windows(start[:, axis], bins[:, axis], pooled_size, size, nowhere), size)
        for axis, size in enumerate((width, height))
    )
    maps = _sensitive_maps(data, output_dim, group, pooled_size)
    return weighted_sums(maps, image, inside, rows, columns)


@psroi_pooling.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    check_boxes(shapes["data"], shapes["rois"])
    _check_groups(shapes["data"], p.output_dim, p.group_size or p.pooled_size)
    return {}


def _window_means(low: Tensor, high: Tensor, size: int) -> Weights:
    """Return weights for the mean over windows of an axis of `size`."""
    pixel = torch.arange(size, device=low.device)
    count = (high - low).clamp(min=0)
    inside = (pixel >= low.unsqueeze(-1)) & (pixel < high.unsqueeze(-1))
    return Weights(inside / count.clamp(min=1).unsqueeze(-1), low, count)


# MXNet counts the numbers of points among the outputs.
@operator(
    "_contrib_DeformablePSROIPooling",
    skip=lambda name, p: name == "trans" and p.no_trans,
    counted=2,
    listed=dict.fromkeys(("data", "rois", "trans"), "Symbol"),
)
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
    """Mean of `data` over each bin of each box, where each bin reads maps of its own and is shifted by `trans`.

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
        By how much of the box's size a 1 in `trans` shifts a bin.
    no_trans
        Shift nothing; there is no input `trans` then.

    Shapes
    ------
    data : (N, output_dim * group_size**2, H, W)
    rois : (R, 5)                                    image, x1, y1, x2, y2, both corners inside the box
    trans : (R, 2 * K, part_size, part_size)         x and y for each of K classes, which have output_dim / K channels
    out : (R, output_dim, pooled_size, pooled_size)

    References
    ----------
    Dai et al., Deformable Convolutional Networks.

    Examples
    --------
    >>> image = torch.arange(9.0).reshape(1, 1, 3, 3)
    >>> boxes = torch.tensor([[0.0, 0, 0, 2, 2]])
    >>> size = {"output_dim": 1, "group_size": 1, "pooled_size": 1, "sample_per_part": 4}
    >>> deformable_psroi_pooling(image, boxes, spatial_scale=1.0, no_trans=True, **size)
    tensor([[[[3.]]]])
    """
    require_floating(data)
    check_boxes(data.shape, rois.shape)
    _check_groups(data.shape, output_dim, group_size)
    if not (data.numel() and len(rois)):
        return nothing(data, len(rois), output_dim, pooled_size, pooled_size)
    n, _, height, width = data.shape
    image, inside, box = boxes_of(rois, n)
    # Half a pixel is taken off, so that points count from the middles of pixels.
    corner = round_.kernels.function(box)
    start, end = corner[:, :2] * spatial_scale - 0.5, (corner[:, 2:] + 1) * spatial_scale - 0.5
    extent = (end - start).clamp(min=0.1)
    x, y = _bin_corners(start, extent, pooled_size)
    classes = 1
    if not no_trans:
        if trans is None:
            raise ParameterError("trans must be given unless no_trans is True")
        parts = part_size or pooled_size
        _check_trans(trans.shape, output_dim, parts)
        if len(trans) != len(rois):
            raise ShapeError(f"trans must have a row for each of the {len(rois)} boxes; got {len(trans)}")
        classes = trans.shape[1] // 2  # x and y for each
        shifts = (
            _shifts(trans.to(dtype=x.dtype), pooled_size, parts) * trans_std * extent.view(-1, 1, 2, 1, 1)
        )
        x, y = x + shifts[:, :, 0], y + shifts[:, :, 1]
    x, y = _bin_points(x, y, extent / (pooled_size * sample_per_part), pooled_size, sample_per_part)
    counted = (x >= -0.5) & (x <= width - 0.5) & (y >= -0.5) & (y <= height - 0.5)
    index, weight = corners(y, x, height, width)
    # Unlike `ROIAlign`, the mean is over the points on the map only.
    count = counted.sum((-2, -1), keepdim=True).clamp(min=1)
    # (R, classes, pooled, pooled, points, points, 4)
    weight = torch.where(counted.unsqueeze(-1), weight / count.unsqueeze(-1), 0.0)

    maps = _sensitive_maps(data, output_dim, group_size, pooled_size)
    # (N, classes, pooled, pooled, C, H, W)
    table = pixel_table(maps.unflatten(1, (classes, -1)).movedim(2, 4))
    # Each class and bin has maps of its own; the images follow each other.
    origin = torch.arange(classes * pooled_size**2, device=data.device) * (height * width)
    first = (image * len(origin) * height * width).view(-1, 1, 1, 1)
    index = index + (origin.view(classes, pooled_size, pooled_size) + first)[..., None, None, None]
    out = weighted_rows(table, index.flatten(0, 3).flatten(1), weight.flatten(0, 3).flatten(1))
    out = out.view(len(rois), classes, pooled_size, pooled_size, -1).movedim(4, 2).flatten(1, 2)
    return only_inside(inside, out)


def _bin_corners(start: Tensor, extent: Tensor, pooled: int) -> tuple[Tensor, Tensor]:
    """Return where bins begin, x and y: (R, 1, 1, pooled) and (R, 1, pooled, 1)."""
    bins = torch.arange(pooled, device=start.device)
    corner = start.unsqueeze(2) + bins * (extent / pooled).unsqueeze(2)  # (R, 2, pooled)
    return corner[:, 0, None, None, :], corner[:, 1, None, :, None]


def _shifts(trans: Tensor, pooled: int, parts: int) -> Tensor:
    """Return by how much each bin is shifted, of the size of its box: (R, classes, 2, pooled, pooled)."""
    part = torch.arange(pooled, device=trans.device) * parts // pooled
    return trans.index_select(2, part).index_select(3, part).unflatten(1, (-1, 2))


def _bin_points(x: Tensor, y: Tensor, step: Tensor, pooled: int, count: int) -> tuple[Tensor, Tensor]:
    """Return the points of bins that begin at x and y: (R, classes, pooled, pooled, count, count)."""
    step = step.view(-1, 2, *(1,) * 5)
    points = torch.arange(count, dtype=x.dtype, device=x.device)
    # x is the same in all rows of a bin, y in all columns: views until they are used together.
    x = (x[..., None, None] + points * step[:, 0]).expand(-1, -1, pooled, -1, count, -1)
    y = (y[..., None, None] + points.unsqueeze(1) * step[:, 1]).expand(-1, -1, -1, pooled, -1, count)
    return x, y


@deformable_psroi_pooling.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    check_boxes(shapes["data"], shapes["rois"])
    _check_groups(shapes["data"], p.output_dim, p.group_size)
    if trans := shapes.get("trans"):
        _check_trans(trans, p.output_dim, p.part_size or p.pooled_size)
    return {}


def _check_trans(trans: Shape, output_dim: int, parts: int) -> None:
    if (
        len(trans) != 4
        or trans[1] % 2
        or (trans[1] and output_dim % (trans[1] // 2))
        or any(size not in (0, parts) for size in trans[2:])
    ):
        raise ShapeError(
            f"trans must have shape (R, 2 * K, {parts}, {parts}) with K a divisor of output_dim {output_dim}; "
            f"got {tuple(trans)}"
        )
