"""Boxes of object detection: overlap, encoding, matching."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import Params
from ...shapes import Shape
from .._types import require_floating
from ..declaration import Shapes, operator
from ._geometry import (
    decode,
    encode,
    match_best,
    overlaps,
    to_centers,
    to_corners,
    widened,
)

__all__ = ["Format", "bipartite_matching", "box_decode", "box_encode", "box_iou"]

Format = Literal["center", "corner"]


@operator("_contrib_box_iou", head_gradient=False)
@torch.no_grad()
def box_iou(lhs: Tensor, rhs: Tensor, *, format: Format = "corner") -> Tensor:
    """Intersection over union of each box of `lhs` with each of `rhs`; 0 where they do not meet.

    The gradient is zero, as in MXNet. Boxes in half precision are compared in single precision.

    Parameters
    ----------
    format
        ``'corner'``: a box is (left, top, right, bottom); ``'center'``: (x, y, width, height) around its center.

    Shapes
    ------
    lhs : (..., 4)
    rhs : (... , 4)
    out : the axes of lhs without its last, then those of rhs

    >>> box_iou(
    ...     torch.tensor([[0.0, 0.0, 1.0, 1.0]]), torch.tensor([[0.0, 0.0, 1.0, 2.0], [3.0, 3.0, 4.0, 4.0]])
    ... )
    tensor([[0.5000, 0.0000]])
    """
    for name, boxes in (("lhs", lhs), ("rhs", rhs)):
        require_floating(boxes, name)
        if boxes.ndim < 2 or boxes.shape[-1] != 4:
            raise ShapeError(
                f"{name} must have at least two axes, the last of size 4; got shape {tuple(boxes.shape)}"
            )
    left, right = widened(lhs).flatten(0, -2), widened(rhs).flatten(0, -2)  # (N, 4) and (M, 4)
    if format == "center":
        left, right = to_corners(left), to_corners(right)
    return overlaps(left, right).to(dtype=lhs.dtype).reshape(*lhs.shape[:-1], *rhs.shape[:-1])


@operator("_contrib_bipartite_matching", outputs=("output0", "output1"), head_gradient=False)
@torch.no_grad()
def bipartite_matching(
    data: Tensor, *, is_ascend: bool = False, threshold: float, topk: int = -1
) -> tuple[Tensor, Tensor]:
    """For each row the column that it is matched with, and for each column its row; -1 for none.

    The pair with the highest score is taken first, then the highest of the rows and columns that are left, and so on;
    of equal scores the one in the first row counts, then that in the first column. Scores that are not a number are
    not taken. The gradient is zero, as in MXNet.

    Parameters
    ----------
    is_ascend
        Take the lowest scores first.
    threshold
        Only scores above it are taken; with `is_ascend`, those below it.
    topk
        At most so many pairs are taken; with 0 or less there is no limit. (MXNet 1.9.1 takes one more.)

    Shapes
    ------
    data : (..., N, M)
    out : (..., N) and (..., M)

    >>> bipartite_matching(torch.tensor([[0.5, 0.6], [0.1, 0.2], [0.3, 0.4]]), threshold=1e-12)
    (tensor([ 1., -1.,  0.]), tensor([2., 0.]))
    """
    require_floating(data)
    if data.ndim < 2:
        raise ShapeError(f"data must have shape (..., rows, columns); got {tuple(data.shape)}")
    # One leading axis of independent problems: (B, rows, columns).
    scores = data.flatten(0, -3) if data.ndim > 2 else data.unsqueeze(0)
    # The lowest first is the highest of the negated scores first.
    if is_ascend:
        scores, threshold = -scores, -threshold
    column = match_best(scores, threshold)
    if 0 < topk < min(scores.shape[1:]):
        # Pairs are found best first: what a limit leaves are those with the highest scores.
        values = scores.gather(2, column.clamp(min=0).unsqueeze(2)).squeeze(2)
        order = torch.where(column >= 0, values, float("-inf")).argsort(dim=1, descending=True, stable=True)
        column = column.scatter(1, order[:, topk:], -1)
    rows, columns = scores.shape[1:]
    # Rows without a column are written after the last one, which is cut off.
    row = torch.full((scores.shape[0], columns + 1), -1, device=data.device)
    numbers = torch.arange(rows, device=data.device).expand_as(column)
    row.scatter_(1, torch.where(column >= 0, column, columns), numbers)  # the inverse of `column`
    return (
        column.to(dtype=data.dtype).reshape(data.shape[:-1]),
        row[:, :columns].to(dtype=data.dtype).reshape(*data.shape[:-2], columns),
    )


@operator("_contrib_box_encode", outputs=("output0", "output1"), head_gradient=False)
@torch.no_grad()
def box_encode(
    samples: Tensor, matches: Tensor, anchors: Tensor, refs: Tensor, means: Tensor, stds: Tensor
) -> tuple[Tensor, Tensor]:
    """Targets of box regression: offsets from anchors to the boxes that they are matched with, and their mask.

    ``((x - anchor_x) / anchor_width, (y - anchor_y) / anchor_height, log(width / anchor_width), log(height /
    anchor_height))``, of centers, less `means`, divided by `stds`. Both outputs are 0 for anchors whose sample is not
    above 0.5, and for those whose match is not in [0, M): MXNet reads beyond `refs` there. The gradient is zero, as
    in MXNet.

    Parameters
    ----------
    samples
        1 for anchors that are to learn a box, 0 or -1 for others.
    matches
        The number of the box of `refs`.
    anchors, refs
        (left, top, right, bottom).

    Shapes
    ------
    samples, matches : (B, N)
    anchors : (B, N, 4)
    refs : (B, M, 4)
    means, stds : (4,)
    out : (B, N, 4), twice

    >>> anchor, box = torch.tensor([[[0.0, 0.0, 2.0, 2.0]]]), torch.tensor([[[1.0, 0.0, 3.0, 2.0]]])
    >>> one = torch.ones(1, 1)
    >>> box_encode(one, one - 1, anchor, box, torch.zeros(4), torch.ones(4))[0]
    tensor([[[0.5000, 0.0000, 0.0000, 0.0000]]])
    """
    require_floating(samples, "samples")
    if samples.ndim != 2 or refs.ndim != 3 or refs.shape[::2] != (samples.shape[0], 4):
        raise ShapeError(
            f"samples must have shape (B, N) and refs (B, M, 4); "
            f"got {tuple(samples.shape)} and {tuple(refs.shape)}"
        )
    expected = {"matches": (*samples.shape,), "anchors": (*samples.shape, 4), "means": (4,), "stds": (4,)}
    given = {"matches": matches, "anchors": anchors, "means": means, "stds": stds}
    for name, shape in expected.items():
        if given[name].shape != shape:
            raise ShapeError(
                f"{name} must have shape {shape} to match samples {tuple(samples.shape)}; "
                f"got {tuple(given[name].shape)}"
            )
    count = refs.shape[1]
    match = matches.long()  # cut towards 0, as MXNet does
    # Tested before the cut: whatever is above -1 is cut to 0 or more.
    learns = ((samples > 0.5) & (matches > -1) & (match < count)).unsqueeze(-1)
    # `gather` has nothing to select from.
    if not count:
        targets = torch.zeros_like(anchors)
    else:
        chosen = refs.gather(1, match.clamp(0, count - 1).unsqueeze(-1).expand(-1, -1, 4))
        offsets = encode(to_centers(widened(anchors)), to_centers(widened(chosen)))
        targets = torch.where(learns, (offsets - means) / stds, 0).to(dtype=samples.dtype)
    return targets, learns.to(dtype=samples.dtype).expand_as(targets).contiguous()


@box_encode.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    return [shapes["anchors"], shapes["anchors"]]


@box_encode.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    samples, refs = shapes["samples"], shapes["refs"]
    batch: Shape = samples or (refs[0] if refs else 0, 0)
    return {"matches": batch[:2], "anchors": (*batch[:2], 4), "means": (4,), "stds": (4,)}


@operator("_contrib_box_decode", head_gradient=False)
@torch.no_grad()
def box_decode(
    data: Tensor,
    anchors: Tensor,
    *,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    format: Format = "center",
) -> Tensor:
    """Boxes (left, top, right, bottom) from predicted offsets to anchors: the inverse of `box_encode`.

    The gradient is zero, as in MXNet. Half precision is computed in single precision.

    Parameters
    ----------
    std0, std1, std2, std3
        Factors of the four offsets.
    clip
        Above 0, the largest logarithm by which a box can be wider or higher than its anchor.
    format
        How the anchors are given. ``'corner'``: (left, top, right, bottom); ``'center'``: (x, y, width, height)
        around the center.

    Shapes
    ------
    data, out : (B, N, 4)
    anchors : (1, N, 4)

    >>> box_decode(torch.tensor([[[0.5, 0.0, 0.0, 0.0]]]), torch.tensor([[[1.0, 1.0, 2.0, 2.0]]]))
    tensor([[[1., 0., 3., 2.]]])
    """
    require_floating(data)
    if data.ndim != 3 or data.shape[2] != 4 or anchors.shape != (1, *data.shape[1:]):
        raise ShapeError(
            f"data must have shape (B, N, 4) and anchors (1, N, 4); got {tuple(data.shape)} and "
            f"{tuple(anchors.shape)}"
        )
    centers = widened(anchors)
    if format == "corner":
        centers = to_centers(centers)
    return decode(centers, widened(data), (std0, std1, std2, std3), clip if clip > 0 else None).to(
        dtype=data.dtype
    )


@box_decode.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data, anchors = shapes["data"], shapes["anchors"]
    count = (data and data[1:2]) or (anchors and anchors[1:2]) or (0,)
    return {"data": (0, *count, 4), "anchors": (1, *count, 4)}
