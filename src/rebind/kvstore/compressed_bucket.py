"""`CompressedBucket`: gradients travel in 2 bits or 1 bit for each element, weights as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TypeVar

import torch
from torch import Tensor

from .._torch import foreach
from ..distributed import Exchange
from .bucket import Bucket
from .compression import Residuals
from .sharding import Sharding

__all__ = ["CompressedBucket"]

Key = TypeVar("Key", bound="str | int")


class CompressedBucket(Bucket[Key]):
    """A bucket whose gradients are compressed before they are sent, those for this worker itself too.

    Parameters
    ----------
    rank, sharding, values, exchange
        As for `Bucket`; `exchange` is for the weights.
    residuals
        What this worker has not sent so far, for all elements of each key.
    exchange_bytes
        Returns how rows of bytes travel, which are not added but joined; it is given where the rows begin.

    Examples
    --------
    >>> from functools import partial
    >>> from rebind.distributed import Mesh, StagedExchange, current_job, join_in_order
    >>> from rebind.kvstore.compression import Compression
    >>> values, residuals = {"w": torch.zeros(3)}, Residuals(Compression("2bit", threshold=2))
    >>> sharding = Sharding.of({"w": 3}, 1, "element")
    >>> staged = partial(StagedExchange, current_job(), Mesh.line_of(1))
    >>> of_bytes = partial(staged, tag=2, combine=join_in_order)
    >>> bucket = CompressedBucket(0, sharding, values, staged([0, 3], tag=0), residuals, of_bytes)
    >>> bucket.add("w", torch.tensor([1.0, 2.0, 3.0]))
    >>> bucket.scatter()
    >>> [part] = bucket.collect()
    >>> part.gradient
    tensor([0., 2., 2.])
    """

    def __init__(
        self,
        rank: int,
        sharding: Sharding[Key],
        values: Mapping[Key, Tensor],
        exchange: Exchange,
        residuals: Residuals,
        exchange_bytes: Callable[[Sequence[int]], Exchange],
    ) -> None:
        super().__init__(rank, sharding, values, exchange)
        self._residuals = residuals
        self._lengths = [end - begin for begin, end in pairwise(sharding.row_edges(self.keys))]
        sizes = map(residuals.compression.packed_size, self._lengths)
        self._exchange_bytes = exchange_bytes([0, *accumulate(sizes)])

    def scatter(self) -> None:
        """Compress the gradients, and begin to send them."""
        residuals = [self._residuals.of(key, self._gradients[key]) for key in self.keys]
        # What a call costs is worth more than the copies.
        gradient = self._joined(self._gradients)[: self._size]
        residual = torch.cat(residuals) if len(residuals) > 1 else residuals[0]
        quantize = self._residuals.compression.quantize
        rows = zip(gradient.split(self._lengths), residual.split(self._lengths), strict=True)
        self._exchange_bytes.begin_reduce_scatter(torch.cat([quantize(*row) for row in rows]))
        if len(residuals) > 1:
            foreach.copy_(residuals, list(residual.split([each.numel() for each in residuals])))

    def _total(self) -> Tensor:
        packed = self._exchange_bytes.end_reduce_scatter(self._pushed)
        values = self._values[self.keys[0]]
        total = values.new_zeros(self._row_length, dtype=torch.promote_types(values.dtype, torch.float32))
        # A row from each worker, in an order that is the same in each run, and so are the bits of the sum.
        for row in packed.view(len(self._lengths), -1) if self._row_length else ():
            self._residuals.compression.add_to(total, row)
        return total.to(values.dtype)
