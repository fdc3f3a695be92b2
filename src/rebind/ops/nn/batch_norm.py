"""Batch normalization, its old form, and its form with a rectifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import Params
from ...shapes import Shape, normalize_axis
from .._signatures import with_interface_of
from .._types import Double
from ..declaration import Operator, Shapes, operator
from .memory_order import FORMATS

__all__ = [
    "Normalized", "batch_norm", "batch_norm_v1", "batch_norm_with_relu", "check_channels", "declare_batch_norm",
]  # fmt: skip

#: What cuDNN normalizes, with parameters of float32, and the least that it adds to a variance in all of its versions.
_OF_CUDNN = (torch.float32, torch.float16)
_LEAST_EPS = 1e-5

#: Inputs, or outputs, of a call.
Arrays: TypeAlias = Sequence[Tensor | None]
# Output, mean, (inverse root of the) variance, and the new moving statistics where they change.
Normalized: TypeAlias = tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]


def _batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    *,
    eps: Double = 1e-3,
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
    `use_global_stats`, they are the moving ones. Unlike in torch: `eps` is 1e-3, `momentum` is the share of
    the old value, ``new = momentum * old + (1 - momentum) * batch``, and the moving variance is biased too.

    Parameters
    ----------
    eps
        Added to the variance.
    momentum
        How much of the moving statistics remains in a training step.
    fix_gamma
        Count `gamma` as 1 whatever is stored in it; its gradient is zero. In training mode the array is filled with
        ones.
    use_global_stats
        Normalize with the moving statistics in training too; they do not change then.
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
    # torch normalizes axis 1 only. A view is enough: the kernel reads any strides.
    if axis != 1:
        data = data.movedim(axis, 1)
    # Ones, not None: without a scale torch gets the second derivatives with respect to beta wrong.
    scale = torch.ones_like(gamma) if fix_gamma else gamma
    new_mean = new_var = None
    if training and not use_global_stats:
        # This function of torch, unlike the next, does not check that there are as many parameters as channels.
        check_channels(data, gamma, beta, moving_mean, moving_var)
        out, mean, invstd = _normalized(data, scale, beta, eps)
        # Neither is differentiable. The variance is recovered from what the gradient needs anyway.
        new_mean = torch.lerp(mean, moving_mean, momentum)
        new_var = torch.lerp(invstd.pow(-2).sub_(eps), moving_var, momentum)
    else:
        out = torch.batch_norm(data, scale, beta, moving_mean, moving_var, False, 0.0, eps, True)
        # The hidden outputs must not cost anything.
        mean, invstd = moving_mean, moving_var
        if output_mean_var:
            mean, invstd = mean.detach(), invstd.detach().add(eps).rsqrt_()
    if axis != 1:
        out = out.movedim(1, axis)
    return out, mean, invstd, new_mean, new_var


def _normalized(data: Tensor, scale: Tensor, beta: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return data normalized by the statistics of the batch, the means, and the inverse deviations."""
    if data.is_cuda and not torch.compiler.is_compiling() and _is_for_cudnn(data, scale, eps):
        out, mean, invstd, _ = torch.cudnn_batch_norm(data, scale, beta, None, None, True, 0.0, eps)
        return out, mean, invstd
    return torch.native_batch_norm(data, scale, beta, None, None, True, 0.0, eps)


def _is_for_cudnn(data: Tensor, scale: Tensor, eps: float) -> bool:
    """Whether cuDNN's kernels take it: backward they take a third of the time of PyTorch's."""
    return (
        torch.backends.cudnn.enabled
        and data.dtype in _OF_CUDNN
        and scale.dtype is torch.float32
        and data.dim() in FORMATS
        and 0 < data.numel() < 1 << 31
        and (data.is_contiguous() or data.is_contiguous(memory_format=FORMATS[data.dim()]))
        and eps >= _LEAST_EPS
    )


def check_channels(data: Tensor, *arrays: Tensor) -> None:
    """Raise a ShapeError unless gamma, beta and the moving statistics have an element for each channel (axis 1).

    >>> check_channels(torch.zeros(8, 3), torch.ones(2))
    Traceback (most recent call last):
        ...
    rebind.errors.ShapeError: gamma, beta, moving_mean and moving_var must have shape (3,) ...
    """
    channels = data.shape[1:2]
    if not all([array.shape == channels for array in arrays]):  # a list takes half the time
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
    # Without `output_mean_var` the output is hidden, and not worth the computation.
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
    # The old and the synchronized form have no `axis`; theirs is 1.
    channels = (data[normalize_axis(p.get("axis", 1), len(data), "axis")],)
    return dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), channels)


def _batch_norm_outputs(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    return [] if data is None or len(data) < 2 else [data, shapes["moving_mean"], shapes["moving_var"]]


def _like_first_output(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"data": outputs[0]}


def _statistics_type(data: torch.dtype) -> torch.dtype:
    """Return the type of parameters and statistics: that of the data, but float32 for data of 16 bits."""
    return torch.float32 if data.itemsize == 2 else data


_STATISTICS = ("gamma", "beta", "moving_mean", "moving_var", "mean", "var")


def _uses_moving(p: Params, training: bool) -> bool:
    return p.use_global_stats or not training


def _hidden_inverse_roots(p: Params, inputs: Arrays, outputs: Arrays, training: bool) -> Mapping[str, Tensor]:
    var = outputs[2]
    if p.output_mean_var or var is None or not _uses_moving(p, training):
        return {}
    return {"var": var.add(p.eps).rsqrt()}


def _hidden_variances(p: Params, inputs: Arrays, outputs: Arrays, training: bool) -> Mapping[str, Tensor]:
    var = outputs[2]
    if p.output_mean_var or var is None or _uses_moving(p, training):
        return {}
    return {"var": var.pow(-2).sub(p.eps)}


def declare_batch_norm(
    name: str,
    function: Callable[..., Normalized],
    counted: int = 3,
    listed: Mapping[str, str | None] | None = None,
    shows_variance: bool = False,
) -> Operator:
    """Make a function of data, gamma, beta and the moving statistics an operator.

    Its output `var` is the variance, if it `shows_variance`, or else one over its root.
    """
    op = operator(
        name,
        aux=("moving_mean", "moving_var"),
        inits={"moving_mean": '["zero", {}]', "moving_var": '["one", {}]'},
        outputs=("output", "mean", "var"),
        visible=_shown,
        types=dict.fromkeys(_STATISTICS, _statistics_type),
        counted=counted,
        # In training a fixed gamma is 1 in its array too, as in MXNet.
        constants=lambda p: {"gamma": 1.0} if p.fix_gamma else {},
        owns_output=True,
        listed=listed,
    )(function)
    op.hidden(_hidden_variances if shows_variance else _hidden_inverse_roots)
    op.fill_shapes(_batch_norm_shapes)
    op.output_shapes(_batch_norm_outputs)
    op.shapes_from_outputs(_like_first_output)
    return op


batch_norm = declare_batch_norm("BatchNorm", _batch_norm)
batch_norm_v1 = declare_batch_norm(
    "BatchNorm_v1", _batch_norm_v1, listed={"moving_mean": None, "moving_var": None}, shows_variance=True
)
# MXNet counts a workspace among the outputs.
batch_norm_with_relu = declare_batch_norm("_contrib_BatchNormWithReLU", _batch_norm_with_relu, counted=4)
