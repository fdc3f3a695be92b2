"""Modules: networks with parameters that are trained. `mx.mod`."""

from .base_module import BaseModule, BatchEndParam
from .module import Module

__all__ = ["BaseModule", "BatchEndParam", "Module"]
