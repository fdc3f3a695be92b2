"""Random projections."""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import AtLeast, Params
from ..declaration import Shapes, operator

__all__ = ["count_sketch"]


@operator("_contrib_count_sketch")
def count_sketch(
    data: Tensor,
    h: Tensor,
    s: Tensor,
    *,
    out_dim: Annotated[int, AtLeast(1)],
    processing_batch_size: Annotated[int, AtLeast(1)] = 32,
) -> Tensor:
    """Count sketch of the last axis: ``out[h[i]]`` is the sum of ``s[i] * data[i]``.

    Charikar, Chen, Farach-Colton: Finding frequent items in data streams, 2002.
    It runs on every device; MXNet's needs a GPU. Only `data` has a gradient. An index outside of ``[0, out_dim)`` is
    clipped.

    Parameters
    ----------
    h
        For each element of the last axis the index that it is added to.
    s
        Its sign, 1 or -1.
    out_dim
        Size of the sketch.
    processing_batch_size
        Has no effect: in MXNet, how many vectors are computed at once.

    Shapes
    ------
    data : (..., D)
    h, s : (1, D)
    out : (..., out_dim)

    >>> x = torch.tensor([[1.0, 2.0, 3.0]])
    >>> count_sketch(x, torch.tensor([[0, 3, 0]]), torch.tensor([[1.0, -1.0, 1.0]]), out_dim=4)
    tensor([[ 4.,  0.,  0., -2.]])
    """
    size = data.shape[-1] if data.ndim else -1
    for name, array in (("h", h), ("s", s)):
        if tuple(array.shape) not in ((1, size), (size,)):
            raise ShapeError(
                f"{name} must have shape (1, {size}) to match data of shape "
                f"{tuple(data.shape)}; got {tuple(array.shape)}"
            )
    index = h.detach().reshape(-1).to(dtype=torch.int64).clamp(0, out_dim - 1)
    signed = data * s.detach().reshape(-1).to(dtype=data.dtype)
    out = torch.zeros(*data.shape[:-1], out_dim, dtype=data.dtype, device=data.device)
    return out.index_add(-1, index, signed)


@count_sketch.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    found = {} if not data else {name: (1, data[-1]) for name in ("h", "s")}
    # Vectors are accepted too: a known shape with one axis is not contradicted.
    return {name: shape for name, shape in found.items() if len(shapes[name] or (0, 0)) == 2}
