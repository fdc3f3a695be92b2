"""PyTorch's private names: how they are looked up, and what takes the place of each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from rebind._torch import autograd, functions, onednn, tensors
from rebind._torch.private import USES, optional, private


@pytest.fixture(autouse=True)
def own_uses(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = dict(USES)
    monkeypatch.setenv("REBIND_PRIVATE_TORCH", "1")
    yield
    USES.clear()
    USES.update(before)


def test_what_is_there_is_taken_itself() -> None:
    chosen = private("torch.add", "a test")(lambda x, y: x)
    assert chosen is torch.add and USES["torch.add"].works


@pytest.mark.parametrize("name", ["torch._C.no_such_name", "torch.no_such_module.f"])
def test_what_is_missing_has_a_public_form(name: str) -> None:
    assert private(name, "a test")(max) is max
    assert USES[name] == (name, "a test", False, max)
    assert optional(name, "a test") is None


def test_what_does_something_else_or_fails_is_not_taken() -> None:
    assert private("torch.add", "a test", lambda add: add(torch.ones(1), 1).item() == 3)(max) is max
    assert private("torch.add", "a test", lambda add: add("no tensor", 1))(max) is max


def test_the_environment_turns_all_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REBIND_PRIVATE_TORCH", "0")
    assert optional("torch.add", "a test") is None


def test_each_says_why() -> None:
    assert USES
    for name, use in USES.items():
        assert use.name == name and name.startswith("torch.") and len(use.reason) > 10


def public(name: str):
    return USES[name].public


def test_versions_grow() -> None:
    x = torch.ones(1)
    for version_of in (tensors.version_of, public("torch.Tensor._version")):
        before = version_of(x)
        x.add_(1)
        assert version_of(x) > before


def test_gradients_of_zeros_are_known_without_their_name() -> None:
    zero = torch._efficientzerotensor((2,))
    for is_zero_tensor in (tensors.is_zero_tensor, public("torch.Tensor._is_zerotensor")):
        assert is_zero_tensor(zero)
        assert not is_zero_tensor(torch.zeros(2)) and not is_zero_tensor(torch.zeros(0))


def test_storages_have_their_numbers() -> None:
    x, y = torch.ones(2), torch.ones(2)
    for key in (tensors.storage_key, public("torch.UntypedStorage._cdata")):
        assert key(x.untyped_storage()) == key(x[1:].untyped_storage()) != key(y.untyped_storage())


@pytest.mark.parametrize("given", [True, False])
def test_gamma_draws_the_same_numbers(given: bool) -> None:
    shapes, found = torch.tensor([0.3, 2.0, 50.0]), []
    for draw in (functions.standard_gamma, public("torch._standard_gamma")):
        generator = torch.Generator().manual_seed(5) if given else torch.manual_seed(5)
        numbers = [draw(shapes, generator=generator if given else None) for _ in range(2)]
        found.append(torch.stack([*numbers, torch.rand(3, generator=generator)]))
    assert torch.equal(*found)


def test_products_of_bytes_are_exact() -> None:
    rows = torch.full((3, 40), -128, dtype=torch.int8)
    for product in (functions.int8_product, public("torch._int_mm")):
        found = product(rows, rows.t())
        assert found.dtype is torch.int32 and (found == 40 * 128**2).all()


def test_convolutions_by_product() -> None:
    data, weight, bias = torch.rand(2, 3, 5, 5), torch.rand(4, 3, 3, 3), torch.rand(4)
    arguments = (data, weight, (3, 3), bias, (2, 2), (1, 1))
    found = public("torch._C._nn.thnn_conv2d")(*arguments)
    assert torch.allclose(found, functions.convolve_by_product(*arguments))


def test_the_engine_adds_gradients() -> None:
    for run in (autograd.run_engine, public("torch.autograd.Variable._execution_engine.run_backward")):
        x = torch.ones(2, requires_grad=True)
        x.grad = torch.ones(2)
        run([x * 3], [torch.ones(2)])
        assert x.grad.tolist() == [4.0, 4.0]


def test_modes_are_switched_by_public_functions() -> None:
    switch, inference = public("torch._C._set_grad_enabled"), public("torch._C._InferenceMode")
    for enabled in (False, True):
        switch(enabled)
        assert torch.is_grad_enabled() is enabled
    with inference(True):
        assert torch.is_inference_mode_enabled()
        with inference(False):
            assert not torch.is_inference_mode_enabled()
    assert not torch.is_inference_mode_enabled()


def test_onednn_is_asked_for_all_that_is_used() -> None:
    assert onednn.has() is torch.backends.mkldnn.is_available()
    assert not onednn.has(torch.add, None)
