"""oneDNN's products of matrices.

Its own form of them the compiler calls with weights in one order of memory only: others it copies in each step.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ...._torch import onednn
from .declaring import opaque

__all__ = ["PRESENT", "linear"]

#: Whether oneDNN has them here: looked up once, for a tracer cannot follow it.
PRESENT = onednn.has(onednn.linear)


def linear(
    rows: Tensor, weight: Tensor, bias: Tensor | None, activation: str, numbers: Sequence[float]
) -> Tensor:
    """Return what `large_products.onednn_linear` does.

    >>> linear(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]), torch.tensor([1.0]), "none", ())
    tensor([[12.]])
    """
    found: Tensor = torch.ops.rebind.linear(rows, weight, bias, activation, numbers)
    return found


@opaque(
    "linear(Tensor rows, Tensor weight, Tensor? bias, str activation, float[] numbers) -> Tensor",
    like=lambda rows, weight, *_: rows.new_empty((*rows.shape[:-1], weight.shape[0])),
    where="default",
)
def _linear(
    rows: Tensor, weight: Tensor, bias: Tensor | None, activation: str, numbers: Sequence[float]
) -> Tensor:
    found: Tensor = onednn.linear(rows, weight, bias, activation, numbers, "")
    return found
