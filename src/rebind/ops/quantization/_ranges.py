"""Ranges of quantized arrays: two ends, each in an array of one element."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import Params
from ...shapes import Shape

__all__ = ["calibrated", "check_calibration", "magnitude", "require_ends", "scalars"]


def require_ends(**ends: Tensor) -> None:
    """Raise an error for ends of a range that are not one number each.

    >>> require_ends(low=torch.zeros(2))
    Traceback (most recent call last):
        ...
    rebind.errors.ShapeError: low must have one element, shape (1,); got (2,)
    """
    for name, end in ends.items():
        if end.numel() != 1:
            raise ShapeError(f"{name} must have one element, shape (1,); got {tuple(end.shape)}")


def magnitude(**ends: Tensor) -> Tensor:
    """Return the larger absolute value of the two ends of a range, in shape (1,).

    >>> magnitude(low=torch.tensor([-3.0]), high=torch.tensor([2.0]))
    tensor([3.])
    """
    require_ends(**ends)
    low, high = ends.values()
    return torch.maximum(low.detach().abs(), high.detach().abs()).float().reshape(1)


def scalars(*names: str) -> Mapping[str, Shape]:
    """Return the shape of arrays that hold one number.

    >>> scalars("min_data", "max_data")
    {'min_data': (1,), 'max_data': (1,)}
    """
    return dict.fromkeys(names, (1,))


def check_calibration(p: Params) -> str | None:
    """Return what is wrong with a calibrated range, if anything is.

    >>> check_calibration(Params(min_calib_range=2.0, max_calib_range=1.0))
    'min_calib_range must be at most max_calib_range; got 2.0 and 1.0'
    """
    # One bound alone says nothing of the levels, which depend on the larger one.
    low, high = p.min_calib_range, p.max_calib_range
    if (low is None) != (high is None):
        return f"min_calib_range and max_calib_range must be given together; got {low} and {high}"
    if low is not None and low > high:
        return f"min_calib_range must be at most max_calib_range; got {low} and {high}"
    return None


def calibrated(low: float, high: float, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return the two ends of a calibrated range as arrays, where `like` is.

    >>> calibrated(-1.0, 2.0, torch.zeros(3))
    (tensor([-1.]), tensor([2.]))
    """
    return like.new_full((1,), low, dtype=torch.float32), like.new_full((1,), high, dtype=torch.float32)
