"""Normalizations of each sample: over a layer, groups of channels, neighbouring channels, or to unit length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import ShapeError
from ...grad_mode import is_recorded
from ...params import AtLeast, Params
from ...shapes import Shape, normalize_axis, size
from ...tuning import current
from .._types import Count, require_floating
from ..declaration import Shapes, operator

__all__ = ["group_norm", "instance_norm", "l2_normalization", "layer_norm", "lrn"]


#: Inputs, or outputs, of a call.
Inputs: TypeAlias = Sequence[Tensor | None]


def _shown(p: Params) -> int:
    return 3 if p.output_mean_var else 1


def _like_first_output(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"data": outputs[0]}


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

    Examples
    --------
    >>> out, _, _ = layer_norm(torch.tensor([[1.0, 3.0]]), torch.ones(2), torch.zeros(2), eps=0.0)
    >>> out
    tensor([[-1.,  1.]])
    """
    last = axis in (-1, data.dim() - 1)
    # torch normalizes trailing axes only; another axis is viewed as the last one.
    last_axis = data if last else data.movedim(axis, -1)
    # The native function returns the mean and the inverse deviation too, which F.layer_norm hides.
    if (
        last_axis.numel() > _LONG * gamma.numel()
        and is_recorded(data, gamma, beta)
        and not torch.compiler.is_compiling()
    ):
        out, mean, invstd = _LongLayerNorm.apply(last_axis, gamma, beta, eps)
    else:
        out, mean, invstd = torch.native_layer_norm(last_axis, gamma.shape, gamma, beta, eps)
    if not last:
        out, mean, invstd = out.movedim(-1, axis), mean.movedim(-1, axis), invstd.movedim(-1, axis)
    if not output_mean_var:
        return out, mean, invstd  # the others are hidden
    return out, mean.detach().to(dtype=data.dtype), invstd.detach().reciprocal().to(dtype=data.dtype)


# Above so many vectors the gradients of gamma and beta are summed in blocks of some.
_LONG, _BLOCK = 512, 128


class _LayerNormContext(Protocol):
    """What torch saves of a normalization until its gradient is computed."""

    eps: float
    saved_tensors: tuple[Tensor, Tensor, Tensor, Tensor, Tensor]

    def mark_non_differentiable(self, *outputs: Tensor) -> None: ...
    def save_for_backward(self, *tensors: Tensor) -> None: ...


