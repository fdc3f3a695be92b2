"""`Bucket`: keys whose gradients travel together, to the workers that update them, and whose weights travel back."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from .._torch import foreach
from ..distributed import Job, Transfer
from ..tuning import current
from .sharding import Sharding

__all__ = ["Bucket", "Incoming", "Part", "fill_buckets"]

Key = TypeVar("Key", bound="str | int")


class Part(NamedTuple):
    """The part of a key that this worker updates, as tensors without further axes."""

    key: str | int
    gradient: Tensor  # the sum over the workers
    weight: Tensor  # a view of the key's value


@dataclass
class Incoming:
    """What this worker receives for one message: a row from each worker, its own among them."""

    rows: list[Tensor]
    transfer: Transfer

    def total(self) -> Tensor:
        """Return the sum of the rows, in the order of the workers, so that a run gives the same bits each time."""
        # Into memory of a row that was received: the own one may be the user's gradient.
        first, second, *rest = self.rows
        target = second if self.transfer.job.rank == 0 else first
        torch.add(first, second, out=target)
        for row in rest:
            target += row
        return target


class Bucket(Generic[Key]):
    """Some keys of one type and device, divided over the workers.

    A push goes through these steps: `add` the gradients, as they become ready; with the last one they are sent.
    `collect` returns the sums of the parts that this worker updates. `spread` sends the updated parts to the others.
    `settle` waits for theirs.

    Parameters
    ----------
    job
        The workers.
    sharding
        Who updates what.
    values
        The keys with their values, without further axes; they are written in place.
    tag
        The first of two tags for messages of this bucket, which no other one has.
    key_tag
        Returns the first of two tags for messages of a key.

    Examples
    --------
    >>> from rebind.distributed import current_job
    >>> weight = torch.zeros(3)
    >>> bucket = Bucket(current_job(), Sharding.of({"w": 3}, 1, "element"), {"w": weight}, 0, lambda key: 2)
    >>> bucket.add("w", torch.ones(3))
    True
    >>> [part] = bucket.collect()
    >>> part.gradient
    tensor([1., 1., 1.])
    """

    def __init__(
        self,
        job: Job,
        sharding: Sharding[Key],
        values: Mapping[Key, Tensor],
        tag: int,
        key_tag: Callable[[Key], int],
    ) -> None:
        self.job, self.sharding = job, sharding
        self.keys = list(values)
        self._values = dict(values)
        self._tag, self._key_tag = tag, key_tag
        self._sample = next(iter(values.values()))
        least = current().separate_part_elements
        self._large = [key for key in self.keys if sharding.largest_part(key) >= least]
        # For each worker the keys whose parts share a message.
        self._small = [
            {
                key: sharding.part(key, rank)
                for key in self.keys
                if key not in self._large and rank in sharding.owners(key)
            }
            for rank in range(job.size)
        ]
        self._lengths = [sum(end - begin for begin, end in own.values()) for own in self._small]
        self._gradients: dict[Key, Tensor] = {}
        self._incoming: list[tuple[list[Key], Incoming]] = []
        # What is received into, by the tag of the message: fresh memory in each step would cost as much as the sums.
        self._room: dict[int, list[Tensor]] = {}
        self._settling: list[Callable[[], None]] = []

    # Gradients go to those who update.

    def add(self, key: Key, gradient: Tensor) -> bool:
        """Take the gradient of a key; return whether it was the last, so that all are on their way."""
        self._gradients[key] = gradient
        if len(self._gradients) < len(self.keys):
            return False
        self._scatter()
        return True

    @property
    def missing(self) -> list[Key]:
        """The keys whose gradients are not there yet."""
        return [key for key in self.keys if key not in self._gradients]

    @property
    def on_cpu(self) -> bool:
        """Whether the values are in the processor's memory."""
        return self._sample.device.type == "cpu"

    @property
    def _is_whole(self) -> bool:
        """Whether gradients are the sums already."""
        return self.job.size == 1

    def _scatter(self) -> None:
        me = self.job.rank
        if self._is_whole:
            return
        if any(self._lengths):
            self._receive(list(self._small[me]), [self._message(own) for own in self._small], self._tag)
        for key in self._large:
            parts = [{key: self.sharding.part(key, rank)} for rank in range(self.job.size)]
            self._receive([key], [self._message(each) for each in parts], self._key_tag(key))

    def _message(self, parts: Mapping[Key, tuple[int, int]]) -> Tensor:
        """Return what a worker is sent of the gradients: these parts."""
        if len(parts) == 1:  # from where it is
            [(key, (begin, end))] = parts.items()
            return self._gradients[key][begin:end]
        return self._pack(self._gradients, parts)

    def _receive(self, keys: list[Key], outgoing: Sequence[Tensor], tag: int) -> None:
        """Send each worker its message, and make room for what comes from the others."""
        me = self.job.rank
        if tag not in self._room:
            own = outgoing[me]
            self._room[tag] = [
                own.new_empty(own.numel() if rank != me else 0) for rank in range(self.job.size)
            ]
        rows = [*self._room[tag]]
        rows[me] = outgoing[me]
        transfer = self.job.transfer(dict(enumerate(outgoing)), dict(enumerate(rows)), tag)
        self._incoming.append((keys, Incoming(rows, transfer)))

    def collect(self) -> list[Part]:
        """Wait for the gradients of the other workers, and return the parts that this one updates."""
        gradients, self._gradients = self._gradients, {}
        if self._is_whole:
            return [Part(key, gradients[key], self._values[key]) for key in self.keys]
        incoming, self._incoming = self._incoming, []
        found: list[Part] = []
        for keys, each in incoming:
            each.transfer.wait(f"push of {_listed(self.keys)}")
            if not each.rows[self.job.rank].numel():
                continue
            total, at = self._total(keys, each), 0
            for key in keys:
                begin, end = self.sharding.part(key, self.job.rank)
                found.append(Part(key, total[at : at + end - begin], self._values[key][begin:end]))
                at += end - begin
        return found

    def _total(self, keys: Sequence[Key], incoming: Incoming) -> Tensor:
        """Return the sum of the rows for these keys' parts."""
        return incoming.total()

    # Weights come back.

    def spread(self) -> None:
        """Begin to send the parts that this worker has updated, and to receive the others' into the values."""
        job, me = self.job, self.job.rank
        if job.size == 1:
            return
        if any(self._lengths):
            packed = self._pack(self._values, self._small[me])
            rows = [self._sample.new_empty(length) for length in self._lengths]
            transfer = job.transfer(dict.fromkeys(range(job.size), packed), dict(enumerate(rows)), self._tag + 1)
            self._settling.append(functools.partial(self._unpack, transfer, rows, packed))
        for key in self._large:
            flat = self._values[key]
            own = self._parts(key, flat)
            sent = job.transfer(
                dict.fromkeys(range(job.size), own[me]), dict(enumerate(own)), self._key_tag(key) + 1
            )
            self._settling.append(functools.partial(sent.wait, f"weights of {_listed(self.keys)}"))

    def settle(self) -> None:
        """Wait until the weights of all workers are here."""
        settling, self._settling = self._settling, []
        for wait in settling:
            wait()

    def _unpack(self, transfer: Transfer, rows: Sequence[Tensor], packed: Tensor) -> None:
        # `packed` is sent until here: it is named so that its memory lives as long.
        transfer.wait(f"weights of {_listed(self.keys)}")
        del packed
        for rank, row in enumerate(rows):
            if rank != self.job.rank and row.numel():
                targets = [self._values[key][begin:end] for key, (begin, end) in self._small[rank].items()]
                foreach.copy_(targets, list(row.split([target.numel() for target in targets])))

    def _pack(self, source: Mapping[Key, Tensor], parts: Mapping[Key, tuple[int, int]]) -> Tensor:
        """Return parts of arrays in one."""
        pieces = [source[key][begin:end] for key, (begin, end) in parts.items()]
        return torch.cat(pieces) if pieces else self._sample.new_empty(0)

    def _parts(self, key: Key, flat: Tensor) -> list[Tensor]:
        """Return the part of a key for each worker, as views."""
        return [flat[slice(*self.sharding.part(key, rank))] for rank in range(self.job.size)]


def fill_buckets(sizes: Mapping[Key, tuple[int, object]], limit: int) -> list[list[Key]]:
    """Return keys in buckets, in their order: each of one kind, and closed when it has `limit` bytes.

    Parameters
    ----------
    sizes
        For each key its bytes, and its kind: what may not be mixed.

    Examples
    --------
    >>> fill_buckets(
    ...     {"a": (6, "float32"), "b": (6, "float32"), "c": (1, "float16"), "d": (6, "float32")}, limit=10
    ... )
    [['a', 'b'], ['c'], ['d']]
    """
    full: list[list[Key]] = []
    open_ones: dict[object, tuple[list[Key], int]] = {}
    for key, (size, kind) in sizes.items():
        keys, sum_of_sizes = open_ones.pop(kind, ([], 0))
        if not keys:
            full.append(keys)
        keys.append(key)
        if sum_of_sizes + size < limit:
            open_ones[kind] = keys, sum_of_sizes + size
    return full


def _listed(keys: Sequence[object]) -> str:
    return repr(keys[0]) if len(keys) == 1 else f"{keys[0]!r} and {len(keys) - 1} more"
