"""Values cut to a range, and the larger of two, with MXNet's gradients where values are equal.

At an end of the range the gradient is 1, and of two equal values the first one has all of it. So it was with
`torch.clamp` until PyTorch 2.14, which gives values at an end none, and halves it between equal ones.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..grad_mode import is_recorded

__all__ = ["clamp", "larger", "smaller"]

_TORCH_DOES = torch.__version__ < "2.14"


def clamp(data: Tensor, low: float | None = None, high: float | None = None) -> Tensor:
    """Return `data` cut to [low, high].

    >>> x = torch.tensor([-2.0, -1.0, 0.5, 1.0], requires_grad=True)
    >>> torch.autograd.grad(clamp(x, -1.0, 1.0).sum(), x)
    (tensor([0., 1., 1., 1.]),)
    """
    if not _differs(data):
        return torch.clamp(data, low, high)
    constant = torch.clamp(data.detach(), low, high)
    # Asked so that what is no number has no gradient.
    result = data if low is None else torch.where(data >= low, data, constant)
    return result if high is None else torch.where(data <= high, result, constant)


def larger(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the larger of two values.

    >>> x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 3.0], requires_grad=True)
    >>> torch.autograd.grad(larger(x, y).sum(), [x, y])
    (tensor([1., 0.]), tensor([0., 1.]))
    """
    if not _differs(lhs, rhs):
        return torch.clamp(lhs, min=rhs)
    return _chosen(lhs >= rhs, lhs, lhs < rhs, rhs)


def smaller(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the smaller of two values.

    >>> x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 3.0], requires_grad=True)
    >>> torch.autograd.grad(smaller(x, y).sum(), [x, y])
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    if not _differs(lhs, rhs):
        return torch.clamp(lhs, max=rhs)
    return _chosen(lhs <= rhs, lhs, lhs > rhs, rhs)


def _differs(*tensors: Tensor) -> bool:
    """Return whether `torch.clamp` would give other gradients than MXNet."""
    return not _TORCH_DOES and is_recorded(*tensors)


def _chosen(is_first: Tensor, first: Tensor, is_second: Tensor, second: Tensor) -> Tensor:
    """Return `first` or `second`, as the conditions say; where neither holds, nan, without a gradient."""
    neither = first.detach() + second.detach()
    return torch.where(is_first, first, torch.where(is_second, second, neither))
