"""Random numbers for operators: from a generator, or from a seed that is a tensor.

In the default mode operators draw from the `torch.Generator` of their device, one after the other. Where a compiler
traces a step, the order in which operators run is its own, and a generator cannot be an input. There each operator
draws from a `Seed` of its own, derived from one seed that is an input of the step: the same seed gives the same
numbers, whatever the compiler does.

The numbers of a seed are those of Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and Shaw, Parallel Random
Numbers: As Easy as 1, 2, 3, 2011), which JAX uses too: element ``i`` is the counter ``i``, encrypted with the seed as
the key. All elements are computed at once, in additions, rotations and exclusive ors of int32 that any compiler fuses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

__all__ = ["Seed", "Source", "bernoulli", "derive", "integers", "normal", "uniform"]


class Seed(NamedTuple):
    """What random numbers follow from: two int32 tensors without axes, the key of the cipher."""

    low: Tensor
    high: Tensor


#: Where random numbers come from: a generator; a seed as it enters a step, an int64 tensor without axes; or what
#: `derive` makes of that for one use. None is torch's own generator.
Source: TypeAlias = torch.Generator | Seed | Tensor

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD1_1BDA
#: How many random bits a type's fraction holds.
_BITS = {torch.float64: 53, torch.float32: 24, torch.bfloat16: 24, torch.float16: 24}


def derive(source: Source | None, number: int) -> Source | None:
    """Return a source of its own for the use `number`, at least 0; a generator is itself, since drawing advances it.

    >>> first, second = (derive(torch.tensor(7), number) for number in (1, 2))
    >>> bool(first.low == second.low)
    False
    """
    if source is None or isinstance(source, torch.Generator):
        return source
    if isinstance(source, Tensor):
        source = Seed((source % 2**31).to(torch.int32), ((source >> 31) % 2**31).to(torch.int32))
    # Elements of arrays count in the first word, and uses in the second, so that none of them meet.
    return Seed(*_threefry(source, torch.zeros_like(source.low), torch.full_like(source.low, number + 1)))


def _threefry(key: Seed, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Return two words of 32 random bits for each pair of counters; overflow of int32 wraps around, as it is to."""
    keys = (key.low, key.high, key.low ^ key.high ^ _PARITY)
    first, second = first + keys[0], second + keys[1]
    for block in range(5):
        for bits in _ROTATIONS[block % 2]:
            first = first + second
            second = ((second << bits) | _shifted(second, 32 - bits)) ^ first
        first = first + keys[(block + 1) % 3]
        second = second + keys[(block + 2) % 3] + (block + 1)
    return first, second


def _shifted(word: Tensor, bits: int) -> Tensor:
    """Return the bits shifted to the right, with zeros from the left: torch's own shift copies the sign."""
    return (word >> bits) & ((1 << (32 - bits)) - 1)


def _fractions(seed: Seed, shape: Sequence[int], device: torch.device, dtype: torch.dtype) -> Tensor:
    """Return numbers from [0, 1) with all the bits that the type holds, in float64 or float32."""
    count = math.prod(shape)
    key = Seed(seed.low.to(device), seed.high.to(device))
    elements = torch.arange(count, dtype=torch.int32, device=device).reshape(tuple(shape))
    first, second = _threefry(key, elements, torch.zeros_like(elements))
    if _BITS[dtype] == 53:
        return (_shifted(first, 5).double() * 2.0**26 + _shifted(second, 6).double()) * 2.0**-53
    return _shifted(first, 8).float() * 2.0**-24


def uniform(
    shape: Sequence[int],
    source: Source | None,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    low: float = 0.0,
    high: float = 1.0,
) -> Tensor:
    """Return numbers that are spread evenly over ``[low, high)``.

    >>> uniform((2, 3), torch.Generator().manual_seed(1)).shape
    torch.Size([2, 3])
    >>> torch.equal(uniform((4,), derive(torch.tensor(1), 0)), uniform((4,), derive(torch.tensor(1), 0)))
    True
    """
    if not isinstance(source, Seed):
        return torch.empty(tuple(shape), dtype=dtype, device=device).uniform_(
            low, high, generator=_generator(source)
        )
    return (_fractions(source, shape, torch.device(device), dtype) * (high - low) + low).to(dtype)


def normal(
    shape: Sequence[int],
    source: Source | None,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    mean: float = 0.0,
    std: float = 1.0,
) -> Tensor:
    """Return numbers of a normal distribution; from a seed by the method of Box and Muller (1958).

    >>> round(normal((1000,), derive(torch.tensor(1), 0), mean=5.0, std=0.1).mean().item(), 1)
    5.0
    """
    if not isinstance(source, Seed):
        return torch.empty(tuple(shape), dtype=dtype, device=device).normal_(
            mean, std, generator=_generator(source)
        )
    wide = torch.float64 if dtype is torch.float64 else torch.float32
    radius, angle = (uniform(shape, derive(source, number), dtype=wide, device=device) for number in (1, 2))
    drawn = (-2.0 * torch.log1p(-radius)).sqrt() * torch.cos(2.0 * math.pi * angle)
    return (drawn * std + mean).to(dtype)


def bernoulli(
    shape: Sequence[int],
    probability: float,
    source: Source | None,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Return ones with a probability, and zeros.

    >>> bernoulli((4,), 1.0, derive(torch.tensor(1), 0))
    tensor([1., 1., 1., 1.])
    """
    if not isinstance(source, Seed):
        out = torch.empty(tuple(shape), dtype=dtype, device=device)
        return out.bernoulli_(probability, generator=_generator(source))
    return (uniform(shape, source, device=device) < probability).to(dtype)


def integers(
    low: int,
    high: int,
    shape: Sequence[int],
    source: Source | None,
    *,
    dtype: torch.dtype = torch.int64,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Return whole numbers from ``[low, high)``.

    >>> integers(3, 4, (2,), derive(torch.tensor(1), 0))
    tensor([3, 3])
    """
    if not isinstance(source, Seed):
        generator = _generator(source)
        return torch.randint(low, high, tuple(shape), generator=generator, dtype=dtype, device=device)
    # A fraction has 53 bits: one number is more likely than another by less than one in 2**53 / (high - low).
    share = _fractions(source, shape, torch.device(device), torch.float64)
    return ((share * (high - low)).floor() + low).to(dtype)


def _generator(source: Source | None) -> torch.Generator | None:
    if isinstance(source, Tensor):
        raise TypeError("a seed is used through derive(), so that no two operators draw the same numbers")
    return source if isinstance(source, torch.Generator) else None
