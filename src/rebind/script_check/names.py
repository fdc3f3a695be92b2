"""What a dotted path of a program is: an object of rebind, of NumPy or of Python; or why it is none."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import warnings
from dataclasses import dataclass
from types import FunctionType, MethodType, ModuleType
from typing import Any

from .. import absent, compat
from ..errors import MXNetError, near_names
from .older_numpy import GONE as GONE_FROM_NUMPY
from .older_python import GONE as GONE_FROM_PYTHON

__all__ = ["UNKNOWN", "Missing", "look_up", "method_of"]


@dataclass(frozen=True)
class Missing:
    """Why a path leads nowhere: the kind of the finding, and a sentence."""

    kind: str
    message: str


#: A path that is not known to lead anywhere, or nowhere.
UNKNOWN = object()


def look_up(path: str) -> Any:
    """Return what a path leads to, a `Missing`, or `UNKNOWN`.

    >>> look_up("mxnet.nd.ones").__name__
    'ones'
    >>> look_up("mxnet.np").kind, look_up("builtins.xrange").kind
    ('absent', 'python2')
    """
    first, _, rest = path.partition(".")
    if first in ("mxnet", "rebind"):
        return _in_package(first, rest.split(".") if rest else [])
    if first == "numpy":
        return _in_numpy(rest.split(".") if rest else [])
    end = len(path)
    while end > 0:
        if path[:end] in GONE_FROM_PYTHON:
            return Missing(
                "python2", f"Python 3 has no {_short(path[:end])}; {GONE_FROM_PYTHON[path[:end]]}."
            )
        end = path.rfind(".", 0, end)
    return UNKNOWN


def method_of(made_by: str, name: str) -> Any:
    """Return a method of what a class makes, without its first argument; a `Missing`, or `UNKNOWN`.

    >>> method_of("mxnet.mod.Module", "fit").__name__
    'fit'
    >>> method_of("mxnet.mod.Module", "init_param").message
    "Module has no method 'init_param'; did you mean 'init_params' ..."
    """
    owner = look_up(made_by)
    if not isinstance(owner, type) or made_by.partition(".")[0] not in ("mxnet", "rebind"):
        return UNKNOWN
    found = inspect.getattr_static(owner, name, UNKNOWN)
    if isinstance(found, FunctionType):
        return MethodType(found, owner)
    if isinstance(found, (classmethod, staticmethod)):
        return getattr(owner, name)
    near = near_names(name, [other for other in dir(owner) if not other.startswith("_")])
    if found is UNKNOWN and near != "." and not hasattr(owner, "__getattr__"):
        return Missing("mistake", f"{owner.__name__} has no method {name!r}{near}")
    return UNKNOWN  # an attribute of the object, if anything


def _short(path: str) -> str:
    return path.removeprefix("builtins.")


def _in_package(package: str, names: list[str]) -> Any:
    found: Any = compat.module_at("") if package == "mxnet" else sys.modules["rebind"]
    for position, name in enumerate(names):
        if not isinstance(found, ModuleType) and not isinstance(found, type):
            return UNKNOWN  # an attribute of an object, which may be set as it is made
        below = found
        try:
            found = getattr(below, name)
        except (MXNetError, AttributeError) as error:
            if isinstance(below, type):
                reason = absent.absence(below)
                return Missing("absent", reason) if reason else UNKNOWN
            whole = ".".join(names[: position + 1])
            if package == "rebind" and _is_module(f"rebind.{whole}"):
                try:
                    found = importlib.import_module(f"rebind.{whole}")
                except MXNetError as absence:
                    return Missing("absent", str(absence))
                continue
            return _missing(
                f"{package}.{'.'.join(names[:position])}".removesuffix("."), whole, name, below, error
            )
    return found


def _missing(module: str, whole: str, name: str, below: ModuleType, error: Exception) -> Missing:
    reason = compat.absence_of(whole)
    if reason is None and isinstance(error, MXNetError) and "is not part of rebind" in str(error):
        reason = str(error)
    if reason is not None:
        return Missing("absent", reason)
    hint = (
        "."
        if name.startswith("_")
        else near_names(name, [other for other in dir(below) if not other.startswith("_")])
    )
    if name.startswith("_"):  # of the private names of MXNet's a few are left out
        return Missing("absent", f"{module} has no {name!r} here{hint}")
    if module.startswith("rebind"):
        return Missing("mistake", f"{module} has no {name!r}{hint}")
    return Missing("mistake", f"{module} has no {name!r}, neither here nor in MXNet 1.9.1{hint}")


def _in_numpy(names: list[str]) -> Any:
    import numpy

    found: Any = numpy
    for position, name in enumerate(names):
        if not isinstance(found, ModuleType):
            return UNKNOWN
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that are to go
            try:
                found = getattr(found, name)
            except AttributeError:
                path = ".".join(names[: position + 1])
                if _is_module(f"numpy.{path}"):
                    found = importlib.import_module(f"numpy.{path}")
                    continue
                mend = GONE_FROM_NUMPY.get(path)
                hint = f"; write {mend}." if mend else near_names(name, dir(found))
                return Missing("numpy", f"NumPy {numpy.__version__} has no np.{path}{hint}")
    return found


def _is_module(path: str) -> bool:
    try:
        return importlib.util.find_spec(path) is not None
    except ModuleNotFoundError:
        return False
