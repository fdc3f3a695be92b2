"""Short programs give here what they give with MXNet 1.9.1."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import rebind as mx

from .snippets import GROUPS, outcome, record_of, snippets_of

CASES = [(group, name) for group in GROUPS for name in snippets_of(group)]


def recorded(group: str) -> dict[str, Any]:
    return json.loads(record_of(group).read_text(encoding="utf-8"))["snippets"]


def assert_same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, dict) and "array" in wanted:
        assert isinstance(found, dict) and found.get("dtype") == wanted["dtype"], (found, wanted)
        np.testing.assert_allclose(found["array"], wanted["array"], rtol=1e-4, atol=1e-5)
        assert np.shape(found["array"]) == np.shape(wanted["array"])
    elif isinstance(wanted, dict):
        assert isinstance(found, dict) and sorted(found) == sorted(wanted), (found, wanted)
        for key, value in wanted.items():
            assert_same(found[key], value)
    elif isinstance(wanted, list):
        assert isinstance(found, list) and len(found) == len(wanted), (found, wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=1e-5, nan_ok=True)
    else:
        assert found == wanted


@pytest.mark.parametrize(("group", "name"), CASES)
def test_snippet(group: str, name: str) -> None:
    wanted = recorded(group)[name]["outcome"]
    found = outcome(snippets_of(group)[name], mx)
    if isinstance(wanted, dict) and "raises" in wanted:
        assert isinstance(found, dict) and "raises" in found, f"{found} where MXNet raises {wanted['raises']}"
        return
    assert not (isinstance(found, dict) and "raises" in found), found
    assert_same(found, wanted)


def test_records_are_of_the_snippets_that_there_are() -> None:
    assert {group: sorted(recorded(group)) for group in GROUPS} == {
        group: sorted(snippets_of(group)) for group in GROUPS
    }
