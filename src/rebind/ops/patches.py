"""Images as columns of their windows, and back: what turns a convolution into a product of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

import torch.nn.functional as F
from torch import Tensor

from ..errors import ShapeError
from ..params import Params
from ..shapes import Shape
from .declaration import Shapes, operator
from .nn.layout import complaint, padded, split

__all__ = ["col2im", "im2col"]


@operator("im2col")
def im2col(
    data: Tensor,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
) -> Tensor:
    """All windows of the data as columns, in one, two or three dimensions.

    A convolution is the product of its weight, as a matrix, with these columns.

    Parameters
    ----------
    kernel
        Sizes of a window.
    stride
        Steps between windows; 1 when left out.
    dilate
        Steps between the elements of a window; 1 when left out.
    pad
        Zeros added on both sides of each spatial axis; none when left out.

    Shapes
    ------
    data : (N, C, *spatial)
    out : (N, C * K, W)       K elements of a window; W windows, the last axis of the data running fastest in both

    Examples
    --------
    >>> import torch
    >>> im2col(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), kernel=(2,))
    tensor([[[1., 2., 3.],
             [2., 3., 4.]]])
    """
    axes = len(kernel)
    spatial = _spatial(tuple(data.shape), kernel)
    _windows(spatial, kernel, stride, dilate, pad)
    data = padded(data, pad)
    # Views of the windows, copied once at the end: several times as quick as F.unfold, and in any number of axes.
    ones = (1,) * axes
    for axis, (k, s, d) in enumerate(zip(kernel, stride or ones, dilate or ones, strict=True), start=2):
        data = data.unfold(axis, d * (k - 1) + 1, s)[..., ::d]
    elements, windows = range(2 + axes, 2 + 2 * axes), range(2, 2 + axes)
    # (N, C, *windows, *elements) to (N, C * elements, windows).
    return data.permute(0, 1, *elements, *windows).flatten(1, 1 + axes).flatten(2)


@operator("col2im")
def col2im(
    data: Tensor,
    *,
    output_size: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
) -> Tensor:
    """Columns of windows added up where they lie in the result: the transpose, and the gradient, of `im2col`.

    Parameters
    ----------
    output_size
        Spatial sizes of the result.
    kernel, stride, dilate, pad
        Those of the windows, as in `im2col`.

    Shapes
    ------
    data : (N, C * K, W)       K elements of a window, W windows
    out : (N, C, *output_size)

    Examples
    --------
    >>> import torch
    >>> col2im(torch.ones(1, 2, 3), output_size=(4,), kernel=(2,))
    tensor([[[1., 2., 2., 1.]]])
    """
    windows = _windows(output_size, kernel, stride, dilate, pad)
    _check_columns(tuple(data.shape), kernel, windows)
    steps = _Steps(kernel, stride, dilate, pad)
    batch = data.shape[0]
    channels = data.shape[1] // prod(kernel)
    # F.fold refuses arrays without channels. The sum, 0, makes the result a function of data.
    if not data.numel():
        return data.new_zeros(batch, channels, *output_size) + data.sum()
    if len(kernel) == 1:
        return F.fold(data, (1, *output_size), *steps.across()).squeeze(2)
    if len(kernel) == 2:
        return F.fold(data, output_size, *steps.across())
    # Three axes are folded in two steps: the last two axes first, then the first one with the others as one.
    # (N, C, k0, K', w0, W'), where K' and W' are the elements and windows of the last two axes.
    grouped = data.view(batch, channels, kernel[0], prod(kernel[1:]), windows[0], prod(windows[1:]))
    slices = grouped.transpose(3, 4).reshape(batch, -1, prod(windows[1:]))
    # (N, C * k0 * w0, *output_size[1:]): the windows of the first axis are channels here.
    found = F.fold(slices, output_size[1:], *steps.across())
    found = found.view(batch, channels * kernel[0], windows[0] * prod(output_size[1:]))
    return F.fold(found, (output_size[0], prod(output_size[1:])), *steps.down()).unflatten(3, output_size[1:])


_Four: TypeAlias = tuple[Shape, Shape, Shape, Shape]


class _Steps:
    """The parameters of windows, as torch takes them for images: kernel, dilation, padding, stride."""

    def __init__(self, kernel: Shape, stride: Shape, dilate: Shape, pad: Shape) -> None:
        ones, zeros = (1,) * len(kernel), (0,) * len(kernel)
        self._all = (kernel, dilate or ones, pad or zeros, stride or ones)

    def across(self) -> _Four:
        """Return them for the last two axes; for the only one as if there were another of size 1."""
        kernel, dilate, pad, stride = self._all
        if len(kernel) == 1:
            return (1, *kernel), (1, *dilate), (0, *pad), (1, *stride)
        return kernel[-2:], dilate[-2:], pad[-2:], stride[-2:]

    def down(self) -> _Four:
        """Return them for the first of three axes, the other two taken as one that is left alone."""
        kernel, dilate, pad, stride = self._all
        return (kernel[0], 1), (dilate[0], 1), (pad[0], 0), (stride[0], 1)


def _spatial(data: Shape, kernel: Shape) -> Shape:
    return split(data, kernel, None)[2]


def _windows(spatial: Shape, kernel: Shape, stride: Shape, dilate: Shape, pad: Shape) -> Shape:
    """Return how many windows there are along each axis."""
    ones, zeros = (1,) * len(kernel), (0,) * len(kernel)
    found = []
    for n, k, s, d, p in zip(spatial, kernel, stride or ones, dilate or ones, pad or zeros, strict=True):
        # The extent of a dilated kernel.
        reach = d * (k - 1) + 1
        if n + 2 * p < reach:
            raise ShapeError(
                f"kernel {kernel} with dilate {dilate or ones} must fit into the sizes {spatial} "
                f"with pad {pad or zeros}; got {reach} over {n + 2 * p}"
            )
        # The last windows that do not fit are left out.
        found.append((n + 2 * p - reach) // s + 1)
    return tuple(found)


def _check_columns(data: Shape, kernel: Shape, windows: Shape) -> None:
    if len(data) != 3:
        raise ShapeError(f"data must have 3 axes, (N, C * K, W); got shape {data}")
    if data[1] % prod(kernel):
        raise ShapeError(
            f"axis 1 of data must be a multiple of {prod(kernel)}, the size of kernel {kernel}; "
            f"got {data[1]} in {data}"
        )
    if data[2] not in (0, prod(windows)):
        raise ShapeError(
            f"axis 2 of data must be {prod(windows)}, the number of windows {windows}; "
            f"got {data[2]} in {data}"
        )


def _check_parameters(p: Params) -> str | None:
    wrong = complaint(p, stride=1, dilate=1, pad=0)
    if wrong is None and "output_size" in p:
        size = p["output_size"]
        if len(size) != len(p.kernel) or min(size) < 1:
            return f"output_size must be {len(p.kernel)} sizes >= 1, as many as kernel {p.kernel}; got {size}"
    return wrong


im2col.check(_check_parameters)
col2im.check(_check_parameters)


@im2col.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is not None:
        spatial = _spatial(data, p.kernel)
        if 0 not in spatial:
            _windows(spatial, p.kernel, p.stride, p.dilate, p.pad)
    return {}


@col2im.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    windows = _windows(p.output_size, p.kernel, p.stride, p.dilate, p.pad)
    data = shapes["data"]
    if data is not None:
        _check_columns(data, p.kernel, windows)
    return {"data": (0, 0, prod(windows))}


@im2col.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    out = outputs[0]
    if out is None or len(out) != 3:
        return {}
    return {"data": (out[0], out[1] // prod(p.kernel), *(0 for _ in p.kernel))}


@col2im.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    out = outputs[0]
    return {} if out is None else {"data": (out[0], out[1] * prod(p.kernel), 0)}
