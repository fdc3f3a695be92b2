"""Sorting. It is stable: equal elements stay in order, on every device."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from ..errors import ShapeError
from ..params import Params
from ..shapes import normalize_axis
from ..tuning import current
from ._reading import can_read
from ._types import OrderType
from .declaration import TypeSlots, operator

__all__ = ["argsort", "first_positions", "sort", "topk"]


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
    positions = first_positions(values.detach(), along, count, largest=not is_ascend)
    if ret_typ == "indices":
        return positions.to(dtype=dtype)
    if ret_typ == "mask":
        # A mask of all: without an axis it gets back the axes of data.
        return torch.zeros_like(values).scatter_(along, positions, 1).reshape(data.shape)
    ordered = values.gather(along, positions)
    return ordered if ret_typ == "value" else (ordered, positions.to(dtype=dtype))


def first_positions(values: Tensor, along: int, count: int, *, largest: bool) -> Tensor:
    """Return where the first `count` elements of a stable sort come from: of equal elements the first.

    `torch.topk` leaves open which of equal elements it gives, but it is many times quicker than a sort.

    >>> first_positions(torch.tensor([1.0, 3.0, 2.0, 3.0]), 0, 2, largest=True)
    tensor([1, 3])
    """
    size, tuning = values.shape[along], current()
    if count < size and values.numel() > tuning.sorted_elements:
        if (
            count <= 16
            and size >= tuning.blocked_top_elements
            and along == values.ndim - 1
            and can_read(values)
        ):
            positions = _first_in_blocks(values, count, largest=largest)
            if positions is not None:
                return positions
        # Few are asked for: to look whether there are equal ones takes less than to tell all apart.
        if count <= 64 and values.is_floating_point() and can_read(values):
            found, positions = torch.topk(values, count + 1, along, largest)
            retained, beyond = found.narrow(along, count - 1, 1), found.narrow(along, count, 1)
            # What was left out is worse than what was chosen: there was nothing to choose; never so with nan.
            if bool((retained > beyond if largest else retained < beyond).all()):
                positions = positions.narrow(along, 0, count).sort(along)[0]
                order = torch.sort(
                    values.gather(along, positions), dim=along, descending=largest, stable=True
                )[1]
                return positions.gather(along, order)
        keys = _distinct(values, along, earlier_is_more=largest)
        if keys is not None:
            return torch.topk(keys, count, along, largest)[1]
    return torch.sort(values, dim=along, descending=largest, stable=True)[1].narrow(along, 0, count)


def _first_in_blocks(values: Tensor, count: int, *, largest: bool) -> Tensor | None:
    """Do what `first_positions` does along the last axis, by looking only into the blocks with the best best elements.

    An element of another block has `count` better ones before it: the best of each of these blocks. None where nan
    hides the least element of a block.
    """
    size = values.shape[-1]
    blocks = math.isqrt(size)
    length = size // blocks
    parted = values.narrow(-1, 0, blocks * length).unflatten(-1, (blocks, length))
    best = parted.amax(-1) if largest else parted.amin(-1)
    axis = values.ndim - 1
    # To a sort nan is the greatest.
    if not largest and bool(best.isnan().any()):
        return None
    chosen = first_positions(best, axis, count, largest=largest).sort(-1)[0]
    within = (chosen.unsqueeze(-1) * length + torch.arange(length, device=values.device)).flatten(-2)
    rest = torch.arange(blocks * length, size, device=values.device)  # what fills no block
    positions = torch.cat((within, rest.expand(*within.shape[:-1], -1)), -1)
    found = values.gather(-1, positions)
    return positions.gather(-1, first_positions(found, axis, count, largest=largest))


def _distinct(values: Tensor, along: int, *, earlier_is_more: bool) -> Tensor | None:
    """Return numbers in the order of `values`, all different along an axis: equal elements by their positions.

    None where float64, which holds a number for the value and the position together, has too few digits.

    >>> _distinct(torch.tensor([7, 7, 5], dtype=torch.int32), 0, earlier_is_more=True)
    tensor([23., 22., 15.], dtype=torch.float64)
    """
    size = values.shape[along]
    if values.is_floating_point() and values.dtype.itemsize <= 4:
        # The bits of a float, those of negative ones turned round, are integers in its order. All nan become one, as
        # both zeros do by the sum. Widened first: torch's conversion gives nan of half precision different bits.
        values = values.float()
        values = torch.where(values.isnan(), torch.nan, values) + 0.0
        bits = values.view(torch.int32)
        values = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    if values.is_floating_point() or values.dtype is torch.int64 or size > 2**21:
        return None
    position = torch.arange(size, dtype=torch.float64, device=values.device)
    number = size - 1 - position if earlier_is_more else position
    return values.double().mul_(size).add_(number.view(-1, *(1,) * (values.ndim - 1 - along)))


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
    return torch.sort(values, dim=along, descending=not is_ascend, stable=True)[1].to(dtype=dtype)
