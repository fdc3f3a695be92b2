"""Operators take and give the storage types, values and gradients that MXNet takes and gives."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

import rebind as mx

from .cases.case import find
from .storage import ROWS_BY_NAME, STORAGE, Row, describe, head_gradient

RECORDED: dict[str, dict[str, Any]] = json.loads(STORAGE.read_text(encoding="utf-8"))

#: Gradients with other numbers than MXNet's, as of dense arrays.
OTHER_GRADIENTS = {
    "dot": "MXNet does not write that of a csr lhs into a dense array; that of rhs is compared",
    "gamma": "the infinity at 0 has the other sign",
    "norm": "MXNet's is nan at 0",
    "_power_scalar": "MXNet's is nan where 0 is raised to 0",
    "MAERegressionOutput": "MXNet's is -1 where output and label are equal",
}


@pytest.fixture(autouse=True)
def no_log_of_fallbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")


def test_recorded_rows_are_those_of_the_table() -> None:
    assert RECORDED.keys() == ROWS_BY_NAME.keys(), (
        "record again: ORACLE_PYTHON -m tests.parity.generate_storage"
    )


def bound(row: Row) -> Any:
    """Return the row as an executor whose arguments are filled, as the generator does."""
    variables = [mx.sym.var(name, stype=stype) for name, (stype, _) in row.inputs.items()]
    symbol = find(mx, row.operator)(*variables, **row.parameters)
    values = row.values()
    requests = {name: "null" if name in row.constants else "write" for name in values}
    executor = symbol.simple_bind(
        mx.cpu(), grad_req=requests, **{name: value.shape for name, value in values.items()}
    )
    for name, (stype, _) in row.inputs.items():
        mx.nd.array(values[name]).tostype(stype).copyto(executor.arg_dict[name])
    return executor


def compare(found: Any, wanted: dict[str, Any], *, positions: bool, numbers: bool = True) -> None:
    """Compare an array with a recorded one; the order of a row's columns is free."""
    ours = describe(found)
    assert ours["stype"] == wanted["stype"]
    if not numbers:
        return
    values = [np.array(each["values"], dtype="float64") for each in (ours, wanted)]
    np.testing.assert_allclose(*values, rtol=2e-5, atol=1e-6)
    if positions and ours["stype"] == "csr":
        assert ours["indptr"] == wanted["indptr"]
        begins = wanted["indptr"]
        for begin, end in itertools.pairwise(begins):
            assert sorted(ours["indices"][begin:end]) == sorted(wanted["indices"][begin:end])
    elif positions and ours["stype"] == "row_sparse":
        assert ours["indices"] == wanted["indices"]


def has_mxnets_gradient(row: Row, argument: str) -> bool:
    if row.operator == "dot" and row.inputs["lhs"][0] == "csr":
        return argument != "lhs"
    return row.operator == "dot" or row.operator not in OTHER_GRADIENTS


TAKEN = [name for name, entry in RECORDED.items() if "outputs" in entry]


@pytest.mark.parametrize("name", TAKEN)
def test_executors(name: str) -> None:
    row, recorded = ROWS_BY_NAME[name], RECORDED[name]
    executor = bound(row)
    outputs = executor.forward(is_train=True)
    for found, wanted in zip(outputs, recorded["outputs"], strict=True):
        compare(found, wanted, positions=True)
    if "gradients" not in recorded:
        return
    executor.backward([mx.nd.array(head_gradient(output.shape)) for output in outputs])
    for argument, wanted in recorded["gradients"].items():
        compare(
            executor.grad_dict[argument], wanted, positions=False, numbers=has_mxnets_gradient(row, argument)
        )


@pytest.mark.parametrize("name", TAKEN)
def test_calls(name: str) -> None:
    row, recorded = ROWS_BY_NAME[name], RECORDED[name]
    values = row.values()
    arrays = {key: mx.nd.array(values[key]).tostype(stype) for key, (stype, _) in row.inputs.items()}
    function = find(_Calls, row.operator)
    [wanted] = recorded["outputs"]
    compare(function(*arrays.values(), **row.parameters), wanted, positions=True)
    if "gradients" not in recorded:
        return
    for key, array in arrays.items():
        if key not in row.constants:
            array.attach_grad()
    with mx.autograd.record():
        output = function(*arrays.values(), **row.parameters)
    compare(output, wanted, positions=True)
    output.backward(mx.nd.array(head_gradient(output.shape)))
    for key, gradient in recorded["gradients"].items():
        # In a call it is stored as the array is; the numbers are the same.
        of_array = {**gradient, "stype": arrays[key].grad.stype}
        compare(arrays[key].grad, of_array, positions=False, numbers=has_mxnets_gradient(row, key))


class _Calls:
    """`mx.nd` where `find` looks for `mx.sym`."""

    sym = mx.nd
