"""oneDNN's products of matrices.

Its own form of them the compiler calls with weights in one order of memory only: others it copies in each step.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..._onednn import onednn_has
from .declaring import opaque

__all__ = ["PRESENT", "linear"]

#: Whether oneDNN has them here: looked up once, for a tracer cannot follow it.
PRESENT = onednn_has(torch.ops.mkldnn, "_linear_pointwise")


def linear(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return ``rows @ weight.T + bias``; no gradient is recorded.

    >>> linear(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]), torch.tensor([1.0]))
    tensor([[12.]])
    """
    found: Tensor = torch.ops.rebind.linear(rows, weight, bias)
    return found


@opaque(
    "linear(Tensor rows, Tensor weight, Tensor? bias) -> Tensor",
    like=lambda rows, weight, bias: rows.new_empty((rows.shape[0], weight.shape[0])),
)
def _linear(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    found: Tensor = torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")
    return found
