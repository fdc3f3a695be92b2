"""Where a program makes a number of an array of one: NumPy 2.4 refuses what MXNet's programs often do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

__all__ = ["arrays_as_numbers"]

_CONVERSION = re.compile(
    r"%(?:\((?P<key>[^)]*)\))?[#0\- +]*(?P<width>\*|\d*)(?:\.(?P<digits>\*|\d+))?[hlL]?(?P<kind>.)"
)

#: Conversions that need a number.
_NUMBERS = frozenset("diouxXeEfFgG")


def arrays_as_numbers(node: ast.AST, builtin: str | None) -> Iterator[tuple[str, ast.expr]]:
    """Yield what makes a number of an array, and the array: ``float(x.asnumpy())``, ``'%f' % x.asnumpy()``.

    Parameters
    ----------
    node
        A call or an operation.
    builtin
        The path of the called function, if it is known.
    """
    if isinstance(node, ast.Call) and builtin in ("builtins.float", "builtins.int") and len(node.args) == 1:
        if (array := _array(node.args[0])) is not None:
            yield f"{builtin.removeprefix('builtins.')}(x.asnumpy())", array
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
        text = node.left.value
        if not isinstance(text, str):
            return
        values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        for kind, value in zip(_kinds(text), values, strict=False):
            if kind in _NUMBERS and (array := _array(value)) is not None:
                yield f"'%{kind}' % x.asnumpy()", array


def _kinds(text: str) -> list[str]:
    """Return the letter for each value that a text formats.

    >>> _kinds("%d%% of %-5.2f %s")
    ['d', 'f', 's']
    """
    kinds: list[str] = []
    for found in _CONVERSION.finditer(text):
        if found["key"] is not None:
            return []  # values by name
        if found["kind"] == "%":
            continue
        kinds += ["*"] * [found["width"], found["digits"]].count("*") + [found["kind"]]
    return kinds


def _array(node: ast.expr) -> ast.expr | None:
    """Return x of ``x.asnumpy()``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "asnumpy":
        return node.func.value
    return None
