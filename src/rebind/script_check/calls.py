"""Calls of functions that are known: arguments that they do not take, and values that are taken otherwise."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, get_args

import torch

from .. import ops
from ..errors import MXNetError, near_names
from ..graph.symbol_json import HIDDEN_KEYS
from ..ops.declaration import Operator
from ..params import Parameter
from .bindings import Scope
from .names import look_up
from .values import Row

__all__ = ["differing_values", "given_arguments", "refused_values", "wrong_arguments"]

#: Where a name of `nd.contrib` and its kin is among the operators.
_PREFIXES = ("", "_", "_contrib_", "_linalg_", "_image_", "_random_", "_sparse_")

#: The argument of functions that are no operators.
_DTYPE = Parameter.from_annotation("dtype", torch.dtype)


def wrong_arguments(called: Callable[..., Any], call: ast.Call, who: str = "") -> Iterator[tuple[str, bool]]:
    """Yield a sentence for each argument that a function does not take, and whether the call is an error.

    Sentences call it `who`, by default its name.
    """
    signature = _signature(called)
    if signature is None:
        return
    parameters = signature.parameters.values()
    who = who or getattr(called, "__name__", "the function")
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


def refused_values(
    called: Callable[..., Any], call: ast.Call, scope: Scope
) -> Iterator[tuple[ast.expr, str]]:
    """Yield the values that an operator's parameters, or a function's ``dtype``, do not take, with a sentence each."""
    operator = _operator(called)
    parameters = {"dtype": _DTYPE} if operator is None else operator.signature.parameters
    for name, given in given_arguments(called, call).items():
        followed = scope.expression(given)
        try:
            value = ast.literal_eval(followed if isinstance(followed, ast.Constant) else given)
        except ValueError:  # only known when the program runs
            continue
        if name not in parameters or value is None:
            continue
        try:
            parameters[name].parse(value)
        except MXNetError as error:
            words = [word for word in get_args(parameters[name].annotation) if isinstance(word, str)]
            yield given, f"{error}{near_names(str(value), words).removesuffix('.')}"


def differing_values(called: Callable[..., Any], call: ast.Call, rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows of a table of differences that a call is a case of."""
    for row in rows:
        if look_up(f"mxnet.{row.path}") is getattr(called, "__func__", called) and _applies(
            called, call, row
        ):
            yield row


def _applies(called: Callable[..., Any], call: ast.Call, row: Row) -> bool:
    given = given_arguments(called, call)
    return all(name in given and _is_one_of(given[name], values) for name, values in row.when.items())


def _is_one_of(given: ast.expr, values: Collection[object] | Callable[[Any], bool]) -> bool:
    if not callable(values) and not values:
        return True
    try:
        value = ast.literal_eval(given)
    except ValueError:  # only known when the program runs
        return False
    return values(value) if callable(values) else value in values


def given_arguments(called: Callable[..., Any], call: ast.Call) -> dict[str, ast.expr]:
    """Return what a call gives for the arguments of a function, by name or by position."""
    given = {one.arg: one.value for one in call.keywords if one.arg is not None}
    signature = _signature(called)
    if signature is not None and not any(isinstance(one, ast.Starred) for one in call.args):
        by_position = (name for name, one in signature.parameters.items() if one.kind is not one.KEYWORD_ONLY)
        given = {**dict(zip(by_position, call.args, strict=False)), **given}
    return given
