"""Normalizations: over a batch, a layer, groups of channels, neighbouring channels, or to unit length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import ShapeError
from ...params import AtLeast, Params
from ...shapes import Shape, normalize_axis, size
from .._signatures import with_interface_of
from .._types import require_floating
from ..spec import Operator, Shapes, operator

__all__ = [
    "Normalized",
    "batch_norm",
    "batch_norm_v1",
    "batch_norm_with_relu",
    "check_channels",
    "declare_batch_norm",
    "group_norm",
    "instance_norm",
    "l2_normalization",
    "layer_norm",
    "lrn",
]


# Output, mean, (inverse root of the) variance, and the new moving statistics where they move.
Normalized: TypeAlias = tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]


def _batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    *,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    training: bool = False,
) -> Normalized:
    """Normalize each channel to mean 0 and variance 1 over the batch, then scale and shift it.

    In training the mean and the (biased) variance are those of the batch; in inference, and always with
    `use_global_stats`, they are the moving ones. Other than in torch: `eps` is 1e-3, `momentum` is the share of
    the old value, ``new = momentum * old + (1 - momentum) * batch``, and the moving variance is biased too.

    Parameters
    ----------
    eps
        Added to the variance.
    momentum
        How much of the moving statistics remains in a training step.
    fix_gamma
        Count `gamma` as 1 whatever is stored in it; its gradient is zero. MXNet overwrites the array with ones
        in passing, which rebind does not.
    use_global_stats
        Normalize with the moving statistics in training too; they do not move then.
    output_mean_var
        Show the mean and the inverse standard deviation that were used as outputs.
    axis
        The axis of the channels.
    cudnn_off, min_calib_range, max_calib_range
        No effect here; accepted for old programs.

    Shapes
    ------
    data, out : any with C at `axis`
    gamma, beta, moving_mean, moving_var : (C,)
    mean, var : (C,)     hidden without ``output_mean_var``; no gradient flows through them

    References
    ----------
    Ioffe and Szegedy, Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate
    Shift.
    """
    if axis != 1:
        data = data.movedim(axis, 1)
    # Ones, not None: without a scale torch gets the second derivatives with respect to beta wrong.
    scale = torch.ones_like(gamma) if fix_gamma else gamma
    new_mean = new_var = None
    if training and not use_global_stats:
        # This function of torch, unlike the next, does not look whether there are as many parameters as channels.
        check_channels(data, gamma, beta, moving_mean, moving_var)
        out, mean, invstd = torch.native_batch_norm(data, scale, beta, None, None, True, 0.0, eps)
        # Neither is differentiable. The variance is recovered from what the gradient needs anyway.
        new_mean = torch.lerp(mean, moving_mean, momentum)
        new_var = torch.lerp(invstd.pow(-2).sub_(eps), moving_var, momentum)
    else:
        out = torch.batch_norm(data, scale, beta, moving_mean, moving_var, False, 0.0, eps, True)
        # Nobody sees the hidden outputs: they must not cost anything.
        mean, invstd = moving_mean, moving_var
        if output_mean_var:
            mean, invstd = mean.detach(), invstd.detach().add(eps).rsqrt_()
    if axis != 1:
        out = out.movedim(1, axis)
    return out, mean, invstd, new_mean, new_var


def check_channels(data: Tensor, *arrays: Tensor) -> None:
    """Raise a ShapeError unless gamma, beta and the moving statistics have an element for each channel (axis 1)."""
    channels = data.shape[1:2]
    if any(array.shape != channels for array in arrays):
        got = ", ".join(str(tuple(array.shape)) for array in arrays)
        raise ShapeError(
            f"gamma, beta, moving_mean and moving_var must have shape {tuple(channels)} to match "
            f"the channels of data; got {got}"
        )


@with_interface_of(_batch_norm, without=("axis", "cudnn_off", "min_calib_range", "max_calib_range"))
def _batch_norm_v1(
    *arrays: Tensor, eps: float = 1e-3, output_mean_var: bool = False, **settings: Any
) -> Normalized:
    """Normalize each channel over the batch: the old form of `BatchNorm`, with the channels on axis 1.

    Parameters
    ----------
    fix_gamma
        Count `gamma` as 1 whatever is stored in it; its gradient is zero.
    output_mean_var
        Show the mean and the variance (not, as BatchNorm does, its inverse root) that were used as outputs.

    Shapes
    ------
    data, out : (N, C, ...)
    gamma, beta, moving_mean, moving_var : (C,)
    mean, var : (C,)     hidden without ``output_mean_var``
    """
    out, mean, invstd, new_mean, new_var = _batch_norm(
        *arrays, eps=eps, output_mean_var=output_mean_var, **settings
    )
    variance = invstd.pow(-2).sub_(eps) if output_mean_var else invstd
    return out, mean, variance, new_mean, new_var


@with_interface_of(_batch_norm)
def _batch_norm_with_relu(*arrays: Tensor, **settings: Any) -> Normalized:
    """Normalize each channel over the batch as `BatchNorm` does, and cut off what is below zero.

    It takes any axis and type. (MXNet 1.9.1: float32 with four axes and the channels on axis 1 alone.)

    Parameters
    ----------
    fix_gamma
        Count `gamma` as 1 whatever is stored in it; its gradient is zero.

    Shapes
    ------
    data, out : any with C at `axis`
    gamma, beta, moving_mean, moving_var : (C,)
    mean, var : (C,)     hidden without ``output_mean_var``; no gradient flows through them
    """
    out, mean, invstd, new_mean, new_var = _batch_norm(*arrays, **settings)
    return torch.relu(out), mean, invstd, new_mean, new_var


def _shown(p: Params) -> int:
    return 3 if p.output_mean_var else 1


def _batch_norm_shapes(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is None:
        return {}
    channels = (data[normalize_axis(p.get("axis", 1), len(data), "axis")],)
    return dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), channels)


def _like_first_output(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"data": outputs[0]}


def _statistics_type(data: torch.dtype) -> torch.dtype:
    """Return the type of parameters and statistics: that of the data, but float32 for data of 16 bits."""
    return torch.float32 if data.itemsize == 2 else data


_STATISTICS = ("gamma", "beta", "moving_mean", "moving_var", "mean", "var")


def declare_batch_norm(name: str, function: Callable[..., Normalized], rows: int = 3) -> Operator:
    """Make a function of data, gamma, beta and the moving statistics an operator."""
    op = operator(
        name,
        aux=("moving_mean", "moving_var"),
        inits={"moving_mean": '["zero", {}]', "moving_var": '["one", {}]'},
        outputs=("output", "mean", "var"),
        visible=_shown,
        types=dict.fromkeys(_STATISTICS, _statistics_type),
        rows=rows,
        owns_output=True,
    )(function)
    op.fill_shapes(_batch_norm_shapes)
    op.shapes_from_outputs(_like_first_output)
    return op


batch_norm = declare_batch_norm("BatchNorm", _batch_norm)
batch_norm_v1 = declare_batch_norm("BatchNorm_v1", _batch_norm_v1)
# MXNet counts a workspace among the outputs.
batch_norm_with_relu = declare_batch_norm("_contrib_BatchNormWithReLU", _batch_norm_with_relu, rows=4)


@operator("LayerNorm", outputs=("output", "mean", "std"), visible=_shown)
def layer_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    *,
    axis: int = -1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalize along one axis to mean 0 and variance 1, then scale and shift.

    Parameters
    ----------
    axis
        The axis of the features.
    eps
        Added to the variance.
    output_mean_var
        Show the mean and the standard deviation (the root of variance + eps) as outputs. No gradient flows
        through them.

    Shapes
    ------
    data, out : any with C at `axis`
    gamma, beta : (C,)
    mean, std : those of data with 1 at `axis`; hidden without ``output_mean_var``

    References
    ----------
    Ba, Kiros and Hinton, Layer Normalization.
    """
    last = axis in (-1, data.dim() - 1)
    moved = data if last else data.movedim(axis, -1)
    out, mean, invstd = torch.native_layer_norm(moved, gamma.shape, gamma, beta, eps)
    if not last:
        out, mean, invstd = out.movedim(-1, axis), mean.movedim(-1, axis), invstd.movedim(-1, axis)
    if not output_mean_var:
        return out, mean, invstd  # the others are hidden
    return out, mean.detach().to(data.dtype), invstd.detach().reciprocal().to(data.dtype)


