"""How each operator of ONNX is read, by families."""

from . import (
    casts,
    control_flow,
    elementwise,
    generation,
    indexing,
    layers,
    pooling,
    quantized,
    recurrent,
    reductions,
    resampling,
    shapes,
)  # fmt: skip

__all__ = [
    "casts", "control_flow", "elementwise", "generation", "indexing", "layers", "pooling", "quantized", "recurrent",
    "reductions", "resampling", "shapes",
]  # fmt: skip
