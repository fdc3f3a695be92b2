"""Histograms: the number of values between each two bounds."""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from ..errors import ParameterError, ShapeError
from ..params import AtLeast, Params
from ..shapes import Shape
from .declaration import Shapes, operator

__all__ = ["histogram"]


@operator(
    "_histogram",
    skip=lambda name, p: name == "bins" and p.bin_cnt is not None,
    outputs=("output0", "output1"),
    types={"output0": torch.int64},
    head_gradient=False,
    listed={"range": ", optional, default=None"},
)
def histogram(
    data: Tensor,
    bins: Tensor | None = None,
    *,
    bin_cnt: Annotated[int, AtLeast(1)] | None = None,
    range: tuple[float, ...] | None = None,
) -> tuple[Tensor, Tensor]:
    """Counts of the values between bounds, and the bounds.

    A value on a bound counts above it, on the last one below it; what lies outside, or is not a number, does not count.

    Parameters
    ----------
    bins
        The bounds, in ascending order.
    bin_cnt
        How many bins of one width there are, instead of `bins`.
    range
        The lowest and the highest bound, with `bin_cnt`. Unlike in MXNet it may be left out: it is then the least
        and the greatest value, found on the device. Of two equal bounds one is lowered and one raised by one half.

    Shapes
    ------
    data : any
    bins : (K + 1,)
    out : (K,) of int64 and (K + 1,) of the type of data

    >>> histogram(torch.tensor([0.0, 1, 2, 2, 3, 4]), bin_cnt=5, range=(0.0, 5.0))[0]
    tensor([1, 1, 2, 1, 1])
    """
    values = data.detach().reshape(-1)
    if bin_cnt is None:
        if bins is None:
            raise ParameterError("bins (an array of edges) or bin_cnt must be given; got neither")
        if bins.ndim != 1 or bins.shape[0] < 2:
            raise ShapeError(f"bins must have one axis of two edges or more; got shape {tuple(bins.shape)}")
        bounds = bins.detach()
        low, high = bounds[0], bounds[-1]
    else:
        low, high = _ends(values, range)
        steps = torch.arange(bin_cnt + 1, dtype=torch.float64, device=data.device) / bin_cnt
        bounds = (low + (high - low) * steps).to(dtype=data.dtype)
    inside = (values >= low) & (values <= high)
    count = bounds.shape[0] - 1
    # A value on a bound belongs to the bin above; only the last bound is put into the bin below, by `clamp`.
    index = torch.searchsorted(bounds.contiguous(), values.contiguous(), right=True) - 1
    # Values outside add 0: no selection whose size the host would have to know.
    counts = torch.zeros(count, dtype=torch.int64, device=data.device)
    counts = counts.scatter_add(0, index.clamp(0, count - 1), inside.to(dtype=torch.int64))
    return counts, bounds.clone()


@histogram.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    if p.bin_cnt is not None:
        return [(p.bin_cnt,), (p.bin_cnt + 1,)]
    bins = shapes["bins"]
    return [] if bins is None or not bins[0] else [(bins[0] - 1,), bins]


def _ends(values: Tensor, given: tuple[float, ...] | None) -> tuple[Tensor, Tensor]:
    """Return the lowest and the highest bound in float64."""
    if given is not None:
        low, high = torch.tensor(given, dtype=torch.float64).to(values.device)
    elif values.numel():
        low, high = (end.to(dtype=torch.float64) for end in torch.aminmax(values))
    else:
        low, high = torch.tensor((0.0, 1.0), dtype=torch.float64).to(values.device)
    # Without a width all would fall on one bound.
    half = torch.where(low == high, 0.5, 0.0)
    return low - half, high + half


@histogram.check
def _(p: Params) -> str | None:
    if p.range is None:
        return None
    if p.bin_cnt is None:
        return f"range must be given together with bin_cnt; got range={p.range} without bin_cnt"
    if len(p.range) != 2 or not p.range[0] <= p.range[1]:
        return f"range must be two numbers in ascending order; got {p.range}"
    return None
