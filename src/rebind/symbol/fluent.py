"""Operators as methods of symbols for type checkers: ``fluent.pyi``, which `make stubs` writes, declares them.

At run time they are set on `OperatorMethods`, which needs no class below it.
"""

from .base import SymbolBase as FluentMethods

__all__ = ["FluentMethods"]
