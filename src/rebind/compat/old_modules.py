"""MXNet's modules by their old paths: each looks its names up in rebind when they are first used."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from types import ModuleType
from typing import Any, NoReturn

from ..absent import AbsentClass, absent_class, absent_function
from ..errors import AbsentModuleError, AbsentNameError, near_names
from ..legacy.libinfo import MXNET_VERSION
from .inert import MODULES, STANDS_FOR
from .reexports import REEXPORTS
from .table import SHARED, TABLE, Absent, Later, Row, legacy_module

__all__ = ["OldModule", "absence_of", "attribute", "attribute_below", "is_known", "module_at", "names_at_top"]


class OldModule(ModuleType):
    """A module of MXNet's by its old path. Names are looked up in rebind's modules when they are first used.

    Parameters
    ----------
    path
        MXNet's path, below ``mxnet``.
    sources
        What has its names, searched in this order: modules, and namespaces such as `ndarray.linalg`.

    Examples
    --------
    >>> import rebind as mx
    >>> module_at("io.io").NDArrayIter is mx.io.NDArrayIter
    True
    """

    def __init__(self, path: str, sources: Sequence[object]) -> None:
        super().__init__(_full(path), f"MXNet's module `{_full(path)}`, as rebind has it.")
        self._path = path
        self._sources = tuple(sources)
        self.__path__: list[str] = []  # empty: submodules come from the finder alone
        if not path:
            self.__version__ = MXNET_VERSION
            self.__file__ = sys.modules["rebind"].__file__

    def __getattr__(self, name: str) -> Any:
        # For ``from mxnet.x import *``: what the sources have, not what was looked up so far.
        if name == "__all__":
            return [other for other in dir(self) if not other.startswith("_")]
        value = self._find(name)
        self.__dict__[name] = value  # `__getattr__` is not called for it again
        return value

    def _find(self, name: str) -> Any:
        found = self.find(name)
        if found is not None:
            return found
        # Python and tools look for many private names (`__wrapped__`, `_repr_html_`): no search for near ones there.
        hint = "." if name.startswith("_") else near_names(name, dir(self))
        raise AbsentNameError(f"{self.__name__}: rebind has no {name!r} there{hint}")

    def find(self, name: str, dealiased_from: ModuleType | None = None) -> Any:
        """Return what MXNet's module has by a name; None for what is not known. One of the sources may be left out."""
        path = f"{self._path}.{name}".lstrip(".")
        # Before the sources: `mx.nd.random` is a module with a row of its own, not the attribute of `rebind.ndarray`.
        if path in TABLE or path in MODULES:
            try:
                return module_at(path)
            except AbsentModuleError as error:
                raise AbsentNameError(str(error)) from None
        for source in self._sources:
            if source is not dealiased_from and hasattr(source, name):
                return getattr(source, name)
        # Below the top only: what modules import from one another is not an attribute of `mxnet` itself.
        shared = SHARED.get(path) or (SHARED.get(name) if self._path else None)
        if shared is not None:
            return _resolve(shared)
        if path in REEXPORTS:
            return _imported(*REEXPORTS[path].split(":"))
        if path in STANDS_FOR or name in STANDS_FOR:
            return _by_name(path, name)
        return None

    @property
    def only_source(self) -> ModuleType | None:
        """The module of rebind that has all names, if it is a single one.

        >>> module_at("context").only_source.__name__
        'rebind.legacy.context'
        """
        first, *others = self._sources
        return first if isinstance(first, ModuleType) and not others else None

    def __dir__(self) -> list[str]:
        names = (
            {name for source in self._sources for name in dir(source)}
            | set(vars(self))
            | set(_children(self._path))
            | set(MODULES.get(self._path, "").split())
        )
        return sorted(names)


_modules: dict[str, OldModule] = {}
_absent: dict[str, type[AbsentClass] | Callable[..., NoReturn]] = {}


def _by_name(path: str, name: str) -> type[AbsentClass] | Callable[..., NoReturn]:
    """Return what stands for a name of MXNet's that rebind does not have: one object under all paths."""
    key = path if path in STANDS_FOR else name
    if key not in _absent:
        make = absent_class if name[:1].isupper() else absent_function
        _absent[key] = make(f"mxnet.{path}", STANDS_FOR[key])
    return _absent[key]


def module_at(path: str) -> OldModule:
    """Return the module of MXNet's `path` below ``mxnet``, the same one for all paths that mean it.

    Raises
    ------
    AbsentModuleError
        If rebind does not have it, or not yet; the message says what to use instead.

    Examples
    --------
    >>> module_at("mod") is module_at("module")
    True
    """
    path, row = _row(path)
    if path not in _modules:
        _modules[path] = OldModule(path, _sources(path, row))
    return _modules[path]


def attribute(name: str) -> Any:
    """Return ``rebind.name`` for a name that the package itself lacks: a module that is imported on first use.

    So ``import rebind as mx`` gives `mx.engine`, `mx.base`, `mx.img` and the like too.

    >>> attribute("rnd").__name__, attribute("engine").__name__
    ('rebind.random', 'rebind.legacy.engine')
    """
    if legacy_module(name) is not None:
        return importlib.import_module(f"rebind.{name}")
    if name not in TABLE:
        if SHARED.get(name, "").startswith("legacy.util:"):  # MXNet has the switches of `util` at the top too
            return _resolve(SHARED[name])
        known = dir(sys.modules["rebind"])
        raise AttributeError(f"module 'rebind' has no attribute {name!r}{near_names(name, known)}")
    return _present(name)


def _present(path: str) -> ModuleType:
    """Return the module of a path for an attribute of rebind: one that has no names but those to import is absent."""
    if (absence := absence_of(path)) is not None:
        raise AbsentNameError(absence)
    module = module_at(path)
    return module.only_source or module


