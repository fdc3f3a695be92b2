"""Pooling in one, two and three dimensions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import prod
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import ShapeError
from ...grad_mode import is_recorded
from ...params import Params
from ...shapes import Shape
from ...tuning import current
from ..declaration import Shapes, operator
from .layout import channels_last, complaint, lowest, padded, split, to_channels_first, to_channels_last
from .window_slices import largest, suits, suits_maximum, total

__all__ = ["pooling", "pooling_v1"]

# By the number of spatial axes.
_MAX = {1: torch.max_pool1d, 2: torch.max_pool2d, 3: torch.max_pool3d}


def _average_of_volumes(data: Tensor, *windows: Any) -> Tensor:
    # Torch's takes two to three times as long where the channels come last.
    return F.avg_pool3d(data.contiguous(), *windows)


_AVERAGE: dict[int, Callable[..., Tensor]] = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: _average_of_volumes}


# MXNet counts a workspace of max pooling among the outputs.
@operator("Pooling", counted=lambda p: 2 if p.pool_type == "max" else 1)
def pooling(
    data: Tensor,
    *,
    kernel: tuple[int, ...] = (),
    pool_type: Literal["avg", "lp", "max", "sum"] = "max",
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: Literal["full", "same", "valid"] = "valid",
    stride: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: Literal["NCDHW", "NCHW", "NCW", "NDHWC", "NHWC", "NWC"] | None = None,
) -> Tensor:
    """Maximum, mean, sum or p-norm over windows in one, two or three dimensions.

    Parameters
    ----------
    kernel
        Sizes of a window; not needed with `global_pool`.
    pool_type
        ``'max'``, ``'avg'``, ``'sum'``, or ``'lp'``: the `p_value`-th root of the sum of powers.
    global_pool
        One window over all; `kernel`, `stride`, `pad` and `pooling_convention` have no effect then.
    pooling_convention
        How many windows there are. ``'valid'``: those that lie within the padded data; ``'full'``: one more at
        the end of an axis where something is left over; ``'same'``: as many as ``spatial / stride``, rounded up,
        which reach beyond the end (`pad` must be 0).
    stride
        Steps between windows; 1 when left out.
    pad
        What is added on both sides of each spatial axis; 0 when left out. It never is a maximum.
    p_value
        1, 2 or 3, for ``'lp'``. Odd powers keep their sign, as in MXNet.
    count_include_pad
        Whether ``'avg'`` counts the padding (the default); what lies beyond it is never counted.
    layout
        Order of the axes; channels first when left out.
    cudnn_off
        No effect here; accepted for old programs.

    Shapes
    ------
    data : (N, C, *spatial)      with channels last: (N, *spatial, C)
    out : (N, C, *windows)       ``windows = (spatial + 2 pad - kernel) / stride + 1``, rounded by the convention

    Examples
    --------
    >>> data = torch.tensor([[[1.0, 3.0, 2.0, 0.0]]])
    >>> pooling(data, kernel=(2,), stride=(2,)), pooling(data, pool_type="avg", global_pool=True)
    (tensor([[[3., 2.]]]), tensor([[[1.5000]]]))
    """
    axes = len(kernel)
    if not global_pool and data.dim() != axes + 2:  # torch would take data without a batch axis
        raise ShapeError(f"data must have {axes + 2} axes for kernel {kernel}; got shape {tuple(data.shape)}")
    last = layout is not None and channels_last(layout)
    if last:
        data = to_channels_first(data)
    if global_pool:
        out = _global(data, pool_type, p_value or 1)
    else:
        # Some programs give three numbers everywhere.
        stride = stride[:axes] or (1,) * axes
        if pad or pooling_convention != "valid":
            extent = _extent(tuple(data.shape)[2:], kernel, stride, pad[:axes], pooling_convention)
        else:
            extent = _NO_BORDER[axes]
        include = count_include_pad is None or count_include_pad
        out = _windows(data, kernel, stride, extent, pool_type, p_value or 1, include)
    return to_channels_last(out) if last else out


def _global(data: Tensor, pool_type: str, power: int = 1) -> Tensor:
    if pool_type == "max":
        # Among equals the first takes the gradient; amax would share it out.
        return _MAX[data.dim() - 2](data, data.shape[2:])
    axes = tuple(range(2, data.dim()))
    if pool_type == "avg":
        return _mean(data, axes)
    if pool_type == "sum":
        return data.sum(axes, keepdim=True)
    return _root(data.pow(power).sum(axes, keepdim=True), power)


def _mean(data: Tensor, axes: Shape) -> Tensor:
    if not (data.is_cpu and data.dtype is torch.float32 and is_recorded(data)):
        return data.mean(axes, keepdim=True)
    # The same, but for the gradient: of a mean PyTorch writes it to memory, for images in the order of their axes,
    # whatever the order of the data; that of a sum repeats one number without memory.
    return data.sum(axes, keepdim=True) / prod(data.shape[2:])


# What a pooling does at the borders: the padding of each axis, how many rows of the last window lie beyond it, and
# whether torch can do that by itself.
_Extent = tuple[Shape, Shape, bool]

#: What there is without padding, by the number of spatial axes.
_NO_BORDER: dict[int, _Extent] = {axes: ((0,) * axes, (), True) for axes in _MAX}


@functools.lru_cache(maxsize=4096)
def _extent(spatial: Shape, kernel: Shape, stride: Shape, pad: Shape, convention: str) -> _Extent:
    # torch takes a padding of up to half the kernel.
    direct = not pad or all(2 * p <= k for p, k in zip(pad, kernel, strict=True))
    # And means in three dimensions of data that are as large as the kernel only, without padding.
    direct = direct and (len(kernel) < 3 or all(k <= n for n, k in zip(spatial, kernel, strict=True)))
    pad = pad or (0,) * len(kernel)
    if convention == "valid":
        return pad, (), direct
    if convention == "full" and any(n + 2 * p < k for n, k, p in zip(spatial, kernel, pad, strict=True)):
        # torch's ceil_mode takes them; of valid windows it says so itself.
        raise ShapeError(f"kernel {kernel} must fit into the padded data; got sizes {spatial} with pad {pad}")
    beyond = []
    counts = _window_counts(spatial, kernel, stride, pad, convention)
    for n, k, s, p, windows in zip(spatial, kernel, stride, pad, counts, strict=True):
        if convention == "full":
            # MXNet lets the last window begin in the padding or beyond it; torch's ceil_mode leaves it out.
            direct = direct and (windows - 1) * s < n + p
        else:
            # What is missing is added at the end only, which torch's symmetric padding cannot express.
            direct = False
        beyond.append(max((windows - 1) * s + k - n - 2 * p, 0))
    return pad, tuple(beyond) if any(beyond) else (), direct


def _window_counts(spatial: Shape, kernel: Shape, stride: Shape, pad: Shape, convention: str) -> list[int]:
    rows = zip(spatial, kernel, stride, pad, strict=True)
    if convention == "same":
        return [-(-n // s) for n, _, s, _ in rows]  # ceil(n / s): as many as steps fit
    if convention == "full":
        return [-(-(n + 2 * p - k) // s) + 1 for n, k, s, p in rows]  # ceil((n + 2p - k) / s) + 1
    return [(n + 2 * p - k) // s + 1 for n, k, s, p in rows]


def _windows(
    data: Tensor,
    kernel: Shape,
    stride: Shape,
    extent: _Extent,
    pool_type: str,
    power: int,
    include: bool,
) -> Tensor:
    pad, beyond, direct = extent
    axes, ceil = len(kernel), direct and bool(beyond)
    if pool_type == "max":
        if suits_maximum(data, kernel, stride):
            return largest(padded(data, pad, beyond, lowest(data.dtype)), kernel, stride)
        if not direct:
            # The lowest value: padding never is the maximum.
            data, pad = padded(data, pad, beyond, lowest(data.dtype)), (0,) * axes
        if torch.compiler.is_compiling() and data.is_cpu:
            return _largest_compiled(data, kernel, stride, pad, ceil)
        return _MAX[axes](data, kernel, stride, pad, 1, ceil)
    if pool_type == "avg":
        if suits(data, kernel, stride) and not beyond and (include or not any(pad)):
            return total(padded(data, pad, beyond), kernel, stride) / prod(kernel)
        if direct:
            return _AVERAGE[axes](data, kernel, stride, pad, ceil, include)
        # Windows that reach beyond the padding have fewer elements: torch has no divisor for each window.
        counts = _counts(data.shape[2:], kernel, stride, extent, include)
        sums = _sum(padded(data, pad, beyond), kernel, stride, (0,) * axes, False)
        return sums / torch.tensor(counts, dtype=data.dtype, device=data.device).view(sums.shape[2:])
    if pool_type == "lp":
        data = data.pow(power)
    if suits(data, kernel, stride):
        out = total(padded(data, pad, beyond), kernel, stride)
    else:
        if not direct:
            data, pad = padded(data, pad, beyond), (0,) * axes
        out = _sum(data, kernel, stride, pad, ceil)
    return out if pool_type == "sum" else _root(out, power)


def _largest_compiled(data: Tensor, kernel: Shape, stride: Shape, pad: Shape, ceil: bool) -> Tensor:
    """Return maxima, by PyTorch's kernels where they are quicker than what a compiler makes of them."""
    axes, recorded = len(kernel), is_recorded(data)
    is_large = data.numel() >= current().opaque_call_elements
    if axes > 1 and recorded and data.stride(1) == 1 and is_large:
        from .opaque import pooling

        return pooling.largest(data, kernel, stride, pad, ceil)
    if axes == 1 and not recorded:
        from .opaque.pooling import largest_1d

        return largest_1d(data, kernel, stride, pad, ceil)
    return _MAX[axes](data, kernel, stride, pad, 1, ceil)


