"""``rebind run --profile``: a table and a trace of a program, also where that ends with an error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import mxnet as mx
exe = mx.sym.exp(mx.sym.var("x"), name="growth").simple_bind(mx.cpu(), x=(2, 3))
for _ in range(3):
    exe.forward(is_train=True)
    exe.backward(mx.nd.ones((2, 3)))
print("done")
"""


@pytest.mark.parametrize(
    ("last", "code"), [pytest.param("", 0, marks=pytest.mark.slow), ("raise ValueError('wrong')", 1)]
)
def test_a_program_is_profiled(tmp_path: Path, last: str, code: int) -> None:
    (tmp_path / "script.py").write_text(PROGRAM + last)
    command = [sys.executable, "-m", "rebind", "run", "--profile", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, "done\n")
    row = next(line.split() for line in done.stderr.splitlines() if line.startswith("growth"))
    assert row[:4] == ["growth", "exp", "2x3", "3"]
    assert "Iterations: 3" in done.stderr
    assert "The trace is in script-profile.json: open it in ui.perfetto.dev." in done.stderr
    with open(tmp_path / "script-profile.json") as file:
        assert sum(each["name"] == "growth" for each in json.load(file)["traceEvents"]) == 3
