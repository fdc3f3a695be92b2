"""Short programs for either package, and what MXNet 1.9.1 makes of them: where other people's programs stopped.

A group is a module here with `SNIPPETS`: by name, functions of the package that return arrays, numbers, texts, types,
or lists, tuples and dicts of them. What raises is recorded as such. A snippet whose result differs on purpose is not
here, but a test of its own, and a line of docs/differences.md. A group that MXNet runs with oneDNN only has `ONEDNN`.
"""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..golden import DATA

__all__ = ["GROUPS", "as_json", "environment_of", "outcome", "record_of", "snippets_of"]

Snippet = Callable[[Any], object]

GROUPS = sorted(found.name for found in pkgutil.iter_modules(__path__))


def snippets_of(group: str) -> dict[str, Snippet]:
    """Return the snippets of a group by name."""
    found: dict[str, Snippet] = importlib.import_module(f"{__name__}.{group}").SNIPPETS
    return found


def environment_of(group: str) -> dict[str, str]:
    """Return what a group is recorded with, besides what `oracle` sets."""
    needs = getattr(importlib.import_module(f"{__name__}.{group}"), "ONEDNN", False)
    return {"REBIND_ORACLE_ONEDNN": "1"} if needs else {}


def record_of(group: str) -> Path:
    """Return the file with what MXNet made of a group."""
    return DATA / "snippets" / f"{group}.json"


def outcome(snippet: Snippet, mx: Any) -> object:
    """Run a snippet; return what it returned, or that it raised, as JSON has it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return as_json(snippet(mx))
    except Exception as error:
        return {"raises": builtin_name(error), "text": str(error)}


def builtin_name(error: Exception) -> str:
    """Return the first class of an error that Python itself has; RuntimeError for MXNet's own."""
    return next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")


def as_json(value: Any) -> object:
    """Return what a snippet returned as JSON has it: arrays with their types, other things by their text."""
    if hasattr(value, "asnumpy"):
        return as_json(value.asnumpy())
    if isinstance(value, (np.ndarray, np.generic)):
        return {"array": value.tolist(), "dtype": str(value.dtype)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, range)):
        return [as_json(each) for each in value]
    if isinstance(value, dict):
        return {str(key): as_json(each) for key, each in sorted(value.items())}
    return getattr(value, "__name__", str(value))
