"""What all pooling over regions has in common: boxes, windows, and means over windows."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import Params
from ...shapes import Shape
from .._bilinear import weighted_rows
from .._reading import can_read

__all__ = [
    "boxes_of", "check_boxes", "covered_pixels", "nothing", "only_inside", "pixel_table", "two_sizes", "weighted_sums",
    "windows",
]  # fmt: skip

_FAR = 1 << 30  # pixels


def check_boxes(data: Shape | None, rois: Shape | None, columns: int = 5) -> None:
    """Raise a ShapeError for shapes that are no maps and boxes; an unknown size is 0.

    >>> check_boxes((1, 3, 8, 8), (2, 4))
    Traceback (most recent call last):
        ...
    rebind.errors.ShapeError: rois must have shape (R, 5); got (2, 4)
    """
    if data is not None and len(data) != 4:
        raise ShapeError(f"data must have 4 axes, (N, C, H, W); got shape {tuple(data)}")
    if rois is not None and (len(rois) != 2 or rois[1] not in (0, columns)):
        raise ShapeError(f"rois must have shape (R, {columns}); got {tuple(rois)}")


def boxes_of(rois: Tensor, images: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the image of each box, whether it is a box on one, and its other columns.

    Coordinates of half precision are counted in single precision, for half has no pixel numbers above 2048.

    >>> boxes_of(torch.tensor([[1.0, 0, 0, 4, 4], [-1.0, 0, 0, 4, 4]]), images=2)
    (tensor([1, 0]), tensor([ True, False]), tensor([[0., 0., 4., 4.],
            [0., 0., 0., 0.]]))
    """
    # Boxes get no gradient, as in MXNet, and half precision cannot tell pixels of large images apart.
    rois = rois.detach().to(torch.promote_types(rois.dtype, torch.float32))
    index, box = rois[:, 0], rois[:, 1:]
    # What is no number, or no number of pixels, would become an index far outside of memory.
    inside = (index > -1) & (index < images) & (box.abs() < _FAR).all(1)
    return torch.where(inside, index, 0.0).long(), inside, torch.where(inside.unsqueeze(1), box, 0.0)


def nothing(data: Tensor, *shape: int) -> Tensor:
    """Return zeros of `shape`, still a function of `data`: for no boxes, or maps without pixels.

    >>> nothing(torch.ones(2), 0, 3).shape
    torch.Size([0, 3])
    """
    return data.new_zeros(shape) + data.sum() * 0


def only_inside(inside: Tensor, out: Tensor) -> Tensor:
    return torch.where(inside.view(-1, *(1,) * (out.ndim - 1)), out, 0.0)


def pixel_table(data: Tensor) -> Tensor:
    """Return ``(N, ..., C, H, W)`` as a table of pixels: ``(N * ... * H * W, C)``.

    >>> pixel_table(torch.arange(8.0).view(1, 2, 2, 2))
    tensor([[0., 4.],
            [1., 5.],
            [2., 6.],
            [3., 7.]])
    """
    return data.movedim(-3, -1).reshape(-1, data.shape[-3])


def windows(start: Tensor, bin_size: Tensor, pooled: int, size: int, origin: Tensor) -> tuple[Tensor, Tensor]:
    """Return first and last (excluded) pixel of each bin on an axis: (R, pooled).

    >>> windows(torch.tensor([0.5]), torch.tensor([1.5]), 2, 4, torch.tensor([0.0]))
    (tensor([[0, 2]]), tensor([[2, 4]]))
    """
    bins = torch.arange(pooled, dtype=start.dtype, device=start.device)
    low = (bins * bin_size.unsqueeze(1) + start.unsqueeze(1)).floor()
    high = ((bins + 1) * bin_size.unsqueeze(1) + start.unsqueeze(1)).ceil()
    return tuple((edge + origin.unsqueeze(1)).clamp(0, size).long() for edge in (low, high))  # type: ignore[return-value]  # two


def two_sizes(p: Params) -> str | None:
    return None if len(p.pooled_size) == 2 else f"pooled_size must be two sizes, (h, w); got {p.pooled_size}"


