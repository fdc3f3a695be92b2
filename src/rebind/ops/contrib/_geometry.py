"""Boxes: overlaps, non-maximum suppression and matching, exact and for all images of a batch at once.

A box is (left, top, right, bottom) on the last axis, a *corner* box. What is greedy by definition is computed here
by tensors. In a suppression, a box stays unless a better one that stays suppresses it: the boxes that stay are the
only fixed point of that rule, and applying it again and again reaches it in as many rounds as the longest chain of
suppressions has links (Zheng et al., "Enhancing Geometric Factors in Model Learning and Inference for Object
Detection and Instance Segmentation", 2020). In a matching, all pairs that are best for both sides are taken at
once; one by one, best first, takes the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from ...tuning import current


def widened(array: Tensor) -> Tensor:
    """Return `array` in a type whose sums and products of coordinates are exact enough: float32 or float64.

    >>> widened(torch.ones(1, dtype=torch.float16)).dtype
    torch.float32
    """
    return array.to(dtype=torch.promote_types(array.dtype, torch.float32))


def to_corners(boxes: Tensor) -> Tensor:
    """Return boxes (x, y, width, height) around their centers as corner boxes.

    >>> to_corners(torch.tensor([2.0, 3.0, 2.0, 4.0]))
    tensor([1., 1., 3., 5.])
    """
    center, half = boxes[..., :2], boxes[..., 2:] / 2
    return torch.cat([center - half, center + half], -1)


def to_centers(boxes: Tensor) -> Tensor:
    """Return corner boxes as (x, y, width, height) around their centers.

    >>> to_centers(torch.tensor([1.0, 1.0, 3.0, 5.0]))
    tensor([2., 3., 2., 4.])
    """
    low, high = boxes[..., :2], boxes[..., 2:]
    return torch.cat([(low + high) / 2, high - low], -1)


def encode(anchors: Tensor, boxes: Tensor) -> Tensor:
    """Return offsets from anchors to boxes, both as `to_centers` gives them.

    They are the way between the centers, in widths and heights of the anchor, then logarithms of quotients of sizes.

    >>> encode(torch.tensor([2.0, 3.0, 2.0, 4.0]), torch.tensor([3.0, 3.0, 2.0, 4.0]))
    tensor([0.5000, 0.0000, 0.0000, 0.0000])
    """
    size = anchors[..., 2:]
    return torch.cat([(boxes[..., :2] - anchors[..., :2]) / size, (boxes[..., 2:] / size).log()], -1)


def decode(anchors: Tensor, offsets: Tensor, factors: Sequence[float], limit: float | None = None) -> Tensor:
    """Return corner boxes from anchors as `to_centers` gives them and offsets, times `factors`.

    Logarithms above `limit` are cut off.

    >>> decode(torch.tensor([2.0, 3.0, 2.0, 4.0]), torch.tensor([5.0, 0.0, 0.0, 0.0]), (0.1, 0.1, 0.2, 0.2))
    tensor([2., 1., 4., 5.])
    """
    # R-CNN's coding (Girshick et al., 2014): centres move by shares of the anchor, sides grow by exponents.
    offsets = offsets * offsets.new_tensor(factors)
    grown = offsets[..., 2:] if limit is None else offsets[..., 2:].clamp(max=limit)
    size = anchors[..., 2:]
    center, half = offsets[..., :2] * size + anchors[..., :2], grown.exp() * size / 2
    return torch.cat([center - half, center + half], -1)


def areas(boxes: Tensor, border: float = 0.0) -> Tensor:
    """Return the areas of corner boxes; with a `border` of 1 the right and bottom pixels belong to a box.

    >>> areas(torch.tensor([1.0, 1.0, 3.0, 5.0])), areas(torch.tensor([1.0, 1.0, 3.0, 5.0]), border=1.0)
    (tensor(8.), tensor(15.))
    """
    left, top, right, bottom = boxes.unbind(-1)
    return (right - left + border) * (bottom - top + border)


def overlaps(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return intersection over union of corner boxes (..., N, 4) and (..., M, 4): (..., N, M).

    It is 0 for boxes that do not meet, whatever their areas are.

    >>> box = torch.tensor([[0.0, 0.0, 2.0, 2.0]])
    >>> overlaps(box, torch.cat([box, box + 1, box + 2]))
    tensor([[1.0000, 0.1429, 0.0000]])
    """
    shared, union = shared_and_union(lhs, rhs)
    # Two boxes without area would give 0 / 0.
    return shared.div_(union.masked_fill_(shared == 0, 1))


