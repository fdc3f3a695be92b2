"""What MXNet's `quantize_model` made of networks in each mode: rebind makes the same of them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import rebind as mx

from .golden import DATA
from .quantize_model import BATCH, NETWORKS, ROWS, drawn

RECORDED: dict[str, Any] = json.loads((DATA / "quantize_model.json").read_text())
RANGE = ("min_calib_range", "max_calib_range")
BINS = 8001


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


def quantized(name: str) -> tuple[Any, dict[str, Any]]:
    network, options = ROWS[name]
    symbol, arguments, states, data = drawn(mx, network)
    labels = ["softmax_label"] if "softmax_label" in symbol.list_arguments() else None
    batches = mx.io.NDArrayIter(data, np.zeros(len(data)) if labels else None, BATCH)
    calibration = {} if options["calib_mode"] == "none" else {"calib_data": batches}
    found, parameters, _ = mx.contrib.quantization.quantize_model(
        symbol, arguments, states, label_names=labels, ctx=mx.cpu(), **calibration, **options
    )
    return found, parameters


def nodes(content: dict[str, Any]) -> list[dict[str, Any]]:
    """The nodes of a symbol's JSON, with the names of their inputs and without ranges."""
    names = [node["name"] for node in content["nodes"]]
    return [
        {
            "op": node["op"],
            "name": node["name"],
            "inputs": [(names[i], output) for i, output, *_ in node["inputs"]],
            "attrs": {key: text for key, text in node.get("attrs", {}).items() if key not in RANGE},
        }
        for node in content["nodes"]
    ]


def ranges(content: dict[str, Any]) -> dict[str, list[str]]:
    """The calibrated ranges, as text, by node."""
    return {
        node["name"]: [node["attrs"][end] for end in RANGE]
        for node in content["nodes"]
        if RANGE[0] in node.get("attrs", {})
    }


@pytest.mark.parametrize("name", ROWS)
def test_the_recorded_symbols_are_made(name: str) -> None:
    recorded = RECORDED["rows"][name]
    symbol, parameters = quantized(name)
    content = json.loads(symbol.tojson())
    assert nodes(content) == nodes(recorded["symbol"])
    assert content["heads"] == recorded["symbol"]["heads"]
    assert sorted(parameters) == sorted(recorded["parameters"] + recorded["others"])
    actual, expected = ranges(content), ranges(recorded["symbol"])
    assert actual.keys() == expected.keys()
    for key, texts in expected.items():
        assert [len(text.partition(".")[2]) for text in actual[key]] == [6, 6]
        numbers = [float(text) for text in texts]
        # MXNet's sums of divergences are float32: its threshold may be the edge of the bin beside.
        step = 2 * max(map(abs, numbers)) / BINS if "entropy" in name else 0.0
        # Six digits are written, of sums of float32 whose order is the processor's.
        found = [float(text) for text in actual[key]]
        np.testing.assert_allclose(found, numbers, rtol=1e-6, atol=step + 2e-6)


@pytest.mark.parametrize("network", [name for name in NETWORKS if RECORDED["parameters"][name]])
def test_weights_get_the_recorded_levels(network: str) -> None:
    _, parameters = quantized(f"{network}-full-none")
    recorded = RECORDED["parameters"][network]
    assert {key for key in parameters if "_quantize" in key} == set(recorded)
    for key, expected in recorded.items():
        actual = parameters[key].asnumpy()
        assert str(actual.dtype) == expected["type"]
        np.testing.assert_allclose(actual, expected["values"], rtol=1e-6)