def weighted_sums(data: Tensor, image: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Return sums over whole images with weights for the rows and the columns of each bin.

    How many pixels a bin covers depends on the values of the boxes. On the CPU these are read, and only such pixels as
    a bin covers are. Elsewhere reading would wait for the device, and cannot be compiled: there the work is that of
    matrix products over whole images, and what is not finite spreads to all boxes.

    Shapes
    ------
    data : (N, C, H, W)         or (N, C, h, w, H, W): a map for each bin
    rows, columns : (R, h, H), (R, w, W)
    out : (R, C, h, w)

    Examples
    --------
    >>> data = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> weighted_sums(data, torch.tensor([0]), torch.ones(1, 1, 2), torch.tensor([[[0.0, 0.5]]]))
    tensor([[[[3.]]]])
    """
    if can_read(data):
        return _sums_of_covered(data, image, rows, columns)
    return _sums_of_products(data, image, rows, columns)


def _sums_of_covered(data: Tensor, image: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Do what `weighted_sums` says by reading, for each bin, the pixels between its first and its last weight."""
    (boxes, h, height), (w, width) = rows.shape, columns.shape[1:]
    (top, down), (left, right) = _support(rows), _support(columns)
    maps = image.view(-1, 1, 1)
    if data.ndim == 6:
        data = data.movedim(1, 3)  # (N, h, w, C, H, W)
        maps = maps * (h * w) + torch.arange(h * w, device=data.device).view(h, w)
    # Where a bin begins: among the weights of its rows, among those of its columns, and in the table of pixels.
    row = torch.arange(boxes * h, device=data.device).view(boxes, h) * height + top
    column = torch.arange(boxes * w, device=data.device).view(boxes, w) * width + left
    first = (maps * height + top.unsqueeze(2)) * width + left.unsqueeze(1)
    lines = lines_of_bins(down, right)
    starts = torch.stack((row.unsqueeze(2).expand_as(first), column.unsqueeze(1).expand_as(first), first))
    row, column, first = starts.flatten(1).index_select(1, lines.bin).unbind(0)
    of, pixel = _numbered(lines.length)
    weight = rows.flatten().index_select(0, row + lines.number).index_select(0, of)
    weight = weight * columns.flatten().index_select(0, column.index_select(0, of) + pixel)
    index = (first + lines.number * width).index_select(0, of) + pixel
    out = weighted_rows(pixel_table(data), index, weight, lines.pixels)
    return out.view(boxes, h, w, -1).permute(0, 3, 1, 2)


class Lines(NamedTuple):
    """The rows of pixels that all bins have, bin after bin."""

    bin: Tensor  # which bin a line belongs to
    number: Tensor  # its number there
    length: Tensor  # its pixels
    pixels: Tensor  # of each bin


def lines_of_bins(down: Tensor, right: Tensor) -> Lines:
    """Return the lines of bins of `down` (R, h) rows and `right` (R, w) columns.

    >>> lines_of_bins(torch.tensor([[2]]), torch.tensor([[3, 1]]))[:3]
    (tensor([0, 0, 1, 1]), tensor([0, 1, 0, 1]), tensor([3, 3, 1, 1]))
    """
    rows = down.unsqueeze(2).expand(-1, -1, right.shape[1]).flatten()
    columns = right.unsqueeze(1).expand(-1, down.shape[1], -1).flatten()
    group, number = _numbered(rows)
    return Lines(group, number, columns.index_select(0, group), rows * columns)


def covered_pixels(first: Tensor, down: Tensor, right: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Return the numbers of all pixels of all bins, row by row, and how many each bin has.

    Shapes
    ------
    first : (R, h, w)             the first pixel of each bin, in images with rows of `width`
    down, right : (R, h), (R, w)

    >>> covered_pixels(torch.tensor([[[4]]]), torch.tensor([[2]]), torch.tensor([[3]]), 10)
    (tensor([ 4,  5,  6, 14, 15, 16]), tensor([6]))
    """
    lines = lines_of_bins(down, right)
    of, pixel = _numbered(lines.length)
    start = first.flatten().index_select(0, lines.bin) + lines.number * width
    return start.index_select(0, of) + pixel, lines.pixels


def _numbered(counts: Tensor) -> tuple[Tensor, Tensor]:
    """Return the group of each member of groups of these sizes, and its number there.

    >>> _numbered(torch.tensor([2, 0, 1]))
    (tensor([0, 0, 2]), tensor([0, 1, 0]))
    """
    group = torch.repeat_interleave(counts)
    number = torch.arange(len(group), device=counts.device)
    return group, number - (counts.cumsum(0) - counts).index_select(0, group)


def _support(weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return for each row of (R, bins, size) the position of the first weight, and how many there are from it on.

    >>> _support(torch.tensor([[[0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0]]]))
    (tensor([[1, 0]]), tensor([[3, 0]]))
    """
    size = weights.shape[2]
    there = (weights != 0).to(torch.uint8)
    first, last = there.argmax(2), size - there.flip(2).argmax(2)  # the first of equals
    return first, (last - first) * there.gather(2, first.unsqueeze(2)).squeeze(2)


def _sums_of_products(data: Tensor, image: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    # The weights of a box are at the index of its image; elsewhere they are 0, so that one product serves all images.
    chosen = (image.unsqueeze(1) == torch.arange(len(data), device=data.device)).to(data.dtype)
    # Letters: r box, h and w bin, n image, c channel, y and x pixel.
    rows, columns = rows.to(data.dtype), columns.to(data.dtype)
    if data.ndim == 6:
        # With maps of their own for each bin, h and w stay through the sums.
        by_rows = torch.einsum("rhny,nchwyx->hrwcx", rows.unsqueeze(2) * chosen[:, None, :, None], data)
        return torch.einsum("hrwcx,rwx->rchw", by_rows, columns)
    if columns.shape[1] * data.shape[2] <= rows.shape[1] * data.shape[3]:  # the smaller array in between
        by_columns = torch.einsum("rwnx,ncyx->rwcy", columns.unsqueeze(2) * chosen[:, None, :, None], data)
        return torch.einsum("rwcy,rhy->rchw", by_columns, rows)
    by_rows = torch.einsum("rhny,ncyx->rhcx", rows.unsqueeze(2) * chosen[:, None, :, None], data)
    return torch.einsum("rhcx,rwx->rchw", by_rows, columns)
