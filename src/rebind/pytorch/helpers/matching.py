"""Matching of rows with columns, and of anchors with objects."""

from __future__ import annotations

import torch
from torch import Tensor

from .loops import repeat_while

__all__ = ["bipartite_matching", "match_best", "multi_box_target"]


def match_best(scores: Tensor, floor: float) -> Tensor:
    """Return for each row of `scores` (batch, rows, columns) its column; -1 is none.

    The pair with the highest score above `floor` is taken, then the highest of the rows and
    columns that are left, and so on; of equal scores the first one.
    """
    count, width = scores.shape[1:]
    rows = torch.arange(count, device=scores.device)
    columns = torch.arange(width, device=scores.device)
    none = float("-inf")

    def go_on(rest: Tensor, matched: Tensor) -> Tensor:
        return (rest > none).any()

    def step(rest: Tensor, matched: Tensor) -> tuple[Tensor, Tensor]:
        best = rest.flatten(1).argmax(1, keepdim=True)
        exists = rest.flatten(1).gather(1, best) > none
        column = best % width
        is_row = (rows == best // width) & exists
        gone = is_row.unsqueeze(2) | ((columns == column) & exists).unsqueeze(1)
        return rest.masked_fill(gone, none), torch.where(is_row, column, matched)

    rest = torch.where(scores > floor, scores, none)
    matched = torch.full_like(scores[..., 0], -1, dtype=torch.int64)
    return repeat_while(go_on, step, (rest, matched), min(count, width))[1]


def bipartite_matching(
    data: Tensor, threshold: float, is_ascend: bool = False, topk: int = -1
) -> tuple[Tensor, Tensor]:
    """Return for each row its column, and for each column its row; -1 is none."""
    rows, columns = data.shape[-2:]
    scores = data.detach().reshape(-1, rows, columns)
    if is_ascend:
        scores, threshold = -scores, -threshold
    column = match_best(scores, threshold)
    if 0 < topk < min(rows, columns):
        values = scores.gather(2, column.clamp(min=0).unsqueeze(2)).squeeze(2)
        ranks = torch.where(column >= 0, values, float("-inf"))
        order = ranks.argsort(dim=1, descending=True, stable=True)
        column = column.scatter(1, order[:, topk:], -1)
    numbers = torch.arange(rows, device=data.device).expand_as(column)
    # Rows without a column are written behind the last one.
    row = torch.full((scores.shape[0], columns + 1), -1, device=data.device)
    row = row.scatter(1, torch.where(column >= 0, column, columns), numbers)
    return (
        column.to(data.dtype).view(data.shape[:-1]),
        row[:, :columns].to(data.dtype).view(*data.shape[:-2], columns),
    )


def multi_box_target(
    anchor: Tensor,
    label: Tensor,
    cls_pred: Tensor,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1.0,
    negative_mining_ratio: float = -1.0,
    negative_mining_thresh: float = 0.5,
    minimum_negative_samples: int = 0,
    variances: tuple[float, ...] = (0.1, 0.1, 0.2, 0.2),
) -> tuple[Tensor, Tensor, Tensor]:
    """Return what anchors are to learn: offsets to objects, their mask, and classes."""
    images, count, dtype = label.shape[0], anchor.shape[1], anchor.dtype
    if not label.shape[1]:
        nothing = cls_pred.new_zeros(images, count * 4)
        return (
            nothing,
            nothing.clone(),
            cls_pred.new_full((images, count), ignore_label),
        )
    boxes = anchor.detach().to(torch.promote_types(dtype, torch.float32))
    given = label[..., 1:5].detach()
    given = given.to(torch.promote_types(given.dtype, torch.float32))
    # Objects end at the first label of class -1.
    objects = (label[..., 0] == -1).cumsum(1) == 0
    low = torch.maximum(boxes[..., None, :2], given[:, None, :, :2])
    high = torch.minimum(boxes[..., None, 2:], given[:, None, :, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    size, given_size = boxes[..., 2:] - boxes[..., :2], given[..., 2:] - given[..., :2]
    union = size.prod(-1).unsqueeze(2) + given_size.prod(-1).unsqueeze(1) - shared
    overlap = shared / union.masked_fill(shared == 0, 1)
    overlap = overlap.masked_fill(~objects.unsqueeze(1), -1)

    # Each object gets an anchor of its own; the other anchors get what they overlap most.
    match = match_best(overlap, 1e-6)
    best, nearest = overlap.amax(2), overlap.argmax(2)
    if overlap_threshold > 0:
        match = torch.where((match < 0) & (best > overlap_threshold), nearest, match)
    positive = match >= 0
    match = match.clamp(min=0)
    index = match.unsqueeze(-1).expand(-1, -1, 4)
    matched = given.gather(1, index)
    matched_size = matched[..., 2:] - matched[..., :2]
    center = (matched[..., :2] + matched[..., 2:]) / 2
    distance = center - (boxes[..., :2] + boxes[..., 2:]) / 2
    offsets = torch.cat([distance / size, (matched_size / size).log()], -1)
    offsets = offsets / offsets.new_tensor(variances)
    mask = positive.unsqueeze(-1)
    target = torch.where(mask, offsets, 0).to(dtype)

    classes = torch.where(positive, label[..., 0].detach().gather(1, match) + 1, 0)
    if negative_mining_ratio > 0:  # of the background, those that look least like it
        candidates = ~positive & (best < negative_mining_thresh)
        wide = torch.promote_types(cls_pred.dtype, torch.float32)
        background = torch.softmax(cls_pred.detach().to(wide), 1)[:, 0]
        ranks = torch.where(candidates, background, float("inf"))
        order = ranks.argsort(dim=1, stable=True)
        wanted = positive.sum(1, dtype=torch.float32) * negative_mining_ratio
        wanted = wanted.long().clamp(min=minimum_negative_samples)
        first = torch.arange(count, device=order.device) < wanted.unsqueeze(1)
        chosen = torch.zeros_like(candidates).scatter(1, order, first)
        classes = torch.where(positive | candidates & chosen, classes, ignore_label)
    classes = torch.where(objects[:, :1], classes, ignore_label).to(dtype)
    mask = mask.to(dtype).expand(-1, -1, 4)
    return target.flatten(1), mask.flatten(1), classes
