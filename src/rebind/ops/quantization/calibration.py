"""The range to quantize with: the threshold that loses the least information."""

from __future__ import annotations

from typing import Annotated

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import DTypeError, ShapeError
from ...params import AtLeast, Params
from ...shapes import Shape
from ...tuning import current
from ..declaration import Shapes, operator

__all__ = ["calibrate_entropy"]

_SMALL = 1e-4  # what an empty bin holds, as no logarithm of 0 may be taken
_NONE = torch.finfo(torch.float32).max  # the divergence where there is none


@operator(
    "_contrib_calibrate_entropy",
    outputs=("threshold", "divergence"),
    types={"hist_edges": "any", "threshold": torch.float32, "divergence": torch.float32},
    head_gradient=False,
)
def calibrate_entropy(
    hist: Tensor, hist_edges: Tensor, *, num_quantized_bins: Annotated[int, AtLeast(1)] = 255
) -> tuple[Tensor, Tensor]:
    """Threshold at which the distribution in 8 bits differs least from the distribution, by Kullback and Leibler.

    For each symmetric part of the histogram, from `num_quantized_bins` bins to all, the reference is that part with
    what lies beyond it counted in its outermost bins. The candidate has `num_quantized_bins` bins of equal width, the
    last one wider, each spread over its bins that are not empty; what lies beyond counts as nothing there, and so
    does the first bin. The part of least divergence wins, the smallest of equals; its upper edge is the threshold.

    The sums are float64 here and float32 in MXNet: where divergences differ in the fourth digit, MXNet's threshold
    may be a neighbour.

    Parameters
    ----------
    num_quantized_bins
        How many levels there are.

    Shapes
    ------
    hist : (B,)                 counts, B odd and at least num_quantized_bins; the middle bin holds 0
    hist_edges : (B + 1,)       edges of the bins
    threshold, divergence : (1,)

    References
    ----------
    Migacz, 8-bit Inference with TensorRT, 2017.

    >>> threshold, _ = calibrate_entropy(
    ...     torch.tensor([0.0, 0, 0, 1, 2, 9, 2, 1, 0, 0, 5]), torch.arange(12) - 5.5, num_quantized_bins=5
    ... )
    >>> threshold
    tensor([3.5000])
    """
    if hist.ndim != 1 or hist.shape[0] % 2 == 0 or hist.shape[0] < num_quantized_bins:
        raise ShapeError(
            f"hist must have an odd number of bins, at least num_quantized_bins {num_quantized_bins}; "
            f"got shape {tuple(hist.shape)}"
        )
    if hist_edges.shape != (hist.shape[0] + 1,):
        raise ShapeError(
            f"hist_edges must have shape ({hist.shape[0] + 1},) to match hist {tuple(hist.shape)}; "
            f"got {tuple(hist_edges.shape)}"
        )
    if not hist_edges.is_floating_point():
        raise DTypeError(f"hist_edges must be of a floating type; got {hist_edges.dtype}")
    if hist.is_meta:
        return hist.new_empty((1,), dtype=torch.float32), hist.new_empty((1,), dtype=torch.float32)
    counts = hist.detach().double()
    middle, least = hist.shape[0] // 2, num_quantized_bins // 2
    # Wide candidates are many numbers: tables of a bounded size, not one for all.
    elements = current().calibration_elements
    found = []
    first = least
    # In groups of candidates, each a table of about `calibration_elements`.
    while first <= middle:
        last = min(first + max(elements // (2 * first + 1), 1), middle + 1)
        found.append(_divergences(counts, first, last, num_quantized_bins))
        first = last
    divergences = torch.cat(found)
    divergence = divergences.amin(0, keepdim=True).clamp_(min=0.0)
    # The first of equals; what is 0 may come out as 1e-16.
    best = (divergences <= divergence + 1e-12).to(dtype=torch.uint8).argmax(0, keepdim=True)
    threshold = hist_edges.detach()[middle + least + 1 + best]
    return threshold.float(), divergence.float()


@calibrate_entropy.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    return [(1,), (1,)]


def _divergences(counts: Tensor, first: int, stop: int, levels: int) -> Tensor:
    """Return the divergence of the part of ``2 * reach + 1`` bins, for each reach from `first` up to `stop`.

    Within a candidate's bin all that is not empty is equal, so that sums over bins, differences of running sums, do
    for all but the entropy of the reference.
    """
    middle, device = counts.shape[0] // 2, counts.device
    reach = torch.arange(first, stop, device=device).unsqueeze(1)
    width, start = 2 * reach + 1, middle - reach
    # With a 0 in front, ``running[b] - running[a]`` is the sum of the bins from a up to but not including b.
    running = F.pad(counts.cumsum(0), (1, 0))
    filled = F.pad((counts != 0).to(dtype=counts.dtype).cumsum(0), (1, 0))
    left, right = counts[start], counts[middle + reach]
    left_total = running[start + 1]  # with all that lies below
    right_total = running[-1] - running[middle + reach]

    # The bins of the candidate: what they hold, and over how many bins of the reference that spreads.
    steps = torch.arange(levels, device=device)
    # Of each candidate `width // levels` bins for a level, the rest for the last one.
    edges = torch.cat([start + steps * (width // levels), start + width], 1)
    sums, occupied = running[edges].diff(dim=1), filled[edges].diff(dim=1)
    # The outliers count in the reference (`sums`), not in the candidate (`held`), nor does its first bin there.
    held, spread = sums.clone(), occupied.clone()
    sums[:, :1] += left_total - left
    sums[:, -1:] += right_total - right
    held[:, :1] -= left
    spread[:, :1] -= (left != 0).to(dtype=spread.dtype)
    occupied[:, :1] += ((left == 0) & (left_total != 0)).to(dtype=occupied.dtype)
    occupied[:, -1:] += ((right == 0) & (right_total != 0)).to(dtype=occupied.dtype)
    candidate = held / spread.clamp(min=1.0)
    there = (candidate != 0).to(dtype=occupied.dtype)

    # Both distributions are smoothed, so that no bin is empty: the logarithm of the candidate must exist everywhere.
    taken = _taken(occupied.sum(1, keepdim=True), width)
    also_taken = _taken((occupied * there).sum(1, keepdim=True), width)
    logs = torch.where(there > 0, candidate - also_taken, _SMALL).log()
    cross = ((sums - taken * occupied) * logs).sum(1, keepdim=True)

    # ``sum p log p`` of the reference: its inner bins, then the two outermost ones with all that lies beyond.
    inner = counts[middle - stop + 2 : middle + stop - 1]
    distance = torch.arange(2 - stop, stop - 1, device=device).abs()
    own = torch.where(distance < reach, inner - taken, 0.0).clamp_(min=0.0)
    own = torch.xlogy(own, own).sum(1, keepdim=True)
    # A part of one bin is its own left and right end: each has half of all.
    ends = torch.where(
        reach > 0, torch.cat([left_total, right_total], 1), running[-1:].expand(len(reach), 2) / 2
    )
    ends = (ends - taken).clamp_(min=0.0)
    own = own + torch.xlogy(ends, ends).sum(1, keepdim=True)

    total, also_total = sums.sum(1, keepdim=True), (candidate * occupied * there).sum(1, keepdim=True)
    # ``sum p log(p / q)``, of sums that were not divided by their totals before.
    divergence = (own - cross) / total - (total / also_total).log()
    known = (taken < 1) & (also_taken < 1) & divergence.isfinite()
    return torch.where(known, divergence, _NONE).squeeze(1)


def _taken(filled: Tensor, width: Tensor) -> Tensor:
    """Return what is taken from each nonempty bin to fill the empty ones; the smoothing fails where it is 1 or more."""
    return _SMALL * (width - filled) / filled


@calibrate_entropy.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    hist, edges = shapes["hist"], shapes["hist_edges"]
    if hist and len(hist) == 1 and hist[0]:
        return {"hist_edges": (hist[0] + 1,)}
    return {"hist": (edges[0] - 1,)} if edges and len(edges) == 1 and edges[0] > 1 else {}
