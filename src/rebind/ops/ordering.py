"""Sorting. It is stable: equal elements stay in order, on every device."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ..errors import ShapeError
from ..params import Params
from ..shapes import normalize_axis
from ._reading import can_read
from ._types import OrderType
from .spec import TypeSlots, operator

__all__ = ["argsort", "sort", "topk"]


def _topk_outputs(p: Params) -> tuple[str, ...]:
    return {"both": ("output0", "output1"), "value": ("output0",)}.get(p.ret_typ, ("output",))


def _topk_types(p: Params) -> TypeSlots:
    return {"both": {"output1": p.dtype}, "indices": {"output": p.dtype}}.get(p.ret_typ, {})


@operator(
    "topk",
    outputs=_topk_outputs,
    types=_topk_types,
    head_gradient=lambda p: p.ret_typ in ("both", "value"),
)
def topk(
    data: Tensor,
    *,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: Literal["both", "indices", "mask", "value"] = "indices",
    is_ascend: bool = False,
    dtype: OrderType = torch.float32,
) -> Tensor | tuple[Tensor, Tensor]:
    """The `k` largest (smallest with `is_ascend`) elements along an axis, of the flattened array without one.

    `ret_typ` asks for their positions (in `dtype`), their values, both, or a mask of data's shape; a `k` below 1
    means all.

    >>> topk(torch.tensor([3.0, 1.0, 2.0]), k=2, ret_typ="value")
    tensor([3., 2.])
    """
    values = data.reshape(-1) if axis is None else data
    along = 0 if axis is None else normalize_axis(axis, data.ndim, "axis")
    size = values.shape[along]
    if k > size:
        raise ShapeError(f"k must be at most {size}, the size of the axis; got {k}")
    # MXNet: 0 or less is all of them.
    count = k if k > 0 else size
    if ret_typ == "value" and not values.requires_grad:
        # Which of equal elements is chosen makes no difference, so the unstable and faster form will do.
        return torch.topk(values, count, dim=along, largest=not is_ascend)[0]
    positions = _first_positions(values.detach(), along, count, largest=not is_ascend)
    if ret_typ == "indices":
        return positions.to(dtype)
    if ret_typ == "mask":
        # A mask of all: without an axis it gets back the axes of data.
        return torch.zeros_like(values).scatter_(along, positions, 1).reshape(data.shape)
    ordered = values.gather(along, positions)
    return ordered if ret_typ == "value" else (ordered, positions.to(dtype))


def _first_positions(values: Tensor, along: int, count: int, *, largest: bool) -> Tensor:
    """Return where the first `count` elements of a stable sort come from: of equal elements the first.

    `torch.topk` leaves open which of equal elements it gives, but it is many times quicker than a sort.
    """
    size = values.shape[along]
    if count < size and can_read(values):
        found, positions = torch.topk(values, count + 1, along, largest)
        kept, beyond = found.narrow(along, count - 1, 1), found.narrow(along, count, 1)
        # What was left out is worse than what was chosen, so that there was nothing to choose; never so with nan.
        if bool((kept > beyond if largest else kept < beyond).all()):
            positions = positions.narrow(along, 0, count).sort(along)[0]
            order = torch.sort(values.gather(along, positions), dim=along, descending=largest, stable=True)[1]
            return positions.gather(along, order)
    return torch.sort(values, dim=along, descending=largest, stable=True)[1].narrow(along, 0, count)


# MXNet counts the hidden positions among the outputs.
@operator("sort", outputs=("output0",), counted=2)
def sort(data: Tensor, *, axis: int | None = -1, is_ascend: bool = True) -> Tensor:
    """`data` sorted along an axis, flattened without one.

    >>> sort(torch.tensor([3, 1, 2]), is_ascend=False)
    tensor([3, 2, 1])
    """
    values = data.reshape(-1) if axis is None else data
    along = 0 if axis is None else normalize_axis(axis, data.ndim, "axis")
    return torch.sort(values, dim=along, descending=not is_ascend, stable=True)[0]


@operator("argsort", types=lambda p: {"output": p.dtype}, head_gradient=False)
def argsort(
    data: Tensor, *, axis: int | None = -1, is_ascend: bool = True, dtype: OrderType = torch.float32
) -> Tensor:
    """Positions that sort `data` along an axis, the flattened array without one.

    >>> argsort(torch.tensor([3, 1, 2]))
    tensor([1., 2., 0.])
    """
    values = data.reshape(-1) if axis is None else data
    along = 0 if axis is None else normalize_axis(axis, data.ndim, "axis")
    return torch.sort(values, dim=along, descending=not is_ascend, stable=True)[1].to(dtype)
