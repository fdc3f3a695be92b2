"""The same values in another order of memory: for graphs, which get these operators when they are lowered."""

from __future__ import annotations

import torch
from torch import Tensor

from ...errors import ShapeError
from ..declaration import operator

__all__ = ["FORMATS", "channels_last", "contiguous"]

#: PyTorch's name for memory in which the channels come last, by the number of axes.
FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


@operator("_contiguous", same_shape=True)
def contiguous(data: Tensor) -> Tensor:
    """The data, in memory as the order of its axes says.

    Not MXNet's: see `rebind.graph.passes.keep_order`.

    Examples
    --------
    >>> contiguous(torch.ones(2, 3).T).stride()
    (2, 1)
    """
    return data.contiguous()


@operator("_channels_last", same_shape=True)
def channels_last(data: Tensor) -> Tensor:
    """Images, or volumes, with their channels last in memory; the order of the axes stays.

    Not MXNet's: see `rebind.graph.passes.channels_last`.

    Shapes
    ------
    data, out : (N, C, H, W) or (N, C, D, H, W)

    Examples
    --------
    >>> channels_last(torch.ones(2, 3, 4, 5)).stride()
    (60, 1, 15, 3)
    """
    if data.dim() not in FORMATS:
        raise ShapeError(f"data must have 4 or 5 axes; got shape {tuple(data.shape)}")
    if data.shape[1] == 1:  # in either order at once: the strides alone say which one is meant
        count, _, *spatial = data.shape
        return data.contiguous().view(count, *spatial, 1).movedim(-1, 1)
    return data.contiguous(memory_format=FORMATS[data.dim()])
