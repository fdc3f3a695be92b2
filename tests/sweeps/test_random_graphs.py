"""Random networks survive the way to ONNX and back, and to PyTorch: ``make fuzz`` tries 2,000."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings

pytest.importorskip("onnxruntime")

from tests.onnx.running import exported, in_onnxruntime
from tests.sweeps.random_graphs import Drawn, networks

import rebind as mx
from rebind.onnx.reading import read_model
from rebind.pytorch import to_torch

#: `make fuzz` asks for many; the others are the same ones each time.
FUZZ = settings.default.max_examples > 1000
tries = settings(
    max_examples=2000 if FUZZ else 25,
    derandomize=not FUZZ,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def run(
    symbol: Any, data: np.ndarray, params: Mapping[str, Any], states: Mapping[str, Any]
) -> list[np.ndarray]:
    """Return what rebind computes."""
    inputs = {"data": mx.nd.array(data)} if "data" in symbol.list_arguments() else {}
    executor = symbol.bind(
        mx.cpu(), {**params, **inputs}, grad_req="null", aux_states={**states} if states else None
    )
    return [output.asnumpy() for output in executor.forward(is_train=False)]


def largest(net: Drawn, data: np.ndarray) -> float:
    """Return the largest number in a network, whose rounding error its outputs have."""
    every = run(net.symbol.get_internals(), data, net.params, net.states)
    return max(float(np.abs(value).max(initial=0)) for value in every)


def check(found: np.ndarray, expected: np.ndarray, scale: float, what: str) -> None:
    assert found.shape == expected.shape, what
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * scale, err_msg=what)


@pytest.mark.fuzz
@tries
@given(networks())
def test_random_networks(net: Drawn) -> None:
    model = exported(net.symbol, {**net.params, **net.states}, {"data": net.data}, free=net.free)
    back, params, states, _ = read_model(model)
    shapes = {"data": (0, *net.data.shape[1:]) if net.free else net.data.shape}
    module = to_torch(net.symbol, net.params, net.states, shapes=shapes).eval()
    for data in [net.data, np.concatenate([net.data, -net.data[:1]])][: 1 + net.free]:
        (expected,) = run(net.symbol, data, net.params, net.states)
        scale = largest(net, data)
        check(in_onnxruntime(model, {"data": data})[0], expected, scale, "in onnxruntime")
        check(run(back, data, params, states)[0], expected, scale, "back from ONNX")
        with torch.no_grad():
            check(module(torch.from_numpy(data)).numpy(), expected, scale, "in PyTorch")
