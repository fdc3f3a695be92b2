"""The pages whose code is to run, each in a process of its own: they register operators, passes and storage types."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("page", ["how_it_works", "extending"])
def test_the_code_of_a_page_runs(page: str) -> None:
    options = ["-o", "ELLIPSIS", "-o", "NORMALIZE_WHITESPACE", "-o", "FAIL_FAST"]
    done = subprocess.run(
        [sys.executable, "-m", "doctest", *options, str(DOCS / f"{page}.md")],
        capture_output=True,
        text=True,
        env={**os.environ, "REBIND_PROGRESS": "off"},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
