"""From images to the inputs of networks."""

from __future__ import annotations

import torch
from torch import Tensor

from ...errors import DTypeError, ShapeError
from ..declaration import operator
from ._pixels import check_axes, check_channels

__all__ = ["normalize", "to_tensor"]


@operator("_image_to_tensor", types={"data": "any", "output": torch.float32})
def to_tensor(data: Tensor) -> Tensor:
    """Numbers from 0 to 1 as float32, channels first: `data` divided by 255.

    Shapes
    ------
    data : (H, W, C) or (N, H, W, C)
    out : (C, H, W) or (N, C, H, W)

    >>> to_tensor(torch.tensor([[[255, 0, 51]]], dtype=torch.uint8)).flatten()
    tensor([1.0000, 0.0000, 0.2000])
    """
    check_axes(data)
    return data.movedim(-1, -3).to(dtype=torch.float32) / 255


@operator("_image_normalize")
def normalize(
    data: Tensor,
    *,
    mean: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0),
    std: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0),
) -> Tensor:
    """``(data - mean) / std`` for each channel.

    Unlike in MXNet, which refuses its own defaults, `mean` and `std` may be left out.

    Parameters
    ----------
    mean, std
        A number for all channels, or one for each; the default for none.

    Shapes
    ------
    data, out : (C, H, W) or (N, C, H, W)     C is 1 or 3

    >>> normalize(torch.ones(3, 1, 1), mean=(0.5,), std=(0.25, 0.5, 1.0)).flatten()
    tensor([2.0000, 1.0000, 0.5000])
    """
    check_axes(data, "C, H, W")
    check_channels(data, -3)
    if not data.is_floating_point():
        raise DTypeError(
            "data must be of a floating type; "
            f"got {str(data.dtype).removeprefix('torch.')}. Convert it with image.to_tensor()."
        )
    return (data - _per_channel("mean", mean, 0.0, data)) / _per_channel("std", std, 1.0, data)


def _per_channel(name: str, numbers: tuple[float, ...], default: float, data: Tensor) -> Tensor | float:
    # The signature's default has four numbers, for any number of channels.
    if numbers == (default,) * 4:  # not given
        return default
    if len(numbers) not in (1, data.shape[-3]):
        raise ShapeError(
            f"{name} must hold 1 number or {data.shape[-3]}, one for each channel of data of shape "
            f"{tuple(data.shape)}; got {numbers}"
        )
    return torch.tensor(numbers, dtype=data.dtype, device=data.device).reshape(-1, 1, 1)
