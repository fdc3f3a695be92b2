"""What operators compute, and the gradients of their inputs, as the lines of ``operator_formulas.txt``.

Lines that are code are run on the recorded calls of MXNet 1.9.1 (``tests/docs/test_operator_formulas.py``).
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

__all__ = ["evaluate", "formula", "formulas", "gradient", "is_code"]

_TEXT = Path(__file__).with_suffix(".txt")
_NAMES: dict[str, Any] = {
    name: getattr(np, name)
    for name in (
        "abs", "all", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax", "argmin", "argsort",
        "cbrt", "clip", "cos", "cosh", "exp", "expand_dims", "flip", "floor", "full_like", "log", "log10", "log2",
        "maximum", "minimum", "ones_like", "pi", "repeat", "sign", "sin", "sinh", "sort", "sqrt", "swapaxes", "take",
        "tan", "tanh", "tile", "transpose", "trunc", "where", "zeros_like",
    )
}  # fmt: skip
_NAMES |= {name: getattr(special, name) for name in ("digamma", "erf", "erfinv", "gamma")}
_NAMES["len"] = len


@functools.cache
def formulas() -> dict[str, list[str]]:
    """Return the lines of each operator, by its first name.

    >>> formulas()["square"]
    ['out = data ** 2', 'd_data = grad * 2 * data']
    """
    parts = re.split(r"^== (.+)\n", _TEXT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        name: text.strip().splitlines()
        for names, text in zip(parts[1::2], parts[2::2], strict=True)
        for name in names.split()
    }


def formula(name: str) -> list[str]:
    """Return the lines of the results; empty where the operator has none."""
    return [line for line in formulas().get(name, []) if not line.startswith("d_")]


def gradient(name: str) -> list[str]:
    """Return the lines of the gradients."""
    return [line for line in formulas().get(name, []) if line.startswith("d_")]


def is_code(lines: list[str], given: set[str]) -> bool:
    """Return whether lines only assign to names, and use no others than those that are given and NumPy's.

    >>> is_code(["out = exp(data)"], {"data"}), is_code(["out[i] = data[n, i]"], {"data"})
    (True, False)
    """
    known = set(_NAMES) | given
    for line in lines:
        try:
            [statement] = ast.parse(line).body
        except (SyntaxError, ValueError):
            return False
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            return False
        read = {node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)}
        if not read <= known:
            return False
        known.add(statement.targets[0].id)
    return bool(lines)


def evaluate(lines: list[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Run lines that are code, and return all names.

    >>> evaluate(["out = sqrt(data)"], {"data": np.array([4.0])})["out"]
    array([2.])
    """
    names = {**_NAMES, **values}
    exec("\n".join(lines), {}, names)
    return names
