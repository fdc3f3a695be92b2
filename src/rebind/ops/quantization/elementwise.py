"""Element by element on two or more quantized arrays: concatenation, sums and products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import AtLeast, Params
from ...shapes import Shape, normalize_axis, together
from .._signatures import with_interface_of
from ..declaration import Shapes, Types, operator
from ._levels import FINE, INT32_LEVELS, LEVELS, per_level, require, to_levels
from ._ranges import calibrated, check_calibration, magnitude, scalars

__all__ = ["quantized_concat", "quantized_elemwise_add", "quantized_elemwise_mul"]

_OUTPUTS = ("output", "min_output", "max_output")
_RANGE = {"min_output": torch.float32, "max_output": torch.float32}
_ENDS = ("lhs_min", "lhs_max", "rhs_min", "rhs_max")


def _joint(types: Sequence[torch.dtype | None]) -> torch.dtype:
    """Return int8 as soon as one of the arrays is int8."""
    return torch.int8 if torch.int8 in types else torch.uint8


@operator(
    "_contrib_quantized_concat",
    outputs=_OUTPUTS,
    types={"*": "any", "output": "any", **_RANGE},
    head_gradient=False,
)
def quantized_concat(
    *data: Tensor, num_args: Annotated[int, AtLeast(1)], dim: int = 1
) -> tuple[Tensor, Tensor, Tensor]:
    """Arrays joined along an axis, in levels of the widest of their ranges.

    The result is uint8 if all arrays are, else int8.

    Parameters
    ----------
    num_args
        How many arrays there are. Their ranges follow them, two ends for each: ``a, b, a_min, a_max, b_min, b_max``.
    dim
        The axis; a negative one counts from the end (in MXNet it kills the process).

    Shapes
    ------
    data : (..., Ci, ...)     Ci in `dim`, int8 or uint8
    output : (..., C1 + C2 + ..., ...)
    min_output, max_output : (1,)     the least and the greatest end

    Examples
    --------
    >>> half, one = torch.tensor([0.5]), torch.tensor([1.0])
    >>> levels = torch.tensor([[100, -100]], dtype=torch.int8)
    >>> quantized_concat(levels, levels, -half, half, -one, one, num_args=2)
    (tensor([[  50,  -50,  100, -100]], dtype=torch.int8), tensor([-1.]), tensor([1.]))
    """
    arrays, ends = _arrays_and_ends(data, num_args)
    arrays = [require(f"arg{i}", array, torch.int8, torch.uint8) for i, array in enumerate(arrays)]
    axis = normalize_axis(dim, arrays[0].ndim, "dim")
    for i, array in enumerate(arrays):
        fits = array.ndim == arrays[0].ndim and all(
            n == m for k, (n, m) in enumerate(zip(array.shape, arrays[0].shape, strict=True)) if k != axis
        )
        if not fits:
            raise ShapeError(
                f"arg{i} must have the shape of arg0, {tuple(arrays[0].shape)}, but for axis {axis}; "
                f"got {tuple(array.shape)}"
            )
    # Ends come as low, high for each array.
    reach = [magnitude(low=low, high=high) for low, high in zip(ends[::2], ends[1::2], strict=True)]
    low = torch.cat([end.detach().reshape(1) for end in ends[::2]]).amin(0, keepdim=True)
    high = torch.cat([end.detach().reshape(1) for end in ends[1::2]]).amax(0, keepdim=True)
    widest = torch.cat(reach).amax(0, keepdim=True)
    dtype = _joint([array.dtype for array in arrays])
    # An array of the widest range and of the type has its levels unchanged: its factor is 1.
    joined = [
        to_levels(array, per_level(own, widest) * (FINE[dtype] / FINE[array.dtype]), dtype)
        for array, own in zip(arrays, reach, strict=True)
    ]
    return torch.cat(joined, axis), low, high


def _arrays_and_ends(data: Sequence[Tensor], count: int) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    if len(data) != 3 * count:
        raise ShapeError(
            f"needs {3 * count} arrays for num_args={count}, of which {2 * count} are ends of ranges; "
            f"got {len(data)}"
        )
    return data[:count], data[count:]


@quantized_concat.fill_types
def _(types: Types, p: Params) -> dict[str, torch.dtype | None]:
    given = list(types.items())
    found: dict[str, torch.dtype | None] = {name: torch.float32 for name, _ in given[p.num_args :]}
    kinds = [kind for _, kind in given[: p.num_args]]
    # Unknown as long as the type of one array is: each of them can make the result int8.
    if None not in kinds:
        found["output"] = _joint(kinds)
    return found


@quantized_concat.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    # What follows the arrays are the ends of their ranges.
    return scalars(*list(shapes)[p.num_args :])


def _two(lhs: Tensor, rhs: Tensor, ends: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return both arrays, which must be of one shape, and the largest absolute values of their ranges."""
    lhs = require("lhs", lhs, torch.int8, torch.uint8)
    rhs = require("rhs", rhs, torch.int8, torch.uint8)
    if lhs.shape != rhs.shape:
        raise ShapeError(f"rhs must have the shape of lhs, {tuple(lhs.shape)}; got {tuple(rhs.shape)}")
    return (
        lhs,
        rhs,
        magnitude(lhs_min=ends[0], lhs_max=ends[1]),
        magnitude(rhs_min=ends[2], rhs_max=ends[3]),
    )


