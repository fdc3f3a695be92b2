"""One walk through a program's tree: each name, call and import is asked what it is here."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from .. import absent
from ..config import why_without_effect
from . import files, older_python, values
from .bindings import Scope, calls_with_text
from .calls import differing_values, given_arguments, refused_values, wrong_arguments
from .choices import names_made_by, wrong_choices, wrong_settings
from .findings import Finding
from .names import UNKNOWN, Missing, look_up, method_of
from .older_numpy import REFUSES_ARRAYS_AS_NUMBERS
from .single_numbers import arrays_as_numbers

__all__ = ["Walk"]

#: Calls with an environment variable's name as their first argument.
_OF_ENVIRONMENT = (
    "os.environ.get", "os.environ.setdefault", "os.environ.pop", "os.getenv", "os.putenv", "os.unsetenv",
)  # fmt: skip

#: A `try` that catches one of these tries out what is there.
_TRIES = frozenset(
    {"ImportError", "ModuleNotFoundError", "AttributeError", "NameError", "Exception", "BaseException"}
)

#: With one of these in a program its arrays may have no axes; others have one at least, as MXNet's.
_ALLOW_NO_AXES = frozenset(
    {"np_shape", "set_np", "set_np_shape", "use_np", "use_np_shape", "np_array", "use_np_array"}
)


class Walk(ast.NodeVisitor):
    """What is found in a program.

    Parameters
    ----------
    file
        What findings call the file.
    tree
        The program.
    of_python2
        Whether Python 2's syntax was in it, so that its numbers were divided as Python 2 does.
    """

    def __init__(self, file: str, tree: ast.Module, of_python2: bool) -> None:
        self._file, self._tree, self._of_python2 = file, tree, of_python2
        self._scope = Scope(tree)
        self._findings: set[Finding] = set()
        self._tried = False
        self._defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        names = {getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(tree)}
        self._has_axes = names.isdisjoint(_ALLOW_NO_AXES)
        self._made = names_made_by(tree)
        self._called = {
            node.func.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }

    def findings(self) -> set[Finding]:
        """Return them, after the walk."""
        self.visit(self._tree)
        return self._findings

    def _add(self, node: ast.AST, kind: str, message: str, stops: bool = True) -> None:
        last = isinstance(node, ast.Attribute)  # of a chain over several lines, the line with the name
        line: int = getattr(node, "end_lineno" if last else "lineno", None) or 1
        self._findings.add(Finding(self._file, line, kind, message.rstrip("."), stops))

    # Scopes

    def _visit_scope(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef) -> None:
        """Visit what is evaluated outside (decorators, defaults, bases) there, and the body in its own scope."""
        body = node.body if isinstance(node.body, list) else [node.body]
        inside = set(map(id, body))
        for child in ast.iter_child_nodes(node):
            if id(child) not in inside:
                self.visit(child)
        outer, self._scope = self._scope, Scope(node, self._scope)
        for child in body:
            self.visit(child)
        self._scope = outer

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_scope

    def visit_ClassDef(self, node: ast.ClassDef) -> None:  # noqa: D102
        for base in node.bases:
            path = self._scope.path(base)
            reason = absent.absence(look_up(path)) if path else None
            if reason and not self._tried:
                self._add(
                    base, "absent", f"{reason} {node.name} cannot be made", stops=node.name in self._called
                )
        self._visit_scope(node)

    # What is tried out first, or never runs here

    def visit_Try(self, node: ast.Try) -> None:  # noqa: D102
        tries = any(_tries_out(handler.type) for handler in node.handlers)
        self._visit_all(node.body, tried=tries)
        for handler in node.handlers:
            self._visit_all(handler.body, tried=_tries_out(handler.type))
        self._visit_all([*node.orelse, *node.finalbody])

    def visit_If(self, node: ast.If) -> None:  # noqa: D102
        self.visit(node.test)
        test = ast.unparse(node.test)
        asks = "hasattr(" in test or "version" in test or "PY2" in test or "PY3" in test
        self._visit_all([*node.body, *node.orelse], tried=asks)

    def _visit_all(self, nodes: Iterable[ast.AST], tried: bool = False) -> None:
        before, self._tried = self._tried, self._tried or tried
        for node in nodes:
            self.visit(node)
        self._tried = before

    # Names

    def visit_Import(self, node: ast.Import) -> None:  # noqa: D102
        for alias in node.names:
            self._import(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:  # noqa: D102
        if node.module and not node.level and not self._import(node, node.module):
            for alias in node.names:
                if alias.name != "*":
                    self._import(node, f"{node.module}.{alias.name}")

    def _import(self, node: ast.AST, path: str) -> bool:
        found = look_up(path)
        if isinstance(found, Missing) and not self._tried:
            self._add(node, found.kind, found.message)
        return isinstance(found, Missing)

    def visit_Name(self, node: ast.Name) -> None:  # noqa: D102
        path = self._scope.path(node)
        if path and path.startswith("builtins."):
            self._look_up(node, path)

    def visit_Attribute(self, node: ast.Attribute) -> None:  # noqa: D102
        path = self._scope.path(node)
        if path is None:
            self.generic_visit(node)
            return
        below = self._scope.path(_first(node))
        if below is None or not isinstance(look_up(below), Missing) or below.startswith("builtins."):
            self._look_up(node, path)  # else it is reported where the first name is imported

    def _look_up(self, node: ast.AST, path: str) -> object:
        found = look_up(path)
        if isinstance(found, Missing):
            if not self._tried:
                self._add(node, found.kind, found.message)
            return UNKNOWN
        return found

    # Calls and values

    def visit_Call(self, node: ast.Call) -> None:  # noqa: D102
        path = self._scope.path(node.func)
        whole = self._scope.path(node)  # of getattr(mx.nd, "ones")
        if whole is not None:
            self._look_up(node, whole)
        if path is not None:
            self._check_call(node, path)
        elif isinstance(node.func, ast.Attribute):
            self._check_method(node, node.func)
        self._check_dict(node)
        self._check_number(node, path)
        self.generic_visit(node)

    def _check_call(self, node: ast.Call, path: str) -> None:
        if path in _OF_ENVIRONMENT:
            self._check_variable(node, calls_with_text(node))
        self._check_pickle(node, path)
        called = look_up(path)
        if (
            path.partition(".")[0] not in ("mxnet", "rebind")
            or isinstance(called, Missing)
            or not callable(called)
        ):
            return
        reason = absent.absence(called)
        if reason:
            if not self._tried:
                self._add(node, "absent", reason)
            return
        self._check_arguments(node, path, called)

    def _check_method(self, node: ast.Call, method: ast.Attribute) -> None:
        """Report calls of methods of objects that a class of MXNet's made."""
        owner = self._scope.made_by(method.value)
        called = UNKNOWN if owner is None else method_of(owner, method.attr)
        if isinstance(called, Missing):
            if not self._tried:
                self._add(method, called.kind, called.message)
        elif owner is not None and callable(called):
            self._check_arguments(node, f"{owner}.{method.attr}", called)

    def _check_arguments(self, node: ast.Call, path: str, called: Callable[..., Any]) -> None:
        for message, stops in wrong_arguments(called, node):
            self._add(node, "keyword", message, stops)
        for kind, rows in (("value", values.ROWS), ("file", files.ROWS)) if path.startswith("mxnet.") else ():
            for row in differing_values(called, node, rows):
                self._add(node, kind, f"{path.removeprefix('mxnet.')}: {row.sentence}", row.stops)
        self._check_choices(node, path, called)
        self._check_paths(given_arguments(called, node))

    def _check_choices(self, node: ast.Call, path: str, called: Callable[..., Any]) -> None:
        """Report names that nothing has, and values that an operator does not take."""
        if self._tried:
            return
        where = path.partition(".")[2]
        for wrong in wrong_choices(called, node, self._scope, self._made):
            sentence = f"{where}: {wrong.sentence}" if wrong.kind == "choice" else wrong.sentence
            self._add(wrong.node, wrong.kind, sentence, wrong.stops)
        for wrong in wrong_settings(called, node):
            self._add(wrong.node, wrong.kind, wrong.sentence, wrong.stops)
        for value, sentence in refused_values(called, node, self._scope):
            self._add(value, "choice", f"{where}: {sentence}")

    def _check_paths(self, given: Mapping[str, ast.expr]) -> None:
        """Report arguments that are no paths of this machine's disks."""
        for name, value in given.items() if not self._tried else ():
            text = self._scope.begin_of_text(value)
            for row in files.TEXTS:
                if name in row.arguments and text is not None and row.pattern.match(text):
                    self._add(value, "file", f"{name}={text!r}: {row.sentence}")

    def _check_dict(self, node: ast.Call) -> None:
        """Report methods of a dict that are gone; classes of the program's own may have them."""
        name = _method(node)
        if name not in older_python.METHODS or name in self._defined or self._tried:
            return
        if self._scope.path(node.func) is None:
            self._add(node.func, "python2", f"a dict has no {name}; {older_python.METHODS[name]}")

    def _check_pickle(self, node: ast.Call, path: str) -> None:
        """Report ``pickle.load(open(name))``: files of bytes are opened as such."""
        name = {"pickle.load": 0, "pickle.dump": 1, "cPickle.load": 0, "cPickle.dump": 1}.get(path)
        if name is None or name >= len(node.args) or not isinstance(opened := node.args[name], ast.Call):
            return
        if self._scope.path(opened.func) == "builtins.open" and not opened.keywords:
            mode = opened.args[1] if len(opened.args) > 1 else ast.Constant("r")
            if isinstance(mode, ast.Constant) and isinstance(mode.value, str) and "b" not in mode.value:
                self._add(
                    node, "python2", f"pickle reads and writes bytes: open the file with '{mode.value}b'"
                )

    def visit_Subscript(self, node: ast.Subscript) -> None:  # noqa: D102
        if self._scope.path(node.value) == "os.environ" and isinstance(node.slice, ast.Constant):
            self._check_variable(node, node.slice.value)
        called = node.value
        if isinstance(called, ast.Call) and isinstance(node.ctx, ast.Load):
            path = self._scope.path(called.func)
            if path in ("builtins.zip", "builtins.map", "builtins.filter"):
                name = path.removeprefix("builtins.")
                self._add(node, "python2", f"{name} gives no list: write list({name}(...))[...]")
            elif _is_view(called):
                self._add(
                    node,
                    "python2",
                    f"{_method(called)} gives no list: write list(x.{_method(called)}())[...]",
                )
        self.generic_visit(node)

    def _check_variable(self, node: ast.AST, name: object) -> None:
        if isinstance(name, str) and (reason := why_without_effect(name)):
            self._add(node, "environment", reason, stops=False)

    def _check_number(self, node: ast.AST, path: str | None) -> None:
        version = tuple(int(part) for part in np.__version__.split(".")[:2])
        refused = version >= REFUSES_ARRAYS_AS_NUMBERS
        for what, array in arrays_as_numbers(node, path) if "asnumpy" not in self._defined else ():
            self._add(
                node,
                "number",
                f"NumPy 2.4 and newer refuse {what}, unless the array has no axes; write x.asscalar()",
                refused and self._has_axes and self._scope.is_array(array),
            )

    def visit_BinOp(self, node: ast.BinOp) -> None:  # noqa: D102
        self._check_number(node, None)
        if (
            self._of_python2
            and isinstance(node.op, ast.Div)
            and self._is_int(node.left)
            and self._is_int(node.right)
        ):
            self._add(
                node,
                "python2",
                "/ of whole numbers gives a fraction; Python 2's / is //",
                stops=False,
            )
        self.generic_visit(node)

    def _is_int(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return type(node.value) is int
        if isinstance(node, ast.Call):
            return self._scope.path(node.func) in ("builtins.len", "builtins.int")
        return (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr == "shape"
        )


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _is_view(call: ast.Call) -> bool:
    """Whether a call is one of a dict's keys, values or items."""
    return _method(call) in ("keys", "values", "items") and not call.args and not call.keywords


def _first(node: ast.expr) -> ast.expr:
    """Return the name that a chain of attributes begins with."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _tries_out(kind: ast.expr | None) -> bool:
    """Whether a handler is for what is not there: ``except ImportError``, or for all errors."""
    if kind is None:
        return True
    names: Iterator[ast.AST] = ast.walk(kind)
    return any(isinstance(name, ast.Name) and name.id in _TRIES for name in names)
