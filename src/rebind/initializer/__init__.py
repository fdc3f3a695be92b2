"""Initializers: what parameters are before training.

A module's initializer is asked for each parameter by name: names that end in ``_bias`` or ``_beta`` are zero, in
``_gamma`` one, and so on (`NAME_RULES`); only weights get what the initializer stands for. An initializer on the
variable itself (``sym.var(..., init=...)``) wins over all that.
"""

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
    "Uniform",
    "Xavier",
    "Zero",
    "alias",
    "bilinear",
    "create",
    "initializers",
    "register",
]
