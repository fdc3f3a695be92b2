"""Programs: the ways to run a bound graph, each in a file, and `Programs`, which chooses one for each mode."""

from .base import Program, Results
from .choice import PROGRAMS, Programs

__all__ = ["PROGRAMS", "Program", "Programs", "Results"]
