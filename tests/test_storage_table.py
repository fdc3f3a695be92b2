"""docs/storage_types.md has the kernels that are declared."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_page_is_what_the_declarations_give() -> None:
    # In a process of its own: tests declare kernels, too.
    command = [sys.executable, "tools/storage_table.py", "--check"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0, "run `make storage-table`"