def absence_of(path: str) -> str | None:
    """Return why rebind has no module or name of MXNet's `path`, and what to use instead; None for any other path.

    >>> absence_of("rtc").split(".")[1]
    'rtc is not part of rebind'
    >>> absence_of("io") is None, absence_of("no.such") is None
    (True, True)
    """
    if not is_known(path):
        instead = STANDS_FOR.get(path) or STANDS_FOR.get(path.rpartition(".")[2])
        return instead and f"mx.{path} is not part of rebind. {instead.removesuffix('.')}."
    path, row = _row(path)
    if isinstance(row, Absent):
        return f"{_full(path)} is not part of rebind. {row.instead}"
    if isinstance(row, Later) and not _exists(row.module):
        return f"{_full(path)} is not part of rebind yet. {row.instead}"
    return None


def _exists(module: str) -> bool:
    """Return whether rebind has a module of this name now."""
    return (
        importlib.machinery.PathFinder.find_spec(f"rebind.{module}", sys.modules["rebind"].__path__)
        is not None
    )


def attribute_below(module: str, name: str) -> Any:
    """Return an attribute that a module of rebind lacks, and MXNet's of its path has: a helper, a module.

    Raises
    ------
    AbsentNameError
        For what rebind does not have; the message says what to use instead.

    Examples
    --------
    >>> attribute_below("rebind.io", "io").NDArrayIter.__name__
    'NDArrayIter'
    >>> attribute_below("rebind.io", "MXDataIter")
    Traceback (most recent call last):
    rebind.errors.AbsentNameError: mx.io.MXDataIter is not part of rebind. mx.io.NDArrayIter takes arrays, ...
    """
    path = module.partition(".")[2].removeprefix("legacy.")
    whole = f"{path}.{name}"
    if is_known(whole):
        return _present(whole)
    if (
        path in TABLE
        and (found := module_at(path).find(name, dealiased_from=sys.modules[module])) is not None
    ):
        if (absence := absence_of(whole)) is not None:
            raise AbsentNameError(absence)
        return found
    hint = "." if name.startswith("_") else near_names(name, dir(sys.modules[module]))
    raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}")


def names_at_top() -> list[str]:
    """Return the names of modules and functions that ``mx.name`` finds by `attribute`.

    >>> "engine" in names_at_top(), "np_shape" in names_at_top(), "nothing" in names_at_top()
    (True, True, False)
    """
    switches = [name for name, where in SHARED.items() if where.startswith("legacy.util:")]
    return [name for name in (*_children(""), *switches) if not name.startswith("_")]


def _full(path: str) -> str:
    return f"mxnet.{path}" if path else "mxnet"


def _canonical(path: str) -> str:
    """Return the path with aliases resolved: ``nd.contrib`` is ``ndarray.contrib``."""
    whole = ""
    for part in path.split("."):
        whole = f"{whole}.{part}".lstrip(".")
        row = TABLE.get(whole)
        # An alias may stand for another one.
        while isinstance(row, str):
            whole, row = row, TABLE[row]
    return whole


def _row(path: str) -> tuple[str, Row]:
    """Return the canonical path and its row; a path below one that is absent has that one's row."""
    path = _canonical(path)
    above = path
    while above not in TABLE:  # ends at the empty path, `mxnet` itself
        above = above.rpartition(".")[0]
    row = TABLE[above]
    if above != path and path not in MODULES and not isinstance(row, Absent):
        raise AbsentModuleError(f"mxnet has no module {path!r} that rebind knows of")
    return path, row


def is_known(path: str) -> bool:
    """Return whether a path of MXNet's has a module here, or an explanation of why there is none.

    >>> is_known("gluon.nn"), is_known("glue")
    (True, False)
    """
    path = _canonical(path)
    # Any path above it.
    return (
        path in TABLE
        or path in MODULES
        or any(isinstance(TABLE.get(path[:end]), Absent) for end, letter in enumerate(path) if letter == ".")
    )


def _children(path: str) -> Iterator[str]:
    """Yield the names of modules below a path, without those that are absent or still to come."""
    for other in TABLE:
        parent, _, name = other.rpartition(".")
        if parent != path or not name:
            continue
        row = TABLE[_canonical(other)]
        # A module that has been added since counts, without a change of the table.
        if isinstance(row, Later) and not _exists(row.module):
            continue
        if not isinstance(row, Absent):
            yield name


def _sources(path: str, row: Row) -> list[Any]:
    """Return the modules (or namespaces) that hold a path's names."""
    if path not in MODULES and (absence := absence_of(path)) is not None:
        raise AbsentModuleError(absence)
    wanted: Sequence[str] = row if isinstance(row, tuple) else ()
    if isinstance(row, Later) and _exists(row.module):
        wanted = [row.module]
    found = []
    for where in wanted:
        try:
            found.append(_resolve(where))
        except ModuleNotFoundError as error:
            # The module itself or a package above it is still to come.
            if not f"rebind.{where}.".startswith(f"{error.name}."):
                raise  # another package, which that module needs
    if not found and path not in MODULES:  # whose names are there, to be imported
        raise AbsentModuleError(f"{_full(path)} is not part of rebind yet.")
    return found


def _resolve(where: str) -> Any:
    """Return what a row of the table names: a module below rebind, or an attribute of one."""
    module, _, name = where.partition(":")
    # An empty module is the package itself.
    return _imported(f"rebind.{module}".rstrip("."), name)


def _imported(module: str, name: str) -> Any:
    """Return an attribute of a module, which is imported; the module itself for an empty name."""
    found = importlib.import_module(module)
    return attrgetter(name)(found) if name else found
