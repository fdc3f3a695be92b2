"""`Bucket`: keys whose gradients travel together, to the workers that update them, and whose weights travel back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from .._torch import foreach
from ..distributed import Exchange
from .sharding import Sharding

__all__ = ["Bucket", "Part", "fill_buckets"]

Key = TypeVar("Key", bound="str | int")


class Part(NamedTuple):
    """The part of a key that this worker updates, as tensors without further axes."""

    key: str | int
    gradient: Tensor  # the sum over the workers
    weight: Tensor  # a view of the key's value


class Bucket(Generic[Key]):
    """Some keys of one type and device, one after the other in one array, of which each worker updates a row.

    A push goes through these steps: `add` the gradients, as they become ready. With the last one they can be sent:
    `scatter`. `collect` returns the sums of the parts that this worker updates. `spread` sends the updated parts to the
    others. `settle` waits for theirs.

    Parameters
    ----------
    rank
        The number of this worker.
    sharding
        Who updates what.
    values
        The keys with their values, without further axes, in the order of `Sharding.groups`; they are written in place.
    exchange
        How gradients and weights travel, in rows as `row_edges` returns them.

    Examples
    --------
    >>> from rebind.distributed import Mesh, StagedExchange, current_job
    >>> values, sharding = {"w": torch.zeros(3)}, Sharding.of({"w": 3}, 1, "element")
    >>> exchange = StagedExchange(current_job(), Mesh.line_of(1), sharding.row_edges(["w"]), tag=0)
    >>> bucket = Bucket(0, sharding, values, exchange)
    >>> bucket.add("w", torch.ones(3))
    >>> bucket.scatter()
    >>> [part] = bucket.collect()
    >>> part.gradient
    tensor([1., 1., 1.])
    """

    def __init__(
        self, rank: int, sharding: Sharding[Key], values: Mapping[Key, Tensor], exchange: Exchange
    ) -> None:
        self.keys = list(values)
        self._exchange = exchange
        self._values = dict(values)
        self._gradients: dict[Key, Tensor] = {}
        # The parts that this worker updates: of each key in its array, and all of them one after the other in a row.
        parts = {key: sharding.part(key, rank) for key in values}
        self._own = {key: (begin, end) for key, (begin, end) in parts.items() if begin < end}
        self._row_length = sum(end - begin for begin, end in self._own.values())
        self._size = sum(each.numel() for each in values.values())
        # Of all keys, first for the gradients and then for the weights; a single key's own arrays do as well.
        self._array: Tensor | None = None
        # Pairs of the same elements in the keys' arrays and in that of all: of this worker's parts, and of the others'.
        self._own_copies: list[tuple[Tensor, Tensor]] = []
        self._other_copies: list[tuple[Tensor, Tensor]] = []
        if len(values) > 1 or exchange.size > self._size:
            self._array = values[self.keys[0]].new_zeros(exchange.size)
            self._pair_copies(parts, self._array)

    def _pair_copies(self, parts: Mapping[Key, tuple[int, int]], array: Tensor) -> None:
        """Note which elements of the array of all keys are which of theirs."""
        at = 0
        for key, value in self._values.items():
            (begin, end), size = parts[key], value.numel()
            own, others = self._own_copies, self._other_copies
            for copies, first, last in ((others, 0, begin), (own, begin, end), (others, end, size)):
                if first < last:
                    copies.append((value[first:last], array[at + first : at + last]))
            at += size

    @property
    def is_full(self) -> bool:
        """Whether all gradients are there."""
        return len(self._gradients) == len(self.keys)

    @property
    def is_ordered(self) -> bool:
        """Whether all workers must begin to send in the same order, from one thread: NCCL's messages have no tags."""
        return self._exchange.is_ordered or not self._values[self.keys[0]].is_cpu

    @property
    def missing(self) -> list[Key]:
        """The keys whose gradients are not there yet."""
        return [key for key in self.keys if key not in self._gradients]

    # Gradients go to those who update.

    def add(self, key: Key, gradient: Tensor) -> None:
        """Take the gradient of a key."""
        self._gradients[key] = gradient

    def scatter(self) -> None:
        """Begin to send the gradients, when all are there."""
        self._exchange.begin_reduce_scatter(self._joined(self._gradients))

    def collect(self) -> list[Part]:
        """Wait for the gradients of the other workers, and return the parts that this one updates."""
        total = self._total()
        self._gradients = {}
        rows = total.split([end - begin for begin, end in self._own.values()])
        return [
            Part(key, row, self._values[key][begin:end])
            for row, (key, (begin, end)) in zip(rows, self._own.items(), strict=True)
        ]

    def _total(self) -> Tensor:
        """Return the sum over the workers of this one's row."""
        return self._exchange.end_reduce_scatter(self._pushed)[: self._row_length]

    @property
    def _pushed(self) -> str:
        """What is waited for, as errors say it."""
        return f"push of {_listed(self.keys)}"

    # Weights come back.

    def spread(self) -> None:
        """Begin to send the parts that this worker has updated, and to receive the others' into the values."""
        if self._array is None:
            self._exchange.begin_all_gather(self._values[self.keys[0]])
            return
        if self._own_copies:
            values, rows = map(list, zip(*self._own_copies, strict=True))
            foreach.copy_(rows, values)
        self._exchange.begin_all_gather(self._array)

    def settle(self) -> None:
        """Wait until the weights of all workers are here."""
        self._exchange.end_all_gather(f"weights of {_listed(self.keys)}")
        if self._other_copies:
            values, rows = map(list, zip(*self._other_copies, strict=True))
            foreach.copy_(values, rows)

    def _joined(self, arrays: Mapping[Key, Tensor]) -> Tensor:
        """Return arrays of all keys in one: that of a single key is one already."""
        if self._array is None:
            return arrays[self.keys[0]]
        torch.cat([arrays[key] for key in self.keys], out=self._array[: self._size])
        return self._array


def fill_buckets(sizes: Mapping[Key, tuple[int, object]], limit: int) -> list[list[Key]]:
    """Return keys in buckets, in their order: each of one kind, and closed when it has `limit` bytes.

    A key that has half as many by itself is alone in one: a message costs less than to copy it.

    Parameters
    ----------
    sizes
        For each key its bytes, and its kind: what may not be mixed.

    Examples
    --------
    >>> half = {"c": (1, "float16")}
    >>> fill_buckets(
    ...     {"a": (4, "float32"), **half, "b": (4, "float32"), "d": (7, "float32"), "e": (4, "float32")}, 10
    ... )
    [['a', 'b', 'e'], ['c'], ['d']]
    """
    full: list[list[Key]] = []
    open_ones: dict[object, tuple[list[Key], int]] = {}
    for key, (size, kind) in sizes.items():
        if 2 * size >= limit:
            full.append([key])
            continue
        keys, sum_of_sizes = open_ones.pop(kind, ([], 0))
        if not keys:
            full.append(keys)
        keys.append(key)
        if sum_of_sizes + size < limit:
            open_ones[kind] = keys, sum_of_sizes + size
    return full


def _listed(keys: Sequence[object]) -> str:
    return repr(keys[0]) if len(keys) == 1 else f"{keys[0]!r} and {len(keys) - 1} more"
