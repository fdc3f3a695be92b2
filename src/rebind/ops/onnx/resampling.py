"""Images of other sizes, and samples of images, as ONNX defines them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from .._types import Double
from ..declaration import operator

__all__ = ["grid_sample", "resize"]

Coordinates: TypeAlias = Literal[
    "align_corners", "asymmetric", "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
    "tf_crop_and_resize", "tf_half_pixel_for_nn",
]  # fmt: skip
Nearest: TypeAlias = Literal["ceil", "floor", "round_prefer_ceil", "round_prefer_floor"]


@dataclass(frozen=True)
class _Axis:
    """How one axis is resized."""

    size: int
    result: int
    scale: float
    region: tuple[float, float] | None

    def positions(self, coordinates: str) -> np.ndarray:
        """Return where each element of the result lies in the data."""
        x = np.arange(self.result, dtype=np.float64)
        if coordinates == "asymmetric":
            return x / self.scale
        if coordinates == "align_corners":
            # The scale as given says how long the result would be if it were not cut to whole numbers.
            length = self.scale * self.size
            return x * (self.size - 1) / (length - 1) if length != 1 else np.zeros_like(x)
        if coordinates == "tf_half_pixel_for_nn":
            return (x + 0.5) / self.scale
        if coordinates == "tf_crop_and_resize":
            start, end = self.region or (0.0, 1.0)
            if self.result > 1:
                return start * (self.size - 1) + x * (end - start) * (self.size - 1) / (self.result - 1)
            return np.full_like(x, 0.5 * (start + end) * (self.size - 1))
        if coordinates == "pytorch_half_pixel" and self.result == 1:
            return np.full_like(x, -0.5)
        found = (x + 0.5) / self.scale - 0.5
        if coordinates == "half_pixel_symmetric":
            adjustment = self.result / (self.scale * self.size)
            found += self.size / 2 * (1 - adjustment)
        return found


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _linear(distance: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(distance), 0.0)


def _nearest(positions: np.ndarray, rounding: str) -> np.ndarray:
    functions: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "floor": np.floor,
        "ceil": np.ceil,
        "round_prefer_floor": lambda x: np.ceil(x - 0.5),
        "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    }
    return functions[rounding](positions)


def _weights(
    axis: _Axis, positions: np.ndarray, mode: str, rounding: str, cubic: float, exclude: bool, antialias: bool
) -> np.ndarray:
    """Return the matrix from the data's elements to the result's."""
    matrix = np.zeros((axis.result, axis.size))
    rows = np.arange(axis.result)
    if mode == "nearest":
        matrix[rows, np.clip(_nearest(positions, rounding), 0, axis.size - 1).astype(int)] = 1
        return matrix
    # Shrinking with antialias widens the filter over all elements that a result covers.
    shrink = min(axis.scale, 1.0) if antialias else 1.0
    support = (2 if mode == "cubic" else 1) / shrink
    first = np.floor(positions - support).astype(int) + 1
    neighbours = first[:, None] + np.arange(math.ceil(2 * support) + 1)
    distance = (neighbours - positions[:, None]) * shrink
    found = _cubic(distance, cubic) if mode == "cubic" else _linear(distance)
    outside = (neighbours < 0) | (neighbours >= axis.size)
    if exclude or antialias:
        found = np.where(outside, 0.0, found) if exclude else found
        found = found / found.sum(1, keepdims=True)
    np.add.at(matrix, (rows[:, None], np.clip(neighbours, 0, axis.size - 1)), found)
    return matrix


def _sizes(
    shape: Sequence[int], scales: Sequence[float], sizes: Sequence[int], policy: str
) -> tuple[list[int], list[float]]:
    """Return the sizes and scales of axes that are resized."""
    if scales:
        return [math.floor(n * scale) for n, scale in zip(shape, scales)], list(scales)
    wanted = [n if size == -1 else size for n, size in zip(shape, sizes)]
    if policy == "stretch":
        return wanted, [size / n for size, n in zip(wanted, shape)]
    choose = min if policy == "not_larger" else max
    scale = choose(size / n for size, n in zip(wanted, shape))
    return [math.floor(scale * n + 0.5) for n in shape], [scale] * len(shape)


@operator("_onnx_resize")
def resize(
    data: Tensor,
    *,
    axes: tuple[int, ...],
    scales: tuple[Double, ...] = (),
    sizes: tuple[int, ...] = (),
    mode: Literal["nearest", "linear", "cubic"] = "nearest",
    coordinates: Coordinates = "half_pixel",
    nearest: Nearest = "round_prefer_floor",
    cubic: Double = -0.75,
    exclude_outside: bool = False,
    extrapolation: Double = 0.0,
    region: tuple[Double, ...] = (),
    antialias: bool = False,
    policy: Literal["stretch", "not_larger", "not_smaller"] = "stretch",
) -> Tensor:
    """`data` with other sizes along axes, each interpolated by itself.

    Parameters
    ----------
    scales, sizes
        Factors of the sizes, or new sizes, of which -1 leaves one as it is.
    coordinates
        What position in `data` an element of the result has.
    nearest
        How positions are rounded in the mode ``nearest``.
    cubic, exclude_outside
        The coefficient of cubic interpolation; whether weights of elements outside are 0 instead of those of the edge.
    region, extrapolation
        Of ``tf_crop_and_resize``: the part that is taken (starts, then ends), and what is outside.
    antialias
        Widen the filter where the result is smaller.
    policy
        With `sizes`: whether proportions stay, within or around the sizes.

    >>> resize(torch.tensor([1.0, 3.0]), axes=(0,), scales=(2.0,), mode="linear")
    tensor([1.0000, 1.5000, 2.5000, 3.0000])
    """
    axes = tuple(axis % data.ndim for axis in axes)
    results, factors = _sizes([data.shape[axis] for axis in axes], scales, sizes, policy)
    outside: list[tuple[int, np.ndarray]] = []
    for i, axis in enumerate(axes):
        size = data.shape[axis]
        crop = (region[i], region[len(axes) + i]) if region else None
        if results[i] == size and factors[i] == 1.0 and coordinates != "tf_crop_and_resize":
            continue
        one = _Axis(size, results[i], factors[i], crop)
        positions = one.positions(coordinates)
        if coordinates == "tf_crop_and_resize":
            outside.append((axis, (positions < 0) | (positions > size - 1)))
        matrix = _weights(one, positions, mode, nearest, cubic, exclude_outside, antialias)
        data = _along(data, axis, matrix)
    for axis, mask in outside:
        shape = [1] * data.ndim
        shape[axis] = -1
        data = data.masked_fill(torch.from_numpy(mask).to(data.device).reshape(shape), extrapolation)
    return data


def _along(data: Tensor, axis: int, matrix: np.ndarray) -> Tensor:
    """Multiply an axis by a matrix; rows with a single 1 are gathered, so that integers and infinities stay exact."""
    if ((matrix == 0) | (matrix == 1)).all() and (matrix.sum(1) == 1).all():
        return data.index_select(axis, torch.from_numpy(matrix.argmax(1)).to(data.device))
    dtype = data.dtype if data.is_floating_point() else torch.float64
    weights = torch.from_numpy(matrix).to(device=data.device, dtype=dtype)
    found = torch.tensordot(data.to(dtype), weights, ([axis], [1])).movedim(-1, axis)
    return found.to(data.dtype)


# Samples


@operator("_onnx_grid_sample")
def grid_sample(
    data: Tensor,
    grid: Tensor,
    *,
    mode: Literal["linear", "nearest", "cubic"] = "linear",
    padding: Literal["zeros", "border", "reflection"] = "zeros",
    align_corners: bool = False,
) -> Tensor:
    """Samples of an image of any number of axes at the positions of a grid, which are from -1 to 1.

    Shapes
    ------
    data : (N, C, *image)
    grid : (N, *result, axes of the image)      the last axis of the image first
    out : (N, C, *result)

    >>> image = torch.arange(4.0).reshape(1, 1, 2, 2)
    >>> grid_sample(image, torch.zeros(1, 1, 1, 2)).flatten()
    tensor([1.5000])
    """
    image = data.shape[2:]
    taps = [
        _taps(grid[..., len(image) - 1 - i].to(torch.float64), size, mode, padding, align_corners)
        for i, size in enumerate(image)
    ]
    batch = torch.arange(data.shape[0], device=data.device).reshape(-1, *[1] * (grid.ndim - 2))
    channels_last = data.movedim(1, -1)
    total: Tensor | None = None
    for choice in np.ndindex(*[len(one) for one in taps]):
        chosen = [taps[i][number] for i, number in enumerate(choice)]
        weight = math.prod([one[1] for one in chosen[1:]], start=chosen[0][1]).to(data.dtype)
        sample = channels_last[tuple([batch, *[one[0] for one in chosen]])] * weight.unsqueeze(-1)
        total = sample if total is None else total + sample
    assert total is not None
    return total.movedim(-1, 1)


def _taps(x: Tensor, size: int, mode: str, padding: str, align_corners: bool) -> list[tuple[Tensor, Tensor]]:
    """Return positions along an axis and their weights."""
    x = (x + 1) / 2 * (size - 1) if align_corners else ((x + 1) * size - 1) / 2
    low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
    if mode == "nearest":
        return [
            _inside(
                torch.round(_padded(x, low, high, size, padding)),
                torch.ones_like(x),
                low,
                high,
                size,
                padding,
            )
        ]
    if mode == "linear":
        x = _padded(x, low, high, size, padding)
    first = torch.floor(x)
    part = x - first
    if mode == "linear":
        weights = [1 - part, part]
        starts = [first, first + 1]
    else:
        weights = _cubic_weights(part)
        starts = [first + i for i in (-1, 0, 1, 2)]
    return [_inside(at, weight, low, high, size, padding) for at, weight in zip(starts, weights)]


def _cubic_weights(part: Tensor, a: float = -0.75) -> list[Tensor]:
    def near(d: Tensor) -> Tensor:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Tensor) -> Tensor:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(part + 1), near(part), near(1 - part), far(2 - part)]


def _padded(x: Tensor, low: float, high: float, size: int, padding: str) -> Tensor:
    """Return positions inside the image where the padding asks for that."""
    if padding == "border":
        return x.clamp(0, size - 1)
    if padding == "reflection":
        return _reflected(x, low, high).clamp(0, size - 1)
    return x


def _reflected(x: Tensor, low: float, high: float) -> Tensor:
    span = high - low
    if span <= 0:
        return torch.zeros_like(x)
    offset = torch.remainder(x - low, 2 * span)
    return low + torch.where(offset > span, 2 * span - offset, offset)


def _inside(
    at: Tensor, weight: Tensor, low: float, high: float, size: int, padding: str
) -> tuple[Tensor, Tensor]:
    if padding == "zeros":
        weight = weight * ((at >= 0) & (at <= size - 1))
    elif padding == "reflection":
        at = _reflected(at, low, high)
    return at.clamp(0, size - 1).long(), weight
