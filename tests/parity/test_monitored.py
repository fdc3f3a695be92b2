"""A monitor shows what MXNet's does: inputs and outputs under its names, and in hidden outputs its quantities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.sampling import sampled

import rebind as mx

from .golden import DATA, read_manifest
from .monitored import WORKSPACES, cases, shown

MANIFEST: dict[str, Any] = read_manifest(DATA / "monitored.json")["cases"]
CASES = dict(cases())
ROWS = [
    pytest.param(name, mode, id=f"{name}-{mode}", marks=marks)
    for (name, mode), marks in sampled(
        [(name, mode) for name in MANIFEST for mode in ("inference", "training")],
        kind=lambda row: (CASES[row[0]].operator, row[1]),
    )
]


@pytest.mark.parametrize(("name", "mode"), ROWS)
@pytest.mark.filterwarnings("ignore:Embedding. data must hold indices")
def test_names_and_hidden_values(name: str, mode: str) -> None:
    case = CASES[name]
    operator = case.symbol(mx).graph.outputs[0].node.operator.name
    names, values = shown(mx, case, mode == "training", lambda array: array)
    left_out = {f"op_{each}" for each in WORKSPACES.get(operator, ())} - set(names)
    assert names == [each for each in MANIFEST[name][mode].split() if each not in left_out]
    if operator == "_contrib_SyncBatchNorm" and mode == "inference":
        return  # MXNet leaves them empty
    recorded = MANIFEST[name].get(f"{mode} values", {})
    assert values.keys() == recorded.keys()
    for output, (dtype, shape, numbers) in recorded.items():
        assert values[output][:2] == [dtype, shape], output
        np.testing.assert_allclose(values[output][2], numbers, rtol=2e-4, atol=1e-5, err_msg=output)
