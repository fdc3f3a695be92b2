"""Networks to PyTorch: as a module, and as a Python file that needs PyTorch alone."""

from . import operators
from .module import to_torch, write_python

__all__ = ["operators", "to_torch", "write_python"]
