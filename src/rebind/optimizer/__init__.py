"""Optimizers: how gradients move weights.

An optimizer is a pure `step` on tensors with its settings as fields; the base does what all have in common. An
`Updater` keeps the states of one set of weights.
"""

from .adam import Adam
from .base import Optimizer, create, register
from .sgd import SGD
from .updater import Updater, get_updater

__all__ = ["SGD", "Adam", "Optimizer", "Updater", "create", "get_updater", "register"]
