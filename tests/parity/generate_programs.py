"""Run the programs in `tests/programs` with MXNet 1.9.1 itself, to record that they are valid and what they say.

``ORACLE_PYTHON -m tests.parity.generate_programs [NAME ...]``, from the top folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from .oracle import origin
from .programs import PROGRAMS, RECORD, RUNS, Run, said

# With oneDNN, as MXNet is installed: without it, LSTMs in a BucketingModule fail.
ENVIRONMENT = {"MXNET_MKLDNN_ENABLED": "1"}


def record(run: Run) -> dict[str, Any]:
    """Return what a program says, which figures it reaches and which files it leaves."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(PROGRAMS / run.script), *run.arguments],
            cwd=folder,
            env={**os.environ, **ENVIRONMENT},
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        return {
            "said": said(done.stdout, done.stderr),
            "figures": run.figures(done.stdout),
            "files": sorted(os.listdir(folder)),
        }


def main(names: list[str]) -> None:
    """Write the record: of the runs called `names`, or of all."""
    runs = json.loads(RECORD.read_text(encoding="utf-8"))["runs"] if names else {}
    runs.update({name: record(RUNS[name]) for name in names or RUNS})
    made = origin()
    made["environment"].update(ENVIRONMENT)
    text = json.dumps({"origin": made, "runs": {name: runs[name] for name in RUNS}}, indent=1)
    RECORD.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
