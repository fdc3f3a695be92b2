"""Arithmetic on lists of tensors in one call; PyTorch's own optimizers are made of the same functions.

A second argument may be a list of tensors or numbers, one for each tensor, or one of them for all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import torch
from torch import Tensor

from .private import private

__all__ = [
    "abs", "add", "add_", "addcdiv_", "addcmul", "addcmul_", "clamp_max_", "clamp_min", "clamp_min_", "copy_", "div",
    "div_", "lerp_", "maximum_", "mul", "mul_", "neg_", "norm", "sign", "sqrt", "sqrt_", "sub", "sub_", "zero_",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])
Tensors: TypeAlias = Sequence[Tensor]
Others: TypeAlias = float | Tensor | Sequence[float | Tensor]


@functools.cache
def _take_lists() -> bool:
    """Whether these functions take a list, or one number for all, and a factor by its name."""
    ones = [torch.ones(()), torch.ones(())]
    torch._foreach_add_(ones, ones, alpha=2.0)
    torch._foreach_mul_(ones, 2.0)
    return [one.item() for one in ones] == [6.0, 6.0]


def _one_call(public: F) -> F:
    """Take PyTorch's function of the same name where it is there."""
    reason = "one call for many weights: a call for each takes several times as long, and a launch on a GPU"
    return private(f"torch._foreach_{public.__name__}", reason, lambda _: _take_lists())(public)


def _rows(tensors: Tensors, *others: Any) -> Iterator[tuple[Any, ...]]:
    """Return for each tensor what belongs to it."""
    columns = [each if isinstance(each, (list, tuple)) else [each] * len(tensors) for each in others]
    if any([len(column) != len(tensors) for column in columns]):
        raise RuntimeError(f"lists must have the length of the first one, {len(tensors)}")
    return zip(tensors, *columns, strict=True)


@_one_call
def abs(tensors: Tensors) -> tuple[Tensor, ...]:
    """Return ``|x|``."""
    return tuple([x.abs() for x in tensors])


@_one_call
def sign(tensors: Tensors) -> tuple[Tensor, ...]:
    """Return the signs."""
    return tuple([x.sign() for x in tensors])


@_one_call
def sqrt(tensors: Tensors) -> tuple[Tensor, ...]:
    """Return the square roots."""
    return tuple([x.sqrt() for x in tensors])


@_one_call
def sqrt_(tensors: Tensors) -> None:
    """Take the square roots, in place."""
    for x in tensors:
        x.sqrt_()


@_one_call
def neg_(tensors: Tensors) -> None:
    """``x = -x``."""
    for x in tensors:
        x.neg_()


@_one_call
def zero_(tensors: Tensors) -> None:
    """``x = 0``."""
    for x in tensors:
        x.zero_()


@_one_call
def copy_(tensors: Tensors, sources: Tensors) -> None:
    """``x = y``, of whatever type `y` is."""
    for x, y in zip(tensors, sources, strict=True):
        x.copy_(y)


@_one_call
def add(tensors: Tensors, others: Others, *, alpha: float = 1) -> tuple[Tensor, ...]:
    """Return ``x + alpha * y``."""
    return tuple([x.add(y, alpha=alpha) for x, y in _rows(tensors, others)])


@_one_call
def add_(tensors: Tensors, others: Others, *, alpha: float = 1) -> None:
    """``x += alpha * y``."""
    for x, y in _rows(tensors, others):
        x.add_(y, alpha=alpha)


@_one_call
def sub(tensors: Tensors, others: Others) -> tuple[Tensor, ...]:
    """Return ``x - y``."""
    return tuple([x.sub(y) for x, y in _rows(tensors, others)])


@_one_call
def sub_(tensors: Tensors, others: Others) -> None:
    """``x -= y``."""
    for x, y in _rows(tensors, others):
        x.sub_(y)


@_one_call
def mul(tensors: Tensors, others: Others) -> tuple[Tensor, ...]:
    """Return ``x * y``."""
    return tuple([x.mul(y) for x, y in _rows(tensors, others)])


@_one_call
def mul_(tensors: Tensors, others: Others) -> None:
    """``x *= y``."""
    for x, y in _rows(tensors, others):
        x.mul_(y)


@_one_call
def div(tensors: Tensors, others: Others) -> tuple[Tensor, ...]:
    """Return ``x / y``."""
    return tuple([x.div(y) for x, y in _rows(tensors, others)])


@_one_call
def div_(tensors: Tensors, others: Others) -> None:
    """``x /= y``."""
    for x, y in _rows(tensors, others):
        x.div_(y)


@_one_call
def maximum_(tensors: Tensors, others: Tensors) -> None:
    """``x = max(x, y)``."""
    for x, y in zip(tensors, others, strict=True):
        torch.maximum(x, y, out=x)


@_one_call
def clamp_min(tensors: Tensors, least: float) -> tuple[Tensor, ...]:
    """Return ``max(x, least)``."""
    return tuple([x.clamp_min(least) for x in tensors])


@_one_call
def clamp_min_(tensors: Tensors, least: float) -> None:
    """``x = max(x, least)``."""
    for x in tensors:
        x.clamp_min_(least)


@_one_call
def clamp_max_(tensors: Tensors, most: float) -> None:
    """``x = min(x, most)``."""
    for x in tensors:
        x.clamp_max_(most)


@_one_call
def addcmul(tensors: Tensors, firsts: Tensors, seconds: Tensors, value: float = 1) -> tuple[Tensor, ...]:
    """Return ``x + value * y * z``."""
    return tuple([x.addcmul(y, z, value=value) for x, y, z in _rows(tensors, firsts, seconds)])


@_one_call
def addcmul_(tensors: Tensors, firsts: Tensors, seconds: Tensors, value: float | Tensor = 1) -> None:
    """``x += value * y * z``; a compiler takes a tensor for `value`, too."""
    for x, y, z in _rows(tensors, firsts, seconds):
        x.addcmul_(y, z, value=value)


@_one_call
def addcdiv_(tensors: Tensors, firsts: Tensors, seconds: Tensors, value: float = 1) -> None:
    """``x += value * y / z``."""
    for x, y, z in _rows(tensors, firsts, seconds):
        x.addcdiv_(y, z, value=value)


@_one_call
def lerp_(tensors: Tensors, ends: Tensors, weight: float) -> None:
    """``x += weight * (y - x)``."""
    for x, y in zip(tensors, ends, strict=True):
        x.lerp_(y, weight)


@_one_call
def norm(tensors: Tensors, ord: float = 2, dtype: torch.dtype | None = None) -> tuple[Tensor, ...]:
    """Return the norms, in a type."""
    return tuple([torch.linalg.vector_norm(x, ord, dtype=dtype) for x in tensors])
