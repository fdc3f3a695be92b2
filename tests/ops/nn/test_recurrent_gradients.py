"""Recurrent layers with gradients of their own: those of PyTorch's kernels, and second ones, in both directions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from rebind.ops.nn.recurrent_gradients import can_run, run_layer

MODES = ("rnn_tanh", "rnn_relu", "gru")
FEATURES, UNITS = 3, 4
NAMES = ("data", "state", "i2h", "h2h", "i2h_bias", "h2h_bias")


def inputs(mode: str, steps: int = 5, batch: int = 2, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    random = torch.Generator().manual_seed(steps)
    rows = UNITS * (3 if mode == "gru" else 1)
    shapes = ((steps, batch, FEATURES), (batch, UNITS), (rows, FEATURES), (rows, UNITS), (rows,), (rows,))
    return [(2 * torch.rand(shape, generator=random) - 1).to(dtype).requires_grad_() for shape in shapes]


def ours(mode: str, reverse: bool, data: Tensor, state: Tensor, *cell: Tensor) -> tuple[Tensor, Tensor]:
    return run_layer(mode, data, [state], cell, reverse)


def theirs(mode: str, reverse: bool, data: Tensor, state: Tensor, *cell: Tensor) -> tuple[Tensor, Tensor]:
    kernel: Any = getattr(torch, mode)
    out, last = kernel(data.flip(0) if reverse else data, state[None], cell, True, 1, 0.0, True, False, False)
    return (out.flip(0) if reverse else out), last[0]


def weighted(results: tuple[Tensor, ...]) -> Tensor:
    """Return a sum in which each element has a weight of its own."""
    return sum(
        (
            (each * torch.linspace(-1, 2, each.numel(), dtype=each.dtype).view_as(each)).sum()
            for each in results
        ),
        start=torch.zeros(()),
    )


@pytest.mark.sampled
@pytest.mark.parametrize("used", [slice(0, 1), slice(1, 2), slice(0, 2)], ids=["outputs", "state", "both"])
@pytest.mark.parametrize("reverse", [False, True], ids=["forth", "back"])
@pytest.mark.parametrize(("steps", "batch"), [(5, 2), (1, 3), (7, 1)])
@pytest.mark.parametrize("mode", MODES)
def test_equals_the_kernel(mode: str, steps: int, batch: int, reverse: bool, used: slice) -> None:
    given = inputs(mode, steps, batch)
    found, wanted = ours(mode, reverse, *given), theirs(mode, reverse, *given)
    torch.testing.assert_close(found, wanted)
    pairs = zip(
        NAMES,
        torch.autograd.grad(weighted(found[used]), given),
        torch.autograd.grad(weighted(wanted[used]), given),
        strict=True,
    )
    for name, gradient, of_kernel in pairs:
        torch.testing.assert_close(gradient, of_kernel, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.sampled
@pytest.mark.parametrize("reverse", [False, True], ids=["forth", "back"])
@pytest.mark.parametrize("mode", MODES)
def test_has_second_derivatives(mode: str, reverse: bool) -> None:
    given = inputs(mode, steps=3)
    assert torch.autograd.gradgradcheck(lambda *free: ours(mode, reverse, *free), given)


@pytest.mark.parametrize("mode", MODES)
def test_only_what_is_asked_for_gets_a_gradient(mode: str) -> None:
    given = [
        each.detach().requires_grad_(name == "h2h") for name, each in zip(NAMES, inputs(mode), strict=True)
    ]
    for create_graph in (False, True):
        out, _ = ours(mode, False, *given)
        (gradient,) = torch.autograd.grad(out.sum(), given[3], create_graph=create_graph)
        (wanted,) = torch.autograd.grad(theirs(mode, False, *given)[0].sum(), given[3])
        torch.testing.assert_close(gradient.detach(), wanted)


@pytest.mark.parametrize("mode", MODES)
def test_takes_tensors_in_any_order_of_memory(mode: str) -> None:
    data, state, *cell = (each.detach() for each in inputs(mode, batch=4))
    data = data.transpose(0, 1).contiguous().transpose(0, 1)
    state = state[:1].expand(4, UNITS)
    cell = [each.t().contiguous().t() if each.dim() == 2 else each for each in cell]
    given = [each.requires_grad_() for each in (data, state, *cell)]
    found, wanted = ours(mode, False, *given), theirs(mode, False, *given)
    torch.testing.assert_close(found, wanted)
    head = torch.ones(()).double().expand_as(found[0])
    for one, other in zip(
        torch.autograd.grad(found[0], given, head), torch.autograd.grad(wanted[0], given, head), strict=True
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize(
    ("mode", "dtype", "goes"),
    [
        ("gru", torch.float32, True),
        ("rnn_tanh", torch.float64, True),
        ("gru", torch.bfloat16, False),
        ("lstm", torch.float32, False),
    ],
)
def test_takes_these(mode: str, dtype: torch.dtype, goes: bool) -> None:
    assert can_run(mode, torch.ones(2, 1, 1, dtype=dtype)) is goes
    assert not can_run(mode, torch.ones(2, 0, 1, dtype=dtype))
