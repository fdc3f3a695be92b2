"""oneDNN's LSTM in training.

PyTorch's compiler calls oneDNN's layer by itself in inference only: it knows nothing of what training keeps for the
gradient, and its code for that does not run. Written out step by step an LSTM takes longer than in oneDNN, and a minute
to compile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from ...._torch import onednn
from .declaring import opaque

__all__ = ["can_run", "run_layer"]

#: Outputs, hidden and cell state after the last step, and what the gradient needs.
_Found: TypeAlias = tuple[Tensor, Tensor, Tensor, Tensor]
#: What oneDNN calls an LSTM.
_LSTM = 2
#: The types that it computes in. Looked up here, for a tracer cannot follow it.
_TYPES = frozenset(
    dtype for dtype in (torch.float32, torch.bfloat16) if onednn.has(*onednn.LSTM) and onednn.computes(dtype)
)


def can_run(data: Tensor, weights: Sequence[Tensor]) -> bool:
    """Whether a layer of such data and weights is oneDNN's: not with a projection, and not in other types.

    >>> one = torch.ones(4, 1)
    >>> can_run(torch.ones(2, 1, 1).double(), [one, one, one[:, 0], one[:, 0]])
    False
    """
    return data.is_cpu and data.dtype in _TYPES and data.numel() > 0 and len(weights) == 4


def run_layer(
    data: Tensor, states: Sequence[Tensor], cell: Sequence[Tensor], reverse: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Run a layer in one direction, in training; return its outputs, and its two states after the last step.

    Parameters
    ----------
    data : (T, N, C)
    states : [(N, H), (N, H)]
        The hidden and the cell state before the first step.
    cell : [(4 H, C), (4 H, H), (4 H,), (4 H,)]
        The weights and biases.
    reverse
        Whether it runs from the last step to the first.

    Examples
    --------
    >>> one, zero = torch.ones(4, 1), torch.zeros(1, 1)
    >>> cell = [one, one, one[:, 0], one[:, 0]]
    >>> out, hidden, memory = run_layer(torch.ones(2, 1, 1), [zero, zero], cell, reverse=False)
    >>> bool((out[1] == hidden).all()), memory.shape
    (True, torch.Size([1, 1]))
    """
    out, hidden, memory = _Layer.apply(data, *cell, *states, reverse)
    return out, hidden, memory


class _Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *given: Any) -> tuple[Tensor, Tensor, Tensor]:
        *inputs, ctx.reverse = given
        out, hidden, memory, workspace = torch.ops.rebind.lstm_layer(*given)
        ctx.save_for_backward(*inputs, out, hidden, memory, workspace)
        return out, hidden, memory

    @staticmethod
    def backward(ctx: Any, out_grad: Tensor, *state_grads: Tensor) -> tuple[Tensor | None, ...]:
        saved = list(ctx.saved_tensors)
        found = torch.ops.rebind.lstm_layer_backward(
            saved[:7], saved[7:], ctx.reverse, out_grad, list(state_grads)
        )
        return (*found, None)


_WEIGHTS = "Tensor i2h, Tensor h2h, Tensor i2h_bias, Tensor h2h_bias"


def _like_layer(*given: Any) -> _Found:
    data, _, h2h, _, _, hidden, memory, _ = given
    out = data.new_empty((*data.shape[:2], h2h.shape[1]))
    return (
        out,
        hidden.new_empty(hidden.shape),
        memory.new_empty(memory.shape),
        data.new_empty(1, dtype=torch.uint8),
    )


@opaque(
    f"lstm_layer(Tensor data, {_WEIGHTS}, Tensor hidden, Tensor memory, bool reverse)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
    like=_like_layer,
)
def _layer(*given: Any) -> _Found:
    *tensors, reverse = given
    data, i2h, h2h, i2h_bias, h2h_bias, hidden, memory = (each.contiguous() for each in tensors)
    # It keeps what the gradient needs where gradients are recorded; nothing is recorded here.
    with onednn.below_autograd(), torch.enable_grad():
        out, hidden, memory, workspace = onednn.lstm_layer(
            data, i2h, h2h, i2h_bias, h2h_bias, hidden, memory, reverse, [], _LSTM, h2h.shape[1], 1, True, False,
            False, True,
        )  # fmt: skip
    # How large it is oneDNN alone knows, and a compiler must: it is given the first byte, whose storage is the whole.
    return out, hidden, memory, workspace[:1]


@opaque(
    "lstm_layer_backward(Tensor[] inputs, Tensor[] found, bool reverse, Tensor out_grad, Tensor[] state_grads)"
    " -> Tensor[]",
    like=lambda inputs, *_: [each.new_empty(each.shape) for each in inputs],
)
def _layer_backward(
    inputs: list[Tensor], found: list[Tensor], reverse: bool, out_grad: Tensor, state_grads: list[Tensor]
) -> list[Tensor]:
    tensors = [each.contiguous() for each in inputs]
    *found, first = found
    workspace = first.as_strided((first.untyped_storage().nbytes(),), (1,))
    grads = (each.contiguous() for each in (out_grad, *state_grads))
    return list(
        onednn.lstm_layer_backward(
            *tensors,
            *found,
            *grads,
            reverse,
            _LSTM,
            inputs[2].shape[1],
            1,
            True,
            True,
            False,
            [],
            False,
            workspace,
        )
    )
