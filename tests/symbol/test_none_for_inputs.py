"""None where an operator needs a symbol is reported: MXNet makes a variable in silence."""

from __future__ import annotations

import warnings

import pytest
from tests.parity.cases.case import find
from tests.parity.types import ROWS

import rebind as mx

x = mx.sym.var("x")
FIXED = [name for name, case in ROWS.items() if case.inputs and not case.variadic]


@pytest.mark.parametrize("name", FIXED)
def test_none_for_the_first_input_of_any_operator(name):
    case = ROWS[name]
    first, *others = case.inputs
    given = {first: None, **{each: mx.sym.var(each) for each in others}}
    with pytest.warns(UserWarning) as caught:
        made = find(mx, case.operator)(**given, name="op", **case.parameters)
    says = f"{first} must be a symbol; got None. The variable 'op_{first}' is made for it, as in MXNet."
    assert [str(each.message).partition(": ")[2] for each in caught] == [says]
    assert f"op_{first}" in made.list_arguments()


@pytest.mark.parametrize(
    ("make", "missing"),
    [
        (lambda: mx.sym.broadcast_add(x, None, name="op"), "rhs"),
        (lambda: mx.sym.dot(x, rhs=None, name="op"), "rhs"),
        (lambda: mx.sym.FullyConnected(None, num_hidden=2, name="op"), "data"),
        (lambda: mx.sym.FullyConnected(data=None, num_hidden=2, name="op"), "data"),
    ],
)
def test_none_for_data(make, missing):
    with pytest.warns(
        UserWarning, match=f"{missing} must be a symbol; got None. The variable 'op_{missing}'"
    ):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: mx.sym.FullyConnected(x, None, None, num_hidden=2),
        lambda: mx.sym.FullyConnected(x, weight=None, bias=None, num_hidden=2),
        lambda: mx.sym.FullyConnected(num_hidden=2),
        lambda: mx.sym.SoftmaxOutput(x, None),
        lambda: mx.sym.BatchNorm(x, gamma=None, beta=None),
        lambda: mx.sym.SequenceMask(x, None),
    ],
)
def test_parameters_labels_and_what_is_left_out_are_usual(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make()
