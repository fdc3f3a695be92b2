"""Images of other sizes and at other positions: samplers, resizing, crops, correlation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx_ir as ir
import torch

from ..expressions import Expression, arange, concat, numbers, real, size, stack
from ..node_writer import NodeWriter
from ..translations import translation
from .interpolation import corners, weighted_rows

__all__ = [
    "adaptive_avg_pooling", "bilinear_resize", "bilinear_sampler", "correlation", "crop", "grid_generator",
    "spatial_transformer", "up_sampling",
]  # fmt: skip


@translation("BilinearSampler")
def bilinear_sampler(writer: NodeWriter, data: ir.Value, grid: ir.Value) -> ir.Value:
    """Write GridSample, which opset 16 has; before, a sum of four pixels."""
    return _sampled(writer, data, real(writer, grid, 1).permute(0, 2, 3, 1))


@translation("GridGenerator")
def grid_generator(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write positions from -1 to 1, of an affine map or of displaced pixels."""
    numbers_of = real(writer, data)
    if writer.params.transform_type == "affine":
        grid = _affine(writer, numbers_of)
    else:
        flow, found = numbers_of, []
        for axis, at in ((3, (1, 1, -1)), (2, (1, -1, 1))):
            length = size(flow, writer.shape(), axis)
            last = length - 1
            half = (last.maximum(1.0) if isinstance(last, Expression) else max(last, 1)) / 2.0
            place = arange(writer, length, flow.dtype).reshape(*at)
            found.append((flow.select(1, 3 - axis) + place) / half - 1.0)
        grid = stack(found, -1)
    return grid.permute(0, 3, 1, 2).to(writer.output_dtype()).value


@translation("SpatialTransformer")
def spatial_transformer(writer: NodeWriter, data: ir.Value, loc: ir.Value) -> ir.Value:
    """Write a sampler on the grid of an affine map."""
    return _sampled(writer, data, _affine(writer, real(writer, loc, 1)))


def _affine(writer: NodeWriter, maps: Expression) -> Expression:
    """Return the grid of affine maps (N, 6): (N, H, W, 2)."""
    height, width = writer.params.target_shape
    y, x = (np.linspace(-1, 1, n) if n > 1 else np.zeros(1) for n in (height, width))
    y, x = (each.ravel() for each in np.meshgrid(y, x, indexing="ij"))
    positions = numbers(writer, np.stack([x, y, np.ones_like(x)]), maps.dtype)
    return maps.reshape(-1, 2, 3).matmul(positions).permute(0, 2, 1).reshape(-1, height, width, 2)


def _sampled(writer: NodeWriter, data: ir.Value, grid: Expression) -> ir.Value:
    """Return images at the positions of a grid (N, H, W, 2), with zeros outside."""
    maps = real(writer, data)
    if writer.opset >= 16 and maps.dtype == torch.float32:  # onnxruntime has no other
        out = maps.apply(
            "GridSample",
            grid.to(maps.dtype).value,
            mode="bilinear" if writer.opset < 20 else "linear",
            padding_mode="zeros",
            align_corners=1,
        )
        return out.to(writer.output_dtype()).value
    shape = writer.shape()
    height, width = size(maps, shape, 2), size(maps, shape, 3)
    across = (grid.select(3, 0) + 1.0) * ((width - 1) / 2.0)
    down = (grid.select(3, 1) + 1.0) * ((height - 1) / 2.0)
    index, weight = corners(down, across, height, width, zeros=True)
    pixels = height * width
    whole = pixels.to(torch.int64) if isinstance(pixels, Expression) else pixels
    count = shape[1]
    if not count:
        raise writer.unknown("the number of channels")
    image = arange(writer, maps.length(0).squeeze(0), torch.int64).reshape(-1, 1, 1, 1)
    table = maps.permute(0, 2, 3, 1).reshape(-1, count)
    out = weighted_rows(table, index + image * whole, weight)
    return out.permute(0, 3, 1, 2).to(writer.output_dtype()).value


