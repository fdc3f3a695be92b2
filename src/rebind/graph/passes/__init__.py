"""Passes: functions from graph to graph, one idea a file.

Those of `pipeline` run when a graph is made ready for a target, and are functions ``(graph, facts, target) -> (graph,
facts)``. The others change what a network computes, at the user's word.
"""

from .channels_last import CHANNELS_LAST
from .freeze_statistics import freeze_statistics
from .mixed_precision import cast_inputs, mixed_precision, without_casts
from .pipeline import (
    BACKENDS,
    DEFAULT,
    Backend,
    Compiler,
    Pass,
    backend_named,
    names_of_changes,
    optimize,
    optimize_without_shapes,
    passes_of,
    register_backend,
    uses_shapes,
)
from .scale_losses import scale_losses

__all__ = [
    "BACKENDS",
    "CHANNELS_LAST",
    "DEFAULT",
    "Backend",
    "Compiler",
    "Pass",
    "backend_named",
    "cast_inputs",
    "freeze_statistics",
    "mixed_precision",
    "names_of_changes",
    "optimize",
    "optimize_without_shapes",
    "passes_of",
    "register_backend",
    "scale_losses",
    "uses_shapes",
    "without_casts",
]
