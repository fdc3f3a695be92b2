"""What MXNet deploys in 8 bits on the CPU, fused layers: `quantize_model_mkldnn` makes the recorded symbols."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

import rebind as mx

from .fused import BATCH, NETWORKS, ROWS, Row
from .golden import FUSED

QUANTIZED = [row for row in ROWS if row.calibration in ("none", "naive")]
RANGE = ("min_calib_range", "max_calib_range")


def quantized(row: Row) -> tuple[Any, dict[str, Any]]:
    """As `generate_fused` has MXNet do it."""
    build, shape, low = NETWORKS[row.network]
    random = np.random.RandomState(11)
    symbol = build(mx)
    shapes, _, state_shapes = symbol.infer_shape(data=(BATCH, *shape))
    arguments = {
        key: mx.nd.array(random.uniform(-1, 1, size))
        for key, size in zip(symbol.list_arguments(), shapes, strict=True)
        if key != "data"
    }
    states = {
        key: mx.nd.array(random.uniform(0.5, 1.5, size))
        for key, size in zip(symbol.list_auxiliary_states(), state_shapes, strict=True)
    }
    data = random.uniform(low, 1, (4 * BATCH, *shape)).astype("float32")
    found, parameters, _ = mx.contrib.quantization.quantize_model_mkldnn(
        symbol,
        arguments,
        states,
        calib_mode=row.calibration,
        calib_data=mx.io.NDArrayIter(data, batch_size=BATCH),
        quantized_dtype="auto",
        quantize_granularity=row.granularity,
    )
    return found, parameters


def nodes(content: dict[str, Any]) -> list[dict[str, Any]]:
    """The nodes of a symbol's JSON, those that layers hold too, without ranges and the numbers of automatic names."""

    def name(node: dict[str, Any]) -> str:
        return re.sub(r"(_plus|activation)\d+", r"\1", node["name"])

    found = []
    for node in content["nodes"]:
        inputs = [(name(content["nodes"][i]), output) for i, output, *_ in node["inputs"]]
        attributes = {key: text for key, text in node.get("attrs", {}).items() if key not in RANGE}
        held = [nodes(each) for each in node.get("subgraphs", [])]
        found.append(
            {"op": node["op"], "name": name(node), "inputs": inputs, "attrs": attributes, "held": held}
        )
    return found


def ranges(content: dict[str, Any]) -> list[list[float]]:
    attributes = [node.get("attrs", {}) for node in content["nodes"]]
    return [[float(each[end]) for end in RANGE] for each in attributes if RANGE[0] in each]


@pytest.mark.parametrize("row", QUANTIZED, ids=lambda row: row.name)
def test_the_recorded_symbols_are_made(row: Row) -> None:
    symbol, parameters = quantized(row)
    content, recorded = (
        json.loads(text) for text in (symbol.tojson(), (FUSED / f"{row.name}-symbol.json").read_text())
    )
    assert nodes(content) == nodes(recorded)
    assert content["heads"] == recorded["heads"]
    np.testing.assert_allclose(ranges(content), ranges(recorded), rtol=1e-6, atol=2e-6)
    files = mx.nd.load(str(FUSED / f"{row.name}-0000.params"))
    saved = {key.removeprefix("arg:"): value for key, value in files.items() if key.startswith("arg:")}
    assert parameters.keys() == saved.keys()
    for key, value in saved.items():
        np.testing.assert_allclose(parameters[key].asnumpy(), value.asnumpy(), rtol=1e-6)
