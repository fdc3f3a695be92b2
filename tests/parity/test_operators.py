"""Every recorded operator case: outputs in both modes, gradients, auxiliary states, types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rebind as mx

from .cases import CASES
from .cases.case import Case
from .golden import OPERATORS, Pack, assert_close, read_manifest

MANIFESTS: dict[str, dict[str, Any]] = {
    group: read_manifest(OPERATORS / f"{group}.json")["cases"] for group in CASES
}
PACKS = {group: Pack.read(OPERATORS / f"{group}.npz") for group in CASES}

#: Half precision has 11 bits, whatever is done with them.
RTOL_FORWARD = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-10}
RTOL_GRADIENT = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-9}

#: These are series or quotients of large numbers: float32 versions agree to fewer digits than elsewhere.
WIDER = {"gamma": 20.0, "gammaln": 20.0, "erfinv": 20.0}

#: Cases whose gradient 1.9.1 gets wrong: the derivative, as finite differences give it, stands in for the record.
WRONG_GRADIENTS = {
    "LeakyReLU(act_type=selu)": "below zero it is not the derivative: 0.161 at -2, where that is 0.238"
}

ROWS = [pytest.param(group, name, id=f"{group}-{name}") for group, cases in CASES.items() for name in cases]


@pytest.mark.parametrize("group", CASES)
def test_recorded_cases_are_those_of_the_table(group: str) -> None:
    recorded = {name: entry["description"] for name, entry in MANIFESTS[group].items()}
    table = {name: case.description for name, case in CASES[group].items()}
    assert recorded == table, f"record again: python -m tests.parity.generate_operators {group}"


def bind(case: Case, entry: dict[str, Any], pack: Pack) -> Any:
    """Bind a case with its recorded arguments and states; gradients are asked where MXNet gave one."""
    symbol = case.symbol(mx)
    assert symbol.list_arguments() == list(entry["arguments"])
    assert symbol.list_auxiliary_states() == list(entry["states"])
    assert symbol.list_outputs() == entry["outputs"]
    arguments = {key: to_rebind(value) for key, value in pack.get_all(entry["arguments"]).items()}
    states = {key: to_rebind(value) for key, value in pack.get_all(entry["states"]).items()}
    gradients = {
        key: mx.nd.zeros(arguments[key].shape, dtype=arguments[key].dtype)
        for key in entry.get("gradients", {})
    }
    requests = {key: "write" if key in gradients else "null" for key in arguments}
    return symbol.bind(mx.current_device(), arguments, gradients, requests, states)


def to_rebind(value: np.ndarray) -> Any:
    return mx.nd.array(value, dtype=value.dtype)


class Comparison:
    """Compares arrays with their records: type first, then shape and values."""

    def __init__(self, case: Case, entry: dict[str, Any], pack: Pack) -> None:
        self.case, self.pack = case, pack
        self.given = [str(pack.get(reference).dtype) for reference in entry["arguments"].values()]

    def __call__(
        self, actual: np.ndarray, reference: list[Any], what: str, rtols: dict[str, float] = RTOL_FORWARD
    ) -> None:
        expected = self.pack.get(reference)
        what = f"{self.case.name}: {what}"
        assert actual.dtype == expected.dtype, f"{what}: type {actual.dtype}, MXNet has {expected.dtype}"
        rtol = rtols.get(str(expected.dtype), 0.0) * WIDER.get(self.case.operator, 1.0)
        if rtol:  # MXNet computes softmax(dtype='float64') of float32 in float32: no more digits than the inputs have
            rtol = max([rtol, *(rtols.get(dtype, 0.0) for dtype in self.given)])
        assert_close(actual, expected, rtol=rtol, what=what)


@pytest.mark.filterwarnings("ignore:Embedding. data must hold indices")  # a case is outside of the table
@pytest.mark.parametrize("group, name", ROWS)
def test_operator(group: str, name: str) -> None:
    case, entry, pack = CASES[group][name], MANIFESTS[group][name], PACKS[group]
    executor = bind(case, entry, pack)
    compare = Comparison(case, entry, pack)
    for mode, references in (
        ("inference", entry["inference"]),
        ("training", entry.get("training", entry["inference"])),
    ):
        outputs = executor.forward(is_train=mode == "training")
        for index, (output, reference) in enumerate(zip(outputs, references, strict=True)):
            compare(output.asnumpy(), reference, f"output {index}, {mode}")
    if "gradients" not in entry:
        return
    head_grads = [to_rebind(pack.get(reference)) for reference in entry["heads"]]
    executor.backward(head_grads or None)
    if name in WRONG_GRADIENTS:
        assert_derivative(executor, head_grads)
        return
    for key, reference in entry["gradients"].items():
        compare(executor.grad_dict[key].asnumpy(), reference, f"gradient of {key}", RTOL_GRADIENT)
    for key, reference in entry["states_after"].items():
        compare(executor.aux_dict[key].asnumpy(), reference, f"state {key}")


def assert_derivative(executor: Any, head_grads: list[Any]) -> None:
    """Compare the gradient of the only argument with central differences of the outputs, times the head_grads."""
    ((key, gradient),) = executor.grad_dict.items()
    computed, value = gradient.asnumpy(), executor.arg_dict[key].asnumpy()
    step = 1e-2
    for index in np.ndindex(*value.shape):
        shifted = []
        for sign in (1, -1):
            near = value.copy()
            near[index] += sign * step
            outputs = executor.forward(is_train=False, **{key: near})
            shifted.append(
                sum(
                    float((o.asnumpy() * h.asnumpy()).sum()) for o, h in zip(outputs, head_grads, strict=True)
                )
            )
        assert abs((shifted[0] - shifted[1]) / (2 * step) - computed[index]) < 0.02


@pytest.mark.parametrize("group, name", ROWS)
def test_inferred_shapes_and_types(group: str, name: str) -> None:
    """What is inferred from the given inputs is what MXNet inferred and computed."""
    case, entry, pack = CASES[group][name], MANIFESTS[group][name], PACKS[group]
    symbol = case.symbol(mx)
    given = {key: pack.get(entry["arguments"][key]) for key in case.inputs}
    shapes = symbol.infer_shape(**{key: value.shape for key, value in given.items()})
    types = symbol.infer_type(**{key: value.dtype for key, value in given.items()})
    recorded = (
        [pack.get(reference) for reference in entry["arguments"].values()],
        [pack.get(reference) for reference in entry["inference"]],
        [pack.get(reference) for reference in entry["states"].values()],
    )
    for inferred, arrays in zip(shapes, recorded, strict=True):
        assert [tuple(shape) for shape in inferred] == [array.shape for array in arrays]
    for inferred, arrays in zip(types, recorded, strict=True):
        assert [np.dtype(dtype) for dtype in inferred] == [array.dtype for array in arrays]
