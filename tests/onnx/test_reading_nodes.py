"""The cases of single operators that onnx tests its backends with, read as symbols and run."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import pytest
from tests.onnx.node_cases import node_cases, run_case
from tests.onnx.not_read import NOT_READ
from tests.sampling import sampled

import rebind as mx

REASONS = {f"test_{name}": reason for reason, names in NOT_READ.items() for name in names.split()}


def failure(name: str) -> str:
    """Return what is wrong with a case; nothing where it passes."""
    mx.random.seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's, of onnx's reference with numbers that are not finite
            run_case(name)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    return ""


def assert_all_but_those_with_a_reason(names: Iterable[str]) -> None:
    names = list(names)
    failures = {name: text for name in names if (text := failure(name))}
    assert {name: text for name, text in failures.items() if name not in REASONS} == {}
    assert (REASONS.keys() & set(names)) - failures.keys() == set(), "they pass: take them out of the table"


def operators(name: str) -> str:
    return ",".join(sorted({node.op_type for node in node_cases()[name].model.graph.node}))


def test_a_case_of_each_operator() -> None:
    assert_all_but_those_with_a_reason(name for name, marks in sampled(node_cases(), operators) if not marks)


@pytest.mark.slow
def test_all_cases() -> None:
    assert_all_but_those_with_a_reason(node_cases())


def test_how_many_they_are() -> None:
    cases = node_cases()
    single = {name for name, case in cases.items() if len(case.model.graph.node) == 1}
    assert len(cases) - len(REASONS) >= 1750
    assert len(single - REASONS.keys()) >= 1350
