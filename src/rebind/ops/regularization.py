"""Operators that return their input and add something to its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Protocol

import torch
from torch import Tensor

from ..errors import DTypeError, ShapeError
from ..grad_mode import is_recorded
from ..params import Between, Params
from ..shapes import Shape
from .declaration import Shapes, operator

__all__ = ["identity_attach_kl_sparse_reg"]


@operator(
    "IdentityAttachKLSparseReg",
    aux=("moving_avg",),
    inits={"moving_avg": '["zero", {}]'},
    listed={"moving_avg": None},
)
def identity_attach_kl_sparse_reg(
    data: Tensor,
    moving_avg: Tensor,
    *,
    sparseness_target: Annotated[float, Between(0, 1)] = 0.1,
    penalty: float = 0.001,
    momentum: Annotated[float, Between(0, 1)] = 0.9,
    training: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """The data itself, a sigmoid's output, with a gradient that draws the mean of each unit to a target.

    What is added to the gradient of each element is the derivative of ``penalty * KL(target || q)`` with respect to
    q, the moving average of the unit's mean over the batch: ``penalty * ((1 - target) / (1 - q) - target / q)``.
    This gradient is not divided by the size of the batch. The average takes the batch in before.

    Unlike in MXNet 1.9.1, where each `backward` updates it, the average is updated by a forward pass
    in training, as other auxiliary states do; and data may have more than two axes.

    Parameters
    ----------
    sparseness_target
        The target of the mean of a unit.
    penalty
        A factor of what is added to the gradient.
    momentum
        How much of the moving average remains in a training step.

    Shapes
    ------
    data, out : (N, C, ...)      C units, each averaged over all the other axes
    moving_avg : (C,)

    Examples
    --------
    >>> import torch
    >>> out, average = identity_attach_kl_sparse_reg(
    ...     torch.tensor([[0.5, 0.25]]), torch.zeros(2), momentum=0.5, training=True
    ... )
    >>> average
    tensor([0.2500, 0.1250])
    """
    _check_units(tuple(data.shape), tuple(moving_avg.shape))
    if not data.is_floating_point():
        raise DTypeError(f"data must be of a floating type; got {str(data.dtype).removeprefix('torch.')}")
    new_avg = _averaged(data, moving_avg, momentum) if training else None
    # Without gradients the operator is the identity.
    if not is_recorded(data):
        return data, new_avg
    average = moving_avg if new_avg is None else new_avg
    # The derivative of the Kullback-Leibler divergence between the target and the average.
    slope = penalty * ((1 - sparseness_target) / (1 - average) - sparseness_target / average)
    # (C, 1, ..., 1): one slope for each unit.
    return _WithSlope.apply(data, slope.view(-1, *(1,) * (data.dim() - 2))), new_avg


class _SlopeContext(Protocol):
    saved_tensors: tuple[Tensor, ...]

    def save_for_backward(self, *tensors: Tensor) -> None: ...


class _WithSlope(torch.autograd.Function):
    """The first argument as it is, with the second one added to its gradient."""

    @staticmethod
    def forward(ctx: _SlopeContext, data: Tensor, slope: Tensor) -> Tensor:
        ctx.save_for_backward(slope)
        return data.view_as(data)

    @staticmethod
    def backward(ctx: _SlopeContext, head_grad: Tensor) -> tuple[Tensor, None]:
        return head_grad + ctx.saved_tensors[0], None


def _averaged(data: Tensor, moving_avg: Tensor, momentum: float) -> Tensor:
    if not data.numel():
        return moving_avg.clone()
    # All but the axis of the units.
    axes = (0, *range(2, data.dim()))
    return moving_avg * momentum + data.detach().mean(axes) * (1 - momentum)


def _check_units(data: Shape, moving_avg: Shape | None) -> None:
    if len(data) < 2:
        raise ShapeError(f"data must have 2 axes or more, (N, C, ...); got shape {data}")
    if moving_avg is not None and moving_avg != data[1:2] and data[1]:
        raise ShapeError(f"moving_avg must have shape {data[1:2]} to match data {data}; got {moving_avg}")


@identity_attach_kl_sparse_reg.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is None:
        return {}
    _check_units(data, None)
    return {"moving_avg": data[1:2]}


@identity_attach_kl_sparse_reg.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"data": outputs[0]}
