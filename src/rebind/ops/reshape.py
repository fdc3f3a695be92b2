"""Arrays in another shape, their elements in the same order.

Many results are views of their input; whether a result may share memory with it is for the callers to decide.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

from ..errors import ShapeError
from ..params import Params
from ..shapes import Shape, normalize_axis
from .declaration import Shapes, operator

__all__ = ["flatten", "reshape", "reshape_like", "reshape_target"]


@functools.lru_cache(maxsize=4096)
def reshape_target(shape: Shape, codes: tuple[int, ...], reverse: bool = False) -> Shape:
    """Return the shape that `codes` make of `shape`.

    ====  ===================================================================================
    code  what it gives
    ====  ===================================================================================
    n>0   n; a source axis is passed over
    0     the size of the source axis
    -1    what is left, once; a source axis is passed over
    -2    all source axes that are left
    -3    the product of the next two source axes
    -4    the source axis split into the next two codes, one of which may be -1
    ====  ===================================================================================

    With `reverse` source axes and codes are matched from the right; the answer is in the usual order.

    Raises
    ------
    ShapeError
        When the codes ask for more axes than there are, or the sizes do not fit.

    Examples
    --------
    >>> reshape_target((2, 3, 4), (-3, 0)), reshape_target((2, 3, 4), (0, -4, -1, 3, -2))
    ((6, 4), (2, 1, 3, 4))
    >>> reshape_target((10, 5, 4), (-1, 0)), reshape_target((10, 5, 4), (-1, 0), reverse=True)
    ((40, 5), (50, 4))
    """
    request = f"shape={codes}{' from the right' if reverse else ''}"
    # Matching from the right is matching mirrored shapes from the left.
    target = (
        _matched(shape[::-1], codes[::-1], request, shape)
        if reverse
        else _matched(shape, codes, request, shape)
    )
    if reverse:
        target.reverse()
    return _filled(target, prod(shape), f"{request} must fit data of shape {shape}")


def _matched(source: Shape, codes: tuple[int, ...], request: str, shape: Shape) -> list[int]:
    """Return the sizes, one of which may be -1, that codes make of source axes, both read from the left."""
    target: list[int] = []
    at = position = 0  # the next source axis, the next code

    def take(count: int) -> Sequence[int]:
        nonlocal at
        if at + count > len(source):
            raise ShapeError(f"{request} refers to more axes than data has; got data of shape {shape}")
        at += count
        return source[at - count : at]

    while position < len(codes):
        code = codes[position]
        position += 1
        if code == 0:
            target += take(1)
        elif code == -2:
            target += take(len(source) - at)
        elif code == -3:
            target.append(prod(take(2)))
        elif code == -4:  # -4 takes its two sizes along
            target += _split_in_two(take(1)[0], codes[position : position + 2], request)
            position += 2
        elif code == -1 or code > 0:
            # A size or -1 passes over one source axis if there is one left.
            at = min(at + 1, len(source))
            target.append(code)
        else:
            raise ShapeError(
                f"codes of shape must be sizes or one of 0, -1, -2, -3, -4; got {code} in {request}"
            )
    return target


def _split_in_two(size: int, sizes: Sequence[int], request: str) -> Sequence[int]:
    """Return the sizes into which an axis is split, one of which may be -1."""
    if len(sizes) == 2:
        first, second = sizes
        # One of the two follows from the other.
        if first == -1 and second > 0:
            first = size // second
        elif second == -1 and first > 0:
            second = size // first
        if first > 0 and second > 0 and first * second == size:
            return first, second
        # A size that is unknown (0) splits into whatever is asked for.
        if size == 0 and min(first, second) >= 0:
            return first, second
    raise ShapeError(
        f"in {request}, -4 must be followed by two sizes whose product is {size}; one of them may be -1"
    )


def _filled(target: list[int], total: int, demand: str) -> Shape:
    """Return `target` with its -1 replaced so that it holds `total` elements."""
    if target.count(-1) > 1:
        raise ShapeError(f"shape must hold -1 at most once; {demand}")
    if -1 in target:
        # The product with the -1 in it has the other sign.
        known = -prod(target)
        if (total % known if known else total) != 0:
            raise ShapeError(f"{demand}; got {total} elements, not a multiple of {known}")
        target[target.index(-1)] = total // known if known else 0
    if prod(target) != total:
        raise ShapeError(f"{demand}; got {total} elements for {prod(target)}")
    return tuple(target)


@functools.lru_cache(maxsize=1024)
def _legacy_target(shape: Shape, target: tuple[int, ...], keep_highest: bool) -> Shape:
    """Return the shape that ``target_shape`` of old makes: one 0 is what is left."""
    # A 0 means here what -1 means in `shape`.
    wanted = list(target)
    if keep_highest and wanted:
        # The first axis is copied, whatever the target has there.
        wanted[0] = shape[0]
        wanted[1:] = [n or -1 for n in wanted[1:]]
    else:
        wanted = [n or -1 for n in wanted]
    return _filled(wanted, prod(shape), f"target_shape={target} must fit data of shape {shape}")


@operator("Reshape", "reshape")
def reshape(
    data: Tensor,
    *,
    shape: tuple[int, ...] = (),
    reverse: bool = False,
    target_shape: tuple[int, ...] = (),
    keep_highest: bool = False,
) -> Tensor:
    """`data` in another shape, its elements in the same order.

    Codes in `shape` refer to source axes: 0 copies one, -1 is what is left, -2 copies all that are left, -3
    joins two, -4 splits one into the next two codes; with `reverse` they are matched from the right.
    `target_shape` and `keep_highest` are MXNet's older way: one 0 is what is left. Unlike in MXNet, a shape
    that does not fit is always an error.

    >>> reshape(torch.zeros(2, 3, 4), shape=(-3, 0)).shape
    torch.Size([6, 4])
    """
    if shape:
        return torch.reshape(data, reshape_target(tuple(data.shape), shape, reverse))
    if target_shape:
        return torch.reshape(data, _legacy_target(tuple(data.shape), target_shape, keep_highest))
    raise ShapeError(f"shape must be given; got () for data of shape {tuple(data.shape)}")


@reshape.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    return {"data": _complete(shapes["data"], p.shape)} if _is_plain(p.shape) else {}


@reshape.output_shapes
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    if data is None or not p.shape:
        return []
    try:
        return [reshape_target(data, p.shape, p.reverse)]
    except ShapeError:
        return []


@reshape.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    return [p.shape] if shapes["data"] is not None and _is_plain(p.shape) else []


def _is_plain(shape: Shape) -> bool:
    """Whether a target says all sizes: it holds no code for what is copied or left."""
    return min(shape, default=0) > 0


@reshape.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"data": _complete(shapes["data"], outputs[0])}


def _complete(shape: Shape | None, other: Shape | None) -> Shape | None:
    """Return `shape` with its one unknown size such that it holds as many elements as `other`."""
    if shape is None or other is None or 0 in other or shape.count(0) != 1:
        return shape
    known = prod(n for n in shape if n)
    return tuple(n or prod(other) // known for n in shape) if prod(other) % known == 0 else shape


@operator("Flatten", "flatten")
def flatten(data: Tensor) -> Tensor:
    """`data` as a matrix: all axes but the first become one.

    Shapes
    ------
    data : (N, ...)
    out : (N, product of the others)

    >>> flatten(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 12])
    """
    return data.flatten(1) if data.ndim > 1 else data.reshape(-1, 1)


@flatten.output_shapes
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    return [(data[0], prod(data[1:]))] if data else []


@reshape.derivative("data")
@flatten.derivative("data")
def _(p: Params, head_grad: Tensor, output: Tensor, data: Tensor) -> Tensor:
    return torch.reshape(head_grad, data.shape)


@flatten.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    data, out = shapes["data"], outputs[0]
    if data and out and len(out) == 2:
        # The first axis is common to both.
        data = (data[0] or out[0], *data[1:])
    return {"data": _complete(data, out)}


@operator("reshape_like", types={"lhs": "T", "rhs": "any", "output": "T"}, no_gradient=("rhs",))
def reshape_like(
    lhs: Tensor,
    rhs: Tensor,
    *,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
) -> Tensor:
    """`lhs` in the shape of `rhs`, or with some of its axes replaced by some of those of `rhs`.

    >>> reshape_like(
    ...     torch.zeros(30, 7), torch.zeros(15, 2, 4), lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2
    ... ).shape
    torch.Size([15, 2, 7])
    """
    first, last = axis_range(lhs_begin, lhs_end, lhs.ndim, "lhs")
    start, stop = axis_range(rhs_begin, rhs_end, rhs.ndim, "rhs")
    target = (*lhs.shape[:first], *rhs.shape[start:stop], *lhs.shape[last:])
    if prod(target) != lhs.numel():
        raise ShapeError(
            f"lhs must have {prod(target)} elements to be reshaped to {target}; got shape {tuple(lhs.shape)}"
        )
    return torch.reshape(lhs, target)


@reshape_like.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    lhs, rhs = shapes["lhs"], shapes["rhs"]
    if lhs is None or rhs is None:
        return []
    first, last = axis_range(p.lhs_begin, p.lhs_end, len(lhs), "lhs")
    start, stop = axis_range(p.rhs_begin, p.rhs_end, len(rhs), "rhs")
    return [(*lhs[:first], *rhs[start:stop], *lhs[last:])]


def axis_range(begin: int | None, end: int | None, ndim: int, side: str) -> tuple[int, int]:
    """Return the range of axes from `begin` to `end`, both of which may count from the end."""
    # `begin` names an axis and is checked as one; `end` may be one past the last.
    first = 0 if begin is None else normalize_axis(begin, ndim, f"{side}_begin")
    last = ndim if end is None else end + ndim if end < 0 else end
    if not first <= last <= ndim:
        raise ShapeError(f"{side}_end must be in [{first}, {ndim}]; got {end}")
    return first, last
