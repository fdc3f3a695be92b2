"""Every recorded operator case: outputs in both modes, gradients, auxiliary states, types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rebind as mx

from .golden import OPERATORS, Pack, assert_close, read_manifest
from .operator_cases import CASES, Case, find

#: Operators of the table that rebind does not have yet. Nothing is skipped: the list is itself tested, below.
LATER: frozenset[str] = frozenset()

MANIFEST: dict[str, Any] = read_manifest(OPERATORS / "manifest.json")["cases"]
PACK = Pack.read(OPERATORS / "arrays.npz")

#: Half precision has 11 bits, whatever is done with them.
RTOL_FORWARD = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-10}
RTOL_GRADIENT = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-9}

#: These are series or quotients of large numbers: float32 versions agree to fewer digits than elsewhere.
WIDER = {"gamma": 20.0, "gammaln": 20.0, "erfinv": 20.0}

#: Cases whose gradient 1.9.1 gets wrong: the derivative, as finite differences give it, stands in for the record.
WRONG_GRADIENTS = {
    "LeakyReLU(act_type=selu)": "below zero it is not the derivative: 0.161 at -2, where that is 0.238"
}

NAMES = [name for name, case in CASES.items() if case.operator not in LATER]


def test_recorded_cases_are_those_of_the_table() -> None:
    recorded = {name: entry["description"] for name, entry in MANIFEST.items()}
    table = {name: case.description for name, case in CASES.items()}
    assert recorded == table, "record anew: python -m tests.parity.generate operators"


def test_operators_for_later_are_in_the_table_and_missing() -> None:
    assert {case.operator for case in CASES.values()} >= LATER
    for operator in LATER:
        with pytest.raises(AttributeError):
            find(mx, operator)


def bind(case: Case, entry: dict[str, Any]) -> Any:
    """Bind a case with its recorded arguments and states; gradients are asked where MXNet gave one."""
    symbol = case.symbol(mx)
    assert symbol.list_arguments() == list(entry["arguments"])
    assert symbol.list_auxiliary_states() == list(entry["states"])
    assert symbol.list_outputs() == entry["outputs"]
    arguments = {key: to_rebind(value) for key, value in PACK.get_all(entry["arguments"]).items()}
    states = {key: to_rebind(value) for key, value in PACK.get_all(entry["states"]).items()}
    gradients = {
        key: mx.nd.zeros(arguments[key].shape, dtype=arguments[key].dtype)
        for key in entry.get("gradients", {})
    }
    requests = {key: "write" if key in gradients else "null" for key in arguments}
    return symbol.bind(mx.cpu(), arguments, gradients, requests, states)


def to_rebind(value: np.ndarray) -> Any:
    return mx.nd.array(value, dtype=value.dtype)


def compare(actual: np.ndarray, reference: list[Any], rtols: dict[str, float], case: Case, what: str) -> None:
    """Compare one array with its record: type first, then shape and values."""
    expected = PACK.get(reference)
    assert actual.dtype == expected.dtype, f"{what}: type {actual.dtype}, MXNet has {expected.dtype}"
    rtol = rtols.get(str(expected.dtype), 0.0) * WIDER.get(case.operator, 1.0)
    if rtol:  # MXNet computes softmax(dtype='float64') of float32 in float32: no result has more digits than its inputs
        given = [str(PACK.get(argument).dtype) for argument in MANIFEST[case.name]["arguments"].values()]
        rtol = max([rtol, *(rtols.get(dtype, 0.0) for dtype in given)])
    assert_close(actual, expected, rtol=rtol, what=what)


@pytest.mark.parametrize("name", NAMES)
def test_operator(name: str) -> None:
    case, entry = CASES[name], MANIFEST[name]
    executor = bind(case, entry)
    for training, references in (
        (False, entry["inference"]),
        (True, entry.get("training", entry["inference"])),
    ):
        outputs = executor.forward(is_train=training)
        assert len(outputs) == len(references)
        for index, (output, reference) in enumerate(zip(outputs, references, strict=True)):
            what = f"{name}: output {index}, {'training' if training else 'inference'}"
            compare(output.asnumpy(), reference, RTOL_FORWARD, case, what)
    if "gradients" not in entry:
        return
    heads = [to_rebind(PACK.get(reference)) for reference in entry["heads"]]
    executor.backward(heads or None)
    if name in WRONG_GRADIENTS:
        assert_derivative(executor, heads)
        return
    for key, reference in entry["gradients"].items():
        compare(
            executor.grad_dict[key].asnumpy(), reference, RTOL_GRADIENT, case, f"{name}: gradient of {key}"
        )
    for key, reference in entry["states_after"].items():
        compare(executor.aux_dict[key].asnumpy(), reference, RTOL_FORWARD, case, f"{name}: state {key}")


def assert_derivative(executor: Any, heads: list[Any]) -> None:
    """Compare the gradient of the only argument with central differences of the outputs, times the heads."""
    ((key, gradient),) = executor.grad_dict.items()
    computed, value = gradient.asnumpy(), executor.arg_dict[key].asnumpy()
    step = 1e-2
    for index in np.ndindex(*value.shape):
        moved = []
        for sign in (1, -1):
            near = value.copy()
            near[index] += sign * step
            outputs = executor.forward(is_train=False, **{key: near})
            moved.append(
                sum(float((o.asnumpy() * h.asnumpy()).sum()) for o, h in zip(outputs, heads, strict=True))
            )
        assert abs((moved[0] - moved[1]) / (2 * step) - computed[index]) < 0.02


@pytest.mark.parametrize("name", NAMES)
def test_inferred_shapes_and_types(name: str) -> None:
    """What is inferred from the given inputs is what MXNet inferred and computed."""
    case, entry = CASES[name], MANIFEST[name]
    symbol = case.symbol(mx)
    given = {key: PACK.get(entry["arguments"][key]) for key in case.inputs}
    shapes = symbol.infer_shape(**{key: value.shape for key, value in given.items()})
    types = symbol.infer_type(**{key: value.dtype for key, value in given.items()})
    recorded = (
        [PACK.get(reference) for reference in entry["arguments"].values()],
        [PACK.get(reference) for reference in entry["inference"]],
        [PACK.get(reference) for reference in entry["states"].values()],
    )
    for inferred, arrays in zip(shapes, recorded, strict=True):
        assert [tuple(shape) for shape in inferred] == [array.shape for array in arrays]
    for inferred, arrays in zip(types, recorded, strict=True):
        assert [np.dtype(dtype) for dtype in inferred] == [array.dtype for array in arrays]
