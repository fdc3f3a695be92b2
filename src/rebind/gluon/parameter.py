"""Parameters of blocks, under MXNet's path."""

from typing import TYPE_CHECKING

from ..absent import old_names
from .arrays import DeferredInitializationError
from .base_parameter import Constant, Parameter
from .parameter_dict import ParameterDict

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict"]

if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
