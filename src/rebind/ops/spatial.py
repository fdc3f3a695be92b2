"""Operators on two feature maps: their correlation, and cutting one to the size of the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..errors import ParameterError, ShapeError
from ..params import Params
from ..shapes import Shape
from ._types import Count, Offset, require_floating
from .declaration import Shapes, operator

__all__ = ["correlation", "crop"]


# MXNet counts two workspaces, the padded inputs, among the outputs.
@operator("Correlation", counted=3)
def correlation(
    data1: Tensor,
    data2: Tensor,
    *,
    kernel_size: Count = 1,
    max_displacement: Offset = 1,
    stride1: Count = 1,
    stride2: Count = 1,
    pad_size: Offset = 0,
    is_multiply: bool = True,
) -> Tensor:
    """Correlation of each patch of `data1` with the patches around the same position of `data2` (FlowNet).

    It is the mean, over channels and the pixels of a patch, of the products of both: one channel of the result for
    each displacement.

    Parameters
    ----------
    kernel_size
        Rows, and columns, of a patch: an odd number.
    max_displacement
        How far, in pixels, the patches of `data2` lie away at most, each way.
    stride1
        Steps between patches of `data1`.
    stride2
        Steps between displacements.
    pad_size
        Zeros around both maps.
    is_multiply
        Take products; else the absolute values of differences.

    Shapes
    ------
    data1, data2 : (N, C, H, W)
    out : (N, D * D, *positions)      ``D = 2 * (max_displacement // stride2) + 1``; channel ``i * D + j`` is
        displaced by ``stride2 * (i - D // 2)`` rows and ``stride2 * (j - D // 2)`` columns;
        ``positions = ceil((spatial + 2 pad_size - 2 max_displacement - kernel_size + 1) / stride1)``

    References
    ----------
    Dosovitskiy et al., FlowNet: Learning Optical Flow with Convolutional Networks.

    >>> row = torch.tensor([[[[1.0, 2.0, 3.0]]]])
    >>> correlation(row, row, pad_size=1, max_displacement=1)[0, 3:6, 0]
    tensor([[0., 2., 6.],
            [1., 4., 9.],
            [2., 6., 0.]])
    """
    _check_maps(data1, data2)
    rows, columns = _patch_counts(data1.shape, kernel_size, max_displacement, stride1, pad_size)
    if pad_size:
        data1, data2 = (F.pad(data, (pad_size,) * 4) for data in (data1, data2))
    compare = _row_products if is_multiply else _row_differences
    if kernel_size == 1:
        return _compared(data1, data2, (rows, columns), stride1, max_displacement, stride2, compare)
    # Patches overlap: all pixels are compared, then averaged over patches.
    size = (stride1 * (rows - 1) + kernel_size, stride1 * (columns - 1) + kernel_size)
    pixels = _compared(data1, data2, size, 1, max_displacement, stride2, compare)
    return F.avg_pool2d(pixels, kernel_size, stride1)


def _check_maps(data1: Tensor, data2: Tensor) -> None:
    if data1.shape != data2.shape:
        raise ShapeError(
            f"data2 must have the shape of data1, {tuple(data1.shape)}; got {tuple(data2.shape)}"
        )
    require_floating(data1)
    if 0 in data1.shape[2:4]:
        raise ShapeError(f"data1 must be at least 1 high and 1 wide; got shape {tuple(data1.shape)}")


def _compared(
    data1: Tensor,
    data2: Tensor,
    size: tuple[int, int],
    step: int,
    reach: int,
    stride: int,
    compare: Callable[[Tensor, Sequence[Tensor], int, int, int], list[Tensor]],
) -> Tensor:
    """Return means over channels for each pixel, `step` apart, and each displacement up to `reach`, `stride` apart."""
    # From the first pixel to the last, `step` apart.
    down, right = (step * (n - 1) + 1 for n in size)
    # Displacements are multiples of `stride` around 0; the first one is `nearest` from the edge.
    radius = reach // stride
    nearest, count = reach - radius * stride, 2 * radius + 1
    first = data1[:, :, reach : reach + down : step, reach : reach + right : step]
    second = data2[..., nearest : nearest + right + 2 * radius * stride]
    # Wide enough for all displacements to the right, from the leftmost on.
    # All displacements to the right at once, those down in a loop: each of them reads another region of the map.
    tops = range(nearest, nearest + count * stride, stride)
    # A list of D arrays (N, D, h, w), from the highest displacement down: joined they are all D * D channels.
    found = compare(first, [second[:, :, top : top + down : step] for top in tops], step, stride, count)
    return torch.cat(found, 1) / max(data1.shape[1], 1)


def _row_products(
    first: Tensor, seconds: Sequence[Tensor], step: int, stride: int, count: int
) -> list[Tensor]:
    """Return sums over channels of ``first[x] * second[step * x + stride * d]`` for each d: (N, count, h, w).

    Of the products of all pixels of a row with all of the other row, one matrix product, a band is used: more work
    than needed, but in the form that runs fastest.
    """
    n, _, height, width = first.shape
    # (N * h, w, C): one product of matrices for each row of pixels.
    first = first.permute(0, 2, 3, 1).flatten(0, 1)
    # For pixel x and displacement d the product of interest is in column step * x + stride * d.
    column = torch.arange(width, device=first.device).unsqueeze(1) * step
    column = column + torch.arange(count, device=first.device) * stride
    column = column.expand(n * height, width, count)
    found = []
    for second in seconds:
        # (N * h, w, W): each pixel with all of its row. Most products are not read, but one call makes them.
        products = torch.bmm(first, second.transpose(1, 2).flatten(0, 1))
        found.append(products.gather(2, column).unflatten(0, (n, height)).permute(0, 3, 1, 2))
    return found


def _row_differences(
    first: Tensor, seconds: Sequence[Tensor], step: int, stride: int, count: int
) -> list[Tensor]:
    """Return sums over channels of ``|first[x] - second[step * x + stride * d]|`` for each d: (N, count, h, w)."""
    span = step * (first.shape[3] - 1) + 1
    first = first.unsqueeze(3).expand(-1, -1, -1, count, -1)
    return [
        # (N, C, h, D, w): the row as each displacement sees it.
        _distance(first, second.unfold(3, span, stride)[..., ::step]).sum(1).transpose(1, 2)
        for second in seconds
    ]


def _distance(first: Tensor, second: Tensor) -> Tensor:
    # Nobody else has the differences: without a gradient they need not be retained.
    if first.requires_grad or second.requires_grad:
        return _Distance.apply(first, second)
    return _difference(first, second).abs_()


def _difference(first: Tensor, second: Tensor) -> Tensor:
    # By itself torch gives the result the order in memory of such views, in which sums take six times as long.
    return torch.sub(first, second, out=first.new_empty(first.shape))


class _Distance(torch.autograd.Function):
    """Absolute values of differences, whose derivative at 0 is 1, as MXNet has it, and not 0."""

    @staticmethod
    def forward(ctx: Any, first: Tensor, second: Tensor) -> Tensor:
        difference = _difference(first, second)
        ctx.save_for_backward(difference)
        return difference.abs()

    @staticmethod
    def backward(ctx: Any, head_grad: Tensor) -> tuple[Tensor, Tensor]:
        (difference,) = ctx.saved_tensors
        # The sum makes -0 a 0. `where` takes many times as long, for it branches at each element.
        grad = head_grad * torch.copysign(difference.new_ones(()), difference + 0.0)
        return grad, -grad


def _patch_counts(data: Shape, kernel: int, displacement: int, stride: int, pad: int) -> tuple[int, int]:
    """Return how many rows and columns of patches there are; for an unknown size (0), 0."""
    if len(data) != 4:
        raise ShapeError(f"data1 must have 4 axes, (N, C, H, W); got shape {tuple(data)}")
    # 0 is an unknown size, and stays so.
    room = [n and n + 2 * pad - 2 * displacement - kernel + 1 for n in data[2:]]
    if any(n and left < 1 for n, left in zip(data[2:], room, strict=True)):
        raise ShapeError(
            f"kernel_size={kernel} and max_displacement={displacement} must fit into the padded data; "
            f"got data {tuple(data)} with pad_size={pad}"
        )
    down, right = (-(-left // stride) for left in room)
    return down, right


@correlation.check
def _(p: Params) -> str | None:
    return None if p.kernel_size % 2 else f"kernel_size must be odd; got {p.kernel_size}"


@correlation.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data1"] or shapes["data2"]
    if data is None:
        return {}
    _patch_counts(data, p.kernel_size, p.max_displacement, p.stride1, p.pad_size)
    return {"data1": data, "data2": data}


@operator("Crop", count="num_args", types={"*": "T"}, listed={"data": "Symbol or Symbol[]"})
def crop(
    *data: Tensor,
    offset: tuple[int, ...] = (0, 0),
    h_w: tuple[int, ...] = (0, 0),
    center_crop: bool = False,
) -> Tensor:
    """A region of the first array, of the size of the second or of `h_w`.

    The second array gets no gradient. New programs use `slice`.

    Parameters
    ----------
    offset
        First row and column of the region.
    h_w
        Height and width of the region, for one array; two have the size of the second.
    center_crop
        Take the region from the middle, whatever `offset` is.

    Shapes
    ------
    data : (N, C, H, W), and none or (..., h, w)
    out : (N, C, h, w)

    >>> crop(torch.arange(9.0).reshape(1, 1, 3, 3), h_w=(2, 2), offset=(1, 0))
    tensor([[[[3., 4.],
              [6., 7.]]]])
    """
    if len(data) not in (1, 2):
        raise ParameterError(f"must be called with one or two arrays; got {len(data)}")
    if any(array.ndim != 4 for array in data):
        raise ShapeError(
            f"arrays must have 4 axes, (N, C, H, W); got {', '.join(str(tuple(a.shape)) for a in data)}"
        )
    who = "the size of the second array" if len(data) == 2 else "h_w"
    whole, size = data[0].shape[2:], data[1].shape[2:] if len(data) == 2 else h_w
    # A second array may be empty; an `h_w` of 0 is its default, so it was not given.
    least = 0 if len(data) == 2 else 1
    if len(size) != 2 or not all(least <= wanted <= n for wanted, n in zip(size, whole, strict=True)):
        raise ShapeError(
            f"{who} must be (height, width) from {(least, least)} to {tuple(whole)}, the size of data; "
            f"got {tuple(size)}"
        )
    room = [n - wanted for n, wanted in zip(whole, size, strict=True)]
    # A given `offset` counts from the upper left corner.
    start = [left // 2 for left in room] if center_crop else offset
    if len(start) != 2 or not all(0 <= begin <= left for begin, left in zip(start, room, strict=True)):
        raise ShapeError(
            f"offset must be two numbers from (0, 0) to {tuple(room)}, for a region {tuple(size)} of data "
            f"{tuple(data[0].shape)}; got {offset}"
        )
    return data[0][:, :, start[0] : start[0] + size[0], start[1] : start[1] + size[1]]
