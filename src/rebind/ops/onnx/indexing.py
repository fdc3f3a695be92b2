"""Elements read and written at positions; negative ones count from the end."""

from __future__ import annotations

from typing import Literal, TypeAlias

import torch
from torch import Tensor

from ...params import Params
from ..declaration import operator

__all__ = ["gather_elements", "gather_nd", "scatter_elements", "scatter_nd", "tensor_scatter"]

Reduction: TypeAlias = Literal["none", "add", "mul", "max", "min"]
_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def _from_start(indices: Tensor, size: int) -> Tensor:
    indices = indices.long()
    return torch.where(indices < 0, indices + size, indices)


@operator(
    "_onnx_gather_elements",
    types={"data": "T", "indices": "any", "output": "T"},
    no_gradient=("indices",),
)
def gather_elements(data: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    """The elements at positions of one axis; on the other axes their positions are those of the index itself.

    >>> gather_elements(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[0, 0], [1, 0]]), axis=1)
    tensor([[1, 1],
            [4, 3]])
    """
    return torch.gather(data, axis, _from_start(indices, data.shape[axis]))


@operator(
    "_onnx_scatter_elements",
    types={"data": "T", "indices": "any", "updates": "T", "output": "T"},
    no_gradient=("indices",),
)
def scatter_elements(
    data: Tensor, indices: Tensor, updates: Tensor, *, axis: int = 0, reduction: Reduction = "none"
) -> Tensor:
    """`data` with elements written at positions of one axis, or combined with those that are there.

    >>> scatter_elements(torch.zeros(3), torch.tensor([1, 1]), torch.tensor([2.0, 3.0]), reduction="add")
    tensor([0., 5., 0.])
    """
    positions = _from_start(indices, data.shape[axis])
    if reduction == "none":
        return data.scatter(axis, positions, updates)
    return data.scatter_reduce(axis, positions, updates, _REDUCTIONS[reduction])


@operator("_onnx_gather_nd", types={"data": "T", "indices": "any", "output": "T"}, no_gradient=("indices",))
def gather_nd(data: Tensor, indices: Tensor, *, batch_dims: int = 0) -> Tensor:
    """Slices of `data` at positions, the last axis of `indices`; the first axes may belong together.

    >>> gather_nd(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[0, 0], [-1, 1]]))
    tensor([1, 4])
    """
    depth = indices.shape[-1]
    columns = [_from_start(indices[..., i], data.shape[batch_dims + i]) for i in range(depth)]
    around = indices.ndim - 1
    batch = [
        torch.arange(data.shape[axis], device=data.device).reshape(-1, *[1] * (around - axis - 1))
        for axis in range(batch_dims)
    ]
    found = data[tuple(batch + columns)]
    return found if found.ndim else found.reshape(1)


@operator(
    "_onnx_scatter_nd",
    types={"data": "T", "indices": "any", "updates": "T", "output": "T"},
    no_gradient=("indices",),
)
def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, *, reduction: Reduction = "none") -> Tensor:
    """`data` with slices written at positions, or combined with those that are there.

    >>> scatter_nd(torch.zeros(3), torch.tensor([[1], [-1]]), torch.tensor([2.0, 3.0]))
    tensor([0., 2., 3.])
    """
    depth = indices.shape[-1]
    rows = torch.zeros(indices.shape[:-1], dtype=torch.long, device=data.device)
    count = 1
    for i in range(depth):
        rows = rows * data.shape[i] + _from_start(indices[..., i], data.shape[i])
        count *= data.shape[i]
    flat = data.reshape(count, -1)
    values = updates.reshape(-1, flat.shape[1])
    positions = rows.reshape(-1, 1).expand_as(values)
    if reduction == "none":
        return flat.scatter(0, positions, values).reshape(data.shape)
    return flat.scatter_reduce(0, positions, values, _REDUCTIONS[reduction]).reshape(data.shape)


def _no_positions(name: str, p: Params) -> bool:
    return name == "positions" and not p.has_positions


@operator(
    "_onnx_tensor_scatter",
    skip=_no_positions,
    types={"data": "T", "updates": "T", "positions": "any", "output": "T"},
    no_gradient=("positions",),
)
def tensor_scatter(
    data: Tensor,
    updates: Tensor,
    positions: Tensor | None = None,
    *,
    axis: int = -2,
    circular: bool = False,
    has_positions: bool = True,
) -> Tensor:
    """`data` with `updates` along an axis, from a position for each element of the batch on.

    >>> tensor_scatter(torch.zeros(1, 3, 1), torch.ones(1, 1, 1), torch.tensor([2])).flatten()
    tensor([0., 0., 1.])
    """
    axis %= data.ndim
    rows = torch.arange(updates.shape[axis], device=data.device)
    first = data.new_zeros(data.shape[0], dtype=torch.long) if positions is None else positions.long()
    places = first.unsqueeze(1) + rows
    if circular:
        places = places % data.shape[axis]
    shape = [1] * data.ndim
    shape[0], shape[axis] = places.shape
    return data.scatter(axis, places.reshape(shape).expand_as(updates), updates)
