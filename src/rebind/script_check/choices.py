"""Arguments that are names (of an optimizer, a metric, a store, a network) or words of a few, and their settings."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..errors import near_names
from ..executor.arguments import GRAD_REQS
from ..initializer.base import initializers
from ..kvstore.base import stores
from ..metric.base import metrics
from ..models.catalogue import MODELS
from ..optimizer.base import optimizers
from ..profiler.settings import ProfilerSettings
from ..registry import Registry
from .bindings import Scope
from .calls import given_arguments, wrong_arguments
from .names import look_up

__all__ = ["ROWS", "SETTINGS", "Row", "Wrong", "names_made_by", "wrong_choices", "wrong_settings"]


@dataclass(frozen=True)
class Row:
    """An argument that is one of a few names.

    Parameters
    ----------
    path
        The function, below `mxnet`; other paths of the same function, and classes that inherit it, count too.
    argument
        Its argument: a name, or a list of names.
    known
        The registry that knows the names, or the words.
    settings
        The argument with settings for what is named, or ``**`` for the call's other keywords; '' for none.
    stops
        Whether another name is an error when the program runs; else a warning.
    """

    path: str
    argument: str
    known: Registry[Any] | tuple[str, ...]
    settings: str = ""
    stops: bool = True


@dataclass(frozen=True)
class Wrong:
    """An argument that is wrong, the kind of the finding, a sentence, and whether the program stops there."""

    node: ast.expr
    kind: str
    sentence: str
    stops: bool


_FIT, _FEED = "mod.BaseModule.fit", "model.FeedForward"
_HANDLES = ("pad", "discard", "roll_over")
_STATES = ("run", "stop")

ROWS: tuple[Row, ...] = (
    Row("optimizer.create", "name", optimizers, "**"),
    Row("optimizer.Optimizer.create_optimizer", "name", optimizers, "**"),
    Row(_FIT, "optimizer", optimizers, "optimizer_params"),
    Row("mod.BaseModule.init_optimizer", "optimizer", optimizers, "optimizer_params"),
    Row(_FEED, "optimizer", optimizers, "**"),
    Row(f"{_FEED}.create", "optimizer", optimizers),
    Row("metric.create", "metric", metrics, "**"),
    Row("metric.CompositeEvalMetric", "metrics", metrics),
    Row("metric.CompositeEvalMetric.add", "metric", metrics),
    *(
        Row(path, "eval_metric", metrics)
        for path in (_FIT, "mod.BaseModule.score", f"{_FEED}.fit", f"{_FEED}.create", f"{_FEED}.score")
    ),
    Row(_FIT, "validation_metric", metrics),
    Row("init.create", "initializer", initializers, "**"),
    *(
        Row(path, "initializer", initializers)
        for path in (
            _FIT,
            "mod.BaseModule.init_params",
            _FEED,
            f"{_FEED}.create",
            f"{_FEED}.fit",
            f"{_FEED}.init_model",
        )
    ),
    Row("init.FusedRNN", "init", initializers),
    Row("kvstore.create", "name", stores),
    *(  # one device needs no store, and warns
        Row(path, "kvstore", stores, stops=False)
        for path in (_FIT, "mod.BaseModule.init_optimizer", f"{_FEED}.fit", f"{_FEED}.create")
    ),
    Row("models.get", "name", MODELS, "**"),
    Row("mod.BaseModule.bind", "grad_req", GRAD_REQS),
    Row("autograd.mark_variables", "grad_reqs", GRAD_REQS),
    Row("io.NDArrayIter", "last_batch_handle", _HANDLES, stops=False),
    Row("image.ImageIter", "last_batch_handle", _HANDLES),
    Row("image.ImageDetIter", "last_batch_handle", _HANDLES),
    Row("profiler.set_state", "state", _STATES),
    Row("profiler.profiler_set_state", "state", _STATES),
    Row("profiler.profiler_set_config", "mode", ("symbolic", "imperative", "api", "memory", "all")),
    Row("profiler.dumps", "format", ("table", "json")),
    Row("profiler.dumps", "sort_by", ("total", "avg", "min", "max", "count")),
)

#: Functions whose keywords are the settings of a class; and what else they take.
SETTINGS: dict[str, tuple[type, tuple[str, ...]]] = {
    "profiler.set_config": (ProfilerSettings, ("profile_process",)),
}


def names_made_by(tree: ast.Module) -> frozenset[str] | None:
    r"""Return what a program may register, in lower case; None if modules that it imports may register more.

    >>> program = "@mx.optimizer.register\nclass MySGD(SGD): ...\nmx.init.alias('half')(Half)"
    >>> sorted(names_made_by(ast.parse(program)))
    ['half', 'mysgd']
    """
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not _registers_nothing(node):
            return None
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names.add(node.name.lower())
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if "register" in called or "alias" in called:
                texts = (one.value for one in node.args if isinstance(one, ast.Constant))
                names.update(text.lower() for text in texts if isinstance(text, str))
    return frozenset(names)


def _registers_nothing(node: ast.Import | ast.ImportFrom) -> bool:
    """Whether what is imported is MXNet, NumPy or Python's own."""
    paths = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    first = {path.partition(".")[0] for path in paths}
    ours = first <= {"mxnet", "rebind", "numpy", *sys.stdlib_module_names}
    return ours and not (isinstance(node, ast.ImportFrom) and node.level)


