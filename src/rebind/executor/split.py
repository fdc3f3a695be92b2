"""How a batch is cut for several devices, and put together again."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..errors import ParameterError
from ..ndarray import NDArray

__all__ = ["batch_axis", "join", "split_batch"]


def batch_axis(layout: str | None) -> int:
    """Return the place of the batch axis N in a layout such as ``NCHW`` or ``TNC``; -1 when there is none.

    >>> batch_axis('TNC'), batch_axis(None), batch_axis('')
    (1, 0, 0)
    """
    return layout.find("N") if layout else 0


def split_batch(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """Return the part of a batch for each device, in proportion to its work load, rounded as MXNet does.

    Raises
    ------
    ParameterError
        ``Too many slices`` when a device would get nothing.

    Examples
    --------
    >>> split_batch(10, [1, 1, 1])
    [slice(0, 3, None), slice(3, 6, None), slice(6, 10, None)]
    """
    total = sum(work_load_list)
    counts = [round(load * batch_size / total) for load in work_load_list]
    counts[-1] += batch_size - sum(counts)
    slices, begin = [], 0
    for count in counts:
        end = min(begin + count, batch_size)
        if begin >= end:
            raise ParameterError(
                f"Too many slices: {len(work_load_list)} devices with work loads {list(work_load_list)} must each get "
                f"a part of the batch; got batch size {batch_size}"
            )
        slices.append(slice(begin, end))
        begin = end
    return slices


def join(parts: Sequence[NDArray], axis: int) -> NDArray:
    """Return the devices' parts of one array as one array, along the batch axis, on the first device.

    What has no batch axis (-1) is the same everywhere: the first part.
    """
    first = parts[0]
    if len(parts) == 1 or axis < 0:
        return first
    place = first.tensor.device
    return NDArray(torch.cat([part.tensor.to(place) for part in parts], axis), first.device)
