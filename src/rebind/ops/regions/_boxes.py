"""What all pooling over regions has in common: boxes, windows, and means over windows."""

from __future__ import annotations

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import Params
from ...shapes import Shape

__all__ = [
    "boxes_of", "check_boxes", "nothing", "only_inside", "pixel_table", "two_sizes", "weighted_sums", "windows",
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

    How many pixels a bin covers depends on the values of the boxes; the work of matrix products does not. What is
    not finite, though, spreads to all boxes.

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
