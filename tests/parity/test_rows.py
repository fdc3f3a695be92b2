"""Rows in stores, and modules with row_sparse weights, do what they do in MXNet 1.9.1 (``generate_rows.py``)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rebind as mx

from .golden import DATA, assert_close, read_manifest
from .rows import STORES, TRAINING, pulls, train

RECORDED = read_manifest(DATA / "rows.json")


@pytest.mark.parametrize("key", ["row_sparse", "default"])
@pytest.mark.parametrize("kind", ["local", "device"])
@pytest.mark.parametrize("name", STORES)
def test_stores(name: str, kind: str, key: str) -> None:
    found, expected = pulls(mx, kind, name, key), RECORDED["stores"][f"{name}, {key}"]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert {k: v for k, v in one.items() if k != "data"} == {
            k: v for k, v in other.items() if k != "data"
        }
        assert_close(np.array(one["data"]), np.array(other["data"]), rtol=1e-5, what=name)


@pytest.mark.parametrize(
    "run", RECORDED["runs"], ids=lambda run: "-".join(str(run[key]) for key in TRAINING[0])
)
def test_ten_steps(run: dict[str, Any]) -> None:
    for step, (found, expected) in enumerate(zip(train(mx, run), run["steps"], strict=True)):
        for what, one, other in zip(("outputs", "weights"), found, expected, strict=True):
            assert_close(np.array(one), np.array(other), rtol=1e-4, what=f"{what} of step {step}")
