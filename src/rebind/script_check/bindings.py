"""What the names of a program stand for, as dotted paths: ``nd`` is ``mxnet.nd`` after ``from mxnet import nd``."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from typing import TypeAlias

__all__ = ["Scope", "calls_with_text"]

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda"

#: A binding: an expression, the path of an import, or None for what is not known.
Binding: TypeAlias = "ast.expr | str | None"

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class Scope:
    """The names that a module, a class or a function binds.

    >>> scope = Scope(ast.parse("import mxnet as mx; conv = mx.sym.Convolution"))
    >>> scope.path(ast.parse("conv", mode="eval").body)
    'mxnet.sym.Convolution'
    """

    def __init__(self, node: ast.AST, parent: Scope | None = None) -> None:
        self.parent = parent
        self.is_class = isinstance(node, ast.ClassDef)
        self.imports_all = False
        self._bindings: dict[str, list[Binding]] = {}
        self._outer: set[str] = set()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            for argument in _arguments(node.args):
                self._bind(argument.arg, None)
        body = node.body if isinstance(node, (ast.Module, *_SCOPES)) else node
        for statement in body if isinstance(body, list) else [body]:
            self._collect(statement)
        for name in self._outer:  # `global x`: what is assigned here is a binding of the module's
            root = self._root()
            if name in self._bindings and root is not self:
                self._bindings.pop(name)
                root._bind(name, None)

    def path(self, node: ast.expr, busy: frozenset[tuple[int, str]] = frozenset()) -> str | None:
        """Return the dotted path of an expression; None for what is not known."""
        if isinstance(node, ast.Name):
            return self._name(node.id, busy)
        if isinstance(node, ast.Attribute):
            return _joined(self.path(node.value, busy), node.attr)
        if isinstance(node, ast.Call):
            text = calls_with_text(node)
            called = self.path(node.func, busy)
            if text is not None and called in ("importlib.import_module", "builtins.__import__"):
                return text
            if (
                called == "builtins.getattr"
                and len(node.args) == 2
                and isinstance(node.args[1], ast.Constant)
            ):
                return _joined(self.path(node.args[0], busy), str(node.args[1].value))
        return None

    def is_array(self, node: ast.expr, busy: frozenset[tuple[int, str]] = frozenset()) -> bool:
        """Return whether an expression is known to be an array that a function of `mxnet.nd` made.

        >>> scope = Scope(ast.parse("import mxnet as mx; x = mx.nd.ones((1,)); y = x.sum()"))
        >>> scope.is_array(ast.parse("y[0]", mode="eval").body)
        True
        """
        if isinstance(node, ast.Name):
            owner = self._owner(node.id)
            key = (id(owner), node.id)
            if owner is None or key in busy:
                return False
            bindings = owner._bindings[node.id]
            return all(isinstance(one, ast.expr) and owner.is_array(one, busy | {key}) for one in bindings)
        if isinstance(node, ast.Subscript):
            return self.is_array(node.value, busy)
        if not isinstance(node, ast.Call):
            return False
        path = self.path(node.func)
        if path is not None:
            return path.startswith(("mxnet.nd.", "mxnet.ndarray."))
        return (
            isinstance(node.func, ast.Attribute)
            and node.func.attr not in ("asnumpy", "asscalar", "asscipy")
            and self.is_array(node.func.value, busy)
        )

    def made_by(self, node: ast.expr, busy: frozenset[tuple[int, str]] = frozenset()) -> str | None:
        """Return the path of the class or the function that made an object; None for what is not known.

        >>> scope = Scope(ast.parse("import mxnet as mx; net = mx.mod.Module(symbol)"))
        >>> scope.made_by(ast.parse("net", mode="eval").body)
        'mxnet.mod.Module'
        """
        if isinstance(node, ast.Call):
            return self.path(node.func)
        only = self._only_binding(node, busy)
        return None if only is None else only[0].made_by(only[1], only[2])

    def expression(self, node: ast.expr, busy: frozenset[tuple[int, str]] = frozenset()) -> ast.expr:
        """Return the one expression that a name is bound to; any other expression as it is.

        >>> scope = Scope(ast.parse("kind = 'sgd'"))
        >>> scope.expression(ast.parse("kind", mode="eval").body).value
        'sgd'
        """
        only = self._only_binding(node, busy)
        return node if only is None else only[0].expression(only[1], only[2])

    def begin_of_text(self, node: ast.expr, busy: frozenset[tuple[int, str]] = frozenset()) -> str | None:
        """Return a text, or that which a joined text begins with; None for what is not known.

        >>> scope = Scope(ast.parse("folder = 's3://bucket'"))
        >>> scope.begin_of_text(ast.parse("folder + name", mode="eval").body)
        's3://bucket'
        """
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if (only := self._only_binding(node, busy)) is not None:
            return only[0].begin_of_text(only[1], only[2])
        if isinstance(node, ast.JoinedStr):
            return self.begin_of_text(node.values[0], busy) if node.values else None
        if isinstance(node, ast.FormattedValue):
            return self.begin_of_text(node.value, busy)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
            return self.begin_of_text(node.left, busy)
        return None

    def _name(self, name: str, busy: frozenset[tuple[int, str]]) -> str | None:
        owner = self._owner(name)
        if owner is None:
            return None if self._root().imports_all and not hasattr(builtins, name) else f"builtins.{name}"
        key = (id(owner), name)
        if key in busy:
            return None
        bindings = [one for one in owner._bindings[name] if not _is_none(one)]
        paths = {
            one if isinstance(one, str) or one is None else owner.path(one, busy | {key}) for one in bindings
        }
        return paths.pop() if len(paths) == 1 else None

    def _only_binding(
        self, node: ast.expr, busy: frozenset[tuple[int, str]]
    ) -> tuple[Scope, ast.expr, frozenset[tuple[int, str]]] | None:
        """Return the one expression that a name is bound to, with its scope; and the names that are being followed."""
        owner = self._owner(node.id) if isinstance(node, ast.Name) else None
        if owner is None or not isinstance(node, ast.Name):
            return None
        key, bindings = (id(owner), node.id), owner._bindings[node.id]
        if key in busy or len(bindings) != 1 or not isinstance(bindings[0], ast.expr):
            return None
        return owner, bindings[0], busy | {key}

    def _owner(self, name: str) -> Scope | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope._bindings and (scope is self or not scope.is_class):
                return scope
            scope = scope.parent
        return None

    def _root(self) -> Scope:
        return self if self.parent is None else self.parent._root()

    def _bind(self, name: str, binding: Binding) -> None:
        self._bindings.setdefault(name, []).append(binding)

    def _collect(self, node: ast.AST) -> None:
        """Add the names that a statement binds, those in blocks below it included, but not those of other scopes."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._bind(node.name, None)
            return
        if isinstance(node, ast.Lambda):
            return
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            self._outer.update(node.names)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._import(node)
        elif isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets):
            for target in node.targets:
                self._bind(target.id, node.value)  # type: ignore[attr-defined]
            self._collect(node.value)
            return
        elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            self._bind(node.id, None)
        elif (isinstance(node, ast.ExceptHandler) and node.name) or (
            isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name
        ):
            self._bind(node.name, None)
        for child in ast.iter_child_nodes(node):
            self._collect(child)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self.imports_all = True
            elif isinstance(node, ast.ImportFrom):
                path = f"{node.module}.{alias.name}" if node.module and not node.level else None
                self._bind(alias.asname or alias.name, path)
            elif alias.asname:
                self._bind(alias.asname, alias.name)
            else:
                first = alias.name.partition(".")[0]
                self._bind(first, first)


def calls_with_text(node: ast.Call) -> str | None:
    """Return the first argument of a call if it is a text."""
    if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
        return node.args[0].value
    return None


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    several: Sequence[ast.arg] = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from several
    yield from filter(None, (arguments.vararg, arguments.kwarg))


def _is_none(binding: Binding) -> bool:
    return isinstance(binding, ast.Constant) and binding.value is None


def _joined(path: str | None, name: str) -> str | None:
    return None if path is None else f"{path}.{name}"
