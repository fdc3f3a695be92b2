"""The import hook that gives rebind's modules to programs with ``import mxnet``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from ..errors import AbsentModuleError, StateError
from .old_modules import OldModule, is_known, module_at

__all__ = ["install"]


def install() -> None:
    """Make ``import mxnet``, and the import of every path below it, give rebind in this process.

    Raises
    ------
    StateError
        If another `mxnet` is imported already.
    """
    there = sys.modules.get("mxnet")
    if there is not None and not isinstance(there, OldModule):
        version, file = getattr(there, "__version__", ""), getattr(there, "__file__", None)
        raise StateError(
            "install_as_mxnet: must come before the first import of mxnet; "
            f"got mxnet {version} from {file or 'an unknown file'}, imported already"
        )
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # First, so that an installed mxnet is not found instead.
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder, Loader):
    """Finds and loads ``mxnet`` and the paths below it, before any other finder."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        parent, _, below = fullname.partition(".")
        if parent != "mxnet" or not is_known(below):
            return None
        # Each module is a package: whether paths lie below it is for `is_known` to decide, not for the file system.
        return ModuleSpec(fullname, self, origin="rebind", is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        try:
            return module_at(spec.name.partition(".")[2])
        except AbsentModuleError as error:
            error.name = spec.name  # the path as the program wrote it, which may be one of several
            raise

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: names are looked up when they are used."""
