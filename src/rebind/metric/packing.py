"""Sums of a metric as JSON can hold them: that is how they go from worker to worker."""

from __future__ import annotations

from typing import cast

import numpy
import torch
from torch import Tensor

from ..errors import ArgumentError
from ..ndarray import NDArray
from .arrays import Total

__all__ = ["Packed", "pack", "unpack"]

#: Numbers, and lists and dicts of them.
Packed = object


def pack(total: object) -> Packed:
    """Return a sum as numbers, lists and dicts; exactly, since JSON writes all digits of a float.

    >>> pack(torch.tensor([1.5, 2.0]))
    {'tensor': 'float32', 'shape': [2], 'values': [1.5, 2.0]}
    """
    if isinstance(total, NDArray):
        total = total.tensor
    if isinstance(total, Tensor):
        if total.ndim == 0:  # as it is read: a number
            return total.item()
        kind = str(total.dtype).removeprefix("torch.")
        return {"tensor": kind, "shape": list(total.shape), "values": total.detach().reshape(-1).tolist()}
    if isinstance(total, numpy.generic):
        return total.item()
    if isinstance(total, numpy.ndarray):
        return {"array": total.dtype.name, "shape": list(total.shape), "values": total.reshape(-1).tolist()}
    if isinstance(total, tuple):
        return {"items": [pack(each) for each in total]}
    if total is None or isinstance(total, (bool, int, float)):
        return total
    raise ArgumentError(
        f"metric: a sum must be a number, an array or a tuple of these to be added up over workers; got {total!r}"
    )


def unpack(packed: Packed) -> Total | None:
    """Return what `pack` was given; a tuple for a named one.

    >>> unpack(pack((torch.tensor([1, 2]), 3.0)))
    (tensor([1, 2]), 3.0)
    """
    if not isinstance(packed, dict):
        return cast("float | None", packed)
    if "items" in packed:
        return cast(Total, tuple(unpack(each) for each in packed["items"]))
    if "array" in packed:
        return numpy.array(packed["values"], packed["array"]).reshape(packed["shape"])
    values = torch.tensor(packed["values"], dtype=getattr(torch, packed["tensor"]))
    return values.reshape(packed["shape"])
