"""Random numbers for operators: from a generator, or from a seed that is a tensor.

In the default mode operators draw from the `torch.Generator` of their device, one after the other. Where a compiler
traces a step, the order in which operators run is its own, and a generator cannot be an input. There each operator
draws from a `Seed` of its own, derived from one seed that is an input of the step: the same seed gives the same
numbers, whatever the compiler does.

To a compiler a draw from a seed is one opaque operator. Behind it the seed, with the numbers of the uses that lead to
this draw, is mixed by NumPy's `SeedSequence` into the seed of a generator of torch's own, so that both ways draw with
the same code. A cipher in traced arithmetic (Threefry, as in JAX) would fuse with what uses the numbers, but inductor
takes half a minute to write one such draw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ._torch.functions import standard_gamma

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = [
    "Seed",
    "Source",
    "bernoulli",
    "derive",
    "exponential",
    "gamma",
    "integers",
    "multinomial",
    "normal",
    "permutation",
    "poisson",
    "uniform",
]


class Seed(NamedTuple):
    """The seed of a step, and the uses that it was derived for, one after the other: they determine the numbers drawn.

    It is on the CPU, for draws on any device: reading it there makes no device wait.
    """

    path: Tensor  # of int64, (1 + uses,)


#: Where random numbers come from: a generator; the seed of a step, an int64 tensor without axes; or the `Seed` that
#: `derive` makes from it for one use. None is torch's own generator.
Source: TypeAlias = torch.Generator | Seed | Tensor


def _is_seed(source: Source | None) -> TypeIs[Seed | Tensor]:
    # So, since to ask for a tensor takes torch three times as long, and Dynamo does not follow other ways to ask for a
    # generator.
    return source is not None and type(source) is not torch.Generator


def derive(source: Source | None, number: int) -> Source | None:
    """Return a source of its own for the use `number`; a generator is itself, since drawing advances it.

    >>> first, second = (derive(torch.tensor(7), number) for number in (1, 2))
    >>> first
    Seed(path=tensor([7, 1]))
    >>> bool(uniform((), first) == uniform((), second))
    False
    """
    if not _is_seed(source):
        return source
    path = source.path if isinstance(source, Seed) else source.reshape(1)
    return Seed(torch.cat([path, torch.tensor([number])]))


def uniform(
    shape: Sequence[int],
    source: Source | None,
    low: float = 0.0,
    high: float = 1.0,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Return numbers of the uniform distribution over ``[low, high)``.

    >>> uniform((2, 3), torch.Generator().manual_seed(1)).shape
    torch.Size([2, 3])
    >>> torch.equal(uniform((4,), derive(torch.tensor(1), 0)), uniform((4,), derive(torch.tensor(1), 0)))
    True
    """
    if _is_seed(source):
        return _from_seed("uniform", source, shape, dtype, device, low, high)
    if low == 0 and high == 1:  # torch draws the same numbers in one call
        return torch.rand(size=shape, generator=source, dtype=dtype, device=device)
    return torch.empty(size=shape, dtype=dtype, device=device).uniform_(low, high, generator=source)


