"""ONNX's own operators, named ``_onnx_X``, of which imported networks are made: they go back as what they were.

Where MXNet has an array of one element, ONNX has a number without axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import torch

from ....params import Params
from ..node_writer import NodeWriter
from ..operator_writer import onnx_type
from ..translations import translation
from .arithmetic import signed_remainder
from .pieces import arithmetic, shape_from

__all__ = [
    "col2im", "cumulative", "einsum", "fourier", "gather_nd", "log_sum_exp", "matmul", "max_unpool", "pool", "resize",
    "scatter", "short_time_fourier", "tensor_scatter", "triangle",
]  # fmt: skip

Attributes = Callable[[Params], Mapping[str, Any]]


def _none(p: Params) -> Mapping[str, Any]:
    return {}


def _max_pool(p: Params) -> Mapping[str, Any]:
    return _windows(p) | {"storage_order": int(p.column_major)}


def _windows(p: Params) -> dict[str, Any]:
    return {
        "kernel_shape": p.kernel,
        "strides": p.stride,
        "dilations": p.dilate,
        "pads": p.pads,
        "ceil_mode": int(p.ceil_mode),
    }


def _unique(p: Params) -> Mapping[str, Any]:
    return {"axis": p.axis, "sorted": int(p.sorted)}


#: By the operator's name: ONNX's, since which opset it is, how many outputs it has, and its attributes.
_OPERATORS: dict[str, tuple[str, int, int, Attributes]] = {
    "_onnx_bit_cast": ("BitCast", 26, 1, lambda p: {"to": onnx_type(p.dtype).value}),
    "_onnx_max_pool": ("MaxPool", 12, 2, _max_pool),
    "_onnx_non_zero": ("NonZero", 9, 1, _none),
    "_onnx_unique": ("Unique", 11, 4, _unique),
}


def _declare(name: str, kind: str, since: int, outputs: int, attributes: Attributes) -> None:
    @translation(name)
    def translate(writer: NodeWriter, *inputs: ir.Value) -> Sequence[ir.Value]:
        writer.need(since, kind)
        _refuse_bfloat16(writer, kind)
        return writer.op_of_many(kind, outputs, *inputs, **attributes(writer.params))


for _name, _row in _OPERATORS.items():
    _declare(_name, *_row)


def _refuse_bfloat16(writer: NodeWriter, what: str) -> None:
    if torch.bfloat16 in (writer.dtype(), writer.output_dtype()):
        raise writer.refuse(f"{what} does not take bfloat16")


def _with_axis(writer: NodeWriter, value: ir.Value, is_number: bool) -> ir.Value:
    """Return a value with one axis at least."""
    return writer.reshape(value, [1]) if is_number else value


# Arithmetic


@translation("_onnx_round")
def round_to_even(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the nearest integers; of two the even one."""
    return writer.op("Round" if writer.dtype().is_floating_point else "Identity", data)


