"""Products of rows with large weights, by oneDNN: PyTorch leaves them to MKL, which takes longer for them.

Measured on an AMD EPYC with AVX-512, MKL 2024.2 and oneDNN 3.12: with half a million weights and more, forward and both
gradients of a dense layer take 0.4 to 0.7 of the time for 4 to 16 rows, and 0.7 to 0.95 for 32 to 2048; in one thread
0.5 to 0.95. Of 1 to 3 rows the layer itself takes 0.3 to 0.9 of the time, in one thread 0.5 to 1.05; the gradients take
0.4 to 1.0 for 2 and 3 rows, and up to twice as long for a single one. With few weights MKL is as quick or quicker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..._torch import onednn
from ...grad_mode import is_recorded
from ...tuning import current

__all__ = ["gradient_of_rows", "gradient_of_weight", "linear", "onednn_linear"]


def linear(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``rows @ weight.T + bias``.

    Parameters
    ----------
    rows : (N, C)
    weight : (M, C)
    bias : (M,)

    Examples
    --------
    >>> linear(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]), torch.tensor([1.0]))
    tensor([[12.]])
    """
    if not _are_large(rows, weight.numel(), least=1):
        return F.linear(rows, weight, bias)
    return _product(rows, weight, bias)


def gradient_of_rows(head_grad: Tensor, weight: Tensor) -> Tensor:
    """Return what autograd computes as the gradient of the rows, by that of the result.

    >>> gradient_of_rows(torch.tensor([[2.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[6., 8.]])
    """
    if not _are_large(head_grad, weight.numel(), least=current().onednn_gradient_rows):
        return head_grad.mm(weight)
    return _product(head_grad, weight.t(), None)


def gradient_of_weight(head_grad: Tensor, rows: Tensor) -> Tensor:
    """Return what autograd computes as the gradient of the weight.

    >>> gradient_of_weight(torch.tensor([[2.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[6., 8.]])
    """
    tuning, elements = current(), head_grad.shape[1] * rows.shape[1]
    is_copied_long = (
        rows.shape[1] <= tuning.transposed_copy_inputs
        and head_grad.numel() >= tuning.transposed_copy_elements
    )
    if is_copied_long or not _are_large(rows, elements, least=tuning.onednn_gradient_rows):
        return head_grad.t().mm(rows)
    return _product(head_grad.t(), rows.t(), None)


def _product(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    run: Any = _Linear.apply if is_recorded(rows, weight, bias) else _linear
    found: Tensor = run(rows, weight, bias)
    return found


def _are_large(rows: Tensor, weights: int, least: int) -> bool:
    return (
        weights >= current().onednn_weight_elements
        and rows.dim() == 2
        and rows.shape[0] >= least
        and rows.dtype is torch.float32
        and rows.is_cpu
        and _is_there()
    )


def _is_there() -> bool:
    if torch.compiler.is_compiling():
        from .opaque import products

        return products.PRESENT
    return onednn.has(onednn.linear)


def _linear(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return onednn_linear(_written_out(rows), _written_out(weight), bias)


def _written_out(array: Tensor) -> Tensor:
    """Return an array that repeats no number, of which oneDNN knows nothing."""
    return array.contiguous() if 0 in array.stride() else array


def onednn_linear(
    rows: Tensor, weight: Tensor, bias: Tensor | None, activation: str = "none", numbers: Sequence[float] = ()
) -> Tensor:
    """Return ``rows @ weight.T + bias``, and of that an activation, in one call of oneDNN; no gradient is recorded.

    `activation` and its `numbers` are by PyTorch's names: ``'leaky_relu'``, ``(0.1,)``. The weight may be packed.

    >>> onednn_linear(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, -4.0]]), None, "relu")
    tensor([[0.]])
    """
    if torch.compiler.is_compiling():
        from .opaque import products

        return products.linear(rows, weight, bias, activation, numbers)
    found: Tensor = onednn.linear(rows, weight, bias, activation, numbers, "")
    return found


class _Linear(torch.autograd.Function):
    """oneDNN's product, with its gradients; these may be differentiated again."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weight)
        return _linear(rows, weight, bias)

    @staticmethod
    def backward(ctx: Any, head_grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        rows, weight = ctx.saved_tensors
        of_rows, of_weight, of_bias = ctx.needs_input_grad
        return (
            gradient_of_rows(head_grad, weight) if of_rows else None,
            gradient_of_weight(head_grad, rows) if of_weight else None,
            head_grad.sum(0) if of_bias else None,
        )