def _sum(data: Tensor, kernel: Shape, stride: Shape, pad: Shape, ceil: bool) -> Tensor:
    # A sum is a mean that is divided by 1.
    if len(kernel) == 1:  # avg_pool1d has no divisor_override
        return F.avg_pool2d(data.unsqueeze(-2), (1, *kernel), (1, *stride), (0, *pad), ceil, True, 1).squeeze(
            -2
        )
    return _AVERAGE[len(kernel)](data, kernel, stride, pad, ceil, True, 1)


def _root(total: Tensor, power: int) -> Tensor:
    if power == 1:
        return total
    if power == 2:
        return total.sqrt()
    # torch's pow of a negative number and a fraction is NaN; the sum of cubes has a sign.
    return total.sign() * total.abs().pow(1 / 3)


def _counts(spatial: Shape, kernel: Shape, stride: Shape, extent: _Extent, include: bool) -> list[float]:
    """Return, for all windows in order, what a mean is divided by: 1 at least, so that nothing has mean 0."""
    pad, beyond, _ = extent
    counts = [1]
    for i, (n, k, s) in enumerate(zip(spatial, kernel, stride, strict=True)):
        # From here on in positions of the data: windows start at -p, and end before the last whole one.
        p = pad[i]
        low, high = (-p, n + p) if include else (0, n)
        stop = n + p + (beyond[i] if beyond else 0) - k + 1
        sizes = [min(start + k, high) - max(start, low) for start in range(-p, stop, s)]
        # The count of a window is the product of its extents; the last axis runs fastest, as in memory.
        counts = [count * max(size, 0) for count in counts for size in sizes]
    return [float(max(count, 1)) for count in counts]


