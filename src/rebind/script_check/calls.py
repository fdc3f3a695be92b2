"""Calls of functions that are known: arguments that they do not take, and values that are taken otherwise."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from .. import ops
from ..errors import near_names
from ..graph.symbol_json import HIDDEN_KEYS
from ..ops.declaration import Operator
from .names import look_up
from .values import ROWS, Row

__all__ = ["differing_values", "wrong_arguments"]

#: Where a name of `nd.contrib` and its kin is among the operators.
_PREFIXES = ("", "_", "_contrib_", "_linalg_", "_image_", "_random_", "_sparse_")


def wrong_arguments(called: Callable[..., Any], call: ast.Call) -> Iterator[tuple[str, bool]]:
    """Yield a sentence for each argument that a function does not take, and whether the call is an error."""
    signature = _signature(called)
    if signature is None:
        return
    parameters = signature.parameters.values()
    who = getattr(called, "__name__", "the function")
    yield from _too_many(who, signature, call)
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return
    operator = _operator(called)
    if operator is not None and operator.signature.variadic is not None and operator.name == "Custom":
        return  # takes whatever the operator of the program's own takes
    names = [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    variadic = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    for keyword in call.keywords:
        name = keyword.arg
        if name is None or name in names or (operator and _is_attribute(name, variadic)):
            continue
        ignored = _ignores(called, operator)
        near = near_names(name, names).removesuffix(".")
        yield f"{who} takes no {name!r}{near}" + ("; it is ignored" if ignored else ""), not ignored


def _signature(called: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(called)
    except (TypeError, ValueError):
        return None


def _too_many(who: str, signature: inspect.Signature, call: ast.Call) -> Iterator[tuple[str, bool]]:
    parameters = signature.parameters.values()
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return
    limit = sum(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in parameters)
    if len(call.args) > limit:
        if limit == 0 and signature.parameters:
            yield (
                f"{who} takes its arguments by name only: write {who}({next(iter(signature.parameters))}=...)",
                True,
            )
        else:
            yield f"{who} takes at most {limit} arguments by position; here are {len(call.args)}", True


def _operator(called: Callable[..., Any]) -> Operator | None:
    """Return the operator that a function of `nd` or `sym` calls."""
    module = getattr(called, "__module__", "") or ""
    if module not in ("rebind.symbol", "rebind.ndarray"):
        return None
    names = (f"{prefix}{called.__name__}" for prefix in _PREFIXES)
    return next((ops.OPERATORS[name] for name in names if name in ops.OPERATORS), None)


def _is_attribute(name: str, variadic: bool) -> bool:
    """Whether a keyword is an attribute of a symbol's node, or an input of an operator with any number of them."""
    is_input = variadic and name.lstrip("abcdefghijklmnopqrstuvwxyz_").isdecimal()
    return name in HIDDEN_KEYS or (name.startswith("__") and name.endswith("__")) or is_input


def _ignores(called: Callable[..., Any], operator: Operator | None) -> bool:
    """Whether a keyword that is no argument is only warned of."""
    if operator is not None:
        return bool(operator.signature.takes_any)
    if not (getattr(called, "__module__", "") or "").startswith("rebind.io."):
        return False
    # MXNet's iterators that are written in C++ take settings by name only, and those of other names without a word.
    return all(one.kind is one.KEYWORD_ONLY for one in inspect.signature(called).parameters.values())


def differing_values(called: Callable[..., Any], call: ast.Call) -> Iterator[Row]:
    """Yield the rows of the table of differences that a call is a case of."""
    for row in ROWS:
        if look_up(f"mxnet.{row.path}") is called and (
            row.argument is None or _value(called, call, row) in row.values
        ):
            yield row


def _value(called: Callable[..., Any], call: ast.Call, row: Row) -> object:
    """Return the constant that a call gives for the argument of a row; None for anything else."""
    given: ast.expr | None = next((one.value for one in call.keywords if one.arg == row.argument), None)
    signature = _signature(called)
    if given is None and signature is not None:
        position = list(signature.parameters).index(row.argument or "")
        if position < len(call.args) and not any(isinstance(one, ast.Starred) for one in call.args):
            given = call.args[position]
    return given.value if isinstance(given, ast.Constant) else None
