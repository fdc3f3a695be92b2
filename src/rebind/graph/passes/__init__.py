"""Passes: functions from graph to graph, one idea a file. They run when a graph is lowered or bound."""

from .freeze_statistics import freeze_statistics
from .join_layers import join_layers
from .mixed_precision import cast_inputs, mixed_precision, without_casts
from .scale_losses import scale_losses

__all__ = [
    "cast_inputs",
    "freeze_statistics",
    "join_layers",
    "mixed_precision",
    "scale_losses",
    "without_casts",
]
