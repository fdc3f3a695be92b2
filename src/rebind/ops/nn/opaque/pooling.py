"""Max pooling: PyTorch's kernels for images and volumes with their channels last, and for one axis.

The compiler's own gradient of a maximum scatters numbers one by one, in the other order of memory: with PyTorch's, and
what is around it, it takes 0.5 to 0.9 of the time. Windows along one axis the compiler goes through one by one: 0.1.
"""

from __future__ import annotations

from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from ....shapes import Shape
from .declaring import opaque

__all__ = ["largest", "largest_1d"]


def largest(data: Tensor, kernel: Shape, stride: Shape, pad: Shape, ceil: bool) -> Tensor:
    """Return the maximum of each window of images or volumes; the first of equals takes the gradient.

    >>> data = torch.tensor([[[[1.0, 3.0], [2.0, 0.0]]]])
    >>> largest(data, (1, 2), (1, 2), (0, 0), False)
    tensor([[[[3.],
              [2.]]]])
    """
    found: Tensor = _Largest.apply(data, kernel, stride, pad, ceil)
    return found


def largest_1d(data: Tensor, kernel: Shape, stride: Shape, pad: Shape, ceil: bool) -> Tensor:
    """Return the maximum of each window along one axis; no gradient is recorded.

    >>> largest_1d(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]), (2,), (2,), (0,), False)
    tensor([[[3., 2.]]])
    """
    found: Tensor = torch.ops.rebind.max_pool1d(data, kernel, stride, pad, ceil)
    return found


class _Largest(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, data: Tensor, *windows: Any) -> Tensor:
        out, indices = torch.ops.rebind.max_pool(data, *windows)
        ctx.save_for_backward(data, indices)
        ctx.windows = windows
        return cast(Tensor, out)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        data, indices = ctx.saved_tensors
        found = torch.ops.rebind.max_pool_backward(grad, data, *ctx.windows, indices)
        return found, None, None, None, None


# Below the functions for users, which take 10 µs more to find out what they were given. By the number of axes.
_FORWARD: dict[int, Any] = {
    2: F.max_pool2d_with_indices,
    3: torch.ops.aten.max_pool3d_with_indices.default,
}
_BACKWARD: dict[int, Any] = {
    2: torch.ops.aten.max_pool2d_with_indices_backward.default,
    3: torch.ops.aten.max_pool3d_with_indices_backward.default,
}


_WINDOWS = "int[] kernel, int[] stride, int[] pad, bool ceil"


@opaque(f"max_pool(Tensor data, {_WINDOWS}) -> (Tensor, Tensor)")
def _max_pool(
    data: Tensor, kernel: list[int], stride: list[int], pad: list[int], ceil: bool
) -> tuple[Tensor, Tensor]:
    axes = len(kernel)
    found: tuple[Tensor, Tensor] = _FORWARD[axes](data, kernel, stride, pad, (1,) * axes, ceil)
    return found


@opaque(f"max_pool_backward(Tensor grad, Tensor data, {_WINDOWS}, Tensor indices) -> Tensor")
def _max_pool_backward(
    grad: Tensor,
    data: Tensor,
    kernel: list[int],
    stride: list[int],
    pad: list[int],
    ceil: bool,
    indices: Tensor,
) -> Tensor:
    axes = len(kernel)
    found: Tensor = _BACKWARD[axes](grad, data, kernel, stride, pad, (1,) * axes, ceil, indices)
    return found


@opaque(f"max_pool1d(Tensor data, {_WINDOWS}) -> Tensor")
def _max_pool1d(data: Tensor, kernel: list[int], stride: list[int], pad: list[int], ceil: bool) -> Tensor:
    return torch.max_pool1d(data, kernel, stride, pad, 1, ceil)