def wrong_choices(
    called: Callable[..., Any], call: ast.Call, scope: Scope, made: frozenset[str] | None
) -> Iterator[Wrong]:
    """Yield the names that a call gives and that nothing has, and settings that what is named does not take.

    Parameters
    ----------
    called, call
        The function, and its call.
    scope
        What the names of the program stand for.
    made
        What the program registers itself, see `names_made_by`.
    """
    for row in ROWS:
        if look_up(f"mxnet.{row.path}") is not getattr(called, "__func__", called):
            continue
        given = given_arguments(called, call)
        name = None
        for node, name in _texts(given.get(row.argument), scope):
            if name[:1] in "[{" or name in row.known or name.lower() in (made or ()):
                continue  # JSON, which holds a name with its settings; or a name
            near = near_names(name.lower(), row.known)
            by_others = made is None and isinstance(row.known, Registry)
            if by_others and near == ".":
                continue  # it is one of theirs
            yield Wrong(node, "choice", _sentence(row, name, near, by_others), row.stops and not by_others)
        if row.argument not in given and not _spreads(call):
            name = inspect.signature(called).parameters[row.argument].default
        if name is not None and row.settings and isinstance(row.known, Registry) and name in row.known:
            settings = _keywords(row, called, call) if row.settings == "**" else _pairs(given, row, scope)
            yield from _wrong_keywords(row.known[name], name, settings)


def wrong_settings(called: Callable[..., Any], call: ast.Call) -> Iterator[Wrong]:
    """Yield keywords that are no settings of the class that a function passes them to."""
    for path, (taker, others) in SETTINGS.items():
        if look_up(f"mxnet.{path}") is called:
            keywords = [one for one in call.keywords if one.arg not in others]
            yield from _wrong_keywords(taker, called.__name__, keywords)


def _sentence(row: Row, name: str, near: str, by_others: bool) -> str:
    if isinstance(row.known, Registry):
        unless = " (unless a module that the program imports registers it)" if by_others else ""
        return f"{row.argument}: no {row.known.kind} {name!r}{unless}{near}"
    return f"{row.argument} must be one of {', '.join(map(repr, row.known))}; got {name!r}{near}"


def _spreads(call: ast.Call) -> bool:
    """Whether a call has ``*`` or ``**``, which may give any argument."""
    return any(one.arg is None for one in call.keywords) or any(
        isinstance(one, ast.Starred) for one in call.args
    )


def _texts(given: ast.expr | None, scope: Scope) -> Iterator[tuple[ast.expr, str]]:
    """Yield the text that an argument is, or those in a list, with where each is."""
    value = None if given is None else scope.expression(given)
    for node in value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]:
        one = None if node is None else scope.expression(node)
        if node is not None and isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield (given if node is value and given is not None else node), one.value


#: A keyword of a call, or a pair of a dict.
Keywords: TypeAlias = "list[ast.keyword]"


def _keywords(row: Row, called: Callable[..., Any], call: ast.Call) -> Keywords:
    """Return the keywords of a call that are not the function's own."""
    own: Collection[str] = inspect.signature(called).parameters
    return [one for one in call.keywords if one.arg not in own]


def _pairs(given: dict[str, ast.expr], row: Row, scope: Scope) -> Keywords:
    """Return the settings in a dict, in pairs of a name and a value, or in a call of `dict`, as keywords."""
    node = scope.expression(given[row.settings]) if row.settings in given else None
    if isinstance(node, ast.Call) and scope.path(node.func) == "builtins.dict":
        return node.keywords
    pairs: list[tuple[ast.expr | None, ast.expr]] = []
    if isinstance(node, ast.Dict):
        pairs = list(zip(node.keys, node.values, strict=True))
    elif isinstance(node, (ast.List, ast.Tuple)):
        of_two = (one for one in node.elts if isinstance(one, (ast.List, ast.Tuple)) and len(one.elts) == 2)
        pairs = [(one.elts[0], one.elts[1]) for one in of_two]
    return [
        ast.copy_location(ast.keyword(key.value, value), key)
        for key, value in pairs
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    ]


def _wrong_keywords(taker: Callable[..., Any], name: str, keywords: Keywords) -> Iterator[Wrong]:
    for keyword in keywords:
        call = ast.Call(ast.Name(name), [], [keyword])
        for sentence, stops in wrong_arguments(taker, call, name):
            yield Wrong(keyword.value, "keyword", sentence, stops)
