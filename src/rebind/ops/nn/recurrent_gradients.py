"""Layers of tanh, relu and GRU cells in training on the CPU, with their gradients written out.

PyTorch has kernels for single operations of such cells only. Autograd records each of them in each step, some thirty of
a GRU forward and backward, and multiplies the gradients of all weights step by step. Here what does not depend on the
step before is computed for all steps at once, the gradients of the weights among it. What is left for a step is two
calls of PyTorch forward and two backward, of a GRU six and three: less than PyTorch's own loop makes of it in C++.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor

from ...grad_mode import is_grad_enabled

__all__ = ["can_run", "run_layer"]

_TYPES = (torch.float32, torch.float64)


def can_run(mode: str, data: Tensor) -> bool:
    """Whether a layer of cells of a mode is run here.

    >>> can_run("gru", torch.ones(2, 1, 1)), can_run("lstm", torch.ones(2, 1, 1))
    (True, False)
    """
    return mode in _RULES and data.is_cpu and data.dtype in _TYPES and data.numel() > 0


def run_layer(
    mode: str, data: Tensor, states: Sequence[Tensor], cell: Sequence[Tensor], reverse: bool
) -> tuple[Tensor, Tensor]:
    """Run a layer in one direction; return its outputs and its last state.

    Parameters
    ----------
    mode
        ``'rnn_tanh'``, ``'rnn_relu'`` or ``'gru'``.
    data : (T, N, C)
    states : [(N, H)]
        The state before the first step.
    cell : [(G H, C), (G H, H), (G H,), (G H,)]
        Weights and biases for data and state; G is 3 for a GRU (reset, update, new), otherwise 1.
    reverse
        Whether it runs from the last step to the first.

    Examples
    --------
    >>> one = torch.ones(1, 1)
    >>> cell = (one, one, one[0], one[0])
    >>> out, last = run_layer("rnn_relu", torch.ones(3, 1, 1), [torch.zeros(1, 1)], cell, reverse=True)
    >>> out.flatten(), last
    (tensor([9., 6., 3.]), tensor([[9.]]))
    """
    out, last = _Layer.apply(mode, reverse, data, *states, *cell)
    return out, last


class _Inputs(NamedTuple):
    """What a layer is given."""

    data: Tensor
    state: Tensor
    i2h: Tensor
    h2h: Tensor
    i2h_bias: Tensor
    h2h_bias: Tensor


#: The gradients of the state, and of what the data and the states are multiplied to: (N, H), and twice (T, N, G H).
_Found: TypeAlias = tuple[Tensor, Tensor, Tensor]


class _Rules(NamedTuple):
    """How the cells of a mode compute.

    Attributes
    ----------
    kernel
        PyTorch's function, which autograd differentiates as often as one likes.
    run
        Returns the outputs, and what the gradient needs besides.
    differentiate
        Takes the inputs, the direction, the state before each step, the gradients of the outputs in the order of the
        run, the outputs, and what `run` left.
    """

    kernel: Callable[..., Any]
    run: Callable[[_Inputs, bool], tuple[Tensor, ...]]
    differentiate: Callable[..., _Found]


class _Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mode: str, reverse: bool, *given: Tensor) -> tuple[Tensor, Tensor]:
        ctx.rules, ctx.reverse = _RULES[mode], reverse
        out, *retained = ctx.rules.run(_Inputs(*given), reverse)
        ctx.save_for_backward(*given, out, *retained)
        return out, _in_order(out, reverse)[-1].clone()

    @staticmethod
    def backward(ctx: Any, out_grad: Tensor, last_grad: Tensor) -> tuple[Tensor | None, ...]:
        saved, wanted = ctx.saved_tensors, ctx.needs_input_grad[2:]
        inputs, out = _Inputs(*saved[:6]), saved[6]
        if is_grad_enabled():  # the gradient is to be differentiated itself
            return None, None, *_by_autograd(ctx.rules, inputs, ctx.reverse, wanted, (out_grad, last_grad))
        before = _before(out, inputs.state, ctx.reverse)
        head_grads = [*_in_order(out_grad, ctx.reverse)]
        head_grads[-1] = head_grads[-1] + last_grad  # the last state is the last output
        found = ctx.rules.differentiate(inputs, ctx.reverse, before, head_grads, *saved[6:])
        state_grad, (of_i2h, of_h2h) = found[0], [each.flatten(0, 1) for each in found[1:]]
        bias_grad = of_i2h.sum(0)
        return (
            None,
            None,
            (of_i2h @ inputs.i2h).view(inputs.data.shape) if wanted[0] else None,
            state_grad,
            of_i2h.t() @ inputs.data.flatten(0, 1),
            of_h2h.t() @ before.flatten(0, 1),
            bias_grad,
            bias_grad.clone() if found[1] is found[2] else of_h2h.sum(0),
        )


def _by_autograd(
    rules: _Rules, inputs: _Inputs, reverse: bool, wanted: Sequence[bool], head_grads: tuple[Tensor, Tensor]
) -> list[Tensor | None]:
    """Compute the gradients by autograd, so that they can be differentiated again."""
    data = inputs.data.flip(0) if reverse else inputs.data
    out, last = rules.kernel(data, inputs.state[None], inputs[2:], True, 1, 0.0, True, False, False)
    given = [each for each, is_wanted in zip(inputs, wanted, strict=True) if is_wanted]
    out = out.flip(0) if reverse else out
    found = iter(torch.autograd.grad((out, last[0]), given, head_grads, create_graph=True))
    return [next(found) if is_wanted else None for is_wanted in wanted]


def _in_order(steps: Tensor, reverse: bool) -> tuple[Tensor, ...]:
    """Return the steps in the order in which they are run."""
    found = steps.unbind()
    return found[::-1] if reverse else found


def _before(out: Tensor, state: Tensor, reverse: bool) -> Tensor:
    """Return the state before each step."""
    first = state[None]
    return torch.cat([out[1:], first] if reverse else [first, out[:-1]])


def _multiplied(inputs: _Inputs, rows: slice, bias: Tensor) -> Tensor:
    """Return the products of all steps with some rows of a weight for the data: (T, N, rows)."""
    return torch.addmm(bias, inputs.data.flatten(0, 1), inputs.i2h[rows].t()).view(*inputs.data.shape[:2], -1)


def _run_plain(inputs: _Inputs, reverse: bool, act_: Callable[[Tensor], Tensor]) -> tuple[Tensor]:
    # Both biases are only ever added.
    out = _multiplied(inputs, slice(None), inputs.i2h_bias + inputs.h2h_bias)
    state, weight = inputs.state, inputs.h2h.t()
    for step in _in_order(out, reverse):
        state = act_(step.addmm_(state, weight))
    return (out,)


def _differentiate_plain(
    inputs: _Inputs,
    reverse: bool,
    before: Tensor,
    head_grads: Sequence[Tensor],
    out: Tensor,
    slope: Callable[[Tensor], Tensor],
) -> _Found:
    slopes = slope(out)
    found = torch.empty_like(out)
    steps = zip(head_grads, _in_order(slopes, reverse), _in_order(found, reverse), strict=True)
    later = None
    for head_grad, factor, grad in reversed([*steps]):
        if later is None:
            torch.mul(head_grad, factor, out=grad)
        else:
            torch.addmm(head_grad, later, inputs.h2h, out=grad).mul_(factor)
        later = grad
    assert later is not None  # there is one step at least
    return later @ inputs.h2h, found, found


def _run_gru(inputs: _Inputs, reverse: bool) -> tuple[Tensor, ...]:
    """Return the outputs, the gates reset and update, the new values, and what of those the state gave."""
    units = inputs.state.shape[1]
    gates, rest = slice(2 * units), slice(2 * units, None)
    both = _multiplied(inputs, gates, inputs.i2h_bias[gates] + inputs.h2h_bias[gates])
    new = _multiplied(inputs, rest, inputs.i2h_bias[rest])
    from_state, out = torch.empty_like(new), torch.empty_like(new)
    state, to_gates, to_new = inputs.state, inputs.h2h[gates].t(), inputs.h2h[rest].t()
    bias = inputs.h2h_bias[rest]
    tensors = (both, *both.chunk(2, -1), from_state, new, out)
    for pair, reset, update, part, value, step in zip(
        *[_in_order(each, reverse) for each in tensors], strict=True
    ):
        pair.addmm_(state, to_gates).sigmoid_()
        torch.addmm(bias, state, to_new, out=part)
        value.addcmul_(reset, part).tanh_()
        state = torch.lerp(value, state, update, out=step)
    return out, both, new, from_state


def _differentiate_gru(
    inputs: _Inputs,
    reverse: bool,
    before: Tensor,
    head_grads: Sequence[Tensor],
    out: Tensor,
    both: Tensor,
    new: Tensor,
    from_state: Tensor,
) -> _Found:
    reset, update = both.chunk(2, -1)
    # By what the gradient of a step's state is multiplied, for the gates and the state's part of the new values.
    of_h2h = out.new_empty((*out.shape[:2], 3, out.shape[2]))
    to_reset, to_update, to_part = of_h2h.unbind(2)
    to_new = (1 - update) * (1 - new * new)
    torch.mul(to_new, reset, out=to_part)
    torch.mul(to_part * from_state, 1 - reset, out=to_reset)
    torch.mul((before - new) * update, 1 - update, out=to_update)
    flat = of_h2h.flatten(2)
    state_grads = torch.empty_like(out)
    tensors = (state_grads, update, of_h2h, flat)
    steps = zip(head_grads, *[_in_order(each, reverse) for each in tensors], strict=True)
    later: tuple[Tensor, Tensor, Tensor] | None = None
    for head_grad, state_grad, retained, factors, grads in reversed([*steps]):
        if later is None:
            state_grad.copy_(head_grad)
        else:
            after, its_kept, its_grads = later
            torch.addcmul(head_grad, after, its_kept, out=state_grad).addmm_(its_grads, inputs.h2h)
        factors.mul_(state_grad[:, None])
        later = state_grad, retained, grads
    assert later is not None
    of_i2h = of_h2h.clone()
    torch.mul(state_grads, to_new, out=of_i2h[:, :, 2])
    first, retained, grads = later
    return torch.addmm(first * retained, grads, inputs.h2h), of_i2h.flatten(2), flat


_RULES = {
    "rnn_tanh": _Rules(
        torch.rnn_tanh,
        functools.partial(_run_plain, act_=torch.tanh_),
        functools.partial(_differentiate_plain, slope=lambda out: 1 - out * out),
    ),
    "rnn_relu": _Rules(
        torch.rnn_relu,
        functools.partial(_run_plain, act_=torch.relu_),
        functools.partial(_differentiate_plain, slope=torch.sign),
    ),
    "gru": _Rules(torch.gru, _run_gru, _differentiate_gru),
}
