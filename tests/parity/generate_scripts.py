"""Run the programs in `tests/scripts` with MXNet 1.9.1 itself, to record that they are valid and what they say.

``ORACLE_PYTHON -m tests.parity.generate_scripts``, from the top folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from .oracle import origin
from .scripts import RECORD, RUNS, SCRIPTS, said


def main() -> None:
    """Write the record."""
    runs: dict[str, Any] = {}
    for name, (script, *arguments) in RUNS.items():
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, str(SCRIPTS / script), *arguments],
                cwd=folder,
                capture_output=True,
                text=True,
                check=True,
                timeout=300,
            )
            runs[name] = {"said": said(done.stdout, done.stderr), "files": sorted(os.listdir(folder))}
    text = json.dumps({"origin": origin(), "runs": runs}, indent=1)
    RECORD.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
