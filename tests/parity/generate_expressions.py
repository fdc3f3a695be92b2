"""Record what MXNet says of expressions: names, attributes, and inference of shapes and types.

Run with the Python of an environment that has MXNet 1.9.1::

    python -m tests.parity.generate_expressions

The files are ``tests/symbol/names.txt``, ``attributes.txt`` and ``inference.txt``. A line is an expression, ``->`` and
the answer, which is written again; to ask for more, add a line of the expression and ``->``.
"""

from __future__ import annotations

import contextlib
import json
import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .oracle import mx

FOLDER = Path(__file__).parent.parent / "symbol"


def variables() -> dict[str, Any]:
    """Return what expressions may use."""
    fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="fc")
    return {"mx": mx, "S": mx.sym, "np": np, "fc": fc, **{name: mx.sym.var(name) for name in ("s", "t", "x")}}


def described(symbol: Any) -> str:
    """Return a symbol's name, operator, outputs, inputs and attributes."""
    graph = json.loads(symbol.tojson())
    return (
        f"name={symbol.name!r} op={graph['nodes'][graph['heads'][0][0]]['op']} outs={symbol.list_outputs()} "
        f"args={symbol.list_arguments()} aux={symbol.list_auxiliary_states()} attrs={symbol.list_attr()}"
    )


def inferred(found: Any) -> str:
    """Return inferred shapes, or types, each by its name."""
    return repr(
        tuple(part and [each.__name__ if isinstance(each, type) else each for each in part] for part in found)
    )


def record(name: str, answer: Any, *, in_order: bool) -> None:
    """Write a file's answers again; `in_order` names automatically throughout, and otherwise each line by itself."""
    path = FOLDER / name
    written = []
    with mx.name.NameManager():
        names = variables()
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line.startswith("#"):
                expression = line.split(" ->", 1)[0]
                with contextlib.nullcontext() if in_order else mx.name.NameManager():
                    line = f"{expression} -> {answer(eval(expression, names))}"
            written.append(line)
    path.write_text("\n".join(written) + "\n", encoding="utf-8")


def generate_expressions() -> None:
    """Record all three files."""
    warnings.simplefilter("ignore")  # what is not inferred is warned of
    logging.disable(logging.WARNING)
    record("names.txt", described, in_order=True)
    record("attributes.txt", lambda symbol: symbol.list_attr(), in_order=False)
    record("inference.txt", inferred, in_order=False)


if __name__ == "__main__":
    generate_expressions()
