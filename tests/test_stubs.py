"""Stubs: as the table of operators gives them, and what type checkers make of calls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import rebind as mx

ROOT = Path(__file__).parent.parent
STUBS = sorted((ROOT / "src" / "rebind").rglob("*.pyi"))


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)


def test_stubs_are_what_the_table_of_operators_gives() -> None:
    checked = run("tools/stubs.py", "--check")
    assert checked.returncode == 0, f"run `make stubs`:\n{checked.stdout}{checked.stderr}"


def test_every_stub_is_beside_its_module() -> None:
    assert STUBS
    assert [path for path in STUBS if not path.with_suffix(".py").exists()] == []


@pytest.mark.slow  # `make types` checks the same files
def test_mypy_takes_right_calls_and_refuses_wrong_ones() -> None:
    pytest.importorskip("mypy")
    checked = run("-m", "mypy", "tests/typed", "examples")
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("front", [mx.nd, mx.sym], ids=["nd", "sym"])
@pytest.mark.parametrize("space", ["contrib", "image", "linalg", "sparse", "op", "random", "_internal"])
def test_namespaces_are_modules(front: object, space: str) -> None:
    module = getattr(front, space)
    assert {name for name in module.__all__ if not callable(getattr(module, name))} <= {
        "contrib", "image", "linalg", "sparse",
    }  # fmt: skip