def shared_and_union(lhs: Tensor, rhs: Tensor, border: float = 0.0) -> tuple[Tensor, Tensor]:
    """Return the area that boxes (..., N, 4) and (..., M, 4) share and that of their union: (..., N, M).

    >>> box = torch.tensor([[0.0, 0.0, 2.0, 2.0]])
    >>> shared_and_union(box, box + 1)
    (tensor([[1.]]), tensor([[7.]]))
    """
    left, top, right, bottom = lhs.unsqueeze(-2).unbind(-1)
    # (..., N, 1) and (..., 1, M), so that each meets each. Numbers that lie together are compared many at a time.
    other_left, other_top, other_right, other_bottom = rhs.mT.contiguous().unsqueeze(-2).unbind(-3)
    shared = torch.minimum(right, other_right).sub_(torch.maximum(left, other_left))
    # In place below: these are the largest arrays of all, and nobody else has them.
    height = torch.minimum(bottom, other_bottom).sub_(torch.maximum(top, other_top))
    if border:
        shared, height = shared.add_(border), height.add_(border)
    shared.clamp_(min=0).mul_(height.clamp_(min=0))
    # |A or B| = |A| + |B| - |A and B|
    union = (areas(lhs, border).unsqueeze(-1) + areas(rhs, border).unsqueeze(-2)).sub_(shared)
    return shared, union


def keep_best(
    boxes: Tensor,
    allowed: Tensor,
    threshold: float,
    *,
    classes: Tensor | None = None,
    border: float = 0.0,
    inclusive: bool = False,
    enough: int | None = None,
) -> Tensor:
    """Return which boxes stay: those that no better box that stays overlaps by more than `threshold`.

    The best boxes are settled among themselves, block after block, and what they suppress is left out of all that
    follows: few of many candidates stay, as a rule. How much there is to do depends on the data, so that a GPU is
    waited for.

    Parameters
    ----------
    boxes
        Corner boxes, the best first: (B, N, 4).
    allowed
        The candidates: (B, N), bool. The others neither stay nor suppress.
    classes
        With it, (B, N), boxes of different classes do not suppress each other.
    border
        See `areas`.
    inclusive
        An overlap of just `threshold` is too much already.
    enough
        As soon as so many boxes of each image stay, the rest is left out.

    Examples
    --------
    >>> boxes = torch.tensor([[[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [3.0, 3.0, 4.0, 4.0]]])
    >>> keep_best(boxes, torch.ones(1, 3, dtype=torch.bool), 0.5)
    tensor([[ True, False,  True]])
    """
    if allowed.is_meta or not allowed.numel():
        return torch.empty_like(allowed)
    # One element more: positions that fill up a group are written there and cut off at the end.
    stays = torch.zeros(allowed.numel() + 1, dtype=torch.bool, device=allowed.device)
    boxes = boxes.reshape(-1, 4)

    def suppresses(better: Tensor, worse: Tensor) -> Tensor:
        shared, union = shared_and_union(better, worse, border)
        overlap = shared.div_(union)  # not a number for two boxes without area: above no threshold
        # 1 and 0 in the type of the overlaps, in place: what they are multiplied by next, by fast products.
        return overlap.ge_(threshold) if inclusive else overlap.gt_(threshold)

    for origin in _groups(allowed, classes):
        if enough is None:
            _settle(stays, boxes, origin, suppresses)
        else:
            _settle_enough(stays, boxes, origin, suppresses, enough)
    return stays[:-1].view(allowed.shape)


