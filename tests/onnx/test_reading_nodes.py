"""The cases of single operators that onnx tests its backends with, read as symbols and run."""

from __future__ import annotations

import warnings

from tests.onnx.node_cases import node_cases, run_case
from tests.onnx.not_read import NOT_READ

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


def test_all_but_those_with_a_reason() -> None:
    failures = {name: text for name in node_cases() if (text := failure(name))}
    assert {name: text for name, text in failures.items() if name not in REASONS} == {}
    assert REASONS.keys() - failures.keys() == set(), "they pass: take them out of the table"


def test_how_many_they_are() -> None:
    cases = node_cases()
    single = {name for name, case in cases.items() if len(case.model.graph.node) == 1}
    assert len(cases) - len(REASONS) >= 1500
    assert len(single - REASONS.keys()) >= 1100
