"""Modules for old programs: they exist for MXNet's paths and names only, and nothing else in rebind imports them.

`rebind.base`, `rebind.context`, ... and `mxnet.base`, `mxnet.context`, ... are these modules; `compat.TABLE` has a row
for each. What rebind itself needs is elsewhere: `errors`, `device`, `executor`, ...
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from ..errors import AbsentModuleError

__all__ = ["OldPaths"]


class OldPaths(MetaPathFinder, Loader):
    """Imports ``rebind.base`` and the like, by MXNet's paths, as the modules of this package.

    Both paths give the same module, so that its classes are the same, and pickles with either path load. This finder is
    the last one: it is asked for what no other finds.

    Examples
    --------
    >>> import rebind.engine
    >>> from rebind.legacy import engine
    >>> rebind.engine is engine
    True
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for a module of this package by its old path; None for every other module.

        >>> OldPaths().find_spec("rebind.base").origin
        'rebind.legacy.base'
        """
        package, _, below = fullname.partition(".")
        if package != "rebind":
            return None
        # By name, since `compat` is large and above this module: a program that uses no old path does not load it.
        compat = importlib.import_module("rebind.compat")
        found = compat.legacy_module(below)
        if found is not None:
            return ModuleSpec(fullname, self, origin=f"rebind.{found}")
        return None if compat.absence_of(below) is None else ModuleSpec(fullname, self, origin="absent")

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Raise the error that says what to use instead of a module that rebind does not have."""
        if spec.origin == "absent":
            raise AbsentModuleError(
                importlib.import_module("rebind.compat").absence_of(spec.name.partition(".")[2])
            )
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Replace the new module in `sys.modules`, which the import system allows a loader to do."""
        assert module.__spec__ is not None and module.__spec__.origin is not None
        # The very module of the new path: its state exists once.
        sys.modules[module.__name__] = importlib.import_module(module.__spec__.origin)

    def install(self) -> None:
        """Append this finder to those of the import system, once."""
        if not any(isinstance(finder, OldPaths) for finder in sys.meta_path):
            sys.meta_path.append(self)