def _settle(
    stays: Tensor, boxes: Tensor, origin: Tensor, suppresses: Callable[[Tensor, Tensor], Tensor]
) -> None:
    """Write which boxes of some groups stay; `origin` (G, K) says where they are, the last position being none."""
    nowhere = len(boxes)
    # Those that fill up get any box: `left` says that they do not count.
    boxes = boxes[origin.clamp(max=nowhere - 1)]
    while origin.numel():
        left = origin < nowhere
        groups, count = origin.shape
        # A block has about `suppression_pairs` pairs with all that follows, but 32 boxes at least.
        size = min(count, max(32, current().suppression_pairs // (groups * count)))
        front, rest = boxes[:, :size], boxes[:, size:]
        # Above the diagonal only: a box is suppressed by better ones, which come before it.
        winners = _undominated(suppresses(front, front).triu_(1), left[:, :size])
        stays[origin[:, :size]] = winners
        if size == count:
            break
        order, real = _pack(winners)
        # (groups, winners, rest). What lost in the front suppresses nothing.
        gone = _any_of(real, suppresses(_select(front, order), rest))
        left = left[:, size:] & ~gone
        # Groups that are done, and boxes that are gone, are left out.
        busy = left.any(1).nonzero().squeeze(1)
        order, left = _pack(left[busy])
        boxes = _select(rest[busy], order)
        origin = origin[busy, size:].gather(1, order).masked_fill_(~left, nowhere)


def _settle_enough(
    stays: Tensor,
    boxes: Tensor,
    origin: Tensor,
    suppresses: Callable[[Tensor, Tensor], Tensor],
    enough: int,
) -> None:
    """Do what `_settle` does until `enough` boxes of each group stay.

    Here a block is compared with what stays so far, not what stays with all that follows: most of that is never
    looked at.
    """
    nowhere = len(boxes)
    boxes = boxes[origin.clamp(max=nowhere - 1)]
    groups, count = origin.shape
    winners, real = boxes[:, :0], origin[:, :0] < nowhere
    size = max(32, current().suppression_pairs // (2 * groups * max(enough, 1)))
    for begin in range(0, count, size):
        front, places = boxes[:, begin : begin + size], origin[:, begin : begin + size]
        # Ranked by score: a group with enough winners needs none of the worse boxes.
        left = (places < nowhere) & (real.sum(1, keepdim=True) < enough)
        if not bool(left.any()):
            break
        left &= ~_any_of(real, suppresses(winners, front))
        # Above the diagonal only, as in `_settle`.
        chosen = _undominated(suppresses(front, front).triu_(1), left)
        stays[places] = chosen
        order, more = _pack(chosen)
        winners, real = torch.cat((winners, _select(front, order)), 1), torch.cat((real, more), 1)


def _groups(allowed: Tensor, classes: Tensor | None) -> Iterator[Tensor]:
    """Yield the positions of candidates, by image or by image and class: (G, K), filled up with one beyond.

    Groups of about one size go together, so that a large one does not make all others as large.
    """
    position = allowed.flatten().nonzero().squeeze(1)
    # The image of each candidate.
    group = position // allowed.shape[1]
    if classes is not None:
        names, kind = classes.flatten()[position].unique(return_inverse=True)
        # Stable: within a group the best boxes stay first.
        group, order = torch.sort(group * len(names) + kind, stable=True)
        position, group = position[order], group.unique_consecutive(return_inverse=True)[1]
    counts = group.bincount()
    # The rank of each candidate within its group.
    number = torch.arange(len(position), device=position.device) - (counts.cumsum(0) - counts)[group]
    # One row of the result for each group; a table of all groups would be as wide as the largest.
    # Sizes of one level differ by less than a factor of two, so that filling up at most doubles the rows.
    level = counts.double().log2().ceil()
    for each in level[counts > 0].unique().tolist():
        here = level == each
        chosen = here[group]
        # Groups of this level are numbered again, from 0.
        row = (here.cumsum(0) - 1)[group[chosen]]
        origin = position.new_full((int(here.sum()), int(counts[here].max())), allowed.numel())
        yield origin.index_put_((row, number[chosen]), position[chosen])


def _pack(chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Return the positions of what is chosen in each row, (B, K), and which of them are real: rows are filled up."""
    counts = chosen.sum(1, keepdim=True)
    most = int(counts.max()) if chosen.numel() else 0
    positions = torch.arange(chosen.shape[1], device=chosen.device)
    # What is chosen is written to its rank, in its order; all else to a position behind, which is cut off.
    order = torch.zeros((len(chosen), most + 1), dtype=torch.int64, device=chosen.device)
    order.scatter_(1, torch.where(chosen, chosen.cumsum(1) - 1, most), positions.expand_as(chosen))
    return order[:, :most], positions[:most] < counts


def _select(array: Tensor, index: Tensor) -> Tensor:
    """Return rows (B, K, ...) of `array` (B, N, ...)."""
    return array.gather(1, index.unsqueeze(-1).expand(-1, -1, array.shape[2]))


def _undominated(suppresses: Tensor, alive: Tensor) -> Tensor:
    """Return which of a block stay, the best first; `suppresses` (B, N, N) is 1 where a box suppresses a worse one."""
    stays = alive
    while True:
        # A box stays unless one that stays suppresses it; chains settle from the best box on.
        before, stays = stays, alive & ~_any_of(stays, suppresses)
        # Each round settles at least one more link of the longest chain. The comparison waits for the device.
        if torch.equal(before, stays):
            return stays


def _any_of(chosen: Tensor, suppresses: Tensor) -> Tensor:
    """Return what any of the chosen (B, N) suppresses: (B, M), from `suppresses` (B, N, M)."""
    return torch.bmm(chosen.to(dtype=suppresses.dtype).unsqueeze(1), suppresses).squeeze(1) > 0


def match_best(scores: Tensor, floor: float) -> Tensor:
    """Return for each row of `scores` the column that it is matched with, or -1.

    The pair with the highest score above `floor` is taken, then the highest of other rows and other columns, and so
    on; of equal scores the one in the first row counts, then that in the first column. What is not a number is not
    taken.

    Shapes
    ------
    scores : (B, N, M)
    out : (B, N), int64

    Examples
    --------
    >>> match_best(torch.tensor([[[0.5, 0.6], [0.1, 0.7]]]), 0.0)
    tensor([[0, 1]])
    """
    images, rows, columns = scores.shape
    matched = torch.full((images, rows), -1, device=scores.device)
    if scores.is_meta or not scores.numel():
        return matched
    nothing = float("-inf")
    # What is not above the floor is as good as taken.
    scores = torch.where(scores > floor, scores, nothing)
    row_numbers = torch.arange(rows, device=scores.device)
    while True:
        column_of, row_of = scores.argmax(2), scores.argmax(1)
        # Pairs that are each other's best; the greedy order would come to take them as well. Of equal scores `argmax`
        # gives the first.
        taken = (row_of.gather(1, column_of) == row_numbers) & (scores.amax(2) > nothing)
        if not bool(taken.any()):
            return matched
        matched = torch.where(taken, column_of, matched)
        # Columns whose best row took them: they leave together with the rows.
        gone = taken.gather(1, row_of) & (
            column_of.gather(1, row_of) == torch.arange(columns, device=scores.device)
        )
        scores.masked_fill_(taken.unsqueeze(2) | gone.unsqueeze(1), nothing)
