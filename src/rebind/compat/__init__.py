"""MXNet's module paths: programs with ``import mxnet as mx`` run as they are.

`TABLE` alone knows MXNet's paths; the layout of rebind does not follow them. `install` makes ``import mxnet`` find an
`OldModule` for each path, which looks names up when they are first used: what a program does not use is not imported.
Modules that exist for old programs only are in `rebind.legacy`.
"""

from ..legacy.libinfo import MXNET_VERSION
from .finder import install
from .old_modules import OldModule, absence_of, attribute, attribute_below, module_at, names_at_top
from .processes import AS_MXNET, python_path
from .table import BY_NAME, SHARED, TABLE, Absent, Later, legacy_module

__all__ = [
    "AS_MXNET",
    "BY_NAME",
    "MXNET_VERSION",
    "SHARED",
    "TABLE",
    "Absent",
    "Later",
    "OldModule",
    "absence_of",
    "attribute",
    "attribute_below",
    "install",
    "legacy_module",
    "module_at",
    "names_at_top",
    "python_path",
]
