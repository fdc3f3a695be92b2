"""Products with large weights: the numbers and gradients of PyTorch's own, and that they are oneDNN's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

import rebind as mx
from rebind._torch import onednn
from rebind.ops.nn import large_products

pytestmark = pytest.mark.skipif(not onednn.has(onednn.linear), reason="needs PyTorch with oneDNN")

#: Rows, inputs, outputs: on both sides of where oneDNN is asked.
SHAPES = [
    (4, 1024, 512),
    (2, 1024, 512),
    (1, 1024, 512),
    (0, 1024, 512),
    (37, 700, 800),
    (8, 64, 64),
    (600, 1024, 515),
]


def made(rows: int, inputs: int, outputs: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = (rows, inputs), (outputs, inputs), (outputs,), (rows, outputs)
    return [torch.randn(shape, generator=generator) for shape in shapes]


def gradients(layer: Callable[..., Tensor], tensors: list[Tensor]) -> list[Tensor]:
    """The result and the gradients of rows, weight and bias."""
    *leaves, head = tensors
    leaves = [each.clone().requires_grad_() for each in leaves]
    out = layer(*leaves)
    return [out.detach(), *torch.autograd.grad(out, leaves, head)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_numbers_and_gradients_are_those_of_pytorch(shape: tuple[int, int, int]) -> None:
    tensors = made(*shape)
    for one, other in zip(
        gradients(large_products.linear, tensors),
        gradients(torch.nn.functional.linear, tensors),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-3)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of the results of oneDNN's products."""
    found: list[tuple[int, ...]] = []
    run = large_products._linear

    def counted(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        out = run(rows, weight, bias)
        found.append(tuple(out.shape))
        return out

    monkeypatch.setattr(large_products, "_linear", counted)
    return found


@pytest.mark.parametrize(
    ("shape", "given", "expected"),
    [
        ((4, 1024, 512), {}, [(4, 512), (4, 1024), (512, 1024)]),
        ((2, 1024, 512), {}, [(2, 512), (2, 1024), (512, 1024)]),
        ((1, 1024, 512), {}, [(1, 512)]),
        ((64, 512, 512), {}, []),
        # No gradient of the weight: its head gradient would be copied.
        ((1024, 512, 1024), {}, [(1024, 1024), (1024, 512)]),
        ((1024, 513, 1024), {}, [(1024, 1024), (1024, 513), (1024, 513)]),
        ((4, 1024, 512), {"dtype": torch.float64}, []),
    ],
)
def test_where_onednn_is_asked(
    shape: tuple[int, int, int], given: dict[str, Any], expected: list[Any], calls: list[Any]
) -> None:
    gradients(large_products.linear, [each.to(**given) if given else each for each in made(*shape)])
    assert calls == expected


@contextlib.contextmanager
def without_onednn() -> Iterator[None]:
    # Not its `flags`, which sets what this PyTorch may not have.
    (before,) = torch.backends.mkldnn.set_flags(False)[:1]
    try:
        yield
    finally:
        torch.backends.mkldnn.set_flags(before)


def test_it_can_be_switched_off(calls: list[Any]) -> None:
    with without_onednn():
        large_products.linear(*made(8, 1024, 512)[:3])
    assert not calls


def test_arrays_that_repeat_a_number() -> None:
    rows, weight, bias, _ = made(8, 1024, 512)
    repeated = rows[:1].expand(8, -1)
    x, w = (each.clone().requires_grad_() for each in (rows[:1], weight))
    large_products.linear(
        x.expand(8, -1), w, bias
    ).sum().backward()  # its head gradient repeats a number, too
    torch.testing.assert_close(
        large_products.linear(repeated, weight, bias), repeated @ weight.t() + bias, rtol=1e-4, atol=1e-3
    )
    torch.testing.assert_close(x.grad, weight.sum(0, keepdim=True) * 8, rtol=1e-4, atol=1e-2)
    torch.testing.assert_close(w.grad, rows[:1].expand(512, -1) * 8, rtol=1e-4, atol=1e-3)


def test_second_derivatives() -> None:
    rows, weight, bias, head = made(4, 1024, 512)
    found = []
    for layer in (large_products.linear, torch.nn.functional.linear):
        x, w = rows.clone().requires_grad_(), weight.clone().requires_grad_()
        first = torch.autograd.grad(layer(x, w, bias).square().sum(), x, create_graph=True)[0]
        found.append(torch.autograd.grad((first * head.mean()).square().mean(), w)[0])
    scale = found[1].abs().max()
    torch.testing.assert_close(found[0] / scale, found[1] / scale, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("flatten", [True, False])
def test_a_layer_between_others(flatten: bool, calls: list[Any]) -> None:
    # The layer's result is written over by the activation, and its bias has a gradient.
    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=600, flatten=flatten, name="fc")
    net = mx.sym.MakeLoss(mx.sym.sum(mx.sym.Activation(net, act_type="relu")))
    shape = (6, 1000) if flatten else (2, 3, 1000)
    found = []
    for enabled in (True, False):
        exe = net.simple_bind(mx.cpu(), x=shape)
        generator = torch.Generator().manual_seed(1)
        for array in exe.arg_dict.values():
            array[:] = mx.nd.array(torch.randn(array.shape, generator=generator).numpy())
        with contextlib.nullcontext() if enabled else without_onednn():
            exe.forward(is_train=True)
            exe.backward()
        found.append([each.tensor for each in (*exe.outputs, *exe.grad_arrays)])
    assert sorted(calls) == [(6, 600), (6, 1000), (600, 1000)]
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-2)
