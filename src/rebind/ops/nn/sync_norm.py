"""Batch normalization over the batches of all members of a process group together."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed
from torch import Tensor
from torch.autograd.function import FunctionCtx

from ...checks import warn_user
from .._signatures import with_interface_of
from .batch_norm import Normalized, batch_norm_v1, check_channels, declare_batch_norm

__all__ = ["sync_batch_norm"]


def _members() -> int:
    """Return how many processes train together."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_world_size()
    return 1


@with_interface_of(batch_norm_v1.kernels.function)
def _sync_batch_norm(
    data: Tensor,
    *others: Tensor,
    use_global_stats: bool = False,
    ndev: int = 1,
    key: str,
    training: bool = False,
    **settings: Any,
) -> Normalized:
    """Normalize each channel to mean 0 and variance 1 over the batches of all processes, then scale and shift it.

    In training within a process group of ``torch.distributed`` the statistics are those of what all its members
    hold, in slices that may differ in size; every member must run the operator, in the same order. The gradient is
    that of the sum of all members' losses; `gamma` and `beta` get the gradient of
    each member's own slice, as other parameters do.
    Without a group, and in inference, it is `BatchNorm`.

    Unlike in MXNet, the members are processes, not the devices of one process: with several devices in one
    process each normalizes over its own slice, and a warning says so.

    Parameters
    ----------
    output_mean_var
        Show the mean and the variance (not, as BatchNorm does, its inverse root) that were used as outputs. (MXNet
        1.9.1 fills them in training only.)
    ndev
        The number of devices in MXNet; here the process group knows how many there are.
    key
        The name of the layer in MXNet, by which devices find each other; no effect here.

    Shapes
    ------
    data, out : (N, C, ...)
    gamma, beta, moving_mean, moving_var : (C,)
    mean, var : (C,)     hidden without ``output_mean_var``; no gradient flows through them

    References
    ----------
    Zhang et al., Context Encoding for Semantic Segmentation.
    """
    # A meta run infers shapes: there are no numbers to exchange, and the other members may not be running it.
    if not training or use_global_stats or data.is_meta or _members() == 1:
        if ndev > 1 and training and not (use_global_stats or data.is_meta):
            warn_user(
                f"_contrib_SyncBatchNorm {key!r}: ndev is {ndev}, but there is no process group: the statistics are "
                "those of one device's slice of the batch. Start one process for each device, with "
                "torch.distributed.init_process_group()."
            )
        return batch_norm_v1.kernels.function(
            data, *others, use_global_stats=use_global_stats, training=training, **settings
        )
    return _over_all_members(data, *others, **settings)


def _over_all_members(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    *,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    output_mean_var: bool = False,  # they are at hand, shown or not
) -> Normalized:
    """Normalize over all members' data; differentiable, the sums over the members too."""
    check_channels(data, gamma, beta, moving_mean, moving_var)
    # The parameters of 16-bit data are float32; so are the sums.
    wide = data.to(dtype=gamma.dtype)
    axes = (0, *range(2, data.dim()))
    along = (-1, *(1,) * (data.dim() - 2))
    # Members may have batches of different sizes: their counts are summed with the values, in one message.
    count = wide.new_full((1,), data.numel() // max(data.shape[1], 1))
    sums = _sum_over_members(torch.cat((wide.sum(axes), count)))
    # 1 at least: empty slices on all members would divide by 0.
    total = sums[-1].clamp(min=1)
    mean = sums[:-1] / total
    centered = wide - mean.view(along)
    # Squares of what is centered already: a sum of squares loses the digits of a small variance.
    variance = _sum_over_members(centered.square().sum(axes)) / total
    scale = (variance + eps).rsqrt()
    if not fix_gamma:
        scale = scale * gamma
    out = (centered * scale.view(along) + beta.view(along)).to(dtype=data.dtype)
    mean, variance = mean.detach(), variance.detach()
    return out, mean, variance, mean.lerp(moving_mean, momentum), variance.lerp(moving_var, momentum)


class _SumOverMembers(torch.autograd.Function):
    """The sum over all members of a group; so is its gradient, for each of them is in all losses."""

    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor) -> Tensor:
        # all_reduce writes in place, and takes contiguous memory only.
        total = tensor.clone(memory_format=torch.contiguous_format)
        torch.distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: FunctionCtx, head_grad: Tensor) -> Tensor:
        # As a Function again: the second derivative is a sum over the members too.
        return _sum_over_members(head_grad)


def _sum_over_members(tensor: Tensor) -> Tensor:
    return _SumOverMembers.apply(tensor)


sync_batch_norm = declare_batch_norm("_contrib_SyncBatchNorm", _sync_batch_norm, shows_variance=True)
