"""Between real numbers and levels: quantize, dequantize, requantize."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from torch import Tensor

from ...params import Params
from ...shapes import Shape
from ..declaration import Shapes, Types, operator
from ._levels import FINE, INT32_LEVELS, LEVELS, levels_per_unit, require, to_levels
from ._ranges import calibrated, check_calibration, magnitude, scalars

__all__ = [
    "calibrated_range",
    "chosen_type",
    "dequantize",
    "quantize",
    "quantize_asym",
    "quantize_v2",
    "requantize",
]

_TYPES = {"int8": torch.int8, "uint8": torch.uint8}
_RANGE = {"output1": torch.float32, "output2": torch.float32}
_FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_OUTPUTS = ("output0", "output1", "output2")


def calibrated_range(p: Params) -> tuple[float, float] | None:
    """Return the range that calibration has found, if it has.

    >>> calibrated_range(Params(min_calib_range=-1.0, max_calib_range=2.0))
    (-1.0, 2.0)
    """
    low, high = p.min_calib_range, p.max_calib_range
    return None if low is None or high is None else (low, high)


def chosen_type(out_type: str, low: float | None) -> torch.dtype:
    """Return the type of the result: ``'auto'`` is uint8 for what calibration has found to be never negative.

    >>> chosen_type("auto", 0.0), chosen_type("auto", None), chosen_type("uint8", -1.0)
    (torch.uint8, torch.int8, torch.uint8)
    """
    if out_type == "auto":
        return torch.int8 if low is None or low < 0 else torch.uint8
    return _TYPES[out_type]


@operator(
    "_contrib_quantize",
    outputs=_OUTPUTS,
    types=lambda p: {
        "min_range": torch.float32,
        "max_range": torch.float32,
        "output0": _TYPES[p.out_type],
        **_RANGE,
    },
    head_gradient=False,
)
def quantize(
    data: Tensor, min_range: Tensor, max_range: Tensor, *, out_type: Literal["int8", "uint8"] = "uint8"
) -> tuple[Tensor, Tensor, Tensor]:
    """Levels of `data` within a given range: ``data / max(|min_range|, |max_range|)`` times 127 or 255, rounded.

    Zero is level 0 for both types: uint8 has no negative numbers, which become 0 (MXNet's documentation
    says otherwise, MXNet does this). What lies beyond the range takes the outermost level: for int8, -128 and 127.

    Parameters
    ----------
    out_type
        ``'int8'`` or ``'uint8'``.

    Shapes
    ------
    data, output0 : (...)
    min_range, max_range : (1,)
    output1, output2 : (1,)     the range: for int8 symmetric, for uint8 as given

    >>> levels, low, high = quantize(
    ...     torch.tensor([-1.0, 0.5, 2.0]), torch.tensor([-2.0]), torch.tensor([1.0]), out_type="int8"
    ... )
    >>> levels, low, high
    (tensor([-64,  32, 127], dtype=torch.int8), tensor([-2.]), tensor([2.]))
    """
    dtype = _TYPES[out_type]
    data = require("data", data, *_FLOATS)
    largest = magnitude(min_range=min_range, max_range=max_range)
    levels = to_levels(data, levels_per_unit(largest, LEVELS[dtype]), dtype)
    if dtype is torch.int8:
        return levels, -largest, largest
    return levels, min_range.float().clone(), max_range.float().clone()


@quantize.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    return [shapes["data"], (1,), (1,)]


@operator("_contrib_quantize_v2", outputs=_OUTPUTS, types={"output0": "any", **_RANGE}, head_gradient=False)
def quantize_v2(
    data: Tensor,
    *,
    out_type: Literal["auto", "int8", "uint8"] = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Levels of `data` within a calibrated range, or within its own: ``data / largest`` times 127.5 or 255.5, rounded.

    ``largest`` is the larger absolute value of the two ends of the range. What is int8 or uint8 already passes as
    it is, whatever `out_type` says; MXNet then reads the bytes as that type.

    Parameters
    ----------
    out_type
        ``'int8'``, ``'uint8'``, or ``'auto'``: uint8 when ``min_calib_range >= 0``, else int8.
    min_calib_range, max_calib_range
        The range; None for the least and the greatest of `data`.

    Shapes
    ------
    data, output0 : (...)
    output1, output2 : (1,)     the range: for int8 symmetric, for uint8 as it is

    >>> levels, low, high = quantize_v2(torch.tensor([0.0, 0.5, 2.0]), out_type="uint8")
    >>> levels, low, high
    (tensor([  0,  64, 255], dtype=torch.uint8), tensor([0.]), tensor([2.]))
    """
    data = require("data", data, *_FLOATS, torch.int8, torch.uint8)
    given = None if min_calib_range is None or max_calib_range is None else (min_calib_range, max_calib_range)
    # Levels already: the range is what the type spans, unless calibration knows better.
    if not data.is_floating_point():
        half = FINE[data.dtype]
        return data, *calibrated(*(given or (-half if data.dtype is torch.int8 else 0.0, half)), data)
    dtype = chosen_type(out_type, given[0] if given else None)
    if given:
        # In float32, as numbers: arrays of one element would take as long as a small network's layer.
        most = np.float32(max(map(abs, given)))
        data = data if data.dtype is torch.float64 else data.float()
        levels = to_levels(data, float(np.float32(FINE[dtype]) / most) if most else 0.0, dtype)
        return levels, *calibrated(*((-float(most), float(most)) if dtype is torch.int8 else given), data)
    low, high = _extremes(data)
    largest = torch.maximum(low.abs(), high.abs())
    levels = to_levels(data, levels_per_unit(largest, FINE[dtype]), dtype)
    return (levels, -largest, largest) if dtype is torch.int8 else (levels, low, high)


