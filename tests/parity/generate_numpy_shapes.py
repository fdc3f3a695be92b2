"""Record what MXNet infers under `np_shape`: `numpy_shapes.json`, one line for each row of `types.ROWS`.

ORACLE_PYTHON -m tests.parity.generate_numpy_shapes
"""

from __future__ import annotations

import json
import subprocess
import sys

from .numpy_shapes import NUMPY_SHAPES, ROWS, ask, forms


def work() -> None:
    """Answer for the rows and columns that come in, a line for a line."""
    import mxnet as mx

    answers, sys.stdout = sys.stdout, sys.stderr  # MXNet prints what it could not infer
    for line in sys.stdin:
        name, column = json.loads(line)
        print(ask(mx, ROWS[name], forms(ROWS[name])[column]), file=answers, flush=True)


def generate_numpy_shapes() -> None:
    """Ask for all rows and columns; a question that ends the process is answered ``killed``."""
    worker: subprocess.Popen[str] | None = None
    table: dict[str, dict[str, str]] = {}
    for name, case in ROWS.items():
        table[name] = {}
        for column in forms(case):
            worker = worker or subprocess.Popen(
                [sys.executable, "-m", "tests.parity.generate_numpy_shapes", "--worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            assert worker.stdin is not None and worker.stdout is not None
            worker.stdin.write(json.dumps([name, column]) + "\n")
            worker.stdin.flush()
            answer = worker.stdout.readline().rstrip("\n")
            table[name][column] = answer or "killed"
            if not answer:
                worker = None
    lines = [f"{json.dumps(name)}: {json.dumps(answers)}" for name, answers in table.items()]
    NUMPY_SHAPES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    work() if sys.argv[1:] == ["--worker"] else generate_numpy_shapes()
