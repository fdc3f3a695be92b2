"""Every recorded call of an operator goes out to ONNX, and gives there what MXNet gave."""

from __future__ import annotations

import numpy as np
import pytest
from tests.onnx.running import run_in_onnxruntime
from tests.parity.cases import CASES
from tests.parity.cases.case import Case
from tests.parity.golden import assert_close
from tests.parity.test_operators import MANIFESTS, PACKS, RTOL_FORWARD, WIDER

import rebind as mx
from rebind.onnx.export.translations import TRANSLATIONS


def operators(case: Case) -> set[str]:
    """Return the names of the operators that a case uses."""
    return {node.operator.name for node in case.symbol(mx).graph.nodes if not node.is_variable}


ROWS = [
    pytest.param(group, name, id=f"{group}-{name}")
    for group, cases in CASES.items()
    for name, case in cases.items()
    if operators(case) <= TRANSLATIONS.keys()
]


@pytest.mark.parametrize(("group", "name"), ROWS)
def test_in_onnxruntime(group: str, name: str) -> None:
    case, entry, pack = CASES[group][name], MANIFESTS[group][name], PACKS[group]
    inputs = pack.get_all(entry["arguments"])
    states = {
        key: mx.nd.array(value, dtype=value.dtype) for key, value in pack.get_all(entry["states"]).items()
    }
    outputs = run_in_onnxruntime(case.symbol(mx), states, inputs, free=False)
    for i, (found, reference) in enumerate(zip(outputs, entry["inference"], strict=True)):
        expected = pack.get(reference)
        assert found.dtype == expected.dtype
        rtol = RTOL_FORWARD.get(str(expected.dtype), 0.0) * WIDER.get(case.operator, 1.0)
        assert_close(np.asarray(found), expected, rtol=rtol, what=f"{name}: output {i}")
