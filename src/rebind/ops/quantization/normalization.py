"""Batch normalization of quantized data."""

from __future__ import annotations

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import Params
from ...shapes import normalize_axis
from .._signatures import with_interface_of
from .._types import Double
from ..declaration import Shapes, operator
from ..nn.batch_norm import batch_norm
from ._levels import FINE, levels_per_unit, require, to_levels
from ._ranges import calibrated, check_calibration, magnitude, scalars

__all__ = ["quantized_batch_norm"]

_PARAMETERS = ("gamma", "beta", "moving_mean", "moving_var")
_ENDS = ("min_data", "max_data")


@operator(
    "_contrib_quantized_batch_norm",
    aux=("moving_mean", "moving_var"),
    writes_aux=True,  # it has nothing to write: a quantized network does not learn
    outputs=("output", "min_output", "max_output"),
    types={
        **dict.fromkeys((*_PARAMETERS, *_ENDS), torch.float32),
        "output": torch.int8,
        "min_output": torch.float32,
        "max_output": torch.float32,
    },
    head_gradient=False,
)
@with_interface_of(batch_norm.kernels.function, without=("training",))
def quantized_batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    min_data: Tensor,
    max_data: Tensor,
    *,
    eps: Double = 1e-3,
    fix_gamma: bool = True,
    axis: int = 1,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    **without_effect: bool | float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalize each channel of quantized data by its moving statistics; the result is int8.

    One multiplication and one addition for each element. MXNet differs from its own `BatchNorm` in three ways: it
    multiplies by `gamma` although `fix_gamma` says not to, it adds `eps` to the variance once more after the division,
    and it misreads uint8 data.

    Parameters
    ----------
    eps
        Added to the variance.
    fix_gamma
        Count `gamma` as 1.
    axis
        The axis of the channels.
    min_calib_range, max_calib_range
        The range of the result, of which the larger absolute value counts; None for what the result reaches (MXNet
        wants them).
    momentum, use_global_stats, output_mean_var, cudnn_off
        No effect here: the statistics are always the moving ones, and stay.

    Shapes
    ------
    data, output : (N, C, ...)     C in `axis`; int8 or uint8, the result int8
    gamma, beta, moving_mean, moving_var : (C,)
    min_data, max_data, min_output, max_output : (1,)

    References
    ----------
    Ioffe and Szegedy, Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate Shift.

    Examples
    --------
    >>> one, zero = torch.tensor([1.0]), torch.tensor([0.0])
    >>> data = torch.tensor([[100, -50]], dtype=torch.int8).view(2, 1)
    >>> quantized_batch_norm(data, one, zero, zero, one, -one, one, eps=0.0)
    (tensor([[127],
            [-64]], dtype=torch.int8), tensor([-0.7843]), tensor([0.7843]))
    """
    data = require("data", data, torch.int8, torch.uint8)
    axis = normalize_axis(axis, data.ndim, "axis")
    channels = data.shape[axis]
    arrays = (gamma, beta, moving_mean, moving_var)
    for name, array in zip(_PARAMETERS, arrays, strict=True):
        if array.shape != (channels,):
            raise ShapeError(
                f"{name} must have shape ({channels},) to match axis {axis} of data {tuple(data.shape)}; "
                f"got {tuple(array.shape)}"
            )
    slope, offset = _affine(*(array.detach() for array in arrays), eps=eps, fix_gamma=fix_gamma)
    # The normalization is one affine map for each channel, applied to levels.
    across = (-1, *(1,) * (data.ndim - axis - 1))
    level = magnitude(min_data=min_data, max_data=max_data) / FINE[data.dtype]
    if min_calib_range is not None and max_calib_range is not None:
        low, high = calibrated(min_calib_range, max_calib_range, level)
        per = levels_per_unit(torch.maximum(low.abs(), high.abs()))
        # One factor takes a level to a real number, normalizes it, and takes that to a level of the result.
        out = data * (slope * level * per).reshape(across) + (offset * per).reshape(across)
        return to_levels(out, torch.ones_like(per), torch.int8), low, high
    out = data * (slope * level).reshape(across) + offset.reshape(across)
    largest = out.abs().amax().reshape(1) if out.numel() else torch.zeros_like(level)
    return to_levels(out, levels_per_unit(largest), torch.int8), -largest, largest


def _affine(
    gamma: Tensor, beta: Tensor, moving_mean: Tensor, moving_var: Tensor, *, eps: float, fix_gamma: bool
) -> tuple[Tensor, Tensor]:
    """Return what each channel is multiplied by, and what is added to it."""
    slope = (moving_var + eps).rsqrt()
    if not fix_gamma:
        slope = slope * gamma
    return slope, beta - moving_mean * slope


quantized_batch_norm.check(check_calibration)


@quantized_batch_norm.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is None:
        return scalars(*_ENDS)
    axis = normalize_axis(p.axis, len(data), "axis")
    return {**dict.fromkeys(_PARAMETERS, (data[axis],)), **scalars(*_ENDS)}