def normal(
    shape: Sequence[int],
    source: Source | None,
    loc: float = 0.0,
    scale: float = 1.0,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Return numbers of the normal distribution with mean `loc` and standard deviation `scale`.

    >>> round(normal((1000,), derive(torch.tensor(1), 0), loc=5.0, scale=0.1).mean().item(), 1)
    5.0
    """
    if _is_seed(source):
        return _from_seed("normal", source, shape, dtype, device, loc, scale)
    if loc == 0 and scale == 1:  # as above
        return torch.randn(size=shape, generator=source, dtype=dtype, device=device)
    return torch.normal(loc, scale, shape, generator=source, dtype=dtype, device=device)


def exponential(
    shape: Sequence[int],
    source: Source | None,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Return numbers of the exponential distribution with rate 1.

    >>> round(exponential((10_000,), derive(torch.tensor(1), 0)).mean().item(), 1)
    1.0
    """
    if _is_seed(source):
        return _from_seed("exponential", source, shape, dtype, device)
    return torch.empty(size=shape, dtype=dtype, device=device).exponential_(generator=source)


def bernoulli(
    shape: Sequence[int],
    source: Source | None,
    probability: float,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Return ones with a probability, and zeros.

    >>> bernoulli((4,), derive(torch.tensor(1), 0), 1.0)
    tensor([1., 1., 1., 1.])
    """
    if _is_seed(source):
        return _from_seed("bernoulli", source, shape, dtype, device, probability)
    made = torch.empty(size=shape, dtype=dtype, device=device)
    if made.is_cpu and dtype in (torch.float32, torch.float64):
        # torch's own takes three times as long on a CPU. Uniform numbers are below 1 and may be 0.
        return made.uniform_(generator=source).lt_(probability)
    return made.bernoulli_(probability, generator=source)


def integers(
    shape: Sequence[int],
    source: Source | None,
    low: int,
    high: int,
    *,
    dtype: torch.dtype = torch.int64,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Return integers from ``[low, high)``.

    >>> integers((2,), derive(torch.tensor(1), 0), 3, 4)
    tensor([3, 3])
    """
    if _is_seed(source):
        return _from_seed("integers", source, shape, dtype, device, low, high)
    return torch.empty(size=shape, dtype=dtype, device=device).random_(int(low), int(high), generator=source)


def gamma(alpha: Tensor, source: Source | None) -> Tensor:
    """Return numbers of gamma distributions with scale 1, one for each of the shape parameters `alpha`.

    >>> round(gamma(torch.full((10_000,), 4.0), derive(torch.tensor(1), 0)).mean().item())
    4
    """
    return _each("gamma", source, alpha)


def poisson(rate: Tensor, source: Source | None) -> Tensor:
    """Return numbers of Poisson distributions, one for each of the rates.

    >>> poisson(torch.zeros(2), derive(torch.tensor(1), 0))
    tensor([0., 0.])
    """
    return _each("poisson", source, rate)


def multinomial(weights: Tensor, count: int, source: Source | None) -> Tensor:
    """Return `count` indices for each row of `weights`, ``(..., count)`` of int64, drawn with replacement.

    >>> multinomial(torch.tensor([0.0, 1.0, 0.0]), 2, derive(torch.tensor(1), 0))
    tensor([1, 1])
    """
    return _each("multinomial", source, weights, count)


def permutation(count: int, source: Source | None, *, device: torch.device | str = "cpu") -> Tensor:
    """Return the numbers below `count` in random order.

    >>> permutation(3, derive(torch.tensor(1), 0)).sort().values
    tensor([0, 1, 2])
    """
    if _is_seed(source):  # the order of `count` events at random times
        return uniform((count,), source, dtype=torch.float64, device=device).argsort()
    return torch.randperm(count, generator=source, device=device)


def _positions(weights: Tensor, count: int, *, generator: torch.Generator | None) -> Tensor:
    """Return positions where random shares of all weights lie, as they follow each other: inverted sums.

    `torch.multinomial` prepares for many draws, and takes twenty times as long for one among half a million.
    """
    sums = weights.cumsum(-1, dtype=torch.float64)
    total = sums[..., -1:]
    if weights.is_cpu and not (
        bool((total > 0).all() & total.isfinite().all()) and bool((weights >= 0).all())
    ):
        return torch.multinomial(
            weights, count, replacement=True, generator=generator
        )  # which says what is wrong
    share = torch.rand(
        (*weights.shape[:-1], count), generator=generator, dtype=torch.float64, device=weights.device
    )
    # Below the total, also when rounded: what is drawn is the first position whose sum is above, never one of weight 0.
    share = torch.minimum(share * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(sums, share, right=True)


def _gamma(shapes: Tensor, *, generator: torch.Generator | None) -> Tensor:
    """Return numbers of Gamma distributions. Some versions of PyTorch do not know their shape."""
    return torch.empty_like(shapes) if shapes.is_meta else standard_gamma(shapes, generator=generator)


# The functions above that fill an array, and torch's that draw for each element of one.
_FILLS: dict[str, Callable[..., Tensor]] = {
    "uniform": uniform, "normal": normal, "exponential": exponential, "bernoulli": bernoulli, "integers": integers,
}  # fmt: skip
_DRAWS: dict[str, Callable[..., Tensor]] = {
    "gamma": _gamma,
    "poisson": torch.poisson,
    "multinomial": _positions,
}


def _from_seed(
    kind: str,
    source: Seed | Tensor,
    shape: Sequence[int],
    dtype: torch.dtype,
    device: torch.device | str,
    *numbers: float,
) -> Tensor:
    """Return an array of numbers of one distribution, drawn by one opaque operator."""
    return _seeded_fill(_path(source), kind, list(shape), dtype, torch.device(device), list(numbers))


def _each(kind: str, source: Source | None, given: Tensor, *counts: int) -> Tensor:
    """Return numbers whose distributions have the elements of an array as parameters."""
    if _is_seed(source):
        return _seeded_each(_path(source), kind, given.detach(), list(counts))
    return _DRAWS[kind](given, *counts, generator=source)


def _path(source: Seed | Tensor) -> Tensor:
    if isinstance(source, Tensor):
        # A mistake of ours, hence no MXNetError.
        raise TypeError("a seed is used through derive(), so that no two operators draw the same numbers")
    return source.path


def _seeded(path: Tensor, device: torch.device) -> torch.Generator:
    """Return a generator that depends on a seed and its uses, and on nothing else."""
    # SeedSequence takes unsigned numbers only.
    words = np.random.SeedSequence([number % 2**64 for number in path.tolist()])
    return torch.Generator(device).manual_seed(int(words.generate_state(1, np.uint64)[0]))


@torch.library.custom_op("rebind::fill_from_seed", mutates_args=())
def _seeded_fill(
    path: Tensor, kind: str, shape: list[int], dtype: torch.dtype, device: torch.device, numbers: list[float]
) -> Tensor:
    return _FILLS[kind](shape, _seeded(path, device), *numbers, dtype=dtype, device=device)


@_seeded_fill.register_fake
def _(
    path: Tensor, kind: str, shape: list[int], dtype: torch.dtype, device: torch.device, numbers: list[float]
) -> Tensor:
    return torch.empty(tuple(shape), dtype=dtype, device=device)


@torch.library.custom_op("rebind::draw_from_seed", mutates_args=())
def _seeded_each(path: Tensor, kind: str, given: Tensor, counts: list[int]) -> Tensor:
    return _each(kind, _seeded(path, given.device), given, *counts)


@_seeded_each.register_fake
def _(path: Tensor, kind: str, given: Tensor, counts: list[int]) -> Tensor:
    if kind == "multinomial":
        return given.new_empty((*given.shape[:-1], *counts), dtype=torch.int64)
    return torch.empty_like(given)
