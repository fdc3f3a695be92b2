"""Images of other sizes, and samples of images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading

__all__ = ["resize"]


@reading("Upsample")
def upsample(reader: NodeReader) -> Symbol:
    """A larger image, as versions 7 to 9 say it."""
    if reader.opset < 7:
        scales = [1.0, 1.0, reader.required("height_scale"), reader.required("width_scale")]
    else:
        scales = reader.required("scales") if reader.opset < 9 else _floats(reader, 1, "scales")
    return _scaled(reader, scales, reader.attribute("mode", "nearest"), "asymmetric", "floor")


def _floats(reader: NodeReader, index: int, what: str) -> list[float]:
    return [float(n) for n in reader.numbers(index, what).reshape(-1)]


def _scaled(
    reader: NodeReader, scales: Sequence[float], mode: str, transformation: str, rounding: str
) -> Symbol:
    if mode == "nearest" and _is_repetition(scales, transformation, rounding) and reader.is_float():
        return reader.op("UpSampling", reader.input(0), scale=int(scales[2]), sample_type="nearest")
    return reader.op(
        "_onnx_resize",
        reader.input(0),
        axes=tuple(range(len(scales))),
        scales=tuple(scales),
        mode=mode,
        coordinates=transformation,
        nearest=rounding,
    )


def _is_repetition(scales: Sequence[float], transformation: str, rounding: str) -> bool:
    """Say whether each pixel becomes a square of pixels."""
    if (
        len(scales) != 4
        or list(scales[:2]) != [1.0, 1.0]
        or scales[2] != scales[3]
        or scales[2] % 1
        or scales[2] < 1
    ):
        return False
    return (transformation, rounding) in (
        ("asymmetric", "floor"),
        ("half_pixel", "round_prefer_floor"),
        ("half_pixel", "round_prefer_ceil"),
    )


@reading("Resize", since=10)
def resize(reader: NodeReader) -> Symbol:
    """An image of another size, by scales or sizes."""
    mode = reader.attribute("mode", "nearest")
    if reader.opset < 11:
        return _scaled(reader, _floats(reader, 1, "scales"), mode, "asymmetric", "floor")
    transformation = reader.attribute("coordinate_transformation_mode", "half_pixel")
    rounding = reader.attribute("nearest_mode", "round_prefer_floor")
    has_scales = reader.has(2) and (reader.constant(2) is None or reader.numbers(2, "scales").size > 0)
    scales = _floats(reader, 2, "scales") if has_scales else []
    plain = has_scales and "axes" not in reader.node.attributes and not reader.attribute("antialias", 0)
    if plain and mode == "nearest" and _is_repetition(scales, transformation, rounding) and reader.is_float():
        return _scaled(reader, scales, mode, transformation, rounding)
    count = len(scales) if has_scales else len(reader.sizes(3, "sizes"))
    axes = reader.attribute("axes", list(range(count)))
    region = _floats(reader, 1, "roi") if transformation == "tf_crop_and_resize" else []
    if scales:
        # An axis whose scale is 1 stays as it is, unless a region of it is taken.
        sizes: list[int] = []
    else:
        sizes = [n if isinstance(n, int) else -1 for n in reader.sizes(3, "sizes")]
        shape = reader.shape() or []
        for size, wanted, axis in zip(sizes, reader.sizes(3, "sizes"), axes):
            if size == -1 and (axis >= len(shape) or shape[axis] != wanted):
                raise reader.refuse("the new sizes must not depend on free (dynamic) sizes")
    return reader.op(
        "_onnx_resize",
        reader.input(0),
        axes=tuple(axes),
        scales=tuple(scales),
        sizes=tuple(sizes),
        mode=mode,
        coordinates=transformation,
        nearest=rounding,
        cubic=reader.attribute("cubic_coeff_a", -0.75),
        exclude_outside=bool(reader.attribute("exclude_outside", 0)),
        extrapolation=reader.attribute("extrapolation_value", 0.0),
        region=tuple(region),
        antialias=bool(reader.attribute("antialias", 0)),
        policy=reader.attribute("keep_aspect_ratio_policy", "stretch"),
    )


@reading("GridSample")
def grid_sample(reader: NodeReader) -> Symbol:
    """Samples of an image where a grid says."""
    mode = reader.attribute("mode", "linear" if reader.opset >= 20 else "bilinear")
    return reader.op(
        "_onnx_grid_sample",
        reader.input(0),
        reader.input(1),
        mode={"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode),
        padding=reader.attribute("padding_mode", "zeros"),
        align_corners=bool(reader.attribute("align_corners", 0)),
    )


@reading("DFT")
def fourier(reader: NodeReader) -> Symbol:
    """A Fourier transform along an axis; the last axis holds real and imaginary parts."""
    axis = (
        reader.attribute("axis", 1)
        if reader.opset < 20
        else (reader.ints(2, "axis")[0] if reader.has(2) else -2)
    )
    return reader.op(
        "_onnx_dft",
        reader.input(0),
        axis=axis % reader.rank(),
        length=reader.ints(1, "dft_length")[0] if reader.has(1) else None,
        inverse=bool(reader.attribute("inverse", 0)),
        onesided=bool(reader.attribute("onesided", 0)),
    )


@reading("STFT")
def short_time_fourier(reader: NodeReader) -> Symbol:
    """Fourier transforms of windows of a signal, one after the other."""
    step = reader.ints(1, "frame_step")[0]
    if reader.has(3):
        length = reader.ints(3, "frame_length")[0]
    else:
        length = reader.known_shape(2)[0]
    window = reader.input(2) if reader.has(2) else reader.fixed(np.ones(length, np.float32), "window")
    return reader.op(
        "_onnx_stft",
        reader.input(0),
        window,
        step=step,
        length=length,
        onesided=bool(reader.attribute("onesided", 1)),
    )
