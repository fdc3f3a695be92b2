"""Random numbers for operators: from a generator, or from a seed that is a tensor.

In the default mode operators draw from the `torch.Generator` of their device, one after the other. Where a compiler
traces a step, the order in which operators run is its own, and a generator cannot be an input. There each operator
draws from a `Seed` of its own, derived from one seed that is an input of the step: the same seed gives the same
numbers, whatever the compiler does.

The numbers of a seed are those of SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators,
2014) in counter mode: element ``i`` is a hash of ``seed + (i + 1) * gamma``, so that all elements are computed at once,
in operations that any compiler fuses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

__all__ = ["Seed", "Source", "bernoulli", "derive", "integers", "normal", "uniform"]


class Seed(NamedTuple):
    """An int64 tensor without axes, from which random numbers follow."""

    value: Tensor


#: Where random numbers come from. None is torch's own generator.
Source: TypeAlias = torch.Generator | Seed | Tensor

# The constants of SplitMix64, as signed numbers.
_GAMMA = 0x9E37_79B9_7F4A_7C15 - 2**64
_FIRST, _SECOND = 0xBF58_476D_1CE4_E5B9 - 2**64, 0x94D0_49BB_1331_11EB - 2**64
_STREAM = 0x632B_E59B_D9B4_E019  # an odd number, so that no two uses of a seed coincide
#: How many random bits a type's fraction holds.
_BITS = {torch.float64: 53, torch.float32: 24, torch.bfloat16: 24, torch.float16: 24}


def derive(source: Source | None, number: int) -> Source | None:
    """Return a source of its own for the use `number`; a generator is returned itself, since each use advances it.

    >>> first, second = (derive(torch.tensor(7), number) for number in (1, 2))
    >>> bool(first.value == second.value)
    False
    """
    if source is None or isinstance(source, torch.Generator):
        return source
    value = source.value if isinstance(source, Seed) else source
    return Seed(_hash(value + _wrapped(number * _STREAM)))


def _wrapped(number: int) -> int:
    """Return the int64 that an integer wraps around to."""
    return (number + 2**63) % 2**64 - 2**63


def _hash(value: Tensor) -> Tensor:
    """Return 64 well-mixed bits for each int64; multiplication overflows by design."""
    value = (value ^ _shifted(value, 30)) * _FIRST
    value = (value ^ _shifted(value, 27)) * _SECOND
    return value ^ _shifted(value, 31)


def _shifted(value: Tensor, bits: int) -> Tensor:
    """Return the bits shifted to the right, with zeros from the left: torch's own shift copies the sign."""
    return (value >> bits) & ((1 << (64 - bits)) - 1)


def _bits(seed: Seed, shape: Sequence[int], device: torch.device, count: int) -> Tensor:
    """Return `count` random bits for each element of an array, as int64 numbers."""
    numbers = torch.arange(1, math.prod(shape) + 1, dtype=torch.int64, device=device).reshape(tuple(shape))
    return _shifted(_hash(numbers * _GAMMA + seed.value.to(device)), 64 - count)


def uniform(
    shape: Sequence[int],
    source: Source | None,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    low: float = 0.0,
    high: float = 1.0,
) -> Tensor:
    """Return numbers drawn uniformly from ``[low, high)``.

    >>> uniform((2, 3), torch.Generator().manual_seed(1)).shape
    torch.Size([2, 3])
    >>> torch.equal(uniform((4,), Seed(torch.tensor(1))), uniform((4,), Seed(torch.tensor(1))))
    True
    """
    if not isinstance(source, Seed):
        return torch.empty(tuple(shape), dtype=dtype, device=device).uniform_(
            low, high, generator=_generator(source)
        )
    # As many bits as the fraction holds: more would round up to `high`.
    count = _BITS[dtype]
    wide = torch.float64 if dtype is torch.float64 else torch.float32
    share = _bits(source, shape, torch.device(device), count).to(wide) * 2.0**-count
    return (share * (high - low) + low).to(dtype)


def normal(
    shape: Sequence[int],
    source: Source | None,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    mean: float = 0.0,
    std: float = 1.0,
) -> Tensor:
    """Return numbers drawn from a normal distribution; from a seed by the method of Box and Muller (1958).

    >>> round(normal((1000,), Seed(torch.tensor(1)), mean=5.0, std=0.1).mean().item(), 1)
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
    """Return ones with the given probability, else zeros.

    >>> bernoulli((4,), 1.0, Seed(torch.tensor(1)))
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
    """Return integers drawn uniformly from ``[low, high)``.

    >>> integers(3, 4, (2,), Seed(torch.tensor(1)))
    tensor([3, 3])
    """
    if not isinstance(source, Seed):
        generator = _generator(source)
        return torch.randint(low, high, tuple(shape), generator=generator, dtype=dtype, device=device)
    # 62 bits stay positive; the bias of the remainder is below one in 2**62 / (high - low).
    return (_bits(source, shape, torch.device(device), 62) % (high - low) + low).to(dtype)


def _generator(source: Source | None) -> torch.Generator | None:
    if isinstance(source, Tensor):
        raise TypeError("a seed is used through derive(), so that no two operators draw the same numbers")
    return source if isinstance(source, torch.Generator) else None
