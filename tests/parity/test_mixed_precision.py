"""Networks in mixed precision have the casts that MXNet 1.9.1 gives them, and the same values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.contrib import amp

from .golden import DATA, group, read_arrays, read_manifest
from .mixed_precision import CASES

RECORD = read_manifest(DATA / "mixed_precision.json")["cases"]
ARRAYS = read_arrays(DATA / "mixed_precision.npz")


def described(nodes: list[dict[str, Any]]) -> list[tuple]:
    """Return nodes without the names of casts, which in MXNet depend on how an operator was written there."""
    return [
        (
            node["op"],
            None if node["op"].startswith("amp_") else node["name"],
            node.get("attrs") or {},
            node["inputs"],
        )
        for node in nodes
    ]


def converted(name: str) -> Any:
    return amp.convert_symbol(CASES[name].build(mx), **CASES[name].settings)


@pytest.mark.parametrize("name", CASES)
def test_has_the_nodes_of_mxnet(name: str) -> None:
    symbol = converted(name)
    nodes = json.loads(symbol.tojson(remove_amp_cast=False))["nodes"]
    assert described(nodes) == described(RECORD[name]["nodes"])


@pytest.mark.parametrize("name", CASES)
def test_files_hold_no_casts(name: str) -> None:
    """MXNet leaves those at the outputs."""
    nodes = json.loads(converted(name).tojson())["nodes"]
    for node in nodes:
        node.get("attrs", {}).pop("__dtype__", None)
    original = CASES[name].build(mx)
    assert described(nodes) == described(json.loads(original.tojson())["nodes"])


# On the CPU, MXNet without oneDNN gives noise for an RNN whose state is a variable.
@pytest.mark.parametrize("name", [name for name in CASES if name != "recurrent"])
def test_has_the_values_of_mxnet(name: str) -> None:
    """To the precision of float16: MXNet's values are those of the network in float32."""
    arrays = group(ARRAYS, name)
    executor = converted(name).simple_bind(mx.cpu(), grad_req="null", **CASES[name].shapes)
    for key, value in group(arrays, "input").items():
        executor.arg_dict[key][:] = value
    outputs = executor.forward(is_train=True)
    assert all(out.dtype is np.float32 for out in outputs)
    for i, out in enumerate(outputs):
        np.testing.assert_allclose(out.asnumpy(), arrays[f"output/{i}"], rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("name", CASES)
def test_the_same_with_bfloat16(name: str) -> None:
    settings = CASES[name].settings
    symbol = amp.convert_symbol(CASES[name].build(mx), "bfloat16", **settings)
    text = symbol.tojson(remove_amp_cast=False).replace("bfloat16", "float16")
    nodes = json.loads(text.replace('"__dtype__": "12"', '"__dtype__": "2"'))["nodes"]
    assert described(nodes) == described(RECORD[name]["nodes"])
