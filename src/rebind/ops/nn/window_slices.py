"""Maxima and sums over windows from slices of the whole array, axis after axis.

On the CPU torch walks over the windows of data whose channels come first one by one; a slice holds one element of all
windows, and whole slices are compared, or added, many elements at a time.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from ...grad_mode import is_recorded
from ...shapes import Shape
from ...tuning import current
from .._reading import can_read
from .memory_order import FORMATS

__all__ = ["largest", "spread", "suits", "suits_maximum", "total"]


def suits(data: Tensor, kernel: Shape, stride: Shape) -> bool:
    """Return whether this is the quicker way: also backward, where windows must not overlap.

    >>> suits(torch.ones(1, 1, 64, 64), (3, 3), (2, 2)), suits(torch.ones(1, 1, 4, 4), (3, 3), (2, 2))
    (True, False)
    """
    # Torch has means of images with their channels last, but not of volumes.
    in_order = data.is_contiguous() or (data.dim() == 5 and _has_channels_last(data))
    return in_order and _can_slice(data) and (not is_recorded(data) or _are_apart(kernel, stride))


def suits_maximum(data: Tensor, kernel: Shape, stride: Shape) -> bool:
    """Return whether this is the quicker way to a maximum, of which torch has forms of its own for one axis and three.

    >>> (
    ...     suits_maximum(torch.ones(1, 1, 64, 64), (2, 2), (2, 2)),
    ...     suits_maximum(torch.ones(1, 1, 4096), (2,), (2,)),
    ... )
    (True, False)
    """
    if data.is_contiguous():
        # Torch's takes 0.3 to 0.7 of the time for one axis in inference, and for three axes, backward included, 0.6 to
        # 0.9.
        is_slower = len(kernel) == 2 or (len(kernel) == 1) == is_recorded(data)
        return is_slower and suits(data, kernel, stride)
    # Torch's notes where each maximum was: that takes 1.1 to 3 times as long in inference, for images of few channels,
    # but not for volumes, nor where windows overlap.
    return (
        data.dim() == 4
        and data.shape[1] <= current().channels_last_slice_channels
        and data.numel() >= current().channels_last_slice_elements
        and _are_apart(kernel, stride)
        and _has_channels_last(data)
        and _can_slice(data)
        and not is_recorded(data)
    )


def _can_slice(data: Tensor) -> bool:
    return (
        data.numel() >= current().pooling_slice_elements
        and data.dtype in (torch.float32, torch.float64)
        and can_read(data)
        and min(data.shape[2:]) >= 1
    )


def _are_apart(kernel: Shape, stride: Shape) -> bool:
    return all(k <= s for k, s in zip(kernel, stride, strict=True))


def largest(data: Tensor, kernel: Shape, stride: Shape) -> Tensor:
    """Return the maximum of each window; the first of equals takes the gradient.

    >>> largest(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]), (2,), (2,))
    tensor([[[3., 2.]]])
    """
    if is_recorded(data):
        return _Largest.apply(data, kernel, stride)
    return _reduced(data, kernel, stride, torch.maximum)


def total(data: Tensor, kernel: Shape, stride: Shape) -> Tensor:
    """Return the sum of each window.

    >>> total(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]), (2,), (2,))
    tensor([[[4., 2.]]])
    """
    return (
        _Total.apply(data, kernel, stride) if is_recorded(data) else _reduced(data, kernel, stride, torch.add)
    )


def spread(data: Tensor, kernel: Shape) -> Tensor:
    """Return each element as often as a window has elements: what `total` is the derivative of.

    >>> spread(torch.tensor([[[1.0, 3.0]]]), (2,))
    tensor([[[1., 1., 3., 3.]]])
    """
    sizes = (n * k for n, k in zip(data.shape[2:], kernel, strict=True))
    return _Spread.apply(data, (*data.shape[:2], *sizes), kernel, kernel, torch.contiguous_format)


def _every(data: Tensor, axis: int, first: int, step: int, count: int) -> Tensor:
    """Return `count` elements along an axis, `step` apart."""
    part = data.narrow(axis, first, step * (count - 1) + 1)
    return part[(slice(None),) * axis + (slice(None, None, step),)]


def _has_channels_last(data: Tensor) -> bool:
    return data.is_contiguous(memory_format=FORMATS[data.dim()])


def _format(data: Tensor) -> torch.memory_format:
    return torch.contiguous_format if data.is_contiguous() else FORMATS[data.dim()]


def _reduced(
    data: Tensor, kernel: Shape, stride: Shape, combine: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    order = _format(data)
    # The last axis comes last: until then whole rows, which lie together in memory, are combined.
    for axis, (size, step) in enumerate(zip(kernel, stride, strict=True), 2):
        count = (data.shape[axis] - size) // step + 1
        data = functools.reduce(combine, (_every(data, axis, i, step, count) for i in range(size)))
    return data.contiguous(memory_format=order)


def _elements(data: Tensor, kernel: Shape, stride: Shape, windows: Shape) -> Iterator[Tensor]:
    """Yield views of the first elements of all windows, the second ones, and so on."""
    for position in itertools.product(*(range(size) for size in kernel)):
        part = data
        for axis, (first, step, count) in enumerate(zip(position, stride, windows, strict=True), 2):
            part = _every(part, axis, first, step, count)
        yield part


class _Largest(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, data: Tensor, kernel: Shape, stride: Shape) -> Tensor:
        out = _reduced(data, kernel, stride, torch.maximum)
        ctx.save_for_backward(data, out)
        ctx.windows = kernel, stride
        return out

    @staticmethod
    def backward(ctx: Any, head_grad: Tensor) -> tuple[Tensor | None, ...]:
        data, out = ctx.saved_tensors
        return _ToLargest.apply(head_grad, data, out, *ctx.windows), None, None


class _ToLargest(torch.autograd.Function):
    """Gives what belongs to each window to its largest element, the first of equals; linear in what it gives."""

    @staticmethod
    def forward(
        ctx: Any, head_grad: Tensor, data: Tensor, out: Tensor, kernel: Shape, stride: Shape
    ) -> Tensor:
        ctx.save_for_backward(data, out)
        ctx.windows = kernel, stride
        grad, left, hit = torch.zeros_like(data), head_grad.clone(), torch.empty_like(out)
        *shares, last = _elements(grad, kernel, stride, out.shape[2:])
        for element, share in zip(_elements(data, kernel, stride, out.shape[2:]), shares, strict=False):
            # A copy first: comparing elements that lie apart is several times as slow as copying them.
            torch.eq(element.contiguous(), out, out=hit).mul_(left)
            # What an element takes is not left for those after it.
            share.copy_(hit)
            left.sub_(hit)
        last.copy_(left)
        return grad

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        data, out = ctx.saved_tensors
        kernel, stride = ctx.windows
        found, free = torch.zeros_like(out), torch.ones_like(out)
        *given, last = _elements(grad, kernel, stride, out.shape[2:])
        for element, each in zip(_elements(data, kernel, stride, out.shape[2:]), given, strict=False):
            hit = (element == out).to(dtype=out.dtype) * free
            found, free = found + hit * each, free - hit
        return found + free * last, None, None, None, None


class _Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, data: Tensor, kernel: Shape, stride: Shape) -> Tensor:
        ctx.shape, ctx.windows, ctx.order = data.shape, (kernel, stride), _format(data)
        return _reduced(data, kernel, stride, torch.add)

    @staticmethod
    def backward(ctx: Any, head_grad: Tensor) -> tuple[Tensor | None, ...]:
        return _Spread.apply(head_grad, ctx.shape, *ctx.windows, ctx.order), None, None


class _Spread(torch.autograd.Function):
    """Gives each element of a window what belongs to the window; the derivative is the sum again."""

    @staticmethod
    def forward(
        ctx: Any,
        head_grad: Tensor,
        shape: Shape,
        kernel: Shape,
        stride: Shape,
        order: torch.memory_format,
    ) -> Tensor:
        ctx.windows = kernel, stride
        grad = torch.empty(shape, dtype=head_grad.dtype, device=head_grad.device, memory_format=order).zero_()
        for share in _elements(grad, kernel, stride, head_grad.shape[2:]):
            share.copy_(head_grad)
        return grad

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return total(grad, *ctx.windows), None, None, None, None
