"""Gradients of arrays of whole numbers: those on float64 where these are exact, else zeros.

What MXNet 1.9.1 gives is in tests/parity/snippets/whole_gradients.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.parity.cases import CASES
from tests.parity.cases.case import Case, distinct, values, variadic
from tests.parity.cases.case import case as row

import rebind as mx
from rebind.ndarray.integer_gradients import _EXACT, _EXACT_WITH
from rebind.ops import Operator, find

SQUARE = distinct(3, 3)
PICTURE = distinct(1, 2, 4, 4)
LENGTHS = values(1, 3, 2)
DIAGONAL = values(0, 1, 0, 1, shape=(2, 2))

#: Operators without a case that MXNet answers in floating point.
OTHERS = [
    row("batch_take", {"a": SQUARE, "indices": values(0, 2, 1)}),
    row("fill_element_0index", {"lhs": SQUARE, "mhs": values(5, 6, 7), "rhs": values(0, 2, 1)}),
    row("_slice_assign", {"lhs": SQUARE, "rhs": distinct(1, 2)}, begin=(0, 0), end=(1, 2)),
    row("_slice_assign_scalar", {"data": SQUARE}, scalar=7, begin=(0, 0), end=(1, 2)),
    row("_scatter_set_nd", {"lhs": SQUARE, "rhs": distinct(2), "indices": DIAGONAL}, shape=(3, 3)),
    row("_square_sum", {"data": SQUARE}, axis=1),
    row("_grad_add", {"lhs": SQUARE, "rhs": SQUARE}),
    row("_copyto", {"data": SQUARE}),
    variadic("khatri_rao", [SQUARE, distinct(2, 3)]),
    row("Embedding", {"data": LENGTHS, "weight": distinct(4, 2)}, input_dim=4, output_dim=2),
    row("SequenceLast", {"data": SQUARE, "sequence_length": LENGTHS}, use_sequence_length=True),
    row("SequenceMask", {"data": SQUARE, "sequence_length": LENGTHS}, use_sequence_length=True, value=-1),
    row("SequenceReverse", {"data": distinct(3, 3, 2), "sequence_length": LENGTHS}, use_sequence_length=True),
    row("contrib.boolean_mask", {"data": SQUARE, "index": values(1, 0, 1)}),
    row("image.crop", {"data": distinct(3, 3, 1)}, x=1, y=0, width=2, height=2),
    row("image.flip_left_right", {"data": distinct(3, 3, 1)}),
    row("image.flip_top_bottom", {"data": distinct(3, 3, 1)}),
    row("Activation", {"data": SQUARE}, act_type="relu"),
    row("UpSampling", {"data": PICTURE}, scale=2, sample_type="nearest", num_args=1),
    row("_power_scalar", {"data": SQUARE}, scalar=3),
    row("norm", {"data": SQUARE}, ord=1, axis=1),
    row("Pad", {"data": PICTURE}, mode="edge", pad_width=(0, 0, 0, 0, 1, 1, 2, 2)),
    row("clip", {"data": SQUARE}, a_min=-3, a_max=4),
    row("_scatter_plus_scalar", {"data": SQUARE}, scalar=2),
    row("_scatter_minus_scalar", {"data": SQUARE}, scalar=2),
    row("Cast", {"data": SQUARE}, dtype="float32"),
    row("amp_cast", {"data": SQUARE}, dtype="float32"),
]  # fmt: skip


def gradients(case: Case, dtype: str) -> dict[str, np.ndarray]:
    """Return the gradients of the inputs of a case, for whole numbers in a type and whole head gradients."""
    random = np.random.RandomState(0)
    arrays = {}
    for name, spec in case.inputs.items():
        drawn = np.round(spec.draw(random) * 4) if spec.gradient else spec.draw(random)
        arrays[name] = mx.nd.array(drawn, dtype=dtype)
        if spec.gradient:
            arrays[name].attach_grad()
    function = mx.nd._internal if case.operator.startswith("_") else mx.nd
    for part in case.operator.split("."):
        function = getattr(function, part)
    with mx.autograd.record():
        found = function(*arrays.values(), **case.parameters)
        outputs = found if isinstance(found, list) else [found]
    mx.autograd.backward(
        outputs,
        [
            mx.nd.array((np.arange(each.size) % 5 + 1).reshape(each.shape), dtype=each.dtype)
            for each in outputs
        ],
    )
    return {name: array.grad.asnumpy() for name, array in arrays.items() if array.grad is not None}


def operator_of(case: Case) -> Operator:
    part, _, name = case.operator.rpartition(".")
    return find(f"_{part}_{name}" if part else name)


def is_exact(case: Case) -> bool:
    op = operator_of(case)
    if op.name not in _EXACT:
        return False
    return op.name not in _EXACT_WITH or _EXACT_WITH[op.name](op.parse(case.parameters))


def in_floating_point(case: Case) -> bool:
    """Whether a case has gradients, and parameters that mean the same for whole numbers."""
    fractions = any(isinstance(value, float) and value % 1 for value in case.parameters.values())
    types = {spec.dtype for spec in case.inputs.values()} | {case.parameters.get("dtype", "float32")}
    return types == {"float32"} and not fractions and any(spec.gradient for spec in case.inputs.values())


ALL = {
    f"{n} {case.name}": case
    for n, case in enumerate([*OTHERS, *[case for group in CASES.values() for case in group.values()]])
    if in_floating_point(case)
}
EXACT = {name: case for name, case in ALL.items() if is_exact(case)}


@pytest.mark.parametrize("name", EXACT)
def test_gradients_are_those_in_floating_point(name: str) -> None:
    wanted = gradients(EXACT[name], "float64")
    for key, found in gradients(EXACT[name], "int32").items():
        assert found.dtype == np.int32
        held = np.abs(wanted[key]) < 2**31
        np.testing.assert_array_equal(found[held], wanted[key][held], err_msg=key)


def test_every_operator_that_is_exact_has_a_case() -> None:
    assert {operator_of(each).name for each in EXACT.values()} == _EXACT


@pytest.mark.parametrize(
    "call",
    [
        lambda x: mx.nd.exp(x), lambda x: x / 2, lambda x: 2**x, lambda x: mx.nd.norm(x), lambda x: x.mean(),
        lambda x: mx.nd.Activation(x, act_type="tanh"), lambda x: x**-1, lambda x: mx.nd.topk(x), lambda x: x % 3,
    ],
)  # fmt: skip
def test_where_something_is_rounded_no_gradient_flows(call: Any) -> None:
    x = mx.nd.array([[1, 2], [3, 4]], dtype="int32")
    x.attach_grad()
    with mx.autograd.record():
        y = call(x)
    y.backward()
    assert not x.grad.asnumpy().any()


@pytest.mark.parametrize(
    "call",
    [lambda x: mx.nd.negative(-x), lambda x: mx.nd.maximum(x, 0), lambda x: mx.nd.take(x, mx.nd.array([1]))],
)
def test_recorded_numbers_beyond_those_of_float64_stay_as_they_are(call: Any) -> None:
    large = 2**60 + 1
    x = mx.nd.array(np.array([0, large]), dtype="int64")
    x.attach_grad()
    with mx.autograd.record():
        y = call(x)
    assert y.asnumpy()[-1] == large
