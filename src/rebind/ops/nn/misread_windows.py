"""Convolutions that oneDNN computes wrongly on CPUs, written so that it does not.

Found with PyTorch 2.13 (oneDNN 3.12, AVX-512) by comparing random convolutions with float64's:

- Windows that lie in the padding alone end the process, in three dimensions with the channels last, and in types of two
  bytes.
- Data of one channel, read with the channels last (packed filters do): wrong numbers where the last axis has room for
  one window only, and a stride. So it is of bytes whose filters see one channel of many.
- Types of two bytes, in either order: gradients of filters are memory that nobody wrote, or memory is written that is
  someone else's, where an axis has one window and a stride, where padded data are smaller than a window, and where
  filters of one element have strides that differ.
- Volumes in float32, with the channels last: gradients of filters are such memory, too, where the first axis has more
  padding than its stride, of 2 at least, and no window lies within the data.
- Images of fewer than 16 channels, which are last in memory, and filters of one element with a stride: for the
  gradients of the filters oneDNN copies what they see into memory that is too short, and writes on behind it (its
  issue 6035): large images in one thread, small ones in several. The process ends later, somewhere else.

A deconvolution goes forward as a convolution's gradient does, and its gradients are a convolution and the gradient of
its filters: it is computed wrongly where the convolution is that it transposes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from ...shapes import Shape
from .layout import padded

__all__ = ["BLOCK_OF_CHANNELS", "misread_axes", "transposed_without", "without_misread_windows"]

#: How many channels oneDNN takes at once, with AVX-512; with AVX2 8.
BLOCK_OF_CHANNELS = 16


def misread_axes(
    shape: Shape, dtype: torch.dtype, kernel: Shape, stride: Shape, pad: Shape, dilate: Shape
) -> list[int]:
    """Return the spatial axes, counted from 0, along which a convolution, or its gradients, are computed wrongly.

    Parameters
    ----------
    shape, dtype
        Of the data, (N, C, *spatial).
    kernel, stride, pad, dilate
        As `Convolution` takes them; empty ones are ones, or zeros.

    Examples
    --------
    >>> misread_axes((8, 1, 40, 100), torch.float32, (3, 100), (1, 100), (), ())
    [1]
    >>> misread_axes((8, 3, 40, 100), torch.float32, (3, 100), (1, 100), (), ())
    []
    >>> misread_axes((8, 64, 1, 1), torch.bfloat16, (3, 3), (2, 2), (1, 1), ())
    [0, 1]
    >>> misread_axes((2, 8, 6, 9, 9), torch.float32, (7, 3, 3), (2, 1, 1), (3, 1, 1), ())
    [0]
    >>> misread_axes((8, 3, 6, 6), torch.float32, (1, 1), (2, 1), (), ())
    [0]
    """
    ones, zeros = (1,) * len(kernel), (0,) * len(kernel)
    axes = [*zip(shape[2:], kernel, stride or ones, pad or zeros, dilate or ones, strict=True)]
    short = dtype.itemsize == 2
    of_one_channel = len(kernel) > 1 and (shape[1] == 1 or dtype.itemsize == 1)
    of_few_channels = len(kernel) == 2 and shape[1] < BLOCK_OF_CHANNELS and dtype.itemsize in (2, 4)
    of_one_element = max(kernel) == 1 and (of_few_channels or (short and len({*stride}) > 1))

    def is_misread(i: int, size: int, kernel: int, stride: int, pad: int, dilate: int) -> bool:
        extent = dilate * (kernel - 1) + 1
        if pad >= extent or (of_one_element and stride > 1):
            return True
        steps_over_one = stride > 1 and size + 2 * pad - extent < stride
        if not short:
            if len(axes) == 3 and i == 0 and pad > stride > 1 and -pad % stride + extent > size:
                return True
            return of_one_channel and steps_over_one and i == len(axes) - 1
        return steps_over_one or (pad > 0 and extent > size)

    return [i for i, axis in enumerate(axes) if is_misread(i, *axis)]


def without_misread_windows(
    data: Tensor, kernel: Shape, stride: Shape, pad: Shape, dilate: Shape
) -> tuple[Tensor, Shape, Shape]:
    """Return data, `stride` and `pad` of the same convolution, of which nothing is computed wrongly.

    Along such an axis the padding becomes part of the data, and what no window sees is left out.

    >>> data, stride, pad = without_misread_windows(torch.ones(1, 1, 2, 4), (1, 3), (1, 2), (0, 0), ())
    >>> data.shape, stride, pad
    (torch.Size([1, 1, 2, 3]), (1, 1), (0, 0))
    """
    axes = misread_axes(tuple(data.shape), data.dtype, kernel, stride, pad, dilate)
    if not axes:
        return data, stride, pad
    strides, pads = list(stride or (1,) * len(kernel)), list(pad or (0,) * len(kernel))
    data = padded(data, [n if i in axes else 0 for i, n in enumerate(pads)])
    for i in axes:
        extent = (dilate[i] if dilate else 1) * (kernel[i] - 1) + 1
        pads[i] = 0
        if data.shape[i + 2] - extent < strides[i]:
            data, strides[i] = data.narrow(i + 2, 0, extent), 1
        elif extent == 1:
            data, strides[i] = data[(slice(None),) * (i + 2) + (slice(None, None, strides[i]),)], 1
    return data, tuple(strides), tuple(pads)


def transposed_without(
    axes: Sequence[int],
    transposed: Callable[..., Tensor],
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    *,
    kernel: Shape,
    stride: Shape,
    pad: Shape,
    adj: Shape,
    dilate: Shape,
    num_group: int,
) -> Tensor:
    """Compute a deconvolution so that along `axes` nothing is computed wrongly.

    Along these it is computed whole, and what `pad` takes away is cut off, what `adj` adds is added, afterwards; so are
    the zeros between what filters of one element make.

    >>> run = torch.nn.functional.conv_transpose1d
    >>> how = {"kernel": (3,), "stride": (2,), "pad": (1,), "adj": (1,), "dilate": (), "num_group": 1}
    >>> transposed_without([0], run, torch.ones(1, 1, 1), torch.tensor([[[1.0, 2, 3]]]), None, **how)
    tensor([[[2., 3.]]])
    """
    ones, zeros = [1] * len(kernel), [0] * len(kernel)
    strides, pads, added = list(stride or ones), list(pad or zeros), list(adj or zeros)
    cut, between = zeros * 2, {}
    for i in axes:
        # As `torch.nn.functional.pad` takes them: from the last axis to the first, before and after.
        first = 2 * (len(kernel) - 1 - i)
        cut[first : first + 2] = -pads[i], added[i] - pads[i]
        pads[i] = added[i] = 0
        if data.shape[i + 2] == 1:
            strides[i] = 1
        elif kernel[i] == 1:
            between[i + 2], strides[i] = strides[i], 1
    out = transposed(data, weight, None, strides, pads, added, num_group, dilate or 1)
    if between:
        steps = [between.get(i, 1) for i in range(out.dim())]
        spread = out.new_zeros([step * (n - 1) + 1 for n, step in zip(out.shape, steps, strict=True)])
        spread[tuple(slice(None, None, step) for step in steps)] = out
        out = spread
    out = F.pad(out, cut)
    return out if bias is None else out + bias.view(-1, *ones)
