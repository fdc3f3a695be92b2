"""Every recorded update: with ``out=``, into new arrays, and in a bound graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rebind as mx

from .golden import DATA, Pack, assert_close, read_manifest
from .updates import CASES, Update

MANIFEST: dict[str, Any] = read_manifest(DATA / "updates.json")["cases"]
PACK = Pack.read(DATA / "updates.npz")


def compare(case: Update, name: str, actual: np.ndarray, expected: np.ndarray) -> None:
    assert actual.dtype == expected.dtype, f"{name}: {actual.dtype}"
    half = expected.dtype == np.float16
    assert_close(
        actual, expected, rtol=max(case.rtol, 1e-3) if half else case.rtol, what=f"{case.name}: {name}"
    )


def replay(case: Update, run: Any) -> None:
    """Run the steps with `run(case, arrays, settings) -> outputs`, which writes weights and states, and compare."""
    entry = MANIFEST[case.name]
    arrays = {name: mx.nd.array(v, dtype=v.dtype) for name, v in PACK.get_all(entry["before"]).items()}
    for step, (gradients, outputs) in enumerate(zip(entry["gradients"], entry["outputs"], strict=True)):
        for i, gradient in enumerate(gradients):
            arrays[f"grad_{i}"][:] = PACK.get(gradient)
        results = run(case, arrays, case.settings(step))
        assert len(results) == len(outputs)
        for i, (result, output) in enumerate(zip(results, outputs, strict=True)):
            compare(case, f"step {step}, output {i}", result.asnumpy(), PACK.get(output))
    for name, reference in entry["after"].items():
        if name.rpartition("_")[0] not in case.unwritten:
            compare(case, f"{name} after", arrays[name].asnumpy(), PACK.get(reference))


def over_weights(case: Update, arrays: dict[str, Any], settings: dict[str, Any]) -> list[Any]:
    weights = [arrays[f"weight_{i}"] for i in range(case.count)]
    out = {"out": weights if case.count > 1 else weights[0]} if case.over else {}
    result = case.function(mx)(*arrays.values(), **settings, **out)
    return result if isinstance(result, list) else [result]


def into_new_arrays(case: Update, arrays: dict[str, Any], settings: dict[str, Any]) -> list[Any]:
    before = [arrays[f"weight_{i}"].asnumpy() for i in range(case.count)]
    result = case.function(mx)(*arrays.values(), **settings)
    results = result if isinstance(result, list) else [result]
    for i in range(case.count):
        np.testing.assert_array_equal(arrays[f"weight_{i}"].asnumpy(), before[i])
        if case.over:
            arrays[f"weight_{i}"][:] = results[i]
    return results


def in_a_graph(case: Update, arrays: dict[str, Any], settings: dict[str, Any]) -> list[Any]:
    space = mx.sym._internal if case.operator.startswith("_") else mx.sym
    for part in case.operator.split("."):
        space = getattr(space, part)
    symbol = space(*map(mx.sym.var, arrays), **settings, name="op")
    states = symbol.list_auxiliary_states()
    arguments = {name: arrays[name] for name in symbol.list_arguments()}
    executor = symbol.bind(mx.cpu(), arguments, aux_states={name: arrays[name] for name in states})
    results = executor.forward()
    assert len(results) == len(symbol.list_outputs()) == max(case.count, 1)
    for i in range(case.count if case.over else 0):
        arrays[f"weight_{i}"][:] = results[i]
    return results


@pytest.mark.parametrize("run", [over_weights, into_new_arrays, in_a_graph], ids=lambda run: run.__name__)
@pytest.mark.parametrize("name", CASES)
def test_update(name, run):
    replay(CASES[name], run)
