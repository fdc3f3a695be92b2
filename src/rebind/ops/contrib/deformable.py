"""Convolutions that read between the pixels, at offsets that another layer computes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import AtLeast, Params
from ...shapes import Shape
from .._bilinear import corners, weighted_rows
from .._signatures import with_interface_of
from .._types import Count, Offset, Workspace, require_floating
from ..declaration import Operator, Shapes, operator

__all__ = ["deformable_convolution", "modulated_deformable_convolution"]

Layout = Literal["NCDHW", "NCHW", "NCW"]


def _no_bias(name: str, p: Params) -> bool:
    return name == "bias" and p.no_bias


@operator("_contrib_ModulatedDeformableConvolution", skip=_no_bias)
def modulated_deformable_convolution(
    data: Tensor,
    offset: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    kernel: Annotated[tuple[int, ...], AtLeast(1)],
    stride: Annotated[tuple[int, ...], AtLeast(1)] = (),
    dilate: Annotated[tuple[int, ...], AtLeast(1)] = (),
    pad: Annotated[tuple[int, ...], AtLeast(0)] = (),
    num_filter: Count,
    num_group: Count = 1,
    num_deformable_group: Count = 1,
    workspace: Workspace = 1024,
    no_bias: bool = False,
    im2col_step: Offset = 64,
    layout: Layout | None = None,
) -> Tensor:
    """Convolution in two dimensions whose filters read each element shifted by `offset` and multiplied by `mask`.

    A filter reads, at output position p,
    ``sum_k weight[k] * mask[k, p] * data(stride p - pad + dilate k + offset[k, p])``. Between the pixels data is
    bilinear, with zeros around the image. All inputs get gradients. It runs on every device; MXNet's needs a GPU.

    Parameters
    ----------
    kernel, stride, dilate, pad, num_filter, num_group, num_deformable_group, no_bias, layout
        As for `DeformableConvolution`.
    im2col_step, workspace
        No effect here, whatever the size of the batch; accepted for old programs.

    Shapes
    ------
    data : (N, C, H, W)
    offset : (N, num_deformable_group * h * w * 2, *windows)     down and right for each element of a filter
    mask : (N, num_deformable_group * h * w, *windows)
    weight : (num_filter, C / num_group, h, w)
    bias : (num_filter,)                                         absent when ``no_bias``
    out : (N, num_filter, *windows)

    References
    ----------
    Zhu et al., Deformable ConvNets v2: More Deformable, Better Results.

    >>> row = torch.tensor([[[[1.0, 2.0, 4.0]]]])
    >>> offset = torch.stack((torch.zeros(1, 1, 3), torch.full((1, 1, 3), 0.5)), 1)
    >>> half, one = torch.full((1, 1, 1, 3), 0.5), torch.ones(1, 1, 1, 1)
    >>> modulated_deformable_convolution(row, offset, half, one, kernel=(1, 1), num_filter=1, no_bias=True)
    tensor([[[[0.7500, 1.5000, 1.0000]]]])
    """
    require_floating(data)
    window = _Window(
        data.shape,
        kernel=kernel,
        stride=stride,
        dilate=dilate,
        pad=pad,
        num_filter=num_filter,
        num_group=num_group,
        num_deformable_group=num_deformable_group,
    )
    window.check(offset=offset.shape, mask=mask.shape, weight=weight.shape)
    y, x = _points(data, offset, window)
    index, share = corners(y, x, *data.shape[2:], zeros=True)
    # (N, groups * elements, *windows) to (N, *windows, elements, groups), as `_points` has them.
    factor = mask.unflatten(1, (num_deformable_group, -1)).permute(0, 3, 4, 2, 1)
    return _product(data, index, share * factor.to(dtype=share.dtype).unsqueeze(-1), weight, bias, window)


@operator(
    "_contrib_DeformableConvolution",
    skip=_no_bias,
    listed={"num_filter": "int, required"}
    | dict.fromkeys(("num_group", "num_deformable_group"), "int, optional, default='1'"),
)
@with_interface_of(modulated_deformable_convolution.kernels.function, without=("mask", "im2col_step"))
def deformable_convolution(
    data: Tensor, offset: Tensor, weight: Tensor, bias: Tensor | None = None, **settings: Any
) -> Tensor:
    """Convolution in two dimensions whose filters read each element shifted by `offset`.

    A filter reads, at output position p, ``sum_k weight[k] * data(stride p - pad + dilate k + offset[k, p])``. Between
    the pixels data is bilinear. Within the image the last row and column continue to the edge;
    whatever lies outside of [0, H) and [0, W) is 0. (`ModulatedDeformableConvolution` falls to 0 gradually.) All
    inputs get gradients.

    Parameters
    ----------
    kernel
        Rows and columns of a filter.
    stride, dilate
        Steps between windows and between the elements of a window; 1 when left out.
    pad
        How far windows reach out on both sides; 0 when left out.
    num_filter
        Channels of the result.
    num_group
        Channels are split into that many groups which do not see each other.
    num_deformable_group
        Channels of `data` are split into that many groups, each with offsets of its own.
    no_bias
        Leave the bias out; there is no such input then.
    layout
        ``'NCHW'`` or None: there is no other for two dimensions.
    workspace
        No effect here; accepted for old programs.

    Shapes
    ------
    data : (N, C, H, W)
    offset : (N, num_deformable_group * h * w * 2, *windows)     down and right for each element of a filter
    weight : (num_filter, C / num_group, h, w)
    bias : (num_filter,)                                         absent when ``no_bias``
    out : (N, num_filter, *windows)
        ``windows = (spatial + 2 pad - dilate (kernel - 1) - 1) // stride + 1``

    References
    ----------
    Dai et al., Deformable Convolutional Networks.

    >>> row = torch.tensor([[[[1.0, 2.0, 4.0]]]])
    >>> offset = torch.stack((torch.zeros(1, 1, 3), torch.full((1, 1, 3), 0.5)), 1)
    >>> one = torch.ones(1, 1, 1, 1)
    >>> deformable_convolution(row, offset, one, kernel=(1, 1), num_filter=1, no_bias=True)
    tensor([[[[1.5000, 3.0000, 4.0000]]]])
    """
    require_floating(data)
    window = _Window(data.shape, **settings)
    window.check(offset=offset.shape, weight=weight.shape)
    y, x = _points(data, offset, window)  # y and x: (N, h, w, elements, maps)
    # The border is hard, unlike that of the modulated form: a point outside counts nothing.
    inside = (y >= 0) & (y < data.shape[2]) & (x >= 0) & (x < data.shape[3])
    index, share = corners(y, x, *data.shape[2:])
    return _product(data, index, torch.where(inside.unsqueeze(-1), share, 0.0), weight, bias, window)


class _Window:
    """The positions of the filters: kernel, strides, padding and sizes; an unknown size of data is 0."""

    def __init__(
        self,
        data: Shape,
        *,
        kernel: Shape,
        num_filter: int,
        stride: Shape = (),
        dilate: Shape = (),
        pad: Shape = (),
        num_group: int = 1,
        num_deformable_group: int = 1,
        **others: Any,  # parameters that say nothing of windows
    ) -> None:
        if len(data) != 4:
            raise ShapeError(f"data must have 4 axes, (N, C, H, W); got shape {tuple(data)}")
        for groups in (num_group, num_deformable_group):
            if data[1] % groups:
                raise ShapeError(
                    f"data must have a multiple of num_group={num_group} and of "
                    f"num_deformable_group={num_deformable_group} channels; got shape {tuple(data)}"
                )
        self.data, self.kernel = data, kernel
        self.filters, self.groups, self.deformable_groups = num_filter, num_group, num_deformable_group
        self.stride, self.dilate, self.pad = stride or (1, 1), dilate or (1, 1), pad or (0, 0)
        # Windows along each axis, as of any convolution; 0 where the size of data is unknown.
        self.size = tuple(
            (n + 2 * p - d * (k - 1) - 1) // s + 1 if n else 0
            for n, k, s, d, p in zip(data[2:], kernel, self.stride, self.dilate, self.pad, strict=True)
        )
        if any(n and size < 1 for n, size in zip(data[2:], self.size, strict=True)):
            raise ShapeError(
                f"kernel {kernel} (dilate {self.dilate}) must fit into the padded data; "
                f"got data {tuple(data)} with pad {self.pad}"
            )

    def shapes(self) -> dict[str, Shape]:
        # An offset has two numbers, a mask one, for each element of the kernel in each deformable group.
        """Return the shapes of the other inputs."""
        elements = self.kernel[0] * self.kernel[1] * self.deformable_groups
        return {
            "offset": (self.data[0], 2 * elements, *self.size),
            "mask": (self.data[0], elements, *self.size),
            "weight": (self.filters, self.data[1] // self.groups, *self.kernel),
            "bias": (self.filters,),
        }

    def check(self, **shapes: Shape) -> None:
        """Raise a ShapeError for an input of another shape, now that no size is unknown."""
        if not all(self.size):
            raise ShapeError(f"data must be at least 1 high and 1 wide; got shape {tuple(self.data)}")
        expected = self.shapes()
        for name, shape in shapes.items():
            if tuple(shape) != expected[name]:
                raise ShapeError(
                    f"{name} must have shape {expected[name]} to match data {tuple(self.data)}; "
                    f"got {tuple(shape)}"
                )


def _points(data: Tensor, offset: Tensor, window: _Window) -> tuple[Tensor, Tensor]:
    """Return where the filters read, y and x: (N, *windows, elements of a filter, deformable groups)."""
    # Half precision has too few digits for coordinates.
    offset = offset.to(dtype=torch.promote_types(offset.dtype, torch.float32))
    # (N, groups * elements * 2, *windows) to (2, N, *windows, elements, groups).
    shift = offset.unflatten(1, (window.deformable_groups, -1, 2)).permute(3, 0, 4, 5, 2, 1)
    # Along each axis: (windows, elements).
    down, right = (
        torch.arange(size, device=data.device).unsqueeze(1) * s - p + torch.arange(k, device=data.device) * d
        for size, k, s, d, p in zip(
            window.size, window.kernel, window.stride, window.dilate, window.pad, strict=True
        )
    )
    columns = window.kernel[1]
    # Elements run row by row: y stays within a row of the kernel, x repeats in each.
    y = down.repeat_interleave(columns, 1).view(-1, 1, down.shape[1] * columns, 1)
    x = right.repeat(1, window.kernel[0]).view(1, -1, right.shape[1] * window.kernel[0], 1)
    return y + shift[0], x + shift[1]


def _product(
    data: Tensor, index: Tensor, share: Tensor, weight: Tensor, bias: Tensor | None, window: _Window
) -> Tensor:
    """Return the product of the filters and what they read: pixels `index` of each map with weights `share`."""
    n, channels, height, width = data.shape
    maps = window.deformable_groups
    # A row of channels for each pixel of each map: (N * maps * H * W, C / maps).
    table = data.unflatten(1, (maps, -1)).movedim(2, -1).reshape(-1, channels // maps)
    # The first row of each map in that table.
    origin = torch.arange(n * maps, device=data.device).view(n, 1, 1, 1, maps, 1) * (height * width)
    read = weighted_rows(table, (index + origin).flatten(0, 4), share.flatten(0, 4))
    groups = window.groups
    # The maps of a point follow each other, which makes all its channels: (N * h * w, elements, groups, C / groups).
    read = read.view(-1, window.kernel[0] * window.kernel[1], groups, channels // groups)
    filters = (
        weight.flatten(2).unflatten(0, (groups, -1)).permute(0, 3, 2, 1)
    )  # (groups, elements, C, filters)
    # A product for each group: (N * h * w, elements * C) with (elements * C, filters).
    out = torch.bmm(read.permute(2, 0, 1, 3).flatten(2), filters.flatten(1, 2)).transpose(0, 1).flatten(1)
    out = out if bias is None else out + bias
    return out.view(n, *window.size, window.filters).permute(0, 3, 1, 2)


def _check(p: Params) -> str | None:
    if len(p.kernel) != 2:
        return f"kernel must have 2 sizes, (h, w); got {p.kernel}"
    for name in ("stride", "dilate", "pad"):
        if len(p[name]) not in (0, 2):
            return f"{name} must have 2 numbers as kernel has; got {p[name]}"
    if p.layout not in (None, "NCHW"):
        return f"layout must be 'NCHW' or None, for kernel has 2 sizes; got {p.layout!r}"
    if p.num_filter % p.num_group:
        return f"num_filter must be a multiple of num_group {p.num_group}; got {p.num_filter}"
    return None


def _declare(op: Operator) -> None:
    @op.fill_shapes
    def _(shapes: Shapes, p: Params) -> Shapes:
        data = shapes["data"]
        if data is None:
            return {"bias": (p.num_filter,)}
        found = _Window(data, **p).shapes()
        return {name: shape for name, shape in found.items() if name in shapes}

    op.check(_check)


for _op in (deformable_convolution, modulated_deformable_convolution):
    _declare(_op)