class _LongLayerNorm(torch.autograd.Function):
    """Layer normalization of many vectors, whose gradients of gamma and beta are as exact as float32 allows.

    torch adds them up one vector after the other: after 4096 of them an error of 1e-3 has come together. Sums of sums
    of blocks have a tenth of it, in the same time.
    """

    @staticmethod
    def forward(
        ctx: _LayerNormContext, data: Tensor, gamma: Tensor, beta: Tensor, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        out, mean, invstd = torch.native_layer_norm(data, gamma.shape, gamma, beta, eps)
        ctx.eps = eps
        ctx.save_for_backward(data, gamma, beta, mean, invstd)
        ctx.mark_non_differentiable(mean, invstd)
        return out, mean, invstd

    @staticmethod
    def backward(ctx: _LayerNormContext, head_grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        data, gamma, beta, mean, invstd = ctx.saved_tensors
        if torch.is_grad_enabled():  # to be differentiated again
            inputs = [data, gamma, beta]  # as `forward` saved them, without eps
            wanted = [each for each in inputs if each.requires_grad]
            out = F.layer_norm(data, gamma.shape, gamma, beta, ctx.eps)
            found = iter(torch.autograd.grad(out, wanted, head_grad, create_graph=True))
            return (*(next(found) if each.requires_grad else None for each in inputs), None)
        vectors = (head_grad, data, mean, invstd)
        size = gamma.numel()
        # Of data and gradient blocks (128, C), of the statistics (128, 1).
        blocks = zip(*(each.reshape(-1, each.shape[-1]).split(_BLOCK) for each in vectors), strict=True)
        grads = [
            torch.ops.aten.native_layer_norm_backward(g, x, [size], m, s, gamma, beta, [True, True, True])
            for g, x, m, s in blocks
        ]
        of_data, of_gamma, of_beta = zip(*grads, strict=True)
        return (
            torch.cat(of_data).reshape(data.shape),
            torch.stack(of_gamma).sum(0),
            torch.stack(of_beta).sum(0),
            None,
        )


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

    Unlike in the paper and in torch, `gamma` and `beta` have one value for each group, not for each channel.

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

    Examples
    --------
    >>> data = torch.tensor([[[1.0, 3.0], [5.0, 9.0]]])
    >>> out, _, _ = group_norm(data, torch.ones(2), torch.zeros(2), num_groups=2, eps=0.0)
    >>> out
    tensor([[[-1.,  1.],
             [-1.,  1.]]])
    """
    # torch has a scale for each channel, so that each group's is repeated for its channels.
    each = data.shape[1] // num_groups
    gamma, beta = gamma.repeat_interleave(each), beta.repeat_interleave(each)
    out, mean, invstd = _normalized_groups(data, gamma, beta, num_groups, eps)
    if not output_mean_var:
        return out, mean, invstd  # the others are hidden
    return out, mean.detach().to(dtype=data.dtype), invstd.detach().reciprocal().to(dtype=data.dtype)


def _normalized_groups(
    data: Tensor, gamma: Tensor, beta: Tensor, groups: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return data normalized in groups of channels, the means, and the inverse deviations."""
    batch, channels, *spatial = data.shape
    # torch's kernel takes no other order; backward it is slow with few channels in a group that lie together.
    has_few = channels < current().group_norm_channels * groups
    if has_few or not data.is_contiguous(memory_format=torch.channels_last):
        data = data.contiguous()
    return torch.native_group_norm(data, gamma, beta, batch, channels, size(spatial), groups, eps)


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


# MXNet counts the mean and the variance among the outputs.
@layer_norm.hidden
@group_norm.hidden
def _(p: Params, inputs: Inputs, outputs: Inputs, training: bool) -> Mapping[str, Tensor]:
    (data, *_), (_, mean, invstd) = inputs, outputs
    if p.output_mean_var:
        return {}
    assert data is not None and mean is not None and invstd is not None
    return {"mean": mean.to(data.dtype), "std": invstd.reciprocal().to(data.dtype)}


@operator("InstanceNorm", counted=3)
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

    Examples
    --------
    >>> instance_norm(torch.tensor([[[1.0, 3.0]]]), torch.ones(1), torch.zeros(1), eps=0.0)
    tensor([[[-1.,  1.]]])
    """
    # torch.instance_norm goes through batch norm, which takes two to eight times as long.
    out, _, _ = _normalized_groups(data, gamma, beta, data.shape[1], eps)
    return out


@instance_norm.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is None:
        return {}
    if len(data) < 3:
        raise ShapeError(f"data must have 3 axes or more, (N, C, ...); got shape {data}")
    return {"gamma": (data[1],), "beta": (data[1],)}


instance_norm.shapes_from_outputs(_like_first_output)


@instance_norm.hidden
def _(p: Params, inputs: Inputs, outputs: Inputs, training: bool) -> Mapping[str, Tensor]:
    data = inputs[0]
    assert data is not None
    var, mean = torch.var_mean(data.flatten(2), 2, correction=0)
    return {"mean": mean, "var": var}


# MXNet counts the lengths among the outputs.
@operator("L2Normalization", same_shape=True, counted=2)
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

    Examples
    --------
    >>> l2_normalization(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
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


@l2_normalization.hidden
def _(p: Params, inputs: Inputs, outputs: Inputs, training: bool) -> Mapping[str, Tensor]:
    data = inputs[0]
    assert data is not None
    axes = {"instance": 1, "channel": 1, "spatial": 2}[p.mode]
    squares = data.square() if p.mode == "channel" else data.flatten(axes).square()
    return {"norm": squares.sum(axes, keepdim=p.mode == "channel").add(p.eps).sqrt()}


# MXNet counts an intermediate array among the outputs.
@operator("LRN", same_shape=True, counted=2)
def lrn(
    data: Tensor,
    *,
    alpha: float = 1e-4,
    beta: float = 0.75,
    knorm: float = 2.0,
    nsize: Count,
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

    Examples
    --------
    >>> lrn(torch.full((1, 3, 1, 1), 2.0), alpha=3.0, beta=1.0, knorm=1.0, nsize=3).flatten()
    tensor([0.2222, 0.1538, 0.2222])
    """
    scale = _lrn_scale(data, alpha, knorm, nsize)
    if beta == 0.75:  # roots are many times as quick as a power
        root = scale.rsqrt()
        return data * root * root.sqrt()
    return data * scale.pow(-beta)


def _lrn_scale(data: Tensor, alpha: float, knorm: float, nsize: int) -> Tensor:
    return knorm + alpha / nsize * _NeighbourSums.apply(data.square(), nsize)


@lrn.hidden
def _(p: Params, inputs: Inputs, outputs: Inputs, training: bool) -> Mapping[str, Tensor]:
    data = inputs[0]
    assert data is not None
    return {"tmp_norm": _lrn_scale(data, p.alpha, p.knorm, p.nsize)}


class _NeighbourSums(torch.autograd.Function):
    """Sums over neighbouring channels. What is a neighbour is symmetric: backward is the same sums."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, size: int) -> Tensor:
        ctx.size, channels = size, data.shape[1]
        out = data.clone()
        for distance in range(1, min(size // 2, channels - 1) + 1):
            out[:, distance:] += data[:, : channels - distance]
            out[:, : channels - distance] += data[:, distance:]
        return out

    @staticmethod
    def backward(ctx: Any, head_grad: Tensor) -> tuple[Tensor, None]:
        return _NeighbourSums.apply(head_grad, ctx.size), None


@lrn.check
def _(p: Params) -> str | None:
    return None if p.nsize % 2 else f"nsize must be odd; got {p.nsize}"
