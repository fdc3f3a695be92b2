"""Pooling over windows, regions and whole images."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading
from .windows import Windows

__all__ = ["pool"]

_KINDS = {"MaxPool": "max", "AveragePool": "avg", "LpPool": "lp"}


def _rounds_up(windows: Windows, kernel: Sequence[int], ceil: bool) -> bool:
    """Whether there are as many windows as MXNet has when it rounds up, whatever the size of the data.

    A border behind the data of one less than the stride does so, too. MXNet also has windows that begin behind the
    data, which ONNX leaves out; without a border before the data there are none of these.
    """
    behind = (0,) * len(kernel) if ceil else tuple(step - 1 for step in windows.stride)
    fits = not any(windows.before) and tuple(windows.after) == behind
    return fits and max(windows.stride) > 1 and all(map(operator.ge, kernel, windows.stride))


@reading(*_KINDS)
def pool(reader: NodeReader) -> Any:
    """Pooling over windows: MXNet's where it has the border, the rounding and the spacing, else a general one.

    MXNet's norms of odd powers take the signs of the elements, so those are never its.
    """
    kernel = tuple(reader.required("kernel_shape"))
    windows = Windows.read(reader, kernel)
    kind = _KINDS[reader.node.op_type]
    ceil = bool(reader.attribute("ceil_mode", 0))
    include = bool(reader.attribute("count_include_pad", 0))
    p = reader.attribute("p", 2)
    full = kind == "max" and _rounds_up(windows, kernel, ceil)
    plain = (full or (windows.is_symmetric and not ceil)) and set(windows.dilate) == {1} and len(kernel) <= 3
    inside = all(pad < k for pad, k in zip(windows.before, kernel))
    if plain and inside and reader.is_float() and not reader.wanted(1) and (kind != "lp" or p == 2):
        return reader.op(
            "Pooling",
            reader.input(0),
            kernel=kernel,
            pool_type=kind,
            stride=windows.stride,
            pad=windows.before,
            pooling_convention="full" if full else None,
            count_include_pad=include if kind == "avg" else None,
            p_value=p if kind == "lp" else None,
        )
    given = {
        "kernel": kernel,
        "stride": windows.stride,
        "dilate": windows.dilate,
        "pads": (*windows.before, *windows.after),
        "ceil_mode": ceil,
    }
    data = reader.input(0)
    if reader.wanted(1):
        return list(
            reader.op(
                "_onnx_max_pool", data, column_major=bool(reader.attribute("storage_order", 0)), **given
            )
        )
    return reader.op("_onnx_pool", data, kind=kind, count_include_pad=include, p=float(p), **given)


@reading("MaxUnpool")
def max_unpool(reader: NodeReader) -> Symbol:
    """Elements where max pooling found them, and 0."""
    kernel = tuple(reader.required("kernel_shape"))
    windows = Windows.read(reader, kernel)
    sizes = [
        (n - 1) * s + k - before - after
        for n, s, k, before, after in zip(
            reader.known_shape()[2:], windows.stride, kernel, windows.before, windows.after
        )
    ]
    return reader.op(
        "_onnx_max_unpool",
        reader.input(0),
        reader.input(1),
        image=tuple(sizes),
        output=tuple(reader.ints(2, "output_shape")[2:]) if reader.has(2) else tuple(sizes),
    )


@reading("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(reader: NodeReader) -> Symbol:
    """Pooling over whole images."""
    kind = {"GlobalAveragePool": "avg", "GlobalMaxPool": "max", "GlobalLpPool": "lp"}[reader.node.op_type]
    data = reader.input(0)
    axes = reader.rank() - 2
    if 1 <= axes <= 3:
        p = reader.attribute("p", 2) if kind == "lp" else None
        return reader.op("Pooling", data, kernel=(1,) * axes, pool_type=kind, global_pool=True, p_value=p)
    if kind == "lp":
        raise reader.refuse(f"data must have 1 to 3 spatial axes; got {axes}")
    return reader.op("mean" if kind == "avg" else "max", data, axis=tuple(range(2, axes + 2)), keepdims=True)


@reading("RoiAlign")
def roi_align(reader: NodeReader) -> Symbol:
    """Regions of images, averaged (or the greatest taken) over samples in a grid."""
    half = reader.attribute(
        "coordinate_transformation_mode", "half_pixel" if reader.opset >= 16 else "output_half_pixel"
    )
    size = (reader.attribute("output_height", 1), reader.attribute("output_width", 1))
    numbers = reader.op("expand_dims", reader.cast(reader.input(2), reader.dtype(1)), axis=1)
    rois = reader.op("Concat", numbers, reader.input(1), dim=1)
    if (mode := reader.attribute("mode", "avg")) != "avg":
        raise reader.refuse(f"mode must be 'avg', as MXNet has no other; got {mode!r}")
    return reader.op(
        "_contrib_ROIAlign",
        reader.input(0),
        rois,
        pooled_size=size,
        spatial_scale=reader.attribute("spatial_scale", 1.0),
        sample_ratio=reader.attribute("sampling_ratio", 0) or -1,
        aligned=half == "half_pixel",
    )


@reading("MaxRoiPool")
def max_roi_pool(reader: NodeReader) -> Symbol:
    """The greatest elements of parts of regions."""
    return reader.op(
        "ROIPooling",
        reader.input(0),
        reader.input(1),
        pooled_size=tuple(reader.required("pooled_shape")),
        spatial_scale=reader.attribute("spatial_scale", 1.0),
    )
