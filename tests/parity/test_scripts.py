"""Programs written for MXNet run as they are under ``rebind run``, and say what they say there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .scripts import RECORD, RUNS, SCRIPTS, said


@pytest.mark.parametrize("name", RUNS)
def test_script(name: str, tmp_path: Path) -> None:
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))["runs"][name]
    script, *arguments = RUNS[name]
    done = subprocess.run(
        [sys.executable, "-m", "rebind", "run", str(SCRIPTS / script), *arguments],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert said(done.stdout, done.stderr) == recorded["said"]
    assert sorted(os.listdir(tmp_path)) == recorded["files"]
