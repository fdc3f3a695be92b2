"""Non-maximum suppression of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from ...errors import ParameterError, ShapeError
from ...params import Params
from .._types import require_floating
from ..declaration import operator
from ._geometry import keep_best, to_centers, to_corners, widened

__all__ = ["box_nms"]

Format = Literal["center", "corner"]


@operator(
    "_contrib_box_nms",
    "_contrib_box_non_maximum_suppression",
    outputs=("output0", "output1"),
    visible=lambda p: 1,
    types={"data": "T", "output0": "T", "output1": torch.int64},
)
def box_nms(
    data: Tensor,
    *,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: Format = "corner",
    out_format: Format = "corner",
) -> tuple[Tensor, Tensor]:
    """Boxes that no better box that stays overlaps too much, the best first; -1 in the rows that remain.

    The gradient of each row goes to the row of `data` that it came from, in whatever format; a further, hidden output
    says which that is (-1 for none). Among equal scores the first row is the better one. Boxes in half precision are
    compared in single precision.

    Parameters
    ----------
    overlap_thresh
        The intersection over union above which the box with the smaller score goes.
    valid_thresh
        Boxes whose score is not above it go at once.
    topk
        Only so many of the best boxes are candidates, the others go; below 0 all are. With 0 the result is `data`
        unchanged.
    coord_start
        The column at which the four coordinates begin.
    score_index
        The column of the scores.
    id_index
        The column of the class; below 0 there is none.
    background_id
        Boxes of this class go at once, if there is a column of the class.
    force_suppress
        Let boxes of different classes suppress each other too.
    in_format, out_format
        How coordinates are given and returned. ``'corner'``: (left, top, right, bottom); ``'center'``: (x, y, width,
        height) around the center.

    Shapes
    ------
    data, out : (..., N, K)     N boxes of K numbers; leading axes are those of a batch

    >>> boxes = torch.tensor([[0.0, 0.5, 0.0, 0.0, 1.0, 1.0], [0.0, 0.9, 0.0, 0.0, 1.0, 1.2]])
    >>> box_nms(boxes)[0][:, :2]
    tensor([[ 0.0000,  0.9000],
            [-1.0000, -1.0000]])
    """
    _check_columns(data, coord_start, score_index, id_index)
    if topk == 0:
        positions = torch.arange(data.shape[-2], device=data.device)
        return data.clone(), positions.expand(data.shape[:-1]).contiguous()
    rows = data.flatten(0, -3) if data.ndim > 2 else data.unsqueeze(0)
    scores = rows[..., score_index]
    allowed = scores > valid_thresh
    if id_index >= 0:
        allowed = allowed & (rows[..., id_index] != background_id)
    # Stable, so that among equal scores the first row is the better one.
    order = torch.where(allowed, scores, float("-inf")).argsort(dim=1, descending=True, stable=True)
    if topk > 0:
        order = order[:, :topk]
    ordered = rows.gather(1, order.unsqueeze(-1).expand(-1, -1, rows.shape[2]))
    boxes = widened(ordered[..., coord_start : coord_start + 4])
    stays = keep_best(
        to_corners(boxes) if in_format == "center" else boxes,
        allowed.gather(1, order),
        overlap_thresh,
        classes=None if force_suppress or id_index < 0 else ordered[..., id_index],
    )
    # Only the four coordinates are converted; whatever else a row holds is returned as it is.
    if in_format != out_format:
        changed = to_centers(boxes) if out_format == "center" else to_corners(boxes)
        ordered[..., coord_start : coord_start + 4] = changed.to(dtype=data.dtype)
    # What stays is written to the first rows; what goes, to a row after the last one, which is cut off.
    count = rows.shape[1]
    position = torch.where(stays, stays.cumsum(1) - 1, count)
    out = rows.new_full((rows.shape[0], count + 1, rows.shape[2]), -1)
    out.scatter_(1, position.unsqueeze(-1).expand_as(ordered), ordered)
    index = torch.full(out.shape[:2], -1, device=data.device).scatter_(1, position, order)
    return out[:, :count].reshape(data.shape), index[:, :count].reshape(data.shape[:-1])


@box_nms.gradient
def _(
    p: Params, inputs: Sequence[Tensor], outputs: Sequence[Tensor], head_grads: Sequence[Tensor]
) -> Sequence[Tensor]:
    index, head_grad = outputs[1].unsqueeze(-1), head_grads[0]
    # Rows of -1 came from no box: their index is clamped to row 0, to which they add 0.
    of_survivors = torch.where(index >= 0, head_grad, 0)
    return (
        torch.zeros_like(head_grad).scatter_add(-2, index.clamp(min=0).expand_as(head_grad), of_survivors),
    )


def _check_columns(data: Tensor, coord_start: int, score_index: int, id_index: int) -> None:
    require_floating(data)
    if data.ndim < 2:
        raise ShapeError(
            f"data must have 2 axes or more, (..., boxes, numbers of a box); got shape {tuple(data.shape)}"
        )
    width = data.shape[-1]
    columns = {"coord_start": (coord_start, 4), "score_index": (score_index, 1)}
    if id_index >= 0:
        columns["id_index"] = (id_index, 1)
    seen: dict[int, str] = {}
    for name, (first, count) in columns.items():
        if not 0 <= first <= width - count:
            raise ParameterError(
                f"{name} must be in [0, {width - count}] for boxes of {width} numbers; got {first}"
            )
        for column in range(first, first + count):
            if column in seen:
                other = seen[column]
                raise ParameterError(
                    f"{name} must not be a column that {other} uses, from {columns[other][0]} on; got {first}"
                )
            seen[column] = name
