"""Sums of products of 8-bit whole numbers, exact, in int32."""

from __future__ import annotations

from math import prod

import torch
import torch.nn.functional as F
from torch import Tensor

from ..._torch.functions import int8_product
from ._levels import FINE, HIGHEST_BIT, levels_per_unit, other_sign, per_level

__all__ = ["bias_levels", "convolution", "linear"]

# The largest absolute values of the types; those of a weight are int8.
_LARGEST = {torch.int8: 128, torch.uint8: 255}
# Whole numbers up to this are exact in float32: a sum whose terms cannot exceed it together is, in any order.
_EXACT = 2**24
_CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


def linear(data: Tensor, weight: Tensor) -> Tensor:
    """Return ``data @ weight.T`` as int32, of data (N, C) in int8 or uint8 and a weight (M, C) in int8.

    Torch's product of int8 matrices is several times as fast as one in floating type; uint8 goes through it less
    128, which is then added again. CUDA's version wants sizes that are multiples of 8; the others are multiplied
    in float64, whose whole numbers are exact up to 2**53.

    >>> linear(torch.tensor([[200, 100]], dtype=torch.uint8), torch.tensor([[-1, 2]], dtype=torch.int8))
    tensor([[0]], dtype=torch.int32)
    """
    rows, columns = data.shape
    if data.is_meta or not rows * columns * weight.shape[0]:
        return data.new_zeros((rows, weight.shape[0]), dtype=torch.int32)
    if columns == 1:  # torch 2.13's product of int8 is wrong there
        return data.to(dtype=torch.int32) * weight.to(dtype=torch.int32).t()
    # cuBLAS's product of int8 has these limits.
    fits = rows > 16 and not columns % 8 and not weight.shape[0] % 8
    if not (data.device.type == "cpu" or (data.is_cuda and fits)):
        # float64 holds every sum of such products exactly, up to 2**53.
        return (data.double() @ weight.double().t()).to(dtype=torch.int32)
    if data.dtype is torch.int8:
        return int8_product(data.contiguous(), weight.contiguous().t())
    return int8_product(other_sign(data).contiguous(), weight.contiguous().t()).add_(
        weight.sum(1, dtype=torch.int32).mul_(HIGHEST_BIT)
    )


def convolution(
    data: Tensor,
    weight: Tensor,
    stride: tuple[int, ...],
    pad: tuple[int, ...],
    dilate: tuple[int, ...],
    groups: int,
) -> Tensor:
    """Return the correlation of data (N, C, ...) in int8 or uint8 and a weight in int8, as int32.

    Torch has none for whole numbers. On the CPU it is done in float32, some channels at a time: as many as cannot
    leave the exact whole numbers. NNPACK stays out, whose transforms are not exact; as cuDNN may choose such
    transforms too, all other devices take float64.

    >>> data, weight = (
    ...     torch.full((1, 1, 3), 100, dtype=torch.int8),
    ...     torch.full((1, 1, 2), 100, dtype=torch.int8),
    ... )
    >>> convolution(data, weight, (), (), (), 1)
    tensor([[[20000, 20000]]], dtype=torch.int32)
    """
    convolve = _CONVOLUTIONS[weight.ndim - 2]
    rest = (None, stride or 1, pad or 0, dilate or 1)
    if data.device.type != "cpu":
        # The shape is all that a meta run is for.
        kind = torch.float32 if data.is_meta else torch.float64
        out = convolve(data.to(kind), weight.to(kind), *rest, groups)
        return out.to(dtype=torch.int32) if data.is_meta else out.round_().to(dtype=torch.int32)
    # As many channels as cannot sum up to more than `_EXACT`, even if every product is the largest.
    at_once = max(_EXACT // (prod(weight.shape[2:]) * _LARGEST[data.dtype] * 128), 1)
    each = weight.shape[1]
    with torch.backends.nnpack.flags(enabled=False):
        if each <= at_once:
            return convolve(data.float(), weight.float(), *rest, groups).to(dtype=torch.int32)
        if prod(weight.shape[2:]) * _LARGEST[data.dtype] * 128 > _EXACT:  # a window of 514 elements or more
            return convolve(data.double(), weight.double(), *rest, groups).to(dtype=torch.int32)
        grouped = data.unflatten(1, (groups, each))  # (N, groups, C / groups, ...)
        total: Tensor | None = None
        for first in range(0, each, at_once):
            channels = slice(first, first + at_once)
            some = grouped[:, :, channels].flatten(1, 2).float()
            out = convolve(some, weight[:, channels].float(), *rest, groups).to(dtype=torch.int32)
            total = out if total is None else total.add_(out)
    assert total is not None
    return total


def bias_levels(
    bias: Tensor, largest: Tensor, data: Tensor, of_data: Tensor, of_weight: Tensor, terms: int
) -> Tensor:
    """Return a bias in int8, with range `largest`, in the levels of sums of products: int32, cut towards 0.

    A bias that is out of all proportion is held where no sum of `terms` products can leave the int32.

    >>> one = torch.tensor([1.0])
    >>> data, bias = torch.zeros(1, dtype=torch.uint8), torch.tensor([127], dtype=torch.int8)
    >>> bias_levels(bias, one, data, one, one, terms=2)
    tensor([32448], dtype=torch.int32)
    """
    # In this order, and in float32: cutting off makes the smallest error a whole level.
    scales = [
        levels_per_unit(reach, FINE[dtype])
        for reach, dtype in ((of_data, data.dtype), (of_weight, torch.int8), (largest, torch.int8))
    ]
    # Levels of the bias to levels of the sums, which are those of data times those of weight.
    factor = per_level(scales[0] * scales[1], scales[2])
    # What the products leave of an int32.
    limit = max(2**31 - 1 - terms * _LARGEST[data.dtype] * 128, 0)
    # float64, as float32 has no number next to 2**31.
    return (bias.float() * factor).double().clamp_(-limit, limit).to(dtype=torch.int32)
