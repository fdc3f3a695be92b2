"""Passes: functions from graph to graph, one idea a file. They run when a graph is lowered."""

from .join_layers import join_layers

__all__ = ["join_layers"]
