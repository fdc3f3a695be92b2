"""Networks to PyTorch, as a module or as a Python file that needs PyTorch alone, and back."""

from . import operators
from .module import to_torch, write_python
from .parameters import to_params
from .reading import from_torch

__all__ = ["from_torch", "operators", "to_params", "to_torch", "write_python"]
