"""Dense layers in inference: with packed weights, and the activation in the same call.

Neither MXNet's operators nor the user's: a pass puts them into graphs. What is packed is retained from run to run.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..._torch import onednn
from ...params import Params
from ..declaration import Kernels, Operator, Shapes, read_signature
from .large_products import onednn_linear
from .linear import as_rows, fully_connected

__all__ = ["FUSED_DENSE", "PACK_WEIGHT", "can_pack"]


def can_pack(dtype: torch.dtype | None) -> bool:
    """Whether this PyTorch has oneDNN's dense layers with packed weights for a type, and they are not switched off.

    >>> can_pack(torch.float64)
    False
    """
    return onednn.has(*onednn.DENSE) and onednn.computes(dtype)


def _pack_weight(weight: Tensor, *, least: int, below: int) -> Tensor:
    """The weight of a dense layer in the layout in which oneDNN is quickest, if it has so many elements."""
    if not least <= weight.numel() < below:
        return weight
    found: Tensor = onednn.pack_linear(weight.contiguous())
    return found


#: The weight of a dense layer as `FUSED_DENSE` takes it.
PACK_WEIGHT = Operator("_pack_weight", read_signature(_pack_weight), Kernels(_pack_weight, prepared=True))

#: What computes an activation over its input, by PyTorch's name, where the layer is not oneDNN's.
_ACTIVATIONS: dict[str, Any] = {
    "relu": torch.relu_,
    "leaky_relu": F.leaky_relu_,
    "hardtanh": F.hardtanh_,
    "sigmoid": torch.sigmoid_,
    "tanh": torch.tanh_,
}


def _fused_dense(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    flatten: bool,
    no_bias: bool,
    activation: str,
    numbers: tuple[float, ...],
    least: int,
    below: int,
) -> Tensor:
    """Dense layer, then an activation; in one call of oneDNN where the weight is packed: where its size is in bounds.

    `activation` and its `numbers` are by PyTorch's names: ``'leaky_relu'``, ``(0.1,)``; or it is ``'none'``.
    """
    if least <= weight.numel() < below:  # a compiler does not see the layout
        rows = as_rows(data) if flatten else data
        return onednn_linear(rows, weight, bias, activation, numbers)
    out = fully_connected(data, weight, bias, num_hidden=weight.shape[0], flatten=flatten)
    return out if activation == "none" else _ACTIVATIONS[activation](out, *numbers)


#: A dense layer with the activation that follows it.
FUSED_DENSE = Operator(
    "_fused_dense",
    read_signature(_fused_dense, skip=lambda name, p: name == "bias" and p.no_bias),
    Kernels(_fused_dense, owns_output=True),
)


@FUSED_DENSE.products
def _(shapes: Shapes, p: Params) -> int:
    data, weight = shapes["data"] or (), shapes["weight"] or (0,)
    return prod(data) * weight[0]
