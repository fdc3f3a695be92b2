"""How each operator is written in PyTorch, by families; what is not here is written out by `tracing`."""

from . import creation, detection, elementwise, layers, losses, recurrent, tensors

__all__ = ["creation", "detection", "elementwise", "layers", "losses", "recurrent", "tensors"]
