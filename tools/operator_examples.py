"""Examples of operators, run: what a reader types, and what is printed.

The programs are in ``operator_examples.txt``; what MXNet 1.9.1 prints for them is recorded
(``tests/parity/generate_examples.py``).
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["numbers", "programs", "results", "session"]

_TEXT = Path(__file__).with_suffix(".txt")


@functools.cache
def programs() -> dict[str, str]:
    """Return the program of each operator, by its first name.

    >>> print(programs()["clip"])
    mx.nd.clip(mx.nd.array([-2, 0.5, 3]), 0, 1)
    """
    parts = re.split(r"^== (\S+)\n", _TEXT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def results(mx: Any, program: str) -> Iterator[tuple[ast.stmt, str]]:
    """Run a program with a module `mx`; yield each statement with what Python prints after it."""
    names = {"mx": mx, "np": np}
    for statement in ast.parse(program).body:
        value = None
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), "<example>", "eval"), names)
        else:
            exec(compile(ast.Module([statement], []), "<example>", "exec"), names)
        yield statement, "" if value is None else repr(value)


def session(mx: Any, program: str) -> str:
    r"""Run a program, and return it as one types it into Python, with what Python prints.

    >>> import rebind as mx
    >>> session(mx, "x = mx.nd.ones(2)  # ones\nx.shape")
    '>>> x = mx.nd.ones(2)  # ones\n>>> x.shape\n(2,)'
    """
    lines, shown = program.splitlines(), []
    for statement, printed in results(mx, program):
        decorators = getattr(statement, "decorator_list", [])
        first = min(node.lineno for node in (statement, *decorators))
        source = lines[first - 1 : statement.end_lineno]
        shown += [f"{'...' if i else '>>>'} {line}".rstrip() for i, line in enumerate(source)]
        if hasattr(statement, "body"):
            shown.append("...")
        shown += [line.rstrip() for line in printed.splitlines() if line.strip()]
    return "\n".join(shown)


def numbers(printed: str) -> list[float]:
    r"""Return the numbers in what is printed, for comparisons.

    >>> numbers("[[1. -0.5 nan]]\n<NDArray 1x3 @cpu(0)>")
    [1.0, -0.5, nan, 1.0, 3.0, 0.0]
    """
    return [float(text) for text in re.findall(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?|\bnan\b|-?\binf\b", printed)]
