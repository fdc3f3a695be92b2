"""Optimizers: how gradients change weights.

An optimizer is a class of settings and one method that updates a group of weights in place; the base does what all
have in common. An `Updater` holds the states of one set of weights.
"""

import typing as _typing

from ..absent import old_names as _old_names
from ..completion import listing as _listing
from . import contrib
from .adam import Adam, Adamax, AdamW, Nadam
from .adaptive import AdaDelta, AdaGrad, GroupAdaGrad, RMSProp
from .algorithm import UpdateScope
from .base import Group, Optimizer, create, register
from .large_batch import LBSGD
from .layerwise import LAMB, LARS
from .leader import FTML, Ftrl
from .sgd import DCASGD, NAG, SGD, ccSGD
from .sign import Signum
from .stochastic import SGLD
from .testing import Test
from .updater import Updater, get_updater

__all__ = [
    "DCASGD", "FTML", "LAMB", "LARS", "LBSGD", "NAG", "SGD", "SGLD", "AdaDelta", "AdaGrad", "Adam", "AdamW", "Adamax",
    "Ftrl", "Group", "GroupAdaGrad", "Nadam", "Optimizer", "RMSProp", "Signum", "Test", "UpdateScope", "Updater",
    "ccSGD",
    "contrib", "create", "get_updater", "register",
]  # fmt: skip
__dir__ = _listing(globals())

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