@translation("_onnx_integer_division")
def integer_division(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Write quotients of integers, cut towards 0."""
    return arithmetic(writer, "Div", lhs, rhs, writer.dtype())


@translation("_onnx_modulo")
def modulo(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Write remainders with the sign of the divisor, or of the dividend."""
    if writer.params.sign_of_dividend:
        return writer.op("Mod", lhs, rhs, fmod=1)
    return signed_remainder(writer, lhs, rhs, writer.dtype())


@translation("_onnx_log_sum_exp")
def log_sum_exp(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the logarithm of the sum of exponentials along axes, by default all."""
    p = writer.params
    found = writer.reduce("ReduceLogSumExp", data, p.axis or None, keepdims=p.keepdims)
    return _with_axis(writer, found, not p.keepdims and len(p.axis or writer.shape()) == writer.rank())


@translation("_onnx_cumulative")
def cumulative(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write running sums or products along an axis."""
    p = writer.params
    if p.kind == "prod":
        writer.need(26, "CumProd")
    return writer.op(
        f"Cum{p.kind.title()}", data, writer.ints(p.axis), exclusive=int(p.exclusive), reverse=int(p.reverse)
    )


@translation("_onnx_matmul")
def matmul(writer: NodeWriter, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Write products of matrices in the last two axes."""
    return _with_axis(writer, writer.op("MatMul", lhs, rhs), writer.rank(0) == writer.rank(1) == 1)


@translation("_onnx_einsum")
def einsum(writer: NodeWriter, *data: ir.Value) -> ir.Value:
    """Write products summed over the axes whose letters the result lacks."""
    _refuse_bfloat16(writer, "Einsum")
    equation = writer.params.equation
    terms, arrow, result = equation.partition("->")
    operands = [
        value if term else writer.reshape(value, [])
        for value, term in zip(data, terms.split(","), strict=True)
    ]
    if not arrow:  # the letters that are there once
        result = "".join(letter for letter in terms if letter == "." or terms.count(letter) == 1)
    return _with_axis(writer, writer.op("Einsum", *operands, equation=equation), not result.strip(","))


@translation("_onnx_triangle")
def triangle(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the upper or lower triangles of matrices."""
    writer.need(14, "Trilu")
    return writer.op("Trilu", data, writer.ints(writer.params.k), upper=int(writer.params.upper))


# Positions


def _integers(writer: NodeWriter, indices: ir.Value, index: int = 1) -> ir.Value:
    """Return positions as integers that ONNX takes."""
    dtype = writer.dtype(index)
    return indices if dtype in (torch.int32, torch.int64) else writer.cast(indices, torch.int64)


@translation("_onnx_gather_elements")
def gather_elements(writer: NodeWriter, data: ir.Value, indices: ir.Value) -> ir.Value:
    """Write elements by their positions along one axis."""
    return writer.op("GatherElements", data, _integers(writer, indices), axis=writer.params.axis)


@translation("_onnx_gather_nd")
def gather_nd(writer: NodeWriter, data: ir.Value, indices: ir.Value) -> ir.Value:
    """Write slices by positions of several axes."""
    where = writer.cast(indices, torch.int64)
    found = writer.op("GatherND", data, where, batch_dims=writer.params.batch_dims)
    return _with_axis(writer, found, writer.shape(1) == (writer.rank(),))


def _reduction(writer: NodeWriter, kind: str) -> str | None:
    """Return how written elements are combined with those that are there."""
    reduction: str = writer.params.reduction
    if reduction == "none":
        return None
    writer.need(18 if reduction in ("max", "min") else 16, f"{kind} with {reduction!r}")
    return reduction


@translation("_onnx_scatter_elements")
def scatter(writer: NodeWriter, data: ir.Value, indices: ir.Value, updates: ir.Value) -> ir.Value:
    """Write elements at positions of one axis."""
    return writer.op(
        "ScatterElements",
        data,
        _integers(writer, indices),
        updates,
        axis=writer.params.axis,
        reduction=_reduction(writer, "ScatterElements"),
    )


@translation("_onnx_scatter_nd")
def scatter_nd(writer: NodeWriter, data: ir.Value, indices: ir.Value, updates: ir.Value) -> ir.Value:
    """Write slices at positions of several axes."""
    where = writer.cast(indices, torch.int64)
    return writer.op("ScatterND", data, where, updates, reduction=_reduction(writer, "ScatterND"))


@translation("_onnx_tensor_scatter")
def tensor_scatter(
    writer: NodeWriter, data: ir.Value, updates: ir.Value, positions: ir.Value | None
) -> ir.Value:
    """Write `data` with new elements along an axis, from a position for each element of the batch on."""
    writer.need(24, "TensorScatter")
    p = writer.params
    where = None if positions is None else writer.cast(positions, torch.int64)
    mode = "circular" if p.circular else "linear"
    return writer.op("TensorScatter", data, updates, where, axis=p.axis, mode=mode)


@translation("_onnx_non_max_suppression")
def non_max_suppression(writer: NodeWriter, boxes: ir.Value, scores: ir.Value) -> ir.Value:
    """Write of each class the boxes, best first, that overlap no better one too far."""
    p = writer.params
    limits = [p.iou_threshold, *([] if p.score_threshold is None else [p.score_threshold])]
    return writer.op(
        "NonMaxSuppression",
        boxes,
        scores,
        writer.ints([p.most]),
        *(writer.constant([limit], np.float32) for limit in limits),
        center_point_box=int(p.center_point),
    )


# Images and signals


@translation("_onnx_pool")
def pool(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the greatest element, the mean or the norm of each window."""
    p, attributes = writer.params, _windows(writer.params)
    if p.kind == "max":
        return writer.op("MaxPool", data, **attributes)
    is_dilated = set(p.dilate) != {1}
    if not is_dilated:
        del attributes["dilations"]
    if p.kind == "avg":
        if is_dilated:
            writer.need(19, "AveragePool with dilations")
        return writer.op("AveragePool", data, count_include_pad=int(p.count_include_pad), **attributes)
    if is_dilated or p.ceil_mode:
        writer.need(18, "LpPool with dilations or ceil_mode")
    else:
        del attributes["ceil_mode"]
    if p.p % 1:
        raise writer.refuse(f"p of LpPool must be an integer; got {p.p}")
    return writer.op("LpPool", data, p=int(p.p), **attributes)


@translation("_onnx_max_unpool")
def max_unpool(writer: NodeWriter, data: ir.Value, indices: ir.Value) -> ir.Value:
    """Write elements at the positions that max pooling gave; windows are as large as the image makes them."""
    p, sizes = writer.params, writer.shape()[2:]
    if 0 in sizes:
        raise writer.unknown("the spatial sizes")
    kernel = [image - n + 1 for image, n in zip(p.image, sizes, strict=True)]
    found = writer.op(
        "MaxUnpool",
        data,
        writer.cast(indices, torch.int64),
        kernel_shape=kernel,
        strides=[1] * len(kernel),
    )
    if p.image == p.output:
        return found
    # Its third input would say what `output` is; onnxruntime counts positions in that, where onnx does in `image`.
    beyond = [(0, large - small) for small, large in zip(p.image, p.output, strict=True)]
    return writer.pad(found, [(0, 0), (0, 0), *beyond], writer.dtype())


@translation("_onnx_col2im")
def col2im(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write columns of windows added up to images."""
    writer.need(18, "Col2Im")
    p = writer.params
    return writer.op(
        "Col2Im",
        data,
        writer.ints(p.image),
        writer.ints(p.block),
        strides=p.stride or None,
        dilations=p.dilate or None,
        pads=p.pads or None,
    )


#: Where positions of `tf_half_pixel_for_nn`, half a pixel further than those of `half_pixel`, are rounded to.
_HALF_PIXEL_FURTHER = {"floor": "round_prefer_ceil", "round_prefer_floor": "ceil"}


@translation("_onnx_resize")
def resize(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write `data` with other sizes along axes."""
    p = writer.params
    coordinates, nearest = p.coordinates, p.nearest
    if coordinates == "tf_half_pixel_for_nn":
        if p.mode != "nearest" or nearest not in _HALF_PIXEL_FURTHER:
            raise writer.refuse(
                "the coordinates of Resize must not be tf_half_pixel_for_nn, which opset 13 removed"
            )
        coordinates, nearest = "half_pixel", _HALF_PIXEL_FURTHER[nearest]
    if coordinates == "half_pixel_symmetric":
        writer.need(19, "Resize with half_pixel_symmetric")
    axes = [axis % writer.rank() for axis in p.axes]
    new = {"antialias": int(p.antialias) or None}
    if p.policy != "stretch":
        new["keep_aspect_ratio_policy"] = p.policy
    if any(value is not None for value in new.values()):
        writer.need(18, "Resize with antialias or keep_aspect_ratio_policy")
    has_axes = writer.opset >= 18
    region, scales, sizes = _resize_inputs(writer, data, axes if has_axes else range(writer.rank()), axes)
    return writer.op(
        "Resize",
        data,
        region,
        scales,
        sizes,
        axes=axes if has_axes else None,
        mode=p.mode,
        coordinate_transformation_mode=coordinates,
        nearest_mode=nearest if p.mode == "nearest" else None,
        cubic_coeff_a=p.cubic if p.mode == "cubic" else None,
        exclude_outside=int(p.exclude_outside) or None,
        extrapolation_value=p.extrapolation if p.region else None,
        **new,
    )


def _resize_inputs(
    writer: NodeWriter, data: ir.Value, written: Sequence[int], axes: Sequence[int]
) -> tuple[ir.Value | None, ir.Value | None, ir.Value | None]:
    """Return region, scales and sizes of the axes `written`, of which `axes` are resized."""
    p = writer.params
    region, scales, sizes = None, None, None
    if p.region:
        starts, ends = (dict(zip(axes, part)) for part in (p.region[: len(axes)], p.region[len(axes) :]))
        bounds = [*(starts.get(axis, 0.0) for axis in written), *(ends.get(axis, 1.0) for axis in written)]
        region = writer.constant(bounds, np.float32)
    if p.scales:
        by_axis = dict(zip(axes, p.scales, strict=True))
        scales = writer.constant([by_axis.get(axis, 1.0) for axis in written], np.float32)
    else:
        by_axis = {axis: size for axis, size in zip(axes, p.sizes, strict=True) if size != -1}
        known = writer.shape()
        sizes = shape_from(writer, [by_axis.get(axis) or known[axis] or (data, axis) for axis in written])
    return region, scales, sizes


@translation("_onnx_grid_sample")
def grid_sample(writer: NodeWriter, data: ir.Value, grid: ir.Value) -> ir.Value:
    """Write samples of an image at the positions of a grid."""
    p = writer.params
    writer.need(16 if writer.rank() == 4 else 20, "GridSample")
    older = {"linear": "bilinear", "cubic": "bicubic"} if writer.opset < 20 else {}
    return writer.op(
        "GridSample",
        data,
        grid,
        mode=older.get(p.mode, p.mode),
        padding_mode=p.padding,
        align_corners=int(p.align_corners),
    )


@translation("_onnx_dft")
def fourier(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write the Fourier transform along an axis, or its inverse."""
    writer.need(17, "DFT")
    p = writer.params
    length = None if p.length is None else writer.ints(p.length)
    flags = {"inverse": int(p.inverse), "onesided": int(p.onesided)}
    if writer.opset < 20:
        return writer.op("DFT", data, length, axis=p.axis, **flags)
    return writer.op("DFT", data, length, writer.ints(p.axis), **flags)


@translation("_onnx_stft")
def short_time_fourier(writer: NodeWriter, data: ir.Value, window: ir.Value) -> ir.Value:
    """Write Fourier transforms of parts of a signal."""
    writer.need(17, "STFT")
    p = writer.params
    return writer.op(
        "STFT", data, writer.ints(p.step), window, writer.ints(p.length), onesided=int(p.onesided)
    )
