"""What the operators on images share: checks of shape, the type to compute in, and random factors."""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from ... import draws
from ...draws import Source
from ...errors import ShapeError
from ...params import AtLeast

__all__ = ["Factor", "check_axes", "check_channels", "check_colours", "compute", "draw", "store"]

Factor = Annotated[float, AtLeast(0)]


def check_axes(data: Tensor, layout: str = "H, W, C", batch: bool = True) -> None:
    if data.ndim != 3 and not (batch and data.ndim == 4):
        wanted = f"({layout}) or (N, {layout})" if batch else f"({layout})"
        raise ShapeError(f"data must have shape {wanted}; got {tuple(data.shape)}")


def check_channels(data: Tensor, axis: int = -1) -> None:
    if data.shape[axis] not in (1, 3):
        raise ShapeError(f"data must have 1 or 3 channels in axis {axis}; got shape {tuple(data.shape)}")


def check_colours(data: Tensor, batch: bool = False) -> None:
    check_axes(data, batch=batch)
    check_channels(data)


def compute(data: Tensor) -> Tensor:
    """Return `data` in the type to compute in.

    >>> compute(torch.tensor([200], dtype=torch.uint8))
    tensor([200.])
    """
    return data if data.dtype in (torch.float32, torch.float64) else data.to(dtype=torch.float32)


def store(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Return `values` as an image of type `dtype`.

    >>> store(torch.tensor([-7.0, 300.0]), torch.uint8), store(torch.tensor([300.0]), torch.int8)
    (tensor([  0, 255], dtype=torch.uint8), tensor([44], dtype=torch.int8))
    """
    if dtype is torch.uint8:
        values = values.clamp(0, 255)
    elif dtype is torch.int8:  # what does not fit wraps around, as a cast in C does
        values = values.to(dtype=torch.int32)
    return values.to(dtype=dtype)


def draw(low: float, high: float, data: Tensor, generator: Source | None) -> Tensor:
    """Return one number from the uniform distribution on ``[low, high)``, as an array without axes."""
    # A tensor, not a number: a draw that the host reads would wait for the device.
    drawn = draws.uniform((), generator, dtype=data.dtype, device=data.device)
    return low + (high - low) * drawn
