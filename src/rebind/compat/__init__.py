"""Where the modules of MXNet are here: programs that say ``import mxnet as mx`` run as they are.

`TABLE` is the one place that knows MXNet's paths; the layout of rebind follows reason, not history. `install` makes
``import mxnet`` find an `OldModule` for each path, which looks names up where they are when they are first used: what
a program does not touch is not imported. Modules that exist for old programs only are in `rebind.legacy`.
"""

from ..legacy.libinfo import MXNET_VERSION
from .finder import install
from .old_modules import OldModule, attribute, module_at
from .table import NAMES_TO_COME, SHARED, TABLE, Absent, Later, wing_module

__all__ = [
    "MXNET_VERSION",
    "NAMES_TO_COME",
    "SHARED",
    "TABLE",
    "Absent",
    "Later",
    "OldModule",
    "attribute",
    "install",
    "module_at",
    "wing_module",
]
