"""Modules: networks with parameters that are trained. `mx.mod`."""

import importlib as _importlib
import typing as _typing
from types import ModuleType as _ModuleType

from ..completion import listing as _listing
from .base_module import BaseModule, BatchEndParam
from .bucketing_module import BucketingModule
from .module import Module
from .python_module import PythonLossModule, PythonModule
from .sequential_module import SequentialModule

__all__ = [
    "BaseModule",
    "BatchEndParam",
    "BucketingModule",
    "Module",
    "PythonLossModule",
    "PythonModule",
    "SequentialModule",
]
__dir__ = _listing(globals())

if not _typing.TYPE_CHECKING:  # a type checker is to find what is not there

    def __getattr__(name: str) -> _ModuleType:
        """Return `executor_group`, which is there for old programs only, when it is first used."""
        if name != "executor_group":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return _importlib.import_module(f"{__name__}.executor_group")
