"""The count of operators that ``make parity`` prints, and that each has a record of MXNet's or a reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.ops.nn import recorded as layers

from rebind.ops import OPERATORS

from . import control_flow, feedforward, modules, optimizers, updates
from .cases import CASES
from .coverage import (
    LEFT_OUT,
    LISTED_ONLY,
    NO_CALL,
    inventory,
    missing_operators,
    missing_parameters,
    recorded,
)
from .golden import DATA, read_manifest


def named(call: str) -> str:
    """Return the operator that a case calls ``contrib.box_nms``, ``_plus`` or, by its front end, ``zeros``."""
    space, _, short = call.rpartition(".")
    name = f"_{space}_{short}" if space else call
    return OPERATORS[name if name in OPERATORS else f"_{name}"].name


def operators_without_a_record() -> set[str]:
    recorded = {named(case.operator) for cases in CASES.values() for case in cases.values()}
    recorded |= {named(operator) for operator, _, _ in layers.CASES}
    recorded |= {named(re.split(r"[( ]", name)[0]) for name in read_manifest(DATA / "updates.json")["cases"]}
    there = {OPERATORS[name].name for name in inventory() if name in OPERATORS}
    return there - recorded


@pytest.mark.parametrize(
    ("found", "listed"),
    [
        pytest.param(lambda: len(inventory()), 593, id="operators-of-mxnet"),
        pytest.param(missing_operators, sorted(LEFT_OUT), id="operators"),
        pytest.param(missing_parameters, LISTED_ONLY, id="parameters"),
        pytest.param(operators_without_a_record, set(NO_CALL), id="records"),
    ],
)
def test_what_is_missing_is_listed_with_its_reason(found: Callable[[], object], listed: object) -> None:
    assert found() == listed


def test_the_tests_of_what_is_not_recorded_are_there() -> None:
    root = Path(__file__).parents[2]
    assert [each.tests for each in NO_CALL.values() if not (root / each.tests).exists()] == []


@pytest.mark.parametrize(
    ("manifest", "key", "table", "command"),
    [
        pytest.param("control_flow.json", "cases", control_flow.CASES, "generate control_flow", id="loops"),
        pytest.param("feedforward/runs.json", "runs", feedforward.RUNS, "generate feedforward", id="models"),
        pytest.param("modules.json", "programs", modules.PROGRAMS, "generate modules", id="modules"),
        pytest.param("optimizers.json", "runs", optimizers.RUNS, "generate optimizers", id="optimizers"),
        pytest.param("updates.json", "cases", updates.CASES, "generate updates", id="updates"),
    ],
)
def test_recorded_cases_are_those_of_the_table(
    manifest: str, key: str, table: Mapping[str, object], command: str
) -> None:
    recorded = read_manifest(DATA / manifest)[key]
    assert list(recorded) == list(table), f"record again: python -m tests.parity.{command}"


def test_readme_quotes_no_more_than_is_recorded() -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    for kind, count in recorded().items():
        quoted = re.search(rf"([\d,]+) {kind}", page)
        assert quoted is not None, kind
        assert int(quoted[1].replace(",", "")) <= count, kind
