"""`CompressedBucket`: gradients travel in 2 bits or 1 bit for each element, weights as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from .._torch import foreach
from ..distributed import Job
from .bucket import Bucket, Incoming
from .compression import Residuals
from .sharding import Sharding

__all__ = ["CompressedBucket"]

Key = TypeVar("Key", bound="str | int")


class CompressedBucket(Bucket[Key]):
    """A bucket whose gradients are compressed before they are sent, those for this worker itself too.

    Parameters
    ----------
    job, sharding, values, tag, key_tag
        As for `Bucket`.
    residuals
        What this worker has not sent so far, for all elements of each key.

    Examples
    --------
    >>> from rebind.distributed import current_job
    >>> from rebind.kvstore.compression import Compression
    >>> weight, residuals = torch.zeros(3), Residuals(Compression("2bit", threshold=2))
    >>> sharding = Sharding.of({"w": 3}, 1, "element")
    >>> bucket = CompressedBucket(current_job(), sharding, {"w": weight}, 0, lambda key: 2, residuals)
    >>> bucket.add("w", torch.tensor([1.0, 2.0, 3.0]))
    True
    >>> [part] = bucket.collect()
    >>> part.gradient
    tensor([0., 2., 2.])
    """

    def __init__(
        self,
        job: Job,
        sharding: Sharding[Key],
        values: Mapping[Key, Tensor],
        tag: int,
        key_tag: Callable[[Key], int],
        residuals: Residuals,
    ) -> None:
        super().__init__(job, sharding, values, tag, key_tag)
        self._residuals = residuals

    @property
    def _is_whole(self) -> bool:
        return False  # a worker alone gets what it would have sent

    def _message(self, parts: Mapping[Key, tuple[int, int]]) -> Tensor:
        pieces = [
            self._residuals.of(key, self._gradients[key])[begin:end] for key, (begin, end) in parts.items()
        ]
        gradient = super()._message(parts)
        if len(pieces) == 1:
            return self._residuals.compression.quantize(gradient, pieces[0])
        # One message is compressed at once: what a call costs is worth more than the copies.
        residual = torch.cat(pieces) if pieces else torch.empty_like(gradient)
        packed = self._residuals.compression.quantize(gradient, residual)
        if pieces:
            foreach.copy_(pieces, list(residual.split([piece.numel() for piece in pieces])))
        return packed

    def _total(self, keys: Sequence[Key], incoming: Incoming) -> Tensor:
        # In the order of the workers, so that a run gives the same bits each time.
        parts = [self.sharding.part(key, self.job.rank) for key in keys]
        kind = self._sample.dtype
        total = self._sample.new_zeros(
            sum(end - begin for begin, end in parts), dtype=torch.promote_types(kind, torch.float32)
        )
        for row in incoming.rows:
            self._residuals.compression.add_to(total, row)
        return total.to(kind)