@layer_norm.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is None:
        return {}
    features = (data[normalize_axis(p.axis, len(data), "axis")],)
    return {"gamma": features, "beta": features}


layer_norm.shapes_from_outputs(_like_first_output)


@operator("GroupNorm", outputs=("output", "mean", "std"), visible=_shown)
def group_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    *,
    num_groups: Annotated[int, AtLeast(1)] = 1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalize each group of channels of each instance to mean 0 and variance 1, then scale and shift.

    Other than in the paper and in torch, `gamma` and `beta` have one value for each group, not for each channel.

    Parameters
    ----------
    num_groups
        Number of groups; it divides the number of channels.
    eps
        Added to the variance.
    output_mean_var
        Show the mean and the standard deviation (the root of variance + eps) as outputs. No gradient flows
        through them.

    Shapes
    ------
    data, out : (N, C, ...)
    gamma, beta : (num_groups,)
    mean, std : (N, num_groups)     hidden without ``output_mean_var``

    References
    ----------
    Wu and He, Group Normalization.
    """
    batch, channels, *spatial = data.shape
    each = channels // num_groups
    out, mean, invstd = torch.native_group_norm(
        data.contiguous(),
        gamma.repeat_interleave(each),
        beta.repeat_interleave(each),
        batch,
        channels,
        size(spatial),
        num_groups,
        eps,
    )
    if not output_mean_var:
        return out, mean, invstd  # the others are hidden
    return out, mean.detach().to(data.dtype), invstd.detach().reciprocal().to(data.dtype)


@group_norm.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is not None and len(data) < 3:
        raise ShapeError(f"data must have 3 axes or more, (N, C, ...); got shape {data}")
    if data is not None and data[1] % p.num_groups:
        raise ShapeError(
            f"data must have a multiple of num_groups {p.num_groups} channels; got {data[1]} in {data}"
        )
    return {"gamma": (p.num_groups,), "beta": (p.num_groups,)}


group_norm.shapes_from_outputs(_like_first_output)


@operator("InstanceNorm", rows=3)
def instance_norm(data: Tensor, gamma: Tensor, beta: Tensor, *, eps: float = 1e-3) -> Tensor:
    """Normalize each channel of each instance to mean 0 and variance 1, then scale and shift.

    Parameters
    ----------
    eps
        Added to the variance.

    Shapes
    ------
    data, out : (N, C, ...)
    gamma, beta : (C,)

    References
    ----------
    Ulyanov et al., Instance Normalization: The Missing Ingredient for Fast Stylization.
    """
    return torch.instance_norm(data, gamma, beta, None, None, True, 0.0, eps, False)


@instance_norm.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is None:
        return {}
    if len(data) < 3:
        raise ShapeError(f"data must have 3 axes or more, (N, C, ...); got shape {data}")
    return {"gamma": (data[1],), "beta": (data[1],)}


instance_norm.shapes_from_outputs(_like_first_output)


@operator("L2Normalization", alike=True, rows=2)
def l2_normalization(
    data: Tensor,
    *,
    eps: float = 1e-10,
    mode: Literal["channel", "instance", "spatial"] = "instance",
) -> Tensor:
    """Divide by the Euclidean length, the root of the sum of squares plus `eps`.

    Parameters
    ----------
    eps
        Added to the sum of squares.
    mode
        What is of length 1 afterwards: each ``'instance'``, the vector of channels at each position
        (``'channel'``), or each channel of each instance (``'spatial'``).

    Shapes
    ------
    data, out : (N, C, ...)
    """
    require_floating(data)
    axes = {
        "instance": range(1, data.dim()),
        "channel": (1,),
        "spatial": range(2, data.dim()),
    }[mode]
    if not axes:  # instances of one number, which torch would take for "all axes"
        return data * data.square().add(eps).rsqrt()
    return data * data.square().sum(tuple(axes), keepdim=True).add(eps).rsqrt()


@l2_normalization.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data, least = shapes["data"], {"instance": 1, "channel": 2, "spatial": 3}[p.mode]
    if data is not None and len(data) < least:
        raise ShapeError(f"data must have {least} axes or more with mode {p.mode!r}; got shape {data}")
    return {}


@operator("LRN", alike=True, rows=2)
def lrn(
    data: Tensor,
    *,
    alpha: float = 1e-4,
    beta: float = 0.75,
    knorm: float = 2.0,
    nsize: Annotated[int, AtLeast(1)],
) -> Tensor:
    """Local response normalization: ``x / (knorm + alpha / nsize * s) ** beta``.

    ``s`` is the sum of squares over `nsize` neighbouring channels.

    Parameters
    ----------
    alpha, beta, knorm
        Constants of the formula.
    nsize
        Width of the window of channels; odd.

    Shapes
    ------
    data, out : (N, C, ...)

    References
    ----------
    Krizhevsky, Sutskever and Hinton, ImageNet Classification with Deep Convolutional Neural Networks.
    """
    return F.local_response_norm(data, nsize, alpha, beta, knorm)


@lrn.check
def _(p: Params) -> str | None:
    return None if p.nsize % 2 else f"nsize must be odd; got {p.nsize}"
