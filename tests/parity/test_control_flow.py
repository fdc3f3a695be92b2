"""Loops and branches beside MXNet's: JSON letter for letter, outputs, gradients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import rebind as mx
from rebind.symbol import control_flow

from .control_flow import CASES, FORWARD_ONLY
from .golden import DATA, Pack, assert_close, read_manifest

MANIFEST: dict[str, Any] = read_manifest(DATA / "control_flow.json")["cases"]
PACK = Pack.read(DATA / "control_flow.npz")


@pytest.fixture(autouse=True)
def names_count_from_zero(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(control_flow, "_counts", Counter())
    with mx.name.NameManager():
        yield


def build(name: str) -> Any:
    return CASES[name][0](mx)


@pytest.mark.parametrize("name", CASES)
def test_json_is_that_of_mxnet(name: str) -> None:
    text = MANIFEST[name]["json"]
    assert build(name).tojson() == text
    assert mx.sym.load_json(text).tojson() == text


@pytest.mark.parametrize("loaded", [False, True], ids=["built", "loaded"])
@pytest.mark.parametrize("name", CASES)
def test_outputs_and_gradients(name: str, loaded: bool) -> None:
    entry = MANIFEST[name]
    symbol = mx.sym.load_json(entry["json"]) if loaded else build(name)
    arguments = {key: mx.nd.array(value) for key, value in PACK.get_all(entry["arguments"]).items()}
    gradients = {key: mx.nd.zeros(value.shape) for key, value in arguments.items()}
    executor = symbol.bind(mx.cpu(), arguments, gradients)
    outputs = executor.forward(is_train=True)
    for i, (output, reference) in enumerate(zip(outputs, entry["outputs"], strict=True)):
        assert_close(output.asnumpy(), PACK.get(reference), rtol=1e-5, what=f"{name}: output {i}")
    if name in FORWARD_ONLY:
        return
    executor.backward([mx.nd.array(PACK.get(reference)) for reference in entry["heads"]])
    for key, reference in entry["gradients"].items():
        assert_close(
            gradients[key].asnumpy(), PACK.get(reference), rtol=1e-4, what=f"{name}: gradient of {key}"
        )


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_the_derivatives(name: str) -> None:
    arguments = PACK.get_all(MANIFEST[name]["arguments"])
    mx.test_utils.check_numeric_gradient(
        build(name), {key: value.astype("float64") for key, value in arguments.items()}, dtype="float64"
    )
