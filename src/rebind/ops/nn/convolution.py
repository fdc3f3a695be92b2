"""Convolution and its transpose, in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import ShapeError
from ...grad_mode import is_recorded
from ...params import Params
from ...shapes import Shape
from ...tuning import current
from .._types import Count, Workspace
from ..declaration import Operator, Shapes, operator
from .layout import channels_last, complaint, split, to_channels_first, to_channels_last
from .misread_windows import BLOCK_OF_CHANNELS, misread_axes, transposed_without, without_misread_windows

__all__ = ["convolution", "convolution_v1", "deconvolution", "fitted_padding"]

Layout = Literal["NCW", "NCHW", "NCDHW", "NHWC", "NDHWC"]
CudnnTune = Literal["off", "limited_workspace", "fastest"]

# By the number of spatial axes.
_CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def _convolution(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
    num_filter: Count,
    num_group: Count = 1,
    workspace: Workspace = 1024,
    no_bias: bool = False,
    cudnn_tune: CudnnTune | None = None,
    cudnn_off: bool = False,
    layout: Layout | None = None,
) -> Tensor:
    """Correlation of `data` with a bank of filters in one, two or three dimensions.

    Parameters
    ----------
    kernel
        Sizes of a filter; their number says how many spatial axes there are.
    stride, dilate
        Steps between windows and between the elements of a window; 1 when left out.
    pad
        Zeros added on both sides of each spatial axis; 0 when left out.
    num_filter
        Number of filters: channels of the result.
    num_group
        Channels are split into that many groups which do not see each other.
    no_bias
        Leave the bias out; the layer then has no such input.
    layout
        Order of the axes: ``'NCW'``, ``'NCHW'`` (default), ``'NHWC'``, ``'NCDHW'``, ``'NDHWC'``.
    workspace, cudnn_tune, cudnn_off
        No effect here; accepted for old programs.

    Shapes
    ------
    data : (N, C, *spatial)                           with channels last: (N, *spatial, C)
    weight : (num_filter, C / num_group, *kernel)     with channels last: (num_filter, *kernel, C / num_group)
    bias : (num_filter,)                              absent when ``no_bias``
    out : (N, num_filter, *windows)
        ``windows = (spatial + 2 pad - dilate (kernel - 1) - 1) // stride + 1``
    """
    check_data(data, weight, kernel)
    last = layout is not None and channels_last(layout)
    if last:
        # Views: in memory they stay channels last, for which torch has kernels of its own.
        data, weight = to_channels_first(data), to_channels_first(weight)
    if (
        len(kernel) == 2
        and kernel[1] >= current().wide_filter_columns
        and num_group == 1
        and _span_the_width(data, kernel, pad, dilate)
    ):
        data, weight = _width_in_channels(data), _width_in_channels(weight)
        kernel = (kernel[0], 1)
    # What may have such windows, at a glance: to ask for all would be a part of a small convolution's time.
    if data.is_cpu and (
        data.dtype.itemsize == 2
        or (stride and stride[-1] > 1 and data.shape[1] == 1)
        or (stride and max(kernel) == 1 and data.shape[1] < BLOCK_OF_CHANNELS)
        or (pad and (max(pad) >= min(kernel) or (stride and pad[0] > stride[0] > 1)))
    ):
        data, stride, pad = without_misread_windows(data, kernel, stride, pad, dilate)
    if torch.compiler.is_compiling() and _sees_one_channel(data, weight):
        from .opaque.convolution import convolve

        ones, none = (1,) * len(kernel), (0,) * len(kernel)
        out = convolve(data, weight, bias, stride or ones, pad or none, dilate or ones, num_group)
    else:
        out = _CONVOLUTIONS[len(kernel)](data, weight, bias, stride or 1, pad or 0, dilate or 1, num_group)
    return to_channels_last(out) if last else out


def _sees_one_channel(data: Tensor, weight: Tensor) -> bool:
    """Whether filters have one channel, and images, many numbers, have theirs last in memory, in training."""
    return (
        weight.dim() in (4, 5)
        and weight.shape[1] == 1
        and data.is_cpu
        and data.stride(1) == 1
        and data.numel() // data.shape[1] * weight.shape[0] >= current().opaque_call_elements
        and is_recorded(data, weight)
    )


def _span_the_width(data: Tensor, kernel: Shape, pad: Shape, dilate: Shape) -> bool:
    """Whether filters are as wide as the data, and these have their channels last in memory.

    oneDNN then computes the gradient of the data element by element of the width, of which nearly all are padding: for
    sentences of words with 100 numbers each it takes 50 times as long as forward.
    """
    return (
        data.is_cpu
        and data.stride(1) == 1
        and data.shape[3] == kernel[1]
        and data.shape[2] > kernel[0]  # else it is a product of matrices, and quick
        and not (pad and pad[1])
        and not (dilate and dilate[1] > 1)
    )


def _width_in_channels(data: Tensor) -> Tensor:
    """Return (N, C, H, W) as (N, W C, H, 1): a view of data that have their channels last in memory."""
    count, channels, height, width = data.shape
    return data.permute(0, 2, 3, 1).reshape(count, height, 1, width * channels).permute(0, 3, 1, 2)


def check_data(data: Tensor, weight: Tensor, kernel: Shape) -> None:
    # torch would take data without a batch axis, and any size of kernel.
    if data.dim() != len(kernel) + 2:
        raise ShapeError(
            f"data must have {len(kernel) + 2} axes for kernel {kernel}; got shape {tuple(data.shape)}"
        )


def _no_bias(name: str, p: Params) -> bool:
    return name == "bias" and p.no_bias


def check_parameters(p: Params) -> str | None:
    if p.num_filter % p.num_group:
        return f"num_filter must be a multiple of num_group {p.num_group}; got {p.num_filter}"
    return complaint(p, stride=1, dilate=1, pad=0)


def _axes(p: Params) -> list[tuple[int, int, int]]:
    """Return, for each spatial axis, stride, padding, and the extent of the kernel with its dilation."""
    ones, zeros = (1,) * len(p.kernel), (0,) * len(p.kernel)
    rows = zip(p.kernel, p.stride or ones, p.dilate or ones, p.pad or zeros, strict=True)
    return [(s, pad, d * (k - 1) + 1) for k, s, d, pad in rows]


def _grouped(data: Shape, p: Params) -> tuple[int, Shape]:
    """Return the channels and the spatial sizes of data; ShapeError for channels that do not split into groups."""
    _, channels, spatial = split(data, p.kernel, p.layout)
    if channels % p.num_group:
        raise ShapeError(
            f"data must have a multiple of num_group {p.num_group} channels; got {channels} in shape {data}"
        )
    return channels, spatial


def _convolution_shapes(shapes: Shapes, p: Params) -> Shapes:
    found: dict[str, Shape] = {"bias": (p.num_filter,)}
    if shapes["data"] is None:
        return found
    channels, spatial = _grouped(shapes["data"], p)
    for n, (_, pad, extent) in zip(spatial, _axes(p), strict=True):
        # A size of 0 is unknown and fits.
        if n and n + 2 * pad < extent:
            raise ShapeError(
                f"kernel {p.kernel} (dilate {p.dilate or 1}) must fit into the padded data; "
                f"got data {shapes['data']} with pad {p.pad or 0}"
            )
    # A filter sees the channels of its own group only.
    inner = (channels // p.num_group,)
    return found | {
        "weight": (p.num_filter, *((*p.kernel, *inner) if channels_last(p.layout) else (*inner, *p.kernel)))
    }


def _convolution_output(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    if data is None or len(data) != len(p.kernel) + 2:
        return []
    batch, _, spatial = split(data, p.kernel, p.layout)
    windows = [(n + 2 * pad - extent) // s + 1 for n, (s, pad, extent) in zip(spatial, _axes(p), strict=True)]
    return [(batch, *windows, p.num_filter) if channels_last(p.layout) else (batch, p.num_filter, *windows)]


def _convolution_products(shapes: Shapes, p: Params) -> int:
    [out] = _convolution_output(shapes, p) or [None]
    return 0 if out is None else prod(out) * prod(shapes["weight"] or ()) // p.num_filter


def _convolution_data(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    data, out = shapes["data"], outputs[0]
    if data is None or out is None or len(out) != len(data):
        return {}
    _, channels, _ = split(data, p.kernel, p.layout)
    batch, _, windows = split(out, p.kernel, p.layout)
    # With a stride of 1 the size of the data follows from that of the result; else it lies within a range.
    spatial = [
        # The size of the result, n + 2 pad - extent + 1, solved for that of the data.
        n + extent - 1 - 2 * pad if s == 1 and n else 0
        for n, (s, pad, extent) in zip(windows, _axes(p), strict=True)
    ]
    return {"data": (batch, *spatial, channels) if channels_last(p.layout) else (batch, channels, *spatial)}


def _declare(name: str, listed: Mapping[str, str | None] | None = None) -> Operator:
    op = operator(name, skip=_no_bias, owns_output=True, listed=listed)(_convolution)
    op.check(check_parameters)
    op.fill_shapes(_convolution_shapes)
    op.output_shapes(_convolution_output)
    op.products(_convolution_products)
    op.shapes_from_outputs(_convolution_data)
    return op


convolution = _declare("Convolution")
# The old operator computes the same; files of old models name it.
convolution_v1 = _declare(
    "Convolution_v1",
    listed={"layout": "{None, 'NCDHW', 'NCHW', 'NDHWC', 'NHWC'},optional, default='None'"},
)


@operator("Deconvolution", skip=_no_bias, owns_output=True)
def deconvolution(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
    adj: tuple[int, ...] = (),
    target_shape: tuple[int, ...] = (),
    num_filter: Count,
    num_group: Count = 1,
    workspace: Workspace = 512,
    no_bias: bool = True,
    cudnn_tune: CudnnTune | None = None,
    cudnn_off: bool = False,
    layout: Layout | None = None,
) -> Tensor:
    """Transpose of a convolution: what a convolution with these parameters does to a gradient.

    Parameters
    ----------
    kernel
        Sizes of a filter; their number says how many spatial axes there are.
    stride, dilate
        Steps of the convolution that is transposed; 1 when left out.
    pad
        Rows and columns taken away on both sides of the result; 0 when left out.
    adj
        Rows and columns added to the end of the result, fewer than `stride`; 0 when left out.
    target_shape
        Spatial sizes of the result; `pad` and `adj` are then computed and what is given for them is not used.
    num_filter
        Channels of the result.
    num_group
        Channels are split into that many groups which do not see each other.
    no_bias
        Leave the bias out (the default, other than in Convolution).
    layout
        Order of the axes: ``'NCW'``, ``'NCHW'`` (default), ``'NHWC'``, ``'NCDHW'``, ``'NDHWC'``.
    workspace, cudnn_tune, cudnn_off
        No effect here; accepted for old programs.

    Shapes
    ------
    data : (N, C, *spatial)                           with channels last: (N, *spatial, C)
    weight : (C, num_filter / num_group, *kernel)     with channels last: (C, *kernel, num_filter / num_group)
    bias : (num_filter,)                              absent when ``no_bias``
    out : (N, num_filter, *sizes)
        ``sizes = stride (spatial - 1) + dilate (kernel - 1) + 1 - 2 pad + adj``, or `target_shape`

    Examples
    --------
    >>> import torch
    >>> data, weight = torch.tensor([[[1.0, 2.0]]]), torch.ones(1, 1, 2)
    >>> deconvolution(data, weight, kernel=(2,), stride=(2,), num_filter=1)
    tensor([[[1., 1., 2., 2.]]])
    """
    check_data(data, weight, kernel)
    last = channels_last(layout)
    if last:
        data, weight = to_channels_first(data), to_channels_first(weight)
    if any(target_shape):
        pad, adj = fitted_padding(tuple(data.shape[2:]), kernel, stride, dilate, target_shape)
    transposed = _TRANSPOSED[len(kernel)]
    if data.is_cpu and (axes := _misread(data, kernel, stride, dilate, pad, adj, num_filter)):
        how = {"kernel": kernel, "stride": stride, "pad": pad, "adj": adj, "dilate": dilate}
        out = transposed_without(axes, transposed, data, weight, bias, **how, num_group=num_group)
    else:
        out = transposed(data, weight, bias, stride or 1, pad or 0, adj or 0, num_group, dilate or 1)
    return to_channels_last(out) if last else out


def _misread(
    data: Tensor, kernel: Shape, stride: Shape, dilate: Shape, pad: Shape, adj: Shape, num_filter: int
) -> list[int]:
    """Return the axes along which the convolution that this transposes is computed wrongly."""
    sizes = deconvolved(tuple(data.shape[2:]), kernel, stride, dilate, pad, adj)
    return misread_axes((len(data), num_filter, *sizes), data.dtype, kernel, stride, pad, dilate)


def deconvolved(
    spatial: Shape, kernel: Shape, stride: Shape = (), dilate: Shape = (), pad: Shape = (), adj: Shape = ()
) -> Shape:
    """Return the spatial sizes of a deconvolution's result.

    >>> deconvolved((4, 4), (4, 4), (2, 2), (), (1, 1))
    (8, 8)
    """
    ones, zeros = (1,) * len(kernel), (0,) * len(kernel)
    rows = zip(spatial, kernel, stride or ones, dilate or ones, pad or zeros, adj or zeros, strict=True)
    return tuple(s * (n - 1) + d * (k - 1) + 1 - 2 * p + a for n, k, s, d, p, a in rows)


def fitted_padding(
    spatial: Shape, kernel: Shape, stride: Shape, dilate: Shape, target: Shape
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the `pad` and `adj` that give a deconvolution the spatial sizes `target`.

    >>> fitted_padding((4,), (4,), (2,), (), (7,))
    ((2,), (1,))
    """
    ones = (1,) * len(kernel)
    whole = deconvolved(spatial, kernel, stride, dilate)
    # What is too much is taken off both ends as padding; an odd rest comes back as `adj`.
    surplus = [n - wanted for n, wanted in zip(whole, target, strict=True)]
    if min(surplus) < 0:
        raise ShapeError(f"target_shape must be at most {whole}; got {target}")
    # An odd rest needs an `adj` of 1, which must be below the stride.
    if any(n % 2 >= s for n, s in zip(surplus, stride or ones, strict=True)):
        raise ShapeError(
            f"target_shape must differ from {whole} by an even number where stride is 1; got {target}"
        )
    return tuple((n + 1) // 2 for n in surplus), tuple(n % 2 for n in surplus)


@deconvolution.products
def _(shapes: Shapes, p: Params) -> int:
    return prod(shapes["data"] or ()) * prod((shapes["weight"] or (0, 0))[1:])


@deconvolution.check
def _(p: Params) -> str | None:
    if any(p.target_shape):
        if len(p.target_shape) != len(p.kernel) or 0 in p.target_shape:
            return (
                f"target_shape must have {len(p.kernel)} sizes >= 1, as many as kernel; got {p.target_shape}"
            )
    elif p.adj and len(p.adj) == len(p.kernel):
        ones = (1,) * len(p.kernel)
        if any(a >= s for a, s in zip(p.adj, p.stride or ones, strict=True)):
            return f"adj must be less than stride {p.stride or ones} in each axis; got {p.adj}"
    return check_parameters(p) or complaint(p, adj=0)


@deconvolution.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    found: dict[str, Shape] = {"bias": (p.num_filter,)}
    if shapes["data"] is None:
        return found
    channels, spatial = _grouped(shapes["data"], p)
    if any(p.target_shape) and 0 not in spatial:
        # For its errors only: the kernel computes the padding again.
        fitted_padding(spatial, p.kernel, p.stride, p.dilate, p.target_shape)
    # As of the convolution that this transposes: its data are the result here, its filters the channels.
    inner = (p.num_filter // p.num_group,)
    return found | {
        "weight": (channels, *((*p.kernel, *inner) if channels_last(p.layout) else (*inner, *p.kernel)))
    }


@deconvolution.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    data, out = shapes["data"], outputs[0]
    return {} if data is None or out is None else {"data": (out[0], *data[1:])}
