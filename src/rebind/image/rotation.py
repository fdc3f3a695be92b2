"""Pictures turned around their middle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..errors import ArgumentError, DTypeError, ParameterError, ShapeError
from ..ndarray import NDArray, array
from ..ndarray.calls import invoke_by_name

__all__ = ["imrotate", "random_rotate"]


def imrotate(
    src: NDArray, rotation_degrees: float | NDArray, zoom_in: bool = False, zoom_out: bool = False
) -> NDArray:
    """Return pictures turned around their middle, counter-clockwise, in the size that they had.

    Pixels are linear between four; what was outside of the picture is 0.

    Parameters
    ----------
    src
        A picture (C, H, W), or a batch (N, C, H, W), float32.
    rotation_degrees
        The angle; for a batch also an array with one for each picture.
    zoom_in
        Whether to enlarge the picture so that nothing outside of it is seen.
    zoom_out
        Whether to reduce it so that all of it is seen.

    Raises
    ------
    TypeError
        For pictures of another type than float32; for an array of angles with a single picture.
    ValueError
        For both `zoom_in` and `zoom_out`; for as many angles as there are no pictures.

    Examples
    --------
    >>> import rebind as mx
    >>> imrotate(mx.nd.array([[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]), 90).asnumpy().round(3).tolist()
    [[[3.0, 6.0, 9.0], [2.0, 5.0, 8.0], [1.0, 4.0, 7.0]]]
    """
    if zoom_in and zoom_out:
        raise ParameterError("imrotate: zoom_in and zoom_out must not both be True")
    if not isinstance(src, NDArray) or src.dtype is not np.float32:
        found = src.dtype.__name__ if isinstance(src, NDArray) else type(src).__name__
        raise DTypeError(f"imrotate: src must be an NDArray of float32; got {found}. Use astype('float32').")
    if len(src.shape) not in (3, 4):
        raise ShapeError(f"imrotate: src must have shape (C, H, W) or (N, C, H, W); got {src.shape}")
    single = len(src.shape) == 3
    batch = src.expand_dims(axis=0) if single else src
    angles = _angles(rotation_degrees, batch, single)
    _, _, height, width = batch.shape
    grid = _grid(torch.deg2rad(angles), height, width, zoom_in, zoom_out)
    turned: NDArray = invoke_by_name("BilinearSampler", batch, NDArray(grid, batch.context))
    return turned[0] if single else turned


def _angles(degrees: float | NDArray, batch: NDArray, single: bool) -> Tensor:
    """Return the angle of each picture of a batch."""
    count = batch.shape[0]
    device = batch.tensor.device
    if isinstance(degrees, (int, float, np.number)):
        return torch.full((count,), float(degrees), device=device)
    if single:
        raise ArgumentError(
            f"imrotate: rotation_degrees must be a number for a single picture; got {type(degrees).__name__}"
        )
    angles = (degrees if isinstance(degrees, NDArray) else array(degrees)).tensor
    if angles.shape != (count,):
        raise ParameterError(
            f"imrotate: rotation_degrees must have an angle for each of the {count} pictures; "
            f"got shape {tuple(angles.shape)}"
        )
    return angles.to(device, torch.float32)


def _grid(radians: Tensor, height: int, width: int, zoom_in: bool, zoom_out: bool) -> Tensor:
    """Return where each new pixel comes from, (N, 2, H, W), from -1 to 1 along x and y."""
    # The distance from the middle to the outermost pixels; of one pixel it would be 0.
    half_width, half_height = max((width - 1) / 2, 0.5), max((height - 1) / 2, 0.5)
    device = radians.device
    x = torch.arange(width, dtype=torch.float32, device=device) - (width - 1) / 2
    y = (torch.arange(height, dtype=torch.float32, device=device) - (height - 1) / 2)[:, None]
    cosine, sine = radians.cos()[:, None, None], radians.sin()[:, None, None]
    grid = torch.stack([(x * cosine - y * sine) / half_width, (x * sine + y * cosine) / half_height], dim=1)
    if not (zoom_in or zoom_out):
        return grid
    # How far the corners of the turned picture reach, of half a side that is 1.
    reach_x = cosine.abs() + sine.abs() * height / width
    reach_y = cosine.abs() + sine.abs() * width / height
    factor = torch.maximum(reach_x, reach_y) if zoom_out else 1 / torch.maximum(reach_x, reach_y)
    return grid * factor[:, None]


def random_rotate(
    src: NDArray, angle_limits: Sequence[float], zoom_in: bool = False, zoom_out: bool = False
) -> NDArray:
    """Return pictures turned by angles that ``numpy.random`` draws; see `imrotate`.

    Parameters
    ----------
    src
        A picture (C, H, W), or a batch (N, C, H, W), each picture of which gets its own angle; float32.
    angle_limits
        The smallest and the largest angle, in degrees.
    zoom_in, zoom_out
        As `imrotate` has them.

    Examples
    --------
    >>> import rebind as mx
    >>> random_rotate(mx.nd.ones((2, 3, 6, 8)), (-10, 10), zoom_in=True).shape
    (2, 3, 6, 8)
    """
    if not isinstance(angle_limits, Sequence) or len(angle_limits) != 2:
        raise ArgumentError(f"random_rotate: angle_limits must be two angles; got {angle_limits!r}")
    low, high = angle_limits
    if isinstance(src, NDArray) and len(src.shape) == 4:
        angles = np.random.uniform(low, high, size=src.shape[0])
        return imrotate(src, array(angles, ctx=src.context), zoom_in, zoom_out)
    return imrotate(src, float(np.random.uniform(low, high)), zoom_in, zoom_out)
