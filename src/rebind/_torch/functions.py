"""Single functions of arrays."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from .private import private

__all__ = ["convolve_by_product", "int8_product", "standard_gamma", "unsafe_view"]


@private("torch.ops.aten._unsafe_view.default", "autograd records no view, which would be looked after later")
def unsafe_view(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """Do as `Tensor.view`, for a tensor that nobody else has."""
    return tensor.view(*shape)


@private(
    "torch._C._nn.thnn_conv2d", "to describe a tiny convolution to oneDNN takes longer than to compute it"
)
def convolve_by_product(
    data: Tensor,
    weight: Tensor,
    kernel: Sequence[int],
    bias: Tensor | None,
    stride: Sequence[int],
    pad: Sequence[int],
) -> Tensor:
    """Return a convolution of images in one product of matrices for each."""
    return F.conv2d(data, weight, bias, tuple(stride), tuple(pad))


@private("torch._int_mm", "several times as fast as a product in floating type")
def int8_product(rows: Tensor, columns: Tensor) -> Tensor:
    """Return the product of two matrices of int8, as int32."""
    # float64 holds every sum of such products exactly, up to 2**53.
    return (rows.double() @ columns.double()).to(dtype=torch.int32)


@private("torch._standard_gamma", "torch.distributions draws from the generator of the whole process alone")
def standard_gamma(shapes: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Return a number of each Gamma distribution."""
    draw = torch.distributions.Gamma(shapes, torch.ones_like(shapes), validate_args=False).sample
    if generator is None:
        return draw()
    device = shapes.device
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        if device.type == "cuda":
            torch.cuda.set_rng_state(generator.get_state(), device)
            found = draw()
            generator.set_state(torch.cuda.get_rng_state(device))
        else:
            torch.set_rng_state(generator.get_state())
            found = draw()
            generator.set_state(torch.get_rng_state())
    return found
