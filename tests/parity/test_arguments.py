"""`operator.get_operator_arguments` says what MXNet says of every operator: names, in order, and types in its words."""

from __future__ import annotations

import pytest

import rebind as mx

from .coverage import LEFT_OUT, inventory

LISTS_WHAT_IT_REFUSES = "MXNet lists arguments that its operator refuses, and not those that it takes"

#: Operators whose arguments are others.
OTHERWISE = {
    "_contrib_SparseEmbedding": LISTS_WHAT_IT_REFUSES,
    "_linspace": LISTS_WHAT_IT_REFUSES,
    "_contrib_quantized_rnn": "MXNet lists inputs that its symbols do not have: theirs are min_data and max_data",
}

#: Operators whose arguments are listed in another order: in that of a call, arrays and the number of inputs first.
IN_THE_ORDER_OF_A_CALL = ("UpSampling", "stack", "_contrib_quantized_elemwise_add")
RANDOM = ("_sample_", "sample_", "_random_pdf_", "random_pdf_")

NAMES = [name for name in inventory() if name not in LEFT_OUT and name not in OTHERWISE]


def test_exceptions_are_needed() -> None:
    for name in OTHERWISE:
        found = mx.operator.get_operator_arguments(name)
        assert dict(zip(found.names, found.types, strict=True)) != inventory()[name], name


def in_another_order(name: str) -> bool:
    return name in IN_THE_ORDER_OF_A_CALL or name.startswith(RANDOM) or name.endswith("_like")


@pytest.mark.parametrize("name", NAMES)
def test_arguments_are_those_of_mxnet(name: str) -> None:
    recorded = inventory()[name]
    found = mx.operator.get_operator_arguments(name)
    assert dict(zip(found.names, found.types, strict=True)) == recorded
    assert found.narg == len(recorded)
    if not in_another_order(name):
        assert found.names == list(recorded)
