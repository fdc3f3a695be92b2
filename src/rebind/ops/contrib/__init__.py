"""What MXNet has under ``contrib``: ``nd.contrib.X`` and ``sym.contrib.X`` are the operators ``_contrib_X``."""

from . import (
    attention,
    boxes,
    deformable,
    fourier,
    hawkes,
    multibox,
    proposal,
    resize,
    sketch,
    suppression,
    tensor,
)  # fmt: skip

__all__ = [
    "attention", "boxes", "deformable", "fourier", "hawkes", "multibox", "proposal", "resize", "sketch", "suppression",
    "tensor",
]  # fmt: skip
