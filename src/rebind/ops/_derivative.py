"""Second derivatives where torch has a fast function with the first one only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["differentiable_twice"]

Function = Callable[..., Tensor]


def differentiable_twice(fast: Function, exact: Function, *inputs: Tensor) -> Tensor:
    """Return ``fast(*inputs)``, whose gradient can be differentiated again, by way of `exact`.

    Parameters
    ----------
    fast
        A function of tensors whose gradient torch knows, but not the derivative of that.
    exact
        The same function made of operations that can be differentiated as often as one likes. It runs only where
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
    if not torch.is_grad_enabled():
        return fast(*inputs)
    return _Twice.apply(fast, exact, *inputs)


class _Twice(torch.autograd.Function):
    """Keeps the small graph of the fast function, and the inputs for the exact one."""

    @staticmethod
    def forward(ctx: Any, fast: Function, exact: Function, *inputs: Tensor) -> Tensor:
        leaves = [
            tensor.detach().requires_grad_(wanted)
            for tensor, wanted in zip(inputs, ctx.needs_input_grad[2:], strict=True)
        ]
        with torch.enable_grad():
            out = fast(*leaves)
        ctx.save_for_backward(*inputs)
        ctx.exact, ctx.once = exact, (leaves, out)
        return out.detach()

    @staticmethod
    def backward(ctx: Any, head: Tensor) -> tuple[Tensor | None, ...]:
        sources, out = ctx.once
        again = torch.is_grad_enabled()
        if again:
            sources = ctx.saved_tensors
            out = ctx.exact(*sources)
        wanted = ctx.needs_input_grad[2:]
        found = iter(
            torch.autograd.grad(
                out,
                [source for source, asked in zip(sources, wanted, strict=True) if asked],
                head,
                retain_graph=True,
                create_graph=again,
            )
        )
        return (None, None, *(next(found) if asked else None for asked in wanted))