@pooling.check
def _(p: Params) -> str | None:
    if p.pool_type == "lp" and p.p_value not in (1, 2, 3):
        return f"p_value must be 1, 2 or 3 with pool_type 'lp'; got {p.p_value}"
    if p.global_pool:
        return None
    if p.pooling_convention == "same" and any(p.pad):
        return f"pad must be 0 with pooling_convention 'same'; got {p.pad}"
    if not p.kernel:
        return "kernel must be given unless global_pool is True; got ()"
    # MXNet reads as many values as there are axes: some programs give three everywhere.
    axes = len(p.kernel)
    return complaint(Params(p, stride=p.stride[:axes], pad=p.pad[:axes]), stride=1, pad=0)


@pooling.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    check_fits(shapes["data"], p)
    return {}


@pooling.output_shapes
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    if data is None or (not p.global_pool and len(data) != len(p.kernel) + 2):
        return []
    last = channels_last(p.layout)
    spatial = data[1:-1] if last else data[2:]
    axes = len(spatial)
    stride, pad = p.stride[:axes] or (1,) * axes, p.pad[:axes] or (0,) * axes
    windows = (
        [1] * axes if p.global_pool else _window_counts(spatial, p.kernel, stride, pad, p.pooling_convention)
    )
    return [(data[0], *windows, data[-1]) if last else (*data[:2], *windows)]


