"""Modules: networks with parameters that are trained. `mx.mod`."""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

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

if not TYPE_CHECKING:  # a type checker is to find what is not there

    def __getattr__(name: str) -> ModuleType:
        """Return `executor_group`, which is there for old programs only, when it is first used."""
        if name != "executor_group":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return importlib.import_module(f"{__name__}.executor_group")
