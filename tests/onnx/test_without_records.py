"""Operators that MXNet's CPU build cannot run, or whose shapes follow from values, beside rebind's own numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.onnx.running import run_in_onnxruntime

import rebind as mx

S = mx.sym.contrib
X, Y, Z = (mx.sym.var(name) for name in "xyz")


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).standard_normal(shape).astype("float32")


ROWS: dict[str, tuple[Any, dict[str, np.ndarray]]] = {
    "boolean_mask": (S.boolean_mask(X, Y), {"x": drawn(4, 2), "y": np.array([0, 1, 0, 1], "float32")}),
    "allclose": (S.allclose(X, Y, atol=0.1), {"x": drawn(4, 2), "y": drawn(4, 2) + np.float32(0.05)}),
    "not allclose": (S.allclose(X, Y), {"x": drawn(4, 2), "y": drawn(4, 2) + 1}),
    "count_sketch": (
        S.count_sketch(X, Y, Z, out_dim=4),
        {"x": drawn(2, 3), "y": np.array([[0, 3, 0]], "float32"), "z": np.array([[1, -1, 1]], "float32")},
    ),
    "ModulatedDeformableConvolution": (
        S.ModulatedDeformableConvolution(
            X, Y, Z, kernel=(3, 3), pad=(1, 1), num_filter=4, num_group=2, num_deformable_group=2, name="conv"
        ),
        {"x": drawn(2, 4, 5, 6), "y": drawn(2, 36, 5, 6), "z": drawn(2, 18, 5, 6)},
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_as_rebind(name: str) -> None:
    net, given = ROWS[name]
    arrays = {key: mx.nd.array(value, dtype=value.dtype) for key, value in given.items()}
    params = {}
    if "conv_weight" in net.list_arguments():
        params = {"conv_weight": mx.nd.array(drawn(4, 2, 3, 3)), "conv_bias": mx.nd.array(drawn(4))}
    (expected,) = net.eval(**arrays, **params)
    (found,) = run_in_onnxruntime(net, params, given, free=False)
    assert np.asarray(found).dtype == expected.dtype
    np.testing.assert_allclose(found, expected.asnumpy(), rtol=1e-5, atol=1e-5)
