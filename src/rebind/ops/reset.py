"""Zeros for many arrays at once."""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import ArgumentError
from .declaration import operator

__all__ = ["reset_arrays"]


@operator("reset_arrays", count="num_arrays", outputs=(), types={"*": "any"}, head_gradient=False)
def reset_arrays(*data: Tensor) -> tuple[()]:
    """Write zeros into arrays, of any shapes and types, and return nothing.

    It has no output and cannot be in a symbol, where MXNet kills the process.

    >>> array = torch.ones(2)
    >>> reset_arrays(array)
    ()
    >>> array
    tensor([0., 0.])
    """
    if any(array.is_meta for array in data):
        raise ArgumentError(
            "it writes into arrays and has no output, so it cannot be in a symbol. "
            "Call nd.reset_arrays(...) on the arrays."
        )
    with torch.no_grad():
        for array in data:
            array.zero_()
    return ()