@translation("_contrib_BilinearResize2D")
def bilinear_resize(writer: NodeWriter, data: ir.Value, like: ir.Value | None = None) -> ir.Value:
    """Write Resize, to the sizes that the shapes have."""
    p, maps = writer.params, real(writer, data)
    rows, columns = writer.output_shape()[2:]
    if p.mode == "like" and like is not None:
        wanted = Expression(writer, like, writer.dtype(1)).shape().slice(0, 2, 4)
    elif rows and columns:
        wanted = numbers(writer, [rows, columns], torch.int64)
    else:
        raise writer.unknown(f"with mode {p.mode!r} height and width of the data")
    if not p.align_corners:
        # A single pixel is MXNet's first one, where ONNX takes the middle.
        for axis, length in ((2, rows), (3, columns)):
            if length == 1:
                maps = maps.slice(axis, 0, 1)
    if maps.dtype == torch.float64:  # onnxruntime resizes float32 only
        return _weighted(writer, maps, (rows, columns), _linear_weights(p.align_corners))
    sizes = concat([maps.shape().slice(0, 0, 2), wanted], 0)
    mode = "align_corners" if p.align_corners else "half_pixel"
    resized = writer.resize(maps.value, sizes=sizes.value, mode="linear", coordinates=mode)
    return Expression(writer, resized, maps.dtype).to(writer.output_dtype()).value


@translation("_contrib_AdaptiveAvgPooling2D")
def adaptive_avg_pooling(writer: NodeWriter, data: ir.Value) -> ir.Value:
    """Write GlobalAveragePool, or products with the weights of rows and columns in each window."""
    given = writer.params.output_size or (1,)
    wanted = given * 2 if len(given) == 1 else given
    maps = real(writer, data)
    if tuple(wanted) == (1, 1):
        return maps.apply("GlobalAveragePool").to(writer.output_dtype()).value
    return _weighted(writer, maps, wanted, _window_means)


def _weighted(
    writer: NodeWriter,
    maps: Expression,
    wanted: Sequence[int],
    weights: Callable[[int, int], np.ndarray],
) -> ir.Value:
    """Return maps of other sizes, each row and column a weighted sum of those that were."""
    sizes = writer.shape()[2:]
    if not all((*sizes, *wanted)):
        raise writer.unknown("height and width")
    rows, columns = (
        numbers(writer, weights(before, after), maps.dtype)
        for before, after in zip(sizes, wanted, strict=True)
    )
    return rows.matmul(maps).matmul(columns.permute(1, 0)).to(writer.output_dtype()).value


def _linear_weights(align_corners: bool) -> Callable[[int, int], np.ndarray]:
    """Return what gives the weights for linear interpolation along an axis."""

    def weights(before: int, after: int) -> np.ndarray:
        if align_corners or after == 1:
            position = np.arange(after) * ((before - 1) / max(after - 1, 1))
        else:
            position = ((np.arange(after) + 0.5) * before / after - 0.5).clip(0, before - 1)
        return np.maximum(1 - np.abs(position[:, None] - np.arange(before)), 0)

    return weights


def _window_means(length: int, windows: int) -> np.ndarray:
    """Return the weights of pixels for the mean over each of the windows that cover an axis."""
    weights = np.zeros((windows, length))
    for i in range(windows):
        first, end = i * length // windows, -(-(i + 1) * length // windows)
        weights[i, first:end] = 1 / (end - first)
    return weights


