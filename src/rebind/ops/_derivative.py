"""Second derivatives where torch has a fast function with the first one only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from ..grad_mode import is_recorded

__all__ = ["differentiable_twice"]

Function = Callable[..., Tensor]


def differentiable_twice(fast: Function, exact: Function, *inputs: Tensor) -> Tensor:
    """Return ``fast(*inputs)``, whose gradient can be differentiated again, by way of `exact`.

    Parameters
    ----------
    fast
        A function of tensors whose gradient torch knows, but not the derivative of that.
    exact
        The same function made of operations that can be differentiated any number of times. It runs only where
        a gradient is computed in order to be differentiated.

    Examples
    --------
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> out = differentiable_twice(torch.exp, lambda x: x**3, x)  # two functions, to see which one runs
    >>> torch.autograd.grad(out, x)[0].item() == out.item()
    True
    >>> out = differentiable_twice(torch.exp, lambda x: x**3, x)
    >>> torch.autograd.grad(out, x, create_graph=True)[0].item()
    12.0
    """
    # Nobody will differentiate, or once only: no small graph is saved.
    if torch.compiler.is_compiling() or not is_recorded(*inputs):
        return fast(*inputs)
    return _Twice.apply(fast, exact, *inputs)


class _TwiceContext(Protocol):
    """What `_Twice` leaves for backward."""

    needs_input_grad: tuple[bool, ...]
    saved_tensors: tuple[Tensor, ...]
    exact: Function
    once: tuple[list[Tensor], Tensor]

    def save_for_backward(self, *tensors: Tensor) -> None: ...


class _Twice(torch.autograd.Function):
    """Saves the small graph of the fast function, and the inputs for the exact one."""

    @staticmethod
    def forward(ctx: _TwiceContext, fast: Function, exact: Function, *inputs: Tensor) -> Tensor:
        leaves = [
            tensor.detach().requires_grad_(wanted)
            for tensor, wanted in zip(inputs, ctx.needs_input_grad[2:], strict=True)
        ]
        # The small graph is built here, inside forward, where autograd does not record.
        with torch.enable_grad():
            out = fast(*leaves)
        ctx.save_for_backward(*inputs)
        ctx.exact, ctx.once = exact, (leaves, out)
        return out.detach()

    @staticmethod
    def backward(ctx: _TwiceContext, head_grad: Tensor) -> tuple[Tensor | None, ...]:
        sources: Sequence[Tensor]
        sources, out = ctx.once
        again = torch.is_grad_enabled()
        # The graph of the fast form cannot be differentiated again: this once the exact one is built.
        if again:
            sources = ctx.saved_tensors
            out = ctx.exact(*sources)
        wanted = ctx.needs_input_grad[2:]
        found = iter(
            torch.autograd.grad(
                out,
                [source for source, needed in zip(sources, wanted, strict=True) if needed],
                head_grad,
                # Backward may run again on the same graph.
                retain_graph=True,
                create_graph=again,
            )
        )
        return (None, None, *(next(found) if needed else None for needed in wanted))
