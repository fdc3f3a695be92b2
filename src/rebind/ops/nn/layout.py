"""What convolution and pooling share: layouts, and parameters that hold one value for each spatial axis."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import ShapeError
from ...params import Params
from ...shapes import Shape

__all__ = ["channels_last", "complaint", "padded", "split", "to_channels_first", "to_channels_last"]

# By the number of spatial axes: the default, channels first, and channels last.
LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def channels_last(layout: str | None) -> bool:
    """Return whether `layout` (None: the usual one) has the channels as its last axis.

    >>> channels_last("NHWC"), channels_last("NCHW"), channels_last(None)
    (True, False, False)
    """
    return layout is not None and layout[-1] == "C"


def to_channels_first(data: Tensor) -> Tensor:
    """Return a view of ``(N, ..., C)`` as ``(N, C, ...)``; its memory is what torch calls channels_last.

    >>> to_channels_first(torch.zeros(8, 5, 4, 3)).shape
    torch.Size([8, 3, 5, 4])
    """
    return data.movedim(-1, 1)


def to_channels_last(data: Tensor) -> Tensor:
    """Return ``(N, C, ...)`` as ``(N, ..., C)``; free of charge after `to_channels_first`.

    >>> to_channels_last(torch.zeros(8, 3, 5, 4)).shape
    torch.Size([8, 5, 4, 3])
    """
    return data.movedim(1, -1).contiguous()


def padded(data: Tensor, pad: Sequence[int], beyond: Sequence[int] = (), value: float = 0.0) -> Tensor:
    """Return data with `pad` elements at both ends of the spatial axes, and `beyond` more at the last end of each.

    >>> padded(torch.ones(1, 1, 2), (1,), (2,))
    tensor([[[0., 1., 1., 0., 0., 0.]]])
    """
    if not (beyond or any(pad)):
        return data
    amounts: list[int] = []
    for i in reversed(range(len(pad))):  # F.pad begins with the last axis
        amounts += [pad[i], pad[i] + (beyond[i] if beyond else 0)]
    return F.pad(data, amounts, value=value)


def complaint(p: Params, **names: int) -> str | None:
    """Return what is wrong with the parameters that have one value for each axis of the kernel, if anything is.

    Parameters
    ----------
    p
        The operator's parameters, with `kernel` among them and perhaps `layout`.
    **names
        The other parameters of that kind, and the least value that each allows.

    Examples
    --------
    >>> complaint(Params(kernel=(3, 3), stride=(0, 1)), stride=1)
    'stride must be >= 1 in each axis; got (0, 1)'
    """
    kernel = p.kernel
    if not 1 <= len(kernel) <= 3:
        return f"kernel must have 1, 2 or 3 sizes, one for each spatial axis; got {kernel}"
    if min(kernel) < 1:
        return f"kernel must be >= 1 in each axis; got {kernel}"
    for name, least in names.items():
        values = p[name]
        if values and len(values) != len(kernel):
            return f"{name} must have {len(kernel)} values, as many as kernel {kernel}; got {values}"
        if values and min(values) < least:
            return f"{name} must be >= {least} in each axis; got {values}"
    layout = p.get("layout")
    if layout is not None and layout not in LAYOUTS[len(kernel)]:
        allowed = " or ".join(map(repr, LAYOUTS[len(kernel)]))
        return f"layout must be {allowed} for a kernel of {len(kernel)} axes; got {layout!r}"
    return None


def split(shape: Shape, kernel: Shape, layout: str | None) -> tuple[int, int, Shape]:
    """Return batch size, number of channels and spatial sizes of data; ShapeError when the kernel does not fit.

    >>> split((8, 3, 32, 32), (3, 3), None)
    (8, 3, (32, 32))
    """
    axes = len(kernel)
    if len(shape) != axes + 2:
        named = layout or LAYOUTS[axes][0]
        raise ShapeError(f"data must have {axes + 2} axes ({named}) for kernel {kernel}; got shape {shape}")
    if channels_last(layout):
        return shape[0], shape[-1], shape[1:-1]
    return shape[0], shape[1], shape[2:]


def lowest(dtype: torch.dtype) -> float:
    """Return the least finite value of a type.

    >>> lowest(torch.int8)
    -128
    """
    return torch.finfo(dtype).min if dtype.is_floating_point else torch.iinfo(dtype).min