@translation("UpSampling")
def up_sampling(writer: NodeWriter, *data: ir.Value) -> ir.Value:
    """Write Resize for repeated pixels, ConvTranspose for kernels."""
    p = writer.params
    if p.sample_type == "bilinear":
        width = 2 * p.scale - p.scale % 2
        channels = writer.shape(1)[0]
        return writer.op(
            "ConvTranspose",
            *data,
            group=channels,
            kernel_shape=[width] * 2,
            strides=[p.scale] * 2,
            pads=[(width - p.scale) // 2] * 4,
        )
    larger = [_repeated(writer, value, i) for i, value in enumerate(data)]
    if len(larger) == 1:
        return larger[0]
    if p.multi_input_mode == "sum":
        total = larger[0]
        for each in larger[1:]:
            total = writer.op("Add", total, each)
        return total
    return writer.concat(*larger, axis=1)


def _repeated(writer: NodeWriter, value: ir.Value, index: int) -> ir.Value:
    """Return images with each pixel repeated, so that they have the size of the result."""
    scale = writer.params.scale
    scales = [1.0, 1.0, float(scale), float(scale)]
    if index:
        own, first = writer.shape(index)[2:], writer.shape(0)[2:]
        if not all((*own, *first)):
            raise writer.unknown("height and width of all arrays")
        scales[2:] = [scale * whole / n for whole, n in zip(first, own, strict=True)]
    if writer.dtype(index) == torch.float64:  # onnxruntime resizes float32 only
        rows, columns = (int(each) for each in scales[2:])
        whole = Expression(writer, value, torch.float64).unsqueeze(3, 5)
        one = numbers(writer, [1], torch.int64)
        parts = [whole.length(axis) for axis in range(6)]
        parts[3], parts[5] = one * rows, one * columns
        larger = whole.apply("Expand", concat(parts, 0).value)
        sizes = [parts[0], parts[1], parts[2] * rows, parts[4] * columns]
        return larger.apply("Reshape", concat(sizes, 0).value).value
    return writer.resize(value, scales=scales, coordinates="asymmetric", nearest="floor")


@translation("Crop")
def crop(writer: NodeWriter, *data: ir.Value) -> ir.Value:
    """Write a slice; the size may be that of a second array."""
    p = writer.params
    given = Expression(writer, data[0], writer.dtype())
    if len(data) == 2:
        wanted = Expression(writer, data[1], writer.dtype(1)).shape().slice(0, 2, 4)
    else:
        wanted = numbers(writer, list(p.h_w), torch.int64)
    start = numbers(writer, list(p.offset), torch.int64)
    if p.center_crop:
        start = (given.shape().slice(0, 2, 4) - wanted) / 2
    return given.apply("Slice", start.value, (start + wanted).value, writer.ints([2, 3])).value


@translation("Correlation")
def correlation(writer: NodeWriter, data1: ir.Value, data2: ir.Value) -> ir.Value:
    """Write products, or differences, with each displaced map, and means over patches of them."""
    p = writer.params
    channels = writer.shape()[1]
    if not channels:
        raise writer.unknown("the number of channels")
    first, second = (
        Expression(writer, _padded(writer, each, p.pad_size), writer.dtype()) for each in (data1, data2)
    )
    rows, columns = (first.length(axis) - 2 * p.max_displacement for axis in (2, 3))
    radius = p.max_displacement // p.stride2
    moves = [p.stride2 * step for step in range(-radius, radius + 1)]

    def displaced(maps: Expression, down: int, right: int) -> Expression:
        start = numbers(writer, [p.max_displacement + down, p.max_displacement + right], torch.int64)
        end = start + concat([rows, columns], 0)
        return maps.apply("Slice", start.value, end.value, writer.ints([2, 3]))

    middle, found = displaced(first, 0, 0), []
    for down in moves:
        for right in moves:
            other = displaced(second, down, right)
            compared = middle * other if p.is_multiply else (middle - other).apply("Abs")
            found.append(compared.mean(1, keepdim=True))
    out = concat(found, 1)
    if out.dtype == torch.float64:  # onnxruntime pools float32 only
        sizes = [n + 2 * (p.pad_size - p.max_displacement) for n in writer.shape()[2:]]
        wanted = writer.output_shape()[2:]
        if not all(wanted):
            raise writer.unknown("height and width")
        down, right = (
            numbers(writer, _patch_means(*both, p.kernel_size, p.stride1), out.dtype)
            for both in zip(sizes, wanted, strict=True)
        )
        return down.matmul(out).matmul(right.permute(1, 0)).value
    return out.apply("AveragePool", kernel_shape=[p.kernel_size] * 2, strides=[p.stride1] * 2).value


def _patch_means(length: int, patches: int, kernel: int, stride: int) -> np.ndarray:
    """Return the weights of pixels for the mean over each patch along an axis."""
    weights = np.zeros((patches, length))
    for i in range(patches):
        weights[i, i * stride : i * stride + kernel] = 1 / kernel
    return weights


def _padded(writer: NodeWriter, data: ir.Value, width: int) -> ir.Value:
    if not width:
        return data
    return writer.pad(data, [(0, 0), (0, 0), (width, width), (width, width)], writer.dtype())
