"""A short hash of some samples: whether data are those of a run that was saved."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import torch

from ..ndarray import NDArray

__all__ = ["fingerprint_of", "tensors_of"]

#: How many samples of an array are read: enough to tell data sets apart, and quick for images too.
_SAMPLES = 64


def fingerprint_of(arrays: Iterable[tuple[str, torch.Tensor]]) -> str:
    """Return a hash of names, shapes, types and evenly spaced samples; others than these do not count.

    >>> one, two = torch.zeros(1000, 3), torch.zeros(1000, 3)
    >>> two[0] = 1
    >>> fingerprint_of([("data", one)]) == fingerprint_of([("data", two)])
    False
    """
    digest = hashlib.blake2b(digest_size=4)
    for name, tensor in arrays:
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype} ".encode())
        rows = tensor.shape[0] if tensor.dim() else 0
        positions = torch.linspace(0, rows - 1, min(rows, _SAMPLES)).long()
        samples = tensor.detach()[positions.to(tensor.device)] if rows else tensor.detach()
        digest.update(samples.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def tensors_of(name: str, array: NDArray) -> list[tuple[str, torch.Tensor]]:
    """Return what `fingerprint_of` takes of an array: its tensor, or the parts of a sparse one with the array's shape.

    >>> import rebind as mx
    >>> [name for name, _ in tensors_of("x", mx.nd.ones((2, 3)).tostype("csr"))]
    ['x.data (2, 3)', 'x.indptr (2, 3)', 'x.indices (2, 3)']
    """
    tensors = array.storage.tensors
    if len(tensors) == 1:
        return [(name, array.tensor)]
    return [(f"{name}.{part} {array.shape}", tensor) for part, tensor in tensors.items()]
