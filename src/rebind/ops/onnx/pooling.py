"""Pooling with any borders, spacing and rounding, and its inverses."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from ...shapes import Shape
from ..declaration import operator

__all__ = ["col2im", "max_pool", "max_unpool", "pool"]


def _count(size: int, k: int, s: int, d: int, pads: tuple[int, int], ceil_mode: bool) -> int:
    """Return how many windows fit; the last may not begin in the border at the end."""
    room = size + sum(pads) - ((k - 1) * d + 1)
    if not ceil_mode:
        return room // s + 1
    count = -(-room // s) + 1
    return count - 1 if (count - 1) * s >= size + pads[0] else count


def _windows(
    data: Tensor, kernel: Shape, stride: Shape, dilate: Shape, pads: Shape, ceil_mode: bool, border: float
) -> Tensor:
    """Return all windows: an axis for each of the image's, then one of their elements."""
    axes = len(kernel)
    for i in range(axes):
        axis = 2 + i
        before, after = pads[i], pads[axes + i]
        count = _count(data.shape[axis], kernel[i], stride[i], dilate[i], (before, after), ceil_mode)
        needed = (count - 1) * stride[i] + (kernel[i] - 1) * dilate[i] + 1
        width = [0] * (2 * (data.ndim - axis))
        width[-2:] = before, needed - before - data.shape[axis]
        data = torch.constant_pad_nd(data, width, border)
        starts = torch.arange(count, device=data.device) * stride[i]
        positions = starts.unsqueeze(1) + torch.arange(kernel[i], device=data.device) * dilate[i]
        data = (
            data.index_select(axis, positions.reshape(-1))
            .unflatten(axis, (count, kernel[i]))
            .movedim(axis + 1, -1)
        )
    return data.flatten(2 + axes)


@operator("_onnx_pool")
def pool(
    data: Tensor,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilate: tuple[int, ...],
    pads: tuple[int, ...],
    ceil_mode: bool = False,
    kind: Literal["max", "avg", "lp"] = "max",
    count_include_pad: bool = False,
    p: float = 2.0,
) -> Tensor:
    """The greatest element, the mean or the norm of each window.

    `pads` holds the widths before all axes, then those after. A mean counts the border with `count_include_pad`, but
    never what rounding up adds to it.

    >>> data = torch.arange(4.0).reshape(1, 1, 4)
    >>> pool(data, kernel=(2,), stride=(1,), dilate=(2,), pads=(0, 0), kind="max")
    tensor([[[2., 3.]]])
    """
    if kind == "max":
        lowest = -math.inf if data.is_floating_point() else torch.iinfo(data.dtype).min
        return _windows(data, kernel, stride, dilate, pads, ceil_mode, lowest).amax(-1)
    windows = _windows(data, kernel, stride, dilate, pads, ceil_mode, 0.0)
    if kind == "lp":
        return windows.abs().pow(p).sum(-1).pow(1 / p)
    counted = torch.ones_like(data[:1, :1])
    if count_include_pad:
        axes = len(kernel)
        width = [n for i in reversed(range(axes)) for n in (pads[i], pads[axes + i])]
        counted, pads = torch.constant_pad_nd(counted, width, 1.0), (0,) * (2 * axes)
        # Windows must be as many as before, though the border is part of the image here.
        number = _windows_of(counted, windows.shape[2:-1], kernel, stride, dilate)
    else:
        number = _windows(counted, kernel, stride, dilate, pads, ceil_mode, 0.0)
    return windows.sum(-1) / number.sum(-1)


def _windows_of(data: Tensor, counts: Shape, kernel: Shape, stride: Shape, dilate: Shape) -> Tensor:
    """Return as many windows as `counts` says, over zeros beyond the end of the data."""
    axes = len(kernel)
    after = [
        (counts[i] - 1) * stride[i] + (kernel[i] - 1) * dilate[i] + 1 - data.shape[2 + i] for i in range(axes)
    ]
    return _windows(data, kernel, stride, dilate, (*[0] * axes, *after), False, 0.0)


@operator("_onnx_max_pool", outputs=("output", "indices"), types={"indices": torch.int64})
def max_pool(
    data: Tensor,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilate: tuple[int, ...],
    pads: tuple[int, ...],
    ceil_mode: bool = False,
    column_major: bool = False,
) -> tuple[Tensor, Tensor]:
    """The greatest element of each window, and its position in all of `data`.

    >>> data = torch.tensor([[[3.0, 1.0, 2.0, 5.0]]])
    >>> max_pool(data, kernel=(2,), stride=(2,), dilate=(1,), pads=(0, 0))[1]
    tensor([[[0, 3]]])
    """
    lowest = -math.inf if data.is_floating_point() else torch.iinfo(data.dtype).min
    windows = _windows(data, kernel, stride, dilate, pads, ceil_mode, lowest)
    image = data.shape[2:]
    numbers = torch.arange(math.prod(image), device=data.device)
    if column_major:
        numbers = numbers.reshape(*reversed(image)).permute(*reversed(range(len(image))))
    planes = torch.arange(data.shape[0] * data.shape[1], device=data.device) * math.prod(image)
    positions = planes.reshape(*data.shape[:2], *[1] * len(image)) + numbers.reshape(image)
    places = _windows(positions, kernel, stride, dilate, pads, ceil_mode, 0)
    found, where = windows.max(-1, keepdim=True)
    return found.squeeze(-1), places.gather(-1, where).squeeze(-1)


@operator("_onnx_max_unpool", types={"data": "T", "indices": "any", "output": "T"}, no_gradient=("indices",))
def max_unpool(data: Tensor, indices: Tensor, *, image: tuple[int, ...], output: tuple[int, ...]) -> Tensor:
    """Elements at the positions that max pooling gave, of an image that lies in the first corner of a larger one.

    >>> max_unpool(torch.tensor([[[5.0]]]), torch.tensor([[[2]]]), image=(3,), output=(4,))
    tensor([[[0., 0., 5., 0.]]])
    """
    found = data.new_zeros(math.prod((*data.shape[:2], *image)))
    found = found.scatter(0, indices.reshape(-1).long(), data.reshape(-1)).reshape(*data.shape[:2], *image)
    width = [n for small, large in zip(reversed(image), reversed(output)) for n in (0, large - small)]
    return torch.constant_pad_nd(found, width)


@operator("_onnx_col2im")
def col2im(
    data: Tensor,
    *,
    image: tuple[int, ...],
    block: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pads: tuple[int, ...] = (),
) -> Tensor:
    """Columns of windows added up to images of any number of axes.

    Shapes
    ------
    data : (N, C * K, L)    K elements of a window, L windows
    out : (N, C, *image)

    >>> col2im(torch.ones(1, 2, 3), image=(4,), block=(2,))
    tensor([[[1., 2., 2., 1.]]])
    """
    axes = len(image)
    stride, dilate, pads = stride or (1,) * axes, dilate or (1,) * axes, pads or (0,) * (2 * axes)
    whole = [size + pads[i] + pads[axes + i] for i, size in enumerate(image)]
    positions = torch.arange(math.prod(whole), device=data.device).reshape(1, 1, *whole)
    windows = _windows(positions, block, stride, dilate, (0,) * (2 * axes), False, 0)
    places = windows.flatten(0, -2).T.reshape(-1)
    columns = data.unflatten(1, (-1, math.prod(block))).flatten(2)
    found = columns.new_zeros(*columns.shape[:2], math.prod(whole)).index_add(2, places, columns)
    found = found.reshape(*columns.shape[:2], *whole)
    for i, size in enumerate(image):
        found = found.narrow(2 + i, pads[i], size)
    return found