@operator(
    "_contrib_quantized_elemwise_add",
    outputs=_OUTPUTS,
    types={"lhs": "any", "rhs": "any", "output": "any", **dict.fromkeys(_ENDS, torch.float32), **_RANGE},
    head_gradient=False,
)
def quantized_elemwise_add(
    lhs: Tensor,
    rhs: Tensor,
    lhs_min: Tensor,
    lhs_max: Tensor,
    rhs_min: Tensor,
    rhs_max: Tensor,
    *,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Sum of two quantized arrays: int32, or 8 bits within a calibrated range.

    Parameters
    ----------
    min_calib_range, max_calib_range
        The range of the result, of which the larger absolute value counts; the result is then uint8 if both arrays
        are, else int8. None for int32, whose range is the sum of both ranges. MXNet loses the array in uint8 there if
        only one is.

    Shapes
    ------
    lhs, rhs, output : (...)
    lhs_min, lhs_max, rhs_min, rhs_max, min_output, max_output : (1,)

    Examples
    --------
    >>> one, levels = torch.tensor([1.0]), torch.tensor([100], dtype=torch.int8)
    >>> total, low, high = quantized_elemwise_add(levels, levels, -one, one, -one, one)
    >>> total * high / (2**31 - 1), 2 * 100 / 127.5
    (tensor([1.5686]), 1.5686274509803921)
    """
    lhs, rhs, left, right = _two(lhs, rhs, (lhs_min, lhs_max, rhs_min, rhs_max))
    of_left, of_right = left / FINE[lhs.dtype], right / FINE[rhs.dtype]
    if min_calib_range is not None and max_calib_range is not None:
        low, high = calibrated(min_calib_range, max_calib_range, left)
        dtype = _joint((lhs.dtype, rhs.dtype))
        level = torch.maximum(low.abs(), high.abs()) / FINE[dtype]
        # Of 8 bits the result needs no more digits than float32 has.
        total = lhs * per_level(of_left, level) + rhs * per_level(of_right, level)
        # In levels of the result by now, whose factor is 1.
        return to_levels(total, torch.ones_like(level), dtype), low, high
    reach = left + right
    level = reach.double() / INT32_LEVELS  # float32 has 24 bits, the result 31
    total = lhs * per_level(of_left.double(), level) + rhs * per_level(of_right.double(), level)
    return total.round_().clamp_(-(2**31), 2**31 - 1).to(dtype=torch.int32), -reach, reach


@quantized_elemwise_add.fill_types
def _(types: Types, p: Params) -> dict[str, torch.dtype | None]:
    if p.min_calib_range is None:
        return {"output": torch.int32}
    kinds = (types["lhs"], types["rhs"])
    return {} if None in kinds else {"output": _joint(kinds)}


def _product_type(p: Params) -> torch.dtype:
    if p.enable_float_output:
        return torch.float32
    return torch.int32 if p.min_calib_range is None else torch.int8


@operator(
    "_contrib_quantized_elemwise_mul",
    outputs=lambda p: _OUTPUTS[:1] if p.enable_float_output else _OUTPUTS,
    types=lambda p: {
        "lhs": "any",
        "rhs": "any",
        **dict.fromkeys(_ENDS, torch.float32),
        "output": _product_type(p),
        **_RANGE,
    },
    head_gradient=False,
)
@with_interface_of(quantized_elemwise_add.kernels.function)
def quantized_elemwise_mul(
    lhs: Tensor,
    rhs: Tensor,
    *ends: Tensor,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    enable_float_output: bool = False,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """Product of two quantized arrays: exact in int32, int8 within a calibrated range, or real numbers.

    MXNet takes int8 only, and lets what leaves the calibrated range come in again at its other end; here it takes the
    outermost level.

    Parameters
    ----------
    min_calib_range, max_calib_range
        The range of the result, of which the larger absolute value counts; levels are then cut towards 0. None for
        int32.
    enable_float_output
        Return real numbers, and no range.

    Shapes
    ------
    lhs, rhs, output : (...)
    lhs_min, lhs_max, rhs_min, rhs_max, min_output, max_output : (1,)

    Examples
    --------
    >>> one, levels = torch.tensor([1.0]), torch.tensor([-100], dtype=torch.int8)
    >>> quantized_elemwise_mul(levels, levels, -one, one, -one, one)[0]
    tensor([10000], dtype=torch.int32)
    """
    lhs, rhs, left, right = _two(lhs, rhs, ends)
    product = lhs.to(dtype=torch.int32) * rhs
    level = (left / FINE[lhs.dtype]) * (right / FINE[rhs.dtype])
    if enable_float_output:
        return product * level
    if min_calib_range is not None and max_calib_range is not None:
        low, high = calibrated(min_calib_range, max_calib_range, left)
        own = torch.maximum(low.abs(), high.abs()) / FINE[torch.int8]
        levels = (product * per_level(level, own)).trunc_().clamp_(-128.0, 127.0)
        return levels.to(dtype=torch.int8), low, high
    # The products are exact; the range is what the whole int32 would represent, as for sums of products.
    reach = (left / LEVELS[lhs.dtype]) * (right / LEVELS[rhs.dtype]) * INT32_LEVELS
    return product, -reach, reach


quantized_elemwise_add.check(check_calibration)
quantized_elemwise_mul.check(check_calibration)


@quantized_elemwise_add.fill_shapes
@quantized_elemwise_mul.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    common = together(shapes["lhs"], shapes["rhs"])
    return {"lhs": common, "rhs": common, **scalars(*_ENDS)}


@quantized_elemwise_add.shapes_from_outputs
@quantized_elemwise_mul.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"lhs": outputs[0], "rhs": outputs[0]}
