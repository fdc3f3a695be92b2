"""Passes: functions from graph to graph, one idea a file. They run when a graph is lowered or bound."""

from .freeze_statistics import freeze_statistics
from .join_layers import join_layers

__all__ = ["freeze_statistics", "join_layers"]
