"""Record which types operators take and give: `types.json`, one line for each row of `types.ROWS`.

ORACLE_PYTHON -m tests.parity.generate_types

An entry is ``arguments -> outputs``, as ``infer_type`` and, with the outputs, ``forward`` answer; ``refused`` where the
former fails, ``fails`` where the latter does, ``killed`` where it ends the process. For the last, all work is done in
a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from .types import COLUMNS, ROWS, TYPES, applies, describe, given_arrays


def ask(name: str, column: str) -> str:
    """Run one row in the types of one column."""
    import numpy as np

    from .generate_operators import draw_arguments, mx
    from .oracle import to_mxnet

    case = ROWS[name]
    arrays = given_arrays(case, column)
    try:
        symbol = case.symbol(mx)
        inferred = symbol.infer_type(**{key: value.dtype for key, value in arrays.items()})
        if inferred[0] is None:
            return "refused"
    except (mx.MXNetError, TypeError, ValueError, AttributeError, KeyError):
        return "refused"
    arguments, outputs, states = ([np.dtype(dtype).name for dtype in part] for part in inferred)
    try:
        all_arguments, all_states = draw_arguments(case, symbol, np.random.RandomState(0))
        given = {key: value.astype(dtype) for (key, value), dtype in zip(all_arguments.items(), arguments)}
        given.update(arrays)
        held = {key: value.astype(dtype) for (key, value), dtype in zip(all_states.items(), states)}
        executor = symbol.bind(mx.cpu(), to_mxnet(given), grad_req="null", aux_states=to_mxnet(held))
        computed = [output.asnumpy().dtype.name for output in executor.forward(is_train=False)]
    except (mx.MXNetError, TypeError, ValueError, KeyError):
        return "fails"
    answer = describe(arguments, outputs, states)
    return answer if computed == outputs else f"{answer} computes {' '.join(computed)}"


class Worker:
    """A process that answers; another one takes its place when it is killed."""

    def __init__(self) -> None:
        self._process: Any = None

    def ask(self, name: str, column: str) -> str:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.parity.generate_types", "--worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        self._process.stdin.write(json.dumps([name, column]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if line:
            return line.rstrip("\n")
        self._process.wait()
        self._process = None
        return "killed"


def work() -> None:
    """Answer what comes in, a line for a line."""
    answers, sys.stdout = sys.stdout, sys.stderr  # MXNet prints what it could not infer
    for line in sys.stdin:
        print(ask(*json.loads(line)), file=answers, flush=True)


def generate_types() -> None:
    """Ask for all rows and columns and write what differs between columns."""
    worker = Worker()
    table = {
        name: {column: worker.ask(name, column) for column in COLUMNS if applies(case, column)}
        for name, case in ROWS.items()
    }
    lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in table.items()]
    TYPES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    work() if sys.argv[1:] == ["--worker"] else generate_types()
