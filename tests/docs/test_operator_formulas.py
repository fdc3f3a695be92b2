"""The formulas and gradients on the pages of operators give what MXNet 1.9.1 computed in its recorded calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.parity.cases import CASES
from tests.parity.test_operators import MANIFESTS, PACKS, WRONG_GRADIENTS
from tools.onnx_table import relative_error
from tools.operator_comparison import recorded_calls
from tools.operator_formulas import evaluate, formula, formulas, gradient, is_code

import rebind as mx
from rebind.ops import find


def _names(name: str) -> set[str]:
    signature = find(name).signature
    return {*signature.input_names, *signature.parameters, "grad"}


#: The operators whose formulas are code: those of one or two arrays, most layers and losses.
RUN = [name for name in formulas() if name in recorded_calls() and is_code(formula(name), _names(name))]


def test_a_formula_belongs_to_an_operator_by_its_first_name() -> None:
    assert [name for name in formulas() if find(name).name != name] == []
    assert len(RUN) > 110


@pytest.mark.parametrize("name", RUN)
def test_a_formula_gives_what_mxnet_computed(name: str) -> None:
    compared = [_compare(name, group, call) for group, call in recorded_calls()[name]]
    assert any(compared)


def _compare(name: str, group: str, call: str) -> bool:
    """Compare a call with the formula; return whether the formula covers it."""
    entry, pack = MANIFESTS[group][call], PACKS[group]
    node = CASES[group][call].symbol(mx).graph.nodes[-1]
    inputs = node.operator.signature.input_names
    # The names of the symbol's variables, by those of the operator's inputs.
    sources = {key: source.node.name for key, source in zip(inputs, node.inputs, strict=False)}
    arrays = pack.get_all(entry["arguments"])
    if any(value.dtype.kind != "f" for value in arrays.values()):
        return False  # results are cut to integers
    values = {key: getattr(node.params, key) for key in node.operator.signature.parameters}
    if values.get("temperature", 0) is None:
        values["temperature"] = 1.0
    values |= {key: np.float64(arrays[source]) for key, source in sources.items()}
    if not is_code(formula(name), {*values}) or "length" in values:
        return False  # a call without a bias, or with lengths
    with np.errstate(all="ignore"):
        values = evaluate(formula(name), values)
        _assert_close(values["out"], pack.get(entry["inference"][0]), call)
        if (
            "gradients" in entry
            and call not in WRONG_GRADIENTS
            and is_code(gradient(name), {*values, "grad"})
        ):
            head = pack.get(entry["heads"][0]) if entry["heads"] else np.ones_like(values["out"])
            values = evaluate(gradient(name), {**values, "grad": np.float64(head)})
            for key, source in sources.items():
                if f"d_{key}" in values and source in entry["gradients"]:
                    _assert_close(
                        values[f"d_{key}"], pack.get(entry["gradients"][source]), f"{call}: d_{key}"
                    )
    return True


def _assert_close(found: Any, expected: np.ndarray, what: str) -> None:
    found = np.asarray(found, np.float64)
    if found.size > expected.size:  # the gradient of an input that was broadcast
        axes = tuple(i for i, size in enumerate(expected.shape) if size == 1 != found.shape[i])
        found = found.sum(axis=axes)
    limit = 2e-3 if expected.dtype == np.float16 else 5e-5
    assert relative_error(found.reshape(expected.shape), expected) < limit, what
