"""In which messages keys travel between a worker and the servers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from torch import Tensor

from .. import dtypes
from ..shapes import Shape
from ..tuning import current
from .base import Key
from .bucket import fill_buckets
from .sharding import Sharding
from .wire import Message, Scratch

__all__ = ["PushPlan", "part_shape", "plan_requests", "row_size"]


def row_size(shape: Shape) -> int:
    """Return how many elements a row has; parts of keys are whole rows. Those of a vector are elements.

    >>> row_size((10, 2, 3)), row_size((10,))
    (6, 1)
    """
    return math.prod(shape[1:])


def part_shape(shape: Shape, begin: int, end: int) -> Shape:
    """Return the shape of the rows of an array that are its elements from `begin` to `end`.

    >>> part_shape((10, 2, 3), 12, 30)
    (3, 2, 3)
    """
    return shape if end - begin == math.prod(shape) else ((end - begin) // row_size(shape), *shape[1:])


@dataclass
class PushPlan:
    """Parts of keys that are in one message to or from a server.

    Attributes
    ----------
    server
        The number of the server.
    keys
        The keys.
    parts
        Where the part of each begins and ends.
    waiting
        The copies that are being sent, each with the answer after which their memory is free.
    is_record
        Whether it is of one key, which is not dense: it travels as a record.
    """

    server: int
    keys: tuple[Key, ...]
    parts: tuple[tuple[int, int], ...]
    waiting: list[tuple[Scratch, Future[Message]]] = field(default_factory=list)
    is_record: bool = False

    def copies(self, arrays: Sequence[Tensor]) -> tuple[list[Tensor], Scratch]:
        """Return copies of arrays, and the memory that they are in: that of an earlier push that was answered.

        >>> import torch
        >>> PushPlan(0, ("w",), ((0, 2),)).copies([torch.ones(2)])[0]
        [tensor([1., 1.])]
        """
        scratch = Scratch()
        for i, (used, answer) in enumerate(self.waiting):
            if answer.done():
                scratch = used
                del self.waiting[i]
                break
        found = scratch.arrays([(dtypes.name(each.dtype), each.shape) for each in arrays])
        for target, each in zip(found, arrays, strict=True):
            target.copy_(each)
        return found, scratch


def plan_requests(sharding: Sharding[Key], sizes: Mapping[Key, int]) -> list[PushPlan]:
    """Return in which messages keys go to servers.

    Parameters
    ----------
    sharding
        Which server has which part of a key.
    sizes
        For each key how many bytes an element has.

    Examples
    --------
    >>> sharding = Sharding.of({"w": 10_000, "b": 10}, 2, "element")
    >>> for plan in plan_requests(sharding, {"w": 4, "b": 4}):
    ...     print(plan.server, plan.keys, plan.parts)
    0 ('w',) ((0, 5056),)
    1 ('w', 'b') ((5056, 10000), (0, 10))
    """
    found = []
    for server in range(sharding.num_workers):
        parts = {key: sharding.part(key, server) for key in sizes if server in sharding.owners(key)}
        # All kinds of arrays may be in one message.
        kinds: dict[Key, tuple[int, object]] = {
            key: ((end - begin) * sizes[key], None) for key, (begin, end) in parts.items()
        }
        for keys in fill_buckets(kinds, current().server_message_bytes):
            found.append(PushPlan(server, tuple(keys), tuple(parts[key] for key in keys)))
    return found
