"""Every recorded call of an operator goes out to ONNX, and gives there what MXNet gave."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tests.onnx.running import exported, in_onnxruntime, in_reference
from tests.parity.cases import CASES
from tests.parity.cases.case import Case
from tests.parity.golden import assert_close
from tests.parity.test_operators import MANIFESTS, PACKS, RTOL_FORWARD, WIDER
from tests.sampling import sampled

import onnx
import rebind as mx
from rebind.onnx.export.translations import TRANSLATIONS

#: Beside the default: the oldest that is written, the first with all axes as inputs, and the newest.
OPSETS = [13, 18, 21, 26]


def operators(case: Case) -> set[str]:
    """Return the names of the operators that a case uses."""
    return {node.operator.name for node in case.symbol(mx).graph.nodes if not node.is_variable}


#: By operator, what all its rows are.
BY_OPERATOR: dict[str, list[tuple[str, str]]] = {}
for group, cases in CASES.items():
    for name, case in cases.items():
        if (used := operators(case)) <= TRANSLATIONS.keys():
            BY_OPERATOR.setdefault(",".join(sorted(used)), []).append((group, name))

ROWS = [
    pytest.param(*row, id="-".join(row), marks=marks)
    for (_, row), marks in sampled(
        [(used, row) for used, rows in BY_OPERATOR.items() for row in rows], kind=lambda row: row[0]
    )
]
#: The first call of each operator.
SAMPLES = [pytest.param(*rows[0], id="-".join(rows[0])) for rows in BY_OPERATOR.values()]
IN_OPSETS = [
    pytest.param(group, name, opset, id=f"{opset}-{group}-{name}", marks=marks)
    for (group, name, opset), marks in sampled(
        [(*rows[0], opset) for rows in BY_OPERATOR.values() for opset in OPSETS], kind=lambda row: row[:2]
    )
]


def export(group: str, name: str, opset: int = 17):
    """Return the model of a case, and its inputs."""
    entry, pack = MANIFESTS[group][name], PACKS[group]
    inputs = pack.get_all(entry["arguments"])
    states = {
        key: mx.nd.array(value, dtype=value.dtype) for key, value in pack.get_all(entry["states"]).items()
    }
    return exported(CASES[group][name].symbol(mx), states, inputs, free=False, opset=opset), inputs


def check(group: str, name: str, outputs: Sequence[np.ndarray]) -> None:
    """Compare outputs with MXNet's."""
    case, entry, pack = CASES[group][name], MANIFESTS[group][name], PACKS[group]
    given = {str(pack.get(reference).dtype) for reference in entry["arguments"].values()}
    for i, (found, reference) in enumerate(zip(outputs, entry["inference"], strict=True)):
        expected = pack.get(reference)
        assert found.dtype == expected.dtype
        rtol = RTOL_FORWARD.get(str(expected.dtype), 0.0) * WIDER.get(case.operator, 1.0)
        if rtol:  # no more digits than the inputs have: MXNet computes in their type
            rtol = max([rtol, *(RTOL_FORWARD.get(dtype, 0.0) for dtype in given)])
        assert_close(np.asarray(found), expected, rtol=rtol, what=f"{name}: output {i}")


@pytest.mark.parametrize(("group", "name"), ROWS)
def test_in_onnxruntime(group: str, name: str) -> None:
    check(group, name, in_onnxruntime(*export(group, name)))


@pytest.mark.parametrize(("group", "name", "opset"), IN_OPSETS)
def test_in_other_opsets(group: str, name: str, opset: int) -> None:
    check(group, name, in_onnxruntime(*export(group, name, opset)))


#: Operators of opset 17 that onnx 1.23's reference does not compute.
NOT_IN_REFERENCE = {
    "ConvTranspose in groups": "it takes groups of one channel",
    "DequantizeLinear": "it has that of opset 19 and later",
    "GridSample": "it takes the modes of opset 20 and later",
}


def described(node: onnx.NodeProto) -> str:
    """Return the type of a node, and whether its channels are in groups."""
    return node.op_type + (
        " in groups" if any(each.name == "group" and each.i > 1 for each in node.attribute) else ""
    )


@pytest.mark.slow
@pytest.mark.parametrize(("group", "name"), SAMPLES)
def test_in_reference(group: str, name: str, request: pytest.FixtureRequest) -> None:
    model, inputs = export(group, name)
    for lacking in NOT_IN_REFERENCE.keys() & set(map(described, model.graph.node)):
        request.applymarker(pytest.mark.xfail(reason=NOT_IN_REFERENCE[lacking], strict=True))
    with np.errstate(divide="ignore"):  # the logarithm of a chance of 0
        check(group, name, in_reference(model, inputs))
