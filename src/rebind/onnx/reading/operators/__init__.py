"""How each operator of ONNX is read, by families."""

from . import (
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
    "control_flow", "elementwise", "generation", "indexing", "layers", "pooling", "quantized", "recurrent",
    "reductions", "resampling", "shapes",
]  # fmt: skip
