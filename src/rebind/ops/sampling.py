"""Random integers, samples of positions, and random order.

Every operator draws from the `generator` that it is given.
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
from torch import Tensor

from .. import draws
from ..draws import Source
from ..errors import ParameterError, ShapeError
from ..params import AtLeast, Params
from ._types import ChosenType, DrawnIntegerType, Long, Sizes, SizesOrNone, made_shape
from .declaration import operator

__all__ = ["random_randint", "sample_multinomial", "sample_unique_zipfian", "shuffle"]


@operator(
    "_random_randint",
    "random_randint",
    types=lambda p: {"output": p.dtype or torch.int32},
    head_gradient=False,
)
def random_randint(
    *,
    low: Long,
    high: Long,
    shape: SizesOrNone = None,
    ctx: str = "",
    dtype: DrawnIntegerType = None,
    generator: Source | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Random integers from ``[low, high)``, all equally likely.

    >>> random_randint(low=7, high=8, shape=(3,))
    tensor([7, 7, 7], dtype=torch.int32)
    """
    return draws.integers(
        made_shape(shape, (1,)), generator, low, high, dtype=dtype or torch.int32, device=device or "cpu"
    )


@random_randint.check
def _(p: Params) -> str | None:
    return None if p.low < p.high else f"low must be below high; got {p.low} and {p.high}"


@operator(
    "_sample_multinomial",
    "sample_multinomial",
    outputs=lambda p: ("output0", "output1") if p.get_prob else ("output",),
    types=lambda p: {"output0" if p.get_prob else "output": p.dtype},
    head_gradient=lambda p: p.get_prob,
)
def sample_multinomial(
    data: Tensor,
    *,
    shape: Sizes = (),
    get_prob: bool = False,
    dtype: ChosenType = torch.int32,
    generator: Source | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Draws of `shape` of positions along the last axis of `data`, whose elements are their probabilities.

    With `get_prob` also the logarithms of the probabilities of what was drawn, differentiable in `data`.

    Shapes
    ------
    data : (C,) or (N, C)
    out : shape or (N, shape)

    >>> sample_multinomial(torch.tensor([0.0, 1.0, 0.0]), shape=(4,))
    tensor([1, 1, 1, 1], dtype=torch.int32)
    """
    if data.ndim not in (1, 2):
        raise ShapeError(f"data must have shape (C,) or (N, C); got {tuple(data.shape)}")
    if not data.shape[-1]:
        raise ShapeError(
            f"the last axis of data must have a probability or more; got shape {tuple(data.shape)}"
        )
    count = 1
    for size in shape:
        count *= size
    if count == 0:
        raise ParameterError(f"all sizes of shape must be above 0; got {shape}")
    # A draw has no gradient; that of its probability comes from `gather` below.
    chosen = draws.multinomial(data.detach(), count, generator)
    target = (*data.shape[:-1], *shape) or (1,)
    positions = chosen.reshape(target).to(dtype=dtype)
    if not get_prob:
        return positions
    # Differentiable in the probabilities: for the score function estimator (REINFORCE).
    return positions, torch.log(torch.gather(data, -1, chosen)).reshape(target)


@operator("_shuffle", "shuffle", same_shape=True)
def shuffle(data: Tensor, *, generator: Source | None = None) -> Tensor:
    """`data` with its slices along the first axis in random order.

    >>> shuffle(torch.tensor([1, 2, 3])).sort().values
    tensor([1, 2, 3])
    """
    if not data.ndim:
        raise ShapeError("data must have 1 axis or more; got shape ()")
    order = draws.permutation(data.shape[0], generator, device=data.device)
    return torch.index_select(data, 0, order)


@operator(
    "_sample_unique_zipfian",
    outputs=("output0", "output1"),
    types={"output0": torch.int64, "output1": torch.int64},
    head_gradient=False,
)
def sample_unique_zipfian(
    *,
    range_max: Annotated[int, AtLeast(1)],
    shape: SizesOrNone = None,
    generator: Source | None = None,
    device: torch.device | None = None,
) -> tuple[Tensor, Tensor]:
    """Different integers below `range_max`, by the approximately log-uniform (Zipfian) distribution.

    A number n is drawn with the probability ``log((n + 2) / (n + 1)) / log(range_max + 1)``, again and again until a
    row has as many different ones as asked for. The second output counts the draws that took. MXNet rounds to the
    nearest where its documentation rounds down, so its 0 is too rare.

    Parameters
    ----------
    range_max
        What all numbers are below.
    shape
        How many rows, and how many numbers in each, at most `range_max`.

    Shapes
    ------
    out : (N, K) and (N,)

    >>> numbers, _ = sample_unique_zipfian(range_max=4, shape=(1, 4))
    >>> numbers.sort().values  # each of them once
    tensor([[0, 1, 2, 3]])
    """
    # Let the draws come at random times, one a second on average. Then each number comes at random times of its own, at
    # a rate that is its probability, and independently of all others: the first numbers to come are the sample, in
    # order. After its first time each comes again, by a Poisson distribution: these are the repeated draws.
    rows, count = shape or (0, 0)
    number = torch.arange(range_max, dtype=torch.float64, device=device)
    # P(k) = log((k + 2) / (k + 1)) / log(range_max + 1).
    rate = (torch.log1p(1 / (number + 1)) / math.log(range_max + 1)).to(dtype=torch.float32)
    # Waiting times of a Poisson process are exponential.
    first = draws.exponential((rows, range_max), generator, device=device or "cpu") / rate
    times, drawn = torch.topk(first, count, dim=1, largest=False, sorted=True)
    # The expected number of returns until the last one came: the time left times the rate.
    repeated = ((times[:, -1:] - times) * rate[drawn]).sum(1)
    return drawn, draws.poisson(repeated, generator).to(dtype=torch.int64) + count


@sample_unique_zipfian.check
def _(p: Params) -> str | None:
    if p.shape is None or len(p.shape) != 2 or 0 in p.shape:
        return f"shape must be (rows, numbers in a row), both above 0; got {p.shape}"
    if p.shape[1] > p.range_max:
        return f"shape must ask for at most range_max={p.range_max} different numbers in a row; got {p.shape}"
    return None
