"""Images of other sizes, and samples of images."""

from __future__ import annotations

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading
from ..sizes import is_free

__all__ = ["upsample"]

_MODES = {
    "nearest": "nearest",
    "linear": "linear",
    "bilinear": "linear",
    "trilinear": "linear",
    "bicubic": "cubic",
}
_NAMES = ("nearest1d", "nearest2d", "nearest3d", "linear1d", "bilinear2d", "trilinear3d", "bicubic2d")


@reading(*(f"upsample_{name}" for name in _NAMES), "_upsample_nearest_exact2d")
def upsample(reader: NodeReader) -> Symbol:
    """An image of another size, by scales or sizes."""
    name = str(reader.node.target).split(".")[1]
    exact = "exact" in name
    mode = "nearest" if exact else _MODES[name.removeprefix("upsample_")[:-2]]
    axes = reader.rank() - 2
    scales = _scales(reader, axes)
    if mode == "nearest" and axes == 2 and scales and scales[0] == scales[1] and scales[0] % 1 == 0:
        return reader.op("UpSampling", reader.input(), scale=int(scales[0]), sample_type="nearest")
    sizes = [] if scales else reader.output_shape()[2:]
    if any(map(is_free, sizes)):
        raise reader.refuse(f"the new sizes must not depend on free (dynamic) sizes; got {sizes}")
    corners = bool(reader.argument("align_corners", False))
    coordinates = "align_corners" if corners else "half_pixel" if mode != "nearest" or exact else "asymmetric"
    return reader.op(
        "_onnx_resize",
        reader.input(),
        axes=tuple(range(2, axes + 2)),
        scales=tuple(scales),
        sizes=tuple(sizes),
        mode=mode,
        coordinates=coordinates,
        nearest="round_prefer_ceil" if exact else "floor",
        cubic=-0.75,
    )


def _scales(reader: NodeReader, axes: int) -> list[float]:
    """Return how much larger an image becomes, if that was asked for; else an empty list."""
    given = reader.argument("scale_factors")
    if given is None:
        named = [reader.argument(name) for name in ("scales_d", "scales_h", "scales_w", "scales")]
        given = [scale for scale in named if scale is not None]
    return [float(scale) for scale in given] if len(given) == axes else []


@reading("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sample(reader: NodeReader) -> Symbol:
    """Samples of an image where a grid says."""
    return reader.op(
        "_onnx_grid_sample",
        reader.input(),
        reader.input("grid"),
        mode=("linear", "nearest", "cubic")[reader.argument("interpolation_mode", 0)],
        padding=("zeros", "border", "reflection")[reader.argument("padding_mode", 0)],
        align_corners=bool(reader.argument("align_corners", False)),
    )
