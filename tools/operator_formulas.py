"""What operators compute, and the gradients of their inputs, as the lines of ``operator_formulas.txt``.

Lines that are code are run on the recorded calls of MXNet 1.9.1, and beside the operators themselves
(``tests/docs/test_operator_formulas.py``).
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.formula_elements import REDUCERS, assign_elements, assigned, assigns_elements, indices
from tools.formula_words import NAMES

__all__ = ["evaluate", "formula", "formulas", "gradient", "is_code"]

_TEXT = Path(__file__).with_suffix(".txt")


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
    return list(_chosen(formulas().get(name, []), lambda line: not line.startswith("d_")))


def gradient(name: str) -> list[str]:
    """Return the lines of the gradients."""
    return list(_chosen(formulas().get(name, []), lambda line: line.startswith("d_")))


def _chosen(lines: Sequence[str], wanted: Callable[[str], bool]) -> Iterator[str]:
    """Yield the lines that are wanted, with the conditions before them."""
    conditions: list[str] = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        conditions = [each for each in conditions if len(each) - len(each.lstrip()) < indent]
        if line.lstrip().startswith(("if ", "elif ", "else:", "for ")):
            conditions.append(line)
        elif wanted(line.lstrip()):
            yield from conditions
            conditions = []
            yield line


def is_code(lines: list[str], given: set[str]) -> bool:
    """Return whether lines only assign, under conditions and in loops, and use no names but the given ones and `NAMES`.

    >>> is_code(["out = exp(data)"], {"data"}), is_code(["out[i] = data[i, i]"], {"data"})
    (True, True)
    >>> is_code(["out = the largest of data"], {"data"})
    False
    """
    try:
        body = ast.parse("\n".join(lines)).body
    except (SyntaxError, ValueError):
        return False
    return bool(body) and _assigns_only(body, set(NAMES) | given)


def _assigns_only(body: list[ast.stmt], known: set[str]) -> bool:
    """Return whether statements only assign; add the names that they assign to those that are known."""
    for statement in body:
        if isinstance(statement, ast.If):
            if not _read(statement.test) <= known:
                return False
            if not all(_assigns_only(part, known) for part in (statement.body, statement.orelse)):
                return False
        elif isinstance(statement, ast.For):
            known |= _stored(statement.target)
            if not _read(statement.iter) <= known or not _assigns_only(statement.body, known):
                return False
        elif isinstance(statement, ast.Assign | ast.AugAssign):
            words: set[str] = set()
            if assigns_elements(statement, known):
                words = indices(statement, known) | set(REDUCERS)
                known.add(assigned(statement))
            if not _read(statement.value) <= known | words:
                return False
            known |= _stored(statement) - words
        else:
            return False
    return True


def _read(node: ast.AST) -> set[str]:
    """Return the names that an expression reads, without those that its comprehensions bind."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} - _stored(node)


def _stored(node: ast.AST) -> set[str]:
    """Return the names that are assigned or bound."""
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    return {each.id for each in names if isinstance(each.ctx, ast.Store)}


def evaluate(
    lines: list[str], values: Mapping[str, Any], shapes: Mapping[str, Sequence[int]] | None = None
) -> dict[str, Any]:
    """Run lines that are code, and return all names.

    Parameters
    ----------
    lines
        From `formula` or `gradient`.
    values
        Arrays and parameters by name.
    shapes
        Shapes of arrays whose elements are assigned, where the lines do not say them.

    Examples
    --------
    >>> import numpy as np
    >>> evaluate(["out = sqrt(data)"], {"data": np.array([4.0])})["out"]
    array([2.])
    >>> evaluate(["out[j] = sum(data[i, j])"], {"data": np.ones((3, 2))})["out"]
    array([3., 3.])
    """
    names = {**NAMES, **values}
    for statement in ast.parse("\n".join(lines)).body:
        _run(statement, names, shapes or {})
    return names


def _run(statement: ast.stmt, names: dict[str, Any], shapes: Mapping[str, Sequence[int]]) -> None:
    if isinstance(statement, ast.If):
        for each in statement.body if _value(statement.test, names) else statement.orelse:
            _run(each, names, shapes)
    elif isinstance(statement, ast.For):
        for item in _value(statement.iter, names):
            names["_item"] = item
            _execute(ast.Assign([statement.target], ast.Name("_item", ast.Load())), names)
            for each in statement.body:
                _run(each, names, shapes)
    elif assigns_elements(statement, set(names)):
        target = assigned(statement)
        names[target] = assign_elements(statement, names, shapes.get(target))
    else:
        _execute(statement, names)


def _value(expression: ast.expr, names: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(expression), "<formula>", "eval"), names)


def _execute(statement: ast.stmt, names: dict[str, Any]) -> None:
    module = ast.fix_missing_locations(ast.Module([statement], []))
    exec(compile(module, "<formula>", "exec"), names)
