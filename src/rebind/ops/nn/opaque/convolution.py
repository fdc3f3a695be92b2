"""The gradients of convolutions whose filters see one channel, for images and volumes with their channels last.

The order in memory of such a filter's gradient can be read either way. The compiler reads the order of the images from
it, reads the wrong one, and turns them and what is computed of them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ....shapes import Shape
from ..memory_order import channels_last
from .declaring import opaque

__all__ = ["convolve"]


def convolve(
    data: Tensor, weight: Tensor, bias: Tensor | None, stride: Shape, pad: Shape, dilate: Shape, groups: int
) -> Tensor:
    """Return the convolution of images or volumes, whose gradients are one call.

    >>> image, filters = torch.ones(1, 1, 2, 2, requires_grad=True), torch.ones(1, 1, 2, 2)
    >>> out = convolve(image, filters, None, (1, 1), (0, 0), (1, 1), 1)
    >>> out.item(), torch.autograd.grad(out.sum(), image)[0].tolist()
    (4.0, [[[[1.0, 1.0], [1.0, 1.0]]]])
    """
    found: Tensor = _Convolution.apply(data, weight, bias, stride, pad, dilate, groups)
    return found


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, data: Tensor, weight: Tensor, bias: Tensor | None, *settings: Any) -> Tensor:
        ctx.save_for_backward(data, weight)
        ctx.settings = settings
        stride, pad, dilate, groups = settings
        convolution = torch.conv2d if data.dim() == 4 else torch.conv3d
        return convolution(data, weight, bias, stride, pad, dilate, groups)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        data, weight = ctx.saved_tensors
        wanted = list(ctx.needs_input_grad[:3])
        found = torch.ops.rebind.convolution_backward(grad, data, weight, *ctx.settings, wanted)
        given = iter(found)
        return (*(next(given) if each else None for each in wanted), None, None, None, None)


# Below the function that first looks for which of its forms is meant.
_convolution_backward: Any = torch.ops.aten.convolution_backward.default


@opaque(
    "convolution_backward(Tensor grad, Tensor data, Tensor weight, int[] stride, int[] pad, int[] dilate, int groups,"
    " bool[] wanted) -> Tensor[]"
)
def _backward(
    grad: Tensor, data: Tensor, weight: Tensor, stride: list[int], pad: list[int], dilate: list[int], groups: int,
    wanted: list[bool],
) -> list[Tensor]:  # fmt: skip
    images, none = (channels_last(grad), channels_last(data)), [0] * len(pad)
    found = _convolution_backward(
        *images, weight, [weight.shape[0]], stride, pad, dilate, False, none, groups, wanted
    )
    return [each for each in found if each is not None]
