"""Operators as methods of arrays for type checkers: ``fluent.pyi``, which `make stubs` writes, declares them.

At run time they are set on `OperatorMethods`, which needs no class below it.
"""

from .base import ArrayBase as FluentMethods

__all__ = ["FluentMethods"]
