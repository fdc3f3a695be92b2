"""Pooling over windows, and to given sizes."""

from __future__ import annotations

from typing import Any

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading
from ..sizes import is_free
from .convolutions import each_axis

__all__ = ["adaptive_pool", "pool"]

_MAX = tuple(f"max_pool{axes}d{suffix}" for axes in (1, 2, 3) for suffix in ("", "_with_indices"))
_AVERAGE = ("avg_pool1d", "avg_pool2d", "avg_pool3d")
_ADAPTIVE = tuple(f"{kind}pool{axes}d" for kind in ("adaptive_avg_", "_adaptive_avg_") for axes in (1, 2, 3))


@reading(*_MAX, *_AVERAGE)
def pool(reader: NodeReader) -> Any:
    """Pooling over windows: MXNet's where it has the border, the rounding and the spacing, else a general one."""
    name = str(reader.node.target).split(".")[1]
    kind, axes = name[:3], int(name[8])
    if reader.rank() != axes + 2:
        raise reader.refuse(f"data must have a batch axis; got shape {reader.shape()}")
    kernel = each_axis(reader.argument("kernel_size"), axes)
    stride = each_axis(reader.argument("stride") or list(kernel), axes)
    pad = each_axis(reader.argument("padding", 0), axes)
    dilate = each_axis(reader.argument("dilation", 1), axes)
    ceil = bool(reader.argument("ceil_mode", False))
    include = bool(reader.argument("count_include_pad", True))
    divisor = reader.argument("divisor_override")
    if divisor is not None:
        raise reader.refuse(f"divisor_override must be None; got {divisor}")
    settings: dict[str, Any] = {"kernel": kernel, "stride": stride}
    if ceil or set(dilate) != {1}:
        found = reader.op(
            "_onnx_pool", reader.input(), kind=kind, dilate=dilate, pads=(*pad, *pad), ceil_mode=ceil,
            count_include_pad=include if kind == "avg" else None, **settings,
        )  # fmt: skip
    else:
        found = reader.op(
            "Pooling", reader.input(), pool_type=kind, pad=pad,
            count_include_pad=include if kind == "avg" else None, **settings,
        )  # fmt: skip
    if not isinstance(reader.node.meta["val"], tuple | list):
        return found
    if reader.wanted(1):
        raise reader.refuse("the indices of maxima must not be used, as MXNet's pooling returns none")
    return [found, None]


@reading(*_ADAPTIVE, "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_pool(reader: NodeReader) -> Any:
    """Pooling to a given size: of whole images, of windows that divide them, or means of windows that overlap."""
    name = str(reader.node.target).split(".")[1].strip("_")
    kind, axes = name.split("_")[1], int(name[-2])
    several = isinstance(reader.node.meta["val"], tuple | list)
    if several and reader.wanted(1):
        raise reader.refuse("the indices of maxima must not be used, as MXNet's pooling returns none")
    shape, sizes = reader.shape()[2:], reader.output_shape(0 if several else None)[2:]
    found = _adapted(reader, kind, axes, shape, sizes)
    return [found, None] if several else found


def _adapted(reader: NodeReader, kind: str, axes: int, shape: list[Any], sizes: list[Any]) -> Symbol:
    data = reader.input()
    if set(sizes) == {1}:
        return reader.op("Pooling", data, kernel=(1,) * axes, pool_type=kind, global_pool=True)
    if not any(map(is_free, [*shape, *sizes])) and not any(n % size for n, size in zip(shape, sizes)):
        kernel = tuple(n // size for n, size in zip(shape, sizes))
        return reader.op("Pooling", data, kernel=kernel, stride=kernel, pool_type=kind)
    if kind == "avg" and axes == 2:
        return reader.op("_contrib_AdaptiveAvgPooling2D", data, output_size=tuple(sizes))
    if kind == "avg" and axes == 1:
        image = reader.op("expand_dims", data, axis=2)
        image = reader.op("_contrib_AdaptiveAvgPooling2D", image, output_size=(1, sizes[0]))
        return reader.op("squeeze", image, axis=2)
    raise reader.refuse(f"the sizes {shape} must be known, and divisible by {sizes}")
