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
    "Weights", "boxes_of", "check_boxes", "covered_pixels", "nothing", "only_inside", "pixel_table", "two_sizes",
    "weighted_sums", "windows",
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
    rois = rois.detach().to(dtype=torch.promote_types(rois.dtype, torch.float32))
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


class Weights(NamedTuple):
    """How much each pixel of an axis counts in each bin of each box."""

    each: Tensor  # (R, bins, pixels)
    first: Tensor  # (R, bins): the first pixel with a weight
    extent: Tensor  # (R, bins): how many pixels there are from it to the last one with a weight


def weighted_sums(data: Tensor, image: Tensor, inside: Tensor, rows: Weights, columns: Weights) -> Tensor:
    """Return sums over whole images with weights for the rows and the columns of each bin.

    How many pixels a bin covers depends on the values of the boxes. On the CPU these are read, and only such pixels as
    a bin covers are. Elsewhere reading would wait for the device, and cannot be compiled: there the work is that of
    matrix products over whole images, and what is not finite spreads to all boxes.

    Shapes
    ------
    data : (N, C, H, W)         or (N, C, h, w, H, W): a map for each bin
    image, inside : (R,)        a box that is not inside gives zeros
    rows, columns               of h and of w bins
    out : (R, C, h, w)

    Examples
    --------
    >>> data = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> rows = Weights(torch.tensor([[[1.0, 1.0]]]), torch.tensor([[0]]), torch.tensor([[2]]))
    >>> columns = Weights(torch.tensor([[[0.0, 0.5]]]), torch.tensor([[1]]), torch.tensor([[1]]))
    >>> weighted_sums(data, torch.tensor([0]), torch.tensor([True]), rows, columns)
    tensor([[[[3.]]]])
    """
    if can_read(data):
        return _sums_of_covered(data, image, rows._replace(extent=rows.extent * inside.unsqueeze(1)), columns)
    return only_inside(inside, _sums_of_products(data, image, rows.each, columns.each))


def _sums_of_covered(data: Tensor, image: Tensor, rows: Weights, columns: Weights) -> Tensor:
    """Do what `weighted_sums` says by reading, for each bin, the pixels between its first and its last weight."""
    (boxes, h, height), (w, width) = rows.each.shape, columns.each.shape[1:]
    maps = image.view(-1, 1, 1)
    if data.ndim == 6:
        data = data.movedim(1, 3)  # (N, h, w, C, H, W)
        maps = maps * (h * w) + torch.arange(h * w, device=data.device).view(h, w)
    # Where a bin begins: among the weights of its rows, among those of its columns, and in the table of pixels.
    row = torch.arange(boxes * h, device=data.device).view(boxes, h) * height + rows.first
    column = torch.arange(boxes * w, device=data.device).view(boxes, w) * width + columns.first
    first = (maps * height + rows.first.unsqueeze(2)) * width + columns.first.unsqueeze(1)
    down, right = rows.extent.unsqueeze(2), columns.extent.unsqueeze(1)
    # Arrays of a number for each pixel that is read: half as many bytes, where these suffice.
    kind = torch.int32 if data.numel() < 1 << 31 else torch.int64
    down, right, row, column, first = (
        a.to(kind).expand(boxes, h, w).flatten()
        for a in (down, right, row.unsqueeze(2), column.unsqueeze(1), first)
    )
    # Bin after bin its lines of pixels, then line after line its pixels.
    bin_of, row, first = _ranges(down, (row, 1), (first, width))
    line_of, column, pixel = _ranges(
        right.index_select(0, bin_of), (column.index_select(0, bin_of), 1), (first, 1)
    )
    weight = rows.each.flatten().index_select(0, row).index_select(0, line_of)
    weight = weight * columns.each.flatten().index_select(0, column)
    out = weighted_rows(pixel_table(data), pixel, weight, down * right)
    return out.view(boxes, h, w, -1).permute(0, 3, 1, 2)


def covered_pixels(first: Tensor, down: Tensor, right: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Return the numbers of all pixels of all bins, row by row, and how many each bin has.

    Shapes
    ------
    first : (R, h, w)             the first pixel of each bin, in images with rows of `width`
    down, right : (R, h), (R, w)

    >>> covered_pixels(torch.tensor([[[4]]]), torch.tensor([[2]]), torch.tensor([[3]]), 10)
    (tensor([ 4,  5,  6, 14, 15, 16]), tensor([6]))
    """
    down, right = (a.expand_as(first).flatten() for a in (down.unsqueeze(2), right.unsqueeze(1)))
    bin_of, start = _ranges(down, (first.flatten(), width))
    _, pixel = _ranges(right.index_select(0, bin_of), (start, 1))
    return pixel, down * right


def _ranges(counts: Tensor, *ranges: tuple[Tensor, int]) -> list[Tensor]:
    """Return which group each member of groups of these sizes belongs to, and its position in each range of its group.

    A range is the position of the first member, and the step from one to the next.

    >>> _ranges(torch.tensor([2, 0, 1]), (torch.tensor([5, 7, 9]), 10))
    [tensor([0, 0, 2]), tensor([ 5, 15,  9])]
    """
    group = torch.repeat_interleave(counts)
    before = counts.cumsum(0, dtype=counts.dtype) - counts
    number = torch.arange(len(group), dtype=counts.dtype, device=counts.device)
    # The members of all groups are counted through, so that each range needs one look-up.
    return [group] + [
        torch.add((first - before * step).index_select(0, group), number, alpha=step)
        for first, step in ranges
    ]


def _sums_of_products(data: Tensor, image: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    # The weights of a box are at the index of its image; elsewhere they are 0, so that one product serves all images.
    chosen = (image.unsqueeze(1) == torch.arange(len(data), device=data.device)).to(dtype=data.dtype)
    # Letters: r box, h and w bin, n image, c channel, y and x pixel.
    rows, columns = rows.to(dtype=data.dtype), columns.to(dtype=data.dtype)
    if data.ndim == 6:
        # With maps of their own for each bin, h and w stay through the sums.
        by_rows = torch.einsum("rhny,nchwyx->hrwcx", rows.unsqueeze(2) * chosen[:, None, :, None], data)
        return torch.einsum("hrwcx,rwx->rchw", by_rows, columns)
    if columns.shape[1] * data.shape[2] <= rows.shape[1] * data.shape[3]:  # the smaller array in between
        by_columns = torch.einsum("rwnx,ncyx->rwcy", columns.unsqueeze(2) * chosen[:, None, :, None], data)
        return torch.einsum("rwcy,rhy->rchw", by_columns, rows)
    by_rows = torch.einsum("rhny,ncyx->rhcx", rows.unsqueeze(2) * chosen[:, None, :, None], data)
    return torch.einsum("rhcx,rwx->rchw", by_rows, columns)
