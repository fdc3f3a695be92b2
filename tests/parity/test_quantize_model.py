"""What MXNet's `quantize_model` made of networks in each mode: rebind reads it, and finds the same levels."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import rebind as mx

from .golden import DATA
from .quantize_model import BATCH, NETWORKS, ROWS, drawn

RECORDED: dict[str, Any] = json.loads((DATA / "quantize_model.json").read_text())


@pytest.mark.parametrize("name", [name for name in ROWS if "error" not in RECORDED["rows"][name]])
def test_symbols_load_with_their_shapes(name: str) -> None:
    row, (network, _) = RECORDED["rows"][name], ROWS[name]
    symbol = mx.sym.load_json(json.dumps(row["symbol"]))
    floats, _, _, data = drawn(mx, network)
    arguments = symbol.list_arguments()
    assert set(row["parameters"] + row["others"]) <= set(arguments)
    _, outputs, _ = symbol.infer_shape(data=(BATCH, *data.shape[1:]))
    _, expected, _ = floats.infer_shape(data=(BATCH, *data.shape[1:]))
    assert outputs == expected


@pytest.mark.parametrize("network", [name for name in NETWORKS if RECORDED["parameters"][name]])
def test_weights_get_the_recorded_levels(network: str) -> None:
    _, arguments, _, _ = drawn(mx, network)
    recorded = RECORDED["parameters"][network]
    names = [key.removesuffix("_quantize") for key in recorded if key.endswith("_quantize")]
    assert names
    for key in names:
        value = arguments[key]
        actual = mx.nd.contrib.quantize(value, value.min(), value.max(), out_type="int8")
        for suffix, result in zip(("", "_min", "_max"), actual, strict=True):
            expected = recorded[f"{key}_quantize{suffix}"]
            assert str(result.asnumpy().dtype) == expected["type"]
            np.testing.assert_allclose(result.asnumpy(), expected["values"], rtol=1e-6)
