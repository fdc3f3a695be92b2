"""Unrolled cells beside MXNet's: which of them are joined to layers, outputs, gradients."""

from __future__ import annotations

from typing import Any

import pytest

import rebind as mx
from rebind.graph.passes import BACKENDS

from .golden import DATA, Pack, assert_close, read_manifest
from .unrolled import CASES

MANIFEST: dict[str, Any] = read_manifest(DATA / "unrolled.json")["cases"]
PACK = Pack.read(DATA / "unrolled.npz")


def joined_layers(symbol: Any) -> int:
    operators = [node.operator.name for node in symbol.graph.nodes if node.operator is not None]
    return operators.count("_joint_cells")


@pytest.mark.parametrize("backend", ["default", "plain"])
@pytest.mark.parametrize("name", CASES)
def test_outputs_and_gradients(name: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS, "default", BACKENDS[backend])
    case, entry = CASES[name], MANIFEST[name]
    symbol = mx.sym.load_json(entry["graph"])
    arguments = {key: mx.nd.array(value) for key, value in PACK.get_all(entry["arguments"]).items()}
    gradients = {key: mx.nd.zeros(value.shape) for key, value in arguments.items()}
    executor = symbol.bind(mx.cpu(), arguments, gradients, "write" if case.trains else "null")
    assert joined_layers(executor.get_optimized_symbol()) == (case.layers if backend == "default" else 0)
    outputs = executor.forward(is_train=case.trains)
    for i, (output, reference) in enumerate(zip(outputs, entry["outputs"], strict=True)):
        assert_close(output.asnumpy(), PACK.get(reference), rtol=1e-5, what=f"{name}: output {i}")
    if not case.trains:
        return
    executor.backward([mx.nd.array(PACK.get(reference)) for reference in entry["heads"]])
    for key, reference in entry["gradients"].items():
        assert_close(
            gradients[key].asnumpy(), PACK.get(reference), rtol=1e-4, what=f"{name}: gradient of {key}"
        )


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.trains])
def test_chance_between_the_layers_is_the_same(name: str) -> None:
    """Operators that draw are not moved, so that joined and single cells see the same numbers."""
    symbol = mx.sym.load_json(MANIFEST[name]["graph"])
    arguments = {key: mx.nd.array(value) for key, value in PACK.get_all(MANIFEST[name]["arguments"]).items()}

    def drawn() -> Any:
        mx.random.seed(7)
        executor = symbol.bind(mx.cpu(), arguments)
        return executor.forward(is_train=True)[0].asnumpy()

    found = drawn()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BACKENDS, "default", BACKENDS["plain"])
        assert_close(found, drawn(), rtol=1e-5, what=name)