def check_fits(data: Shape | None, p: Params) -> None:
    if data is None:
        return
    if p.global_pool:
        if not 3 <= len(data) <= 5:
            raise ShapeError(f"data must have 3, 4 or 5 axes; got shape {data}")
        return
    spatial = split(data, p.kernel, p.get("layout"))[2]
    if p.pooling_convention != "same":
        pads = p.pad[: len(spatial)] or (0,) * len(spatial)
        # A size of 0 is unknown and fits.
        if any(n and n + 2 * pad < k for n, k, pad in zip(spatial, p.kernel, pads, strict=True)):
            raise ShapeError(
                f"kernel {p.kernel} must fit into the padded data; got data {data} with pad {p.pad or 0}"
            )


@operator("Pooling_v1")
def pooling_v1(
    data: Tensor,
    *,
    kernel: tuple[int, ...] = (),
    pool_type: Literal["avg", "max", "sum"] = "max",
    global_pool: bool = False,
    pooling_convention: Literal["full", "valid"] = "valid",
    stride: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
) -> Tensor:
    """Maximum, mean or sum over windows in two dimensions: the old form of `Pooling`.

    Its padding is made of zeros that count in a maximum, and its mean always divides by the size of the
    kernel, also where a window reaches beyond the data.

    Parameters
    ----------
    kernel
        Sizes of a window; not needed with `global_pool`.
    pool_type
        ``'max'``, ``'avg'`` or ``'sum'``.
    global_pool
        One window over all; `kernel`, `stride` and `pad` have no effect then.
    pooling_convention
        ``'valid'``: windows within the padded data; ``'full'``: one more where something is left over.
    stride
        Steps between windows; 1 when left out.
    pad
        Zeros added on both sides of each spatial axis; none when left out.

    Shapes
    ------
    data : (N, C, H, W)
    out : (N, C, *windows)

    Examples
    --------
    >>> pooling_v1(torch.tensor([[[[1.0, 3.0], [2.0, 0.0]]]]), kernel=(2, 2), pool_type="sum")
    tensor([[[[6.]]]])
    """
    if global_pool:
        return _global(data, pool_type)
    # Real zeros, which take part in a maximum: what the old operator does and the new one does not.
    data = padded(data, pad)
    # The padding is in the data by now, so that the windows have none.
    extent = _extent(tuple(data.shape)[2:], kernel, stride or (1, 1), (), pooling_convention)
    if pool_type == "max":
        return _windows(data, kernel, stride or (1, 1), extent, "max", 1, True)
    out = _windows(data, kernel, stride or (1, 1), extent, "sum", 1, True)
    return out if pool_type == "sum" else out / prod(kernel)


@pooling_v1.check
def _(p: Params) -> str | None:
    if p.global_pool:
        return None
    if len(p.kernel) != 2:
        return f"kernel must have 2 sizes; got {p.kernel}. Pooling takes 1 to 3."
    return complaint(p, stride=1, pad=0)


@pooling_v1.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is not None and len(data) != 4:
        raise ShapeError(f"data must have 4 axes (NCHW); got shape {data}")
    check_fits(data, p)
    return {}
