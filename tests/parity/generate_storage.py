"""Record which storage types operators take and give, and what they compute: `storage.json`, a line for each row.

ORACLE_PYTHON -m tests.parity.generate_storage

Rows that MXNet refuses, or that end its process, say so; all work is done in processes of their own.
"""

from __future__ import annotations

import json
import os
import signal
from typing import Any

from .cases.case import find
from .oracle import mx
from .storage import ROWS_BY_NAME, STORAGE, Row, describe, head_gradient


def _bound(row: Row) -> Any:
    """Return the row as an executor whose arguments are filled."""
    variables = {name: mx.sym.var(name, stype=stype) for name, (stype, _) in row.inputs.items()}
    function = find(mx, row.operator)
    symbol = function(*variables.values(), **row.parameters)
    values = row.values()
    shapes = {name: value.shape for name, value in values.items()}
    requests = {name: "null" if name in row.constants else "write" for name in shapes}
    executor = symbol.simple_bind(mx.cpu(), grad_req=requests, **shapes)
    for name, (stype, _) in row.inputs.items():
        mx.nd.array(values[name]).tostype(stype).copyto(executor.arg_dict[name])
    return executor


def record(row: Row) -> dict[str, Any]:
    """Run one row."""
    try:
        executor = _bound(row)
        outputs = executor.forward(is_train=True)
        found: dict[str, Any] = {"outputs": [describe(output) for output in outputs]}
    except (mx.MXNetError, TypeError, ValueError, AttributeError) as error:
        return {"refused": type(error).__name__}
    try:
        executor.backward([mx.nd.array(head_gradient(output.shape)) for output in outputs])
        found["gradients"] = {
            name: describe(value) for name, value in executor.grad_dict.items() if value is not None
        }
    except mx.MXNetError as error:
        found["gradients refused"] = type(error).__name__
    return found


def in_a_process(row: Row) -> dict[str, Any]:
    """Run one row in a process of its own."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        os.close(reads)
        signal.alarm(20)  # some rows do not come back
        with os.fdopen(writes, "w") as pipe:
            pipe.write(json.dumps(record(row)))
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"refused": "ends the process"}


def generate_storage() -> None:
    """Run all rows and write what they give."""
    lines = [f"{json.dumps(name)}: {json.dumps(in_a_process(row))}" for name, row in ROWS_BY_NAME.items()]
    STORAGE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    generate_storage()