@quantize_v2.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    return [shapes["data"], (1,), (1,)]


def _extremes(data: Tensor) -> tuple[Tensor, Tensor]:
    """Return the least and the greatest element, in shape (1,); an array without elements has the range of 0."""
    if not data.numel():
        return calibrated(0.0, 0.0, data)
    low, high = torch.aminmax(data.detach())
    return low.float().reshape(1), high.float().reshape(1)


@quantize_v2.fill_types
def _(types: Types, p: Params) -> dict[str, torch.dtype | None]:
    data = types["data"]
    if data in FINE:
        return {"output0": data}
    return {"output0": chosen_type(p.out_type, p.min_calib_range if p.max_calib_range is not None else None)}


@operator(
    "_contrib_quantize_asym",
    outputs=("output", "scale", "shift"),
    types={"output": torch.uint8, "scale": torch.float32, "shift": torch.float32},
    head_gradient=False,
)
def quantize_asym(
    data: Tensor, *, min_calib_range: float | None = None, max_calib_range: float | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Levels of `data` in uint8 with a zero of its own: ``data * scale + shift``, rounded, halves up.

    ``scale`` is 255 divided by the width of the range and ``shift`` the level of 0, so that the least number is
    level 0 and the greatest 255. MXNet takes three axes only, and kills the process for any other number. A range
    without width has ``scale`` and ``shift`` 0.

    Parameters
    ----------
    min_calib_range, max_calib_range
        The range; None for the least and the greatest of `data`.

    Shapes
    ------
    data, output : (...)
    scale, shift : (1,)

    >>> quantize_asym(torch.tensor([-1.0, 0.0, 2.0]))
    (tensor([  0,  85, 255], dtype=torch.uint8), tensor([85.]), tensor([85.]))
    """
    data = require("data", data, *_FLOATS)
    if min_calib_range is not None and max_calib_range is not None:
        low, high = calibrated(min_calib_range, max_calib_range, data)
    else:
        low, high = _extremes(data)
    scale = levels_per_unit(high - low, LEVELS[torch.uint8])
    # From the upper end: the greatest number is level 255, the least 0 but for rounding.
    shift = torch.where(scale > 0, LEVELS[torch.uint8] - high * scale, 0.0)
    levels = (data.detach() * scale).add_(shift + 0.5).floor_().clamp_(0.0, 255.0)
    return levels.to(dtype=torch.uint8).reshape(data.shape), scale, shift


@quantize_asym.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    return [shapes["data"], (1,), (1,)]


@operator(
    "_contrib_dequantize",
    types={"min_range": torch.float32, "max_range": torch.float32, "output": torch.float32},
    head_gradient=False,
)
def dequantize(
    data: Tensor, min_range: Tensor, max_range: Tensor, *, out_type: Literal["float32"] = "float32"
) -> Tensor:
    """Real numbers that the levels in `data` represent: ``data * max(|min_range|, |max_range|) / 127.5``.

    For uint8 the divisor is 255.5.

    Parameters
    ----------
    out_type
        ``'float32'``, the only one there is.

    Shapes
    ------
    data, out : (...)
    min_range, max_range : (1,)

    >>> dequantize(torch.tensor([-51, 102], dtype=torch.int8), torch.tensor([-2.5]), torch.tensor([1.0]))
    tensor([-1.,  2.])
    """
    data = require("data", data, torch.int8, torch.uint8)
    level = magnitude(min_range=min_range, max_range=max_range) / FINE[data.dtype]
    return (data * level).reshape(data.shape)


@operator(
    "_contrib_requantize",
    outputs=_OUTPUTS,
    types=lambda p: {
        "data": torch.int32,
        "min_range": torch.float32,
        "max_range": torch.float32,
        "output0": chosen_type(p.out_type, p.min_calib_range),
        **_RANGE,
    },
    head_gradient=False,
)
def requantize(
    data: Tensor,
    min_range: Tensor,
    max_range: Tensor,
    *,
    out_type: Literal["auto", "int8", "uint8"] = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Levels in int8 or uint8 of sums in int32, within a calibrated range or within what the sums reach.

    Parameters
    ----------
    out_type
        ``'int8'``, ``'uint8'`` (negative numbers become 0), or ``'auto'``: uint8 when ``min_calib_range >= 0``.
    min_calib_range, max_calib_range
        The range of the result, of which the larger absolute value counts; None for the largest absolute value of
        `data`.

    Shapes
    ------
    data, output0 : (...)
    min_range, max_range : (1,)     of the whole int32
    output1, output2 : (1,)         the range: symmetric for int8, from 0 for uint8

    Examples
    --------
    >>> sums, one = torch.tensor([-(2**30), 2**29], dtype=torch.int32), torch.tensor([1.0])
    >>> requantize(sums, -one, one)
    (tensor([-127,   64], dtype=torch.int8), tensor([-0.5000]), tensor([0.5000]))
    """
    dtype = chosen_type(out_type, min_calib_range)
    data = require("data", data, torch.int32)
    # The real number that one unit of the sums represents.
    level = magnitude(min_range=min_range, max_range=max_range) / INT32_LEVELS
    if min_calib_range is not None and max_calib_range is not None:
        largest = torch.full_like(level, max(abs(min_calib_range), abs(max_calib_range)))
    else:
        low, high = _extremes(data)  # of floating type: the least int32 has no absolute value
        largest = torch.maximum(low.abs(), high.abs()) * level
    levels = to_levels(data, level * levels_per_unit(largest, LEVELS[dtype]), dtype)
    return levels, -largest if dtype is torch.int8 else torch.zeros_like(largest), largest


quantize_v2.check(check_calibration)
quantize_asym.check(check_calibration)
requantize.check(check_calibration)


@quantize.fill_shapes
@dequantize.fill_shapes
@requantize.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    return scalars("min_range", "max_range")
