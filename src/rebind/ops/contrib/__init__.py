"""What MXNet keeps under ``contrib``: ``nd.contrib.X`` and ``sym.contrib.X`` are the operators ``_contrib_X``."""

from . import boxes, deformable, hawkes, multibox, proposal, resize, sketch, tensor

__all__ = ["boxes", "deformable", "hawkes", "multibox", "proposal", "resize", "sketch", "tensor"]
