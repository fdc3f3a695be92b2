"""Maxima over the bins of boxes."""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from ...params import AtLeast, Params
from .._reading import can_read
from .._types import require_floating
from ..declaration import Shapes, operator
from ..unary import round_
from ._boxes import boxes_of, check_boxes, covered_pixels, nothing, pixel_table, two_sizes, windows

__all__ = ["roi_pooling"]


# MXNet counts the positions of the maxima among the outputs.
@operator("ROIPooling", counted=2)
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
        Factor from the boxes' pixels to those of `data`: 1/16 after a stride of 16.

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
    require_floating(data)
    check_boxes(data.shape, rois.shape)
    n, channels, height, width = data.shape
    image, inside, box = boxes_of(rois, n)
    count = rois.shape[0]  # `len` would not let it be free
    out_shape = (count, channels, *pooled_size)
    if not (data.numel() and count):
        return nothing(data, *out_shape)
    # MXNet rounds halves away from zero; torch's own rounding takes them to even numbers.
    edges = round_.kernels.function(box * spatial_scale)
    bins = (edges[:, 2:] - edges[:, :2] + 1).clamp(min=1) / edges.new_tensor(pooled_size[::-1])
    # The edges of bins are rounded within the box, which begins at a whole pixel: from 0, and shifted afterwards.
    nowhere = torch.zeros_like(edges[:, 0])
    left, right = windows(nowhere, bins[:, 0], pooled_size[1], width, edges[:, 0])
    top, bottom = windows(nowhere, bins[:, 1], pooled_size[0], height, edges[:, 1])
    filled = (bottom > top).unsqueeze(2) & (right > left).unsqueeze(1) & inside.view(-1, 1, 1)

    if can_read(data):
        index = _highest_of_covered(data, image, (top, bottom), (left, right))
    else:
        index = _highest_of_any(data, image, (top, bottom), (left, right))
    found = data.flatten().index_select(0, index.movedim(3, 1).flatten()).view(out_shape)
    return torch.where(filled.unsqueeze(1), found, 0.0)


roi_pooling.check(two_sizes)


@roi_pooling.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    check_boxes(shapes["data"], shapes["rois"])
    return {}


def _highest_of_covered(
    data: Tensor, image: Tensor, rows: tuple[Tensor, Tensor], columns: tuple[Tensor, Tensor]
) -> Tensor:
    """Return where in `data` the first maximum of each window is, by reading the windows: (R, h, w, C)."""
    _, channels, height, width = data.shape
    (top, bottom), (left, right) = rows, columns
    pixels = height * width
    first = (image.view(-1, 1, 1) * height + top.unsqueeze(2)) * width + left.unsqueeze(1)
    index, counts = covered_pixels(first, (bottom - top).clamp(min=0), (right - left).clamp(min=0), width)
    # What bags of rows give last, in mode 2 (maximum), is where each maximum comes from: the first of equals.
    table = pixel_table(data.detach())
    where = torch.embedding_bag(table, index, counts.cumsum(0) - counts, False, 2)[3]
    # From pixels of all images, with the channels beside each other, to places in `data`.
    where = where.view(*first.shape, channels)
    maps = image.view(-1, 1, 1, 1) * channels + torch.arange(channels, device=data.device)
    return maps * pixels + (where - image.view(-1, 1, 1, 1) * pixels).clamp(min=0)


def _highest_of_any(
    data: Tensor, image: Tensor, rows: tuple[Tensor, Tensor], columns: tuple[Tensor, Tensor]
) -> Tensor:
    """Do the same without reading how large the windows are."""
    _, channels, height, width = data.shape
    # A maximum over a window is a minimum over ranks, which among equals picks the first.
    order = data.detach().flatten(2).sort(dim=2, descending=True, stable=True).indices
    # The tables below are read and written often: ranks of 16 bits, where these suffice, halve the traffic.
    narrow = torch.int16 if height * width < 1 << 15 else torch.int32
    ranks = torch.empty_like(order, dtype=narrow)
    # Added, not expanded, so that where a size is free it follows that of `order`.
    numbers = torch.arange(height * width, dtype=narrow, device=data.device) + torch.zeros_like(ranks)
    ranks.scatter_(2, order, numbers)
    # A table of windows of all powers of two (a sparse table) answers any window by its four corner blocks.
    best = _lowest_rank(ranks.unflatten(2, (height, width)), image, rows, columns)
    maps = image.unsqueeze(1) * channels + torch.arange(channels, device=data.device)
    maps = maps.view(-1, 1, 1, channels) * (height * width)
    return maps + order.flatten().take(maps + best)  # from ranks back to pixels


def _lowest_rank(
    ranks: Tensor, image: Tensor, rows: tuple[Tensor, Tensor], columns: tuple[Tensor, Tensor]
) -> Tensor:
    """Return the lowest rank in windows of an image: (R, h, w, C).

    The lowest of all blocks of ``2**i`` rows and ``2**j`` columns is found by doubling them; two blocks each way,
    which overlap, then cover a window of any size. So the work does not depend on the sizes of the windows.
    """
    n, channels, height, width = ranks.shape
    (top, bottom), (left, right) = rows, columns
    # The largest block that fits into each window; two of them, which may overlap, cover it.
    row_level, column_level = _level(bottom - top, height), _level(right - left, width)

    blocks = ranks.permute(0, 2, 3, 1).contiguous()
    by_rows = [blocks]
    # `by_rows[i]`: blocks of 2**i rows. Those that would reach beyond the map stay smaller; no window reads them.
    for i in range(height.bit_length() - 1):
        joined = torch.minimum(blocks[:, : -(1 << i)], blocks[:, 1 << i :])
        blocks = torch.cat((joined, blocks[:, -(1 << i) :]), 1)
        by_rows.append(blocks)
    blocks = torch.stack(by_rows)

    ends = torch.stack((top, bottom - (1 << row_level)), -1).clamp(0, height - 1)  # an empty window: whatever
    # Which row it is among those of all levels and images.
    row = (row_level.unsqueeze(-1) * n + image.view(-1, 1, 1)) * height + ends
    ends = torch.stack((left, right - (1 << column_level)), -1)
    best = ranks.new_zeros(())
    for j in range(width.bit_length()):
        if j:
            blocks = torch.minimum(blocks[..., : -(1 << (j - 1)), :], blocks[..., 1 << (j - 1) :, :])
        count = blocks.shape[3]
        # (R, h, w, two rows, two columns): the corners of each window.
        index = row[:, :, None, :, None] * count + ends.clamp(0, count - 1)[:, None, :, None, :]
        found = (
            blocks.flatten(0, 3).index_select(0, index.flatten()).view(*index.shape[:3], 4, channels).amin(3)
        )
        best = torch.where((column_level == j)[:, None, :, None], found, best)  # (R, 1, w, 1)
    return best


def _level(extent: Tensor, size: int) -> Tensor:
    """Return the exponent of the largest power of 2 that is not above `extent`, which is at most `size`."""
    powers = 1 << torch.arange(1, max(size.bit_length(), 1), device=extent.device)
    return (extent.unsqueeze(-1) >= powers).sum(-1)
