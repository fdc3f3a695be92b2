"""Initializers: the values of parameters before training.

A module calls its initializer for each parameter by name: parameters that end in ``_bias`` or ``_beta`` are filled with
zeros, in ``_gamma`` with ones, and so on (`NAME_RULES`); what an initializer is named for applies to weights only. An
initializer of the variable itself (``sym.var(..., init=...)``) takes precedence.
"""

import typing as _typing

from ..absent import old_names as _old_names
from ..completion import listing as _listing
from .base import (
    NAME_RULES,
    OLD_NAME_RULES,
    InitDesc,
    Initializer,
    alias,
    bilinear,
    create,
    initializers,
    register,
)
from .composite import Load, Mixed
from .constant import Bilinear, Constant, LSTMBias, One, Zero
from .random import MSRAPrelu, Normal, Orthogonal, Uniform, Xavier
from .recurrent import FusedRNN
from .torch_value import TorchValue

__all__ = [
    "NAME_RULES",
    "OLD_NAME_RULES",
    "Bilinear",
    "Constant",
    "FusedRNN",
    "InitDesc",
    "Initializer",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "TorchValue",
    "Uniform",
    "Xavier",
    "Zero",
    "alias",
    "bilinear",
    "create",
    "initializers",
    "register",
]
__dir__ = _listing(globals())

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
