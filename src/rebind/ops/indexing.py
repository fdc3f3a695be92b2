"""Elements chosen by arrays of indices.

Indices may be of any type; fractions are rounded towards 0. Every index is an element of an array, so what is out of
range is either cut (``clip``), counted around (``wrap``), or an error where the device reports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from torch import Tensor

from ..errors import BoundsError, ParameterError, ShapeError
from ..params import AtLeast, Params
from ..shapes import Shape, normalize_axis
from ._reading import can_read, outside
from ._types import Double, NumericType, ShapeOrNone
from .declaration import Shapes, operator

__all__ = [
    "batch_take", "fill_element_0index", "gather_nd", "one_hot", "onehot_encode", "pick", "ravel_multi_index",
    "scatter_nd", "scatter_set_nd", "take", "unravel_index", "within",
]  # fmt: skip


def within(indices: Tensor, size: int, mode: str) -> Tensor:
    """Return `indices` as int64 and within ``[0, size)``, by `mode`.

    >>> within(torch.tensor([-1, 3]), 3, "clip"), within(torch.tensor([-1, 3]), 3, "wrap")
    (tensor([0, 2]), tensor([2, 0]))
    """
    whole = indices.long()
    if mode == "clip":
        return whole.clamp(0, size - 1)
    # With "raise" the kernel finds what is out of range.
    return torch.remainder(whole, size) if mode == "wrap" else whole


@operator("take", types={"a": "T", "indices": "any", "output": "T"})
def take(
    a: Tensor, indices: Tensor, *, axis: int = 0, mode: Literal["clip", "raise", "wrap"] = "clip"
) -> Tensor:
    """Slices of `a` along an axis at `indices`, whose axes replace that axis.

    >>> take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 0, 1]), axis=0)
    tensor([[3, 4],
            [1, 2],
            [3, 4]])
    """
    axis = normalize_axis(axis, a.dim(), "axis")
    where = indices if indices.dim() == 1 else indices.reshape(-1)
    chosen = _slices(a, axis, where.long(), mode)
    if indices.dim() == 1:
        return chosen
    return torch.reshape(chosen, (*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :]))


def _slices(a: Tensor, axis: int, where: Tensor, mode: str) -> Tensor:
    """Return slices of `a` along an axis at a vector of indices."""
    if mode == "clip" and can_read(a):
        # Nearly always all are in range, and the kernel looks: nothing has to be cut then.
        try:
            return torch.index_select(a, axis, where)
        except (IndexError, RuntimeError):
            pass
    size = a.shape[axis]
    # An index out of range is the kernel's to find: a check of our own would wait for the device.
    try:
        return torch.index_select(a, axis, within(where, size, mode))
    except (IndexError, RuntimeError):
        if (index := outside(where, size)) is None:  # another failure, such as of memory
            raise
        raise ParameterError(
            f"indices must be in [0, {size}) for axis {axis} of an array of shape {tuple(a.shape)}; got {index}"
        ) from None


@operator(
    "pick",
    "choose_element_0index",
    types={"data": "T", "index": "any", "output": "T"},
    no_gradient=("index",),
)
def pick(
    data: Tensor,
    index: Tensor,
    *,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
) -> Tensor:
    """One element along an axis for each position on the others.

    Shapes
    ------
    data : (..., C, ...)
    index : (..., ...)       or with 1 instead of C
    out : of index           with 1 instead of C when `keepdims`

    >>> pick(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 1]))
    tensor([1, 4])
    """
    # MXNet declares None as a value and refuses it.
    if axis is None:
        raise ParameterError("axis must be an int; got None")
    shape = tuple(data.shape)  # a plain tuple is cut and compared sooner than torch's
    axis = normalize_axis(axis, len(shape), "axis")
    # The index may leave out the picked axis, or have it with size 1.
    without_axis = shape[:axis] + shape[axis + 1 :]
    if index.shape == without_axis:
        where = index.long().unsqueeze(axis)
    else:
        with_axis = (*shape[:axis], 1, *shape[axis + 1 :])
        # A vector has one index, of whatever shape.
        if index.shape != with_axis and (without_axis or index.numel() != 1):
            raise ShapeError(f"index must have shape {without_axis} or {with_axis}; got {tuple(index.shape)}")
        where = index.long().reshape(with_axis)
    if mode == "clip" and can_read(data):
        # Nearly always all are in range, and the kernel looks: nothing has to be cut then.
        try:
            chosen = torch.gather(data, axis, where)
        except RuntimeError:
            chosen = torch.gather(data, axis, within(where, shape[axis], mode))
    else:
        chosen = torch.gather(data, axis, within(where, shape[axis], mode))
    # In place, as a view would be distinguished from a new tensor later.
    return chosen if keepdims or data.ndim == 1 else chosen.squeeze_(axis)


@pick.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    if data is None or p.axis is None:
        return []
    axis = normalize_axis(p.axis, len(data), "axis")
    return [(*data[:axis], *((1,) if p.keepdims else ()), *data[axis + 1 :]) or (1,)]


@pick.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data, index = shapes["data"], shapes["index"]
    if data is None or p.axis is None or not -len(data) <= p.axis < len(data):
        return {}
    axis = p.axis % len(data)
    # With as many axes as data, the index still has the axis, with size 1.
    if index is not None and len(index) == len(data):
        return {"index": (*data[:axis], 1, *data[axis + 1 :])}
    return {"index": (*data[:axis], *data[axis + 1 :]) or (1,)}


@operator("one_hot", types=lambda p: {"indices": "any", "output": p.dtype}, head_gradient=False)
def one_hot(
    indices: Tensor,
    *,
    depth: Annotated[int, AtLeast(0)],
    on_value: Double = 1.0,
    off_value: Double = 0.0,
    dtype: NumericType = torch.float32,
) -> Tensor:
    """Vectors of length `depth` with `on_value` at the index, `off_value` elsewhere and for an index out of range.

    >>> one_hot(torch.tensor([1, 0, 7]), depth=2)
    tensor([[0., 1.],
            [1., 0.],
            [0., 0.]])
    """
    out = torch.full((*indices.shape, depth), off_value, dtype=dtype, device=indices.device)
    if not depth:
        return out
    index = indices.long().unsqueeze(-1)
    if can_read(indices):
        # Nearly always all are in range, and the kernel looks; it may have written some before it finds another.
        try:
            return out.scatter_(-1, index, on_value)
        except RuntimeError:
            out.fill_(off_value)
    # An index out of range writes what is there already to the nearest column.
    inside = index.clamp(0, depth - 1)
    hit = inside == index
    # The usual values need no choice. Others are those of `scatter_` above, and in no type that rounds them.
    if (on_value, off_value) != (1, 0):
        on, off = (index.new_full((), value, dtype=torch.float64) for value in (on_value, off_value))
        hit = torch.where(hit, on, off)
    return out.scatter_(-1, inside, hit.to(dtype=dtype))


@one_hot.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    out = outputs[0]
    return {"indices": out[:-1]} if out and len(out) > 1 else {}


@operator("batch_take", types={"a": "T", "indices": torch.int32, "output": "T"})
def batch_take(a: Tensor, indices: Tensor) -> Tensor:
    """One element of each row of a matrix; indices out of range are cut.

    Shapes
    ------
    a : (N, C)
    indices, out : (N,)

    >>> batch_take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 0]))
    tensor([2, 3])
    """
    if a.ndim != 2 or indices.shape != a.shape[:1]:
        raise ShapeError(
            f"a must be a matrix (N, C) and indices (N,); got {tuple(a.shape)} and {tuple(indices.shape)}"
        )
    return torch.gather(a, 1, within(indices, a.shape[1], "clip").unsqueeze(1)).squeeze(1)


@batch_take.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    return {"indices": shapes["a"][:1]} if shapes["a"] else {}


@operator("gather_nd", types={"data": "T", "indices": "any", "output": "T"}, no_gradient=("indices",))
def gather_nd(data: Tensor, indices: Tensor) -> Tensor:
    """Elements or slices of `data` at coordinates, which are in the first axis of `indices`.

    Shapes
    ------
    data : (X0, X1, ...)
    indices : (M, Y0, Y1, ...)     M coordinates for each of the first M axes of data
    out : (Y0, Y1, ..., XM, ...)

    >>> gather_nd(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[0, 1], [1, 0]]))  # at (0, 1) and (1, 0)
    tensor([2, 3])
    """
    return _index(data, indices)


def _index(data: Tensor, indices: Tensor) -> Tensor:
    where = _coordinates(indices, tuple(data.shape))
    try:
        return data[where]
    except IndexError:
        raise BoundsError(_outside_of(where, tuple(data.shape), "data of shape ")) from None


def _coordinates(indices: Tensor, shape: tuple[int, ...]) -> tuple[Tensor, ...]:
    if indices.ndim < 2 or not 0 < indices.shape[0] <= len(shape):
        raise ShapeError(
            f"indices must have 2 axes or more, and 1 to {len(shape)} rows of coordinates for the axes of {shape}; "
            f"got shape {tuple(indices.shape)}"
        )
    return indices.to(dtype=torch.int64).unbind(0)


@operator("scatter_nd", types={"data": "T", "indices": "any", "output": "T"}, no_gradient=("indices",))
def scatter_nd(data: Tensor, indices: Tensor, *, shape: tuple[Annotated[int, AtLeast(0)], ...]) -> Tensor:
    """Zeros of `shape` with elements or slices of `data` at coordinates; undoes `gather_nd`.

    Where coordinates occur twice any of the elements may be the one that stays.

    >>> scatter_nd(torch.tensor([5, 6]), torch.tensor([[0, 1], [1, 0]]), shape=(2, 2))
    tensor([[0, 5],
            [6, 0]])
    """
    return _scattered(data.new_zeros(shape), indices, data)


@scatter_nd.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    return [p.shape]


@operator("_scatter_set_nd", types={"lhs": "T", "rhs": "T", "indices": "any", "output": "T"})
def scatter_set_nd(
    lhs: Tensor, rhs: Tensor, indices: Tensor, *, shape: tuple[Annotated[int, AtLeast(0)], ...]
) -> Tensor:
    """A copy of `lhs` with elements or slices of `rhs` at coordinates; `shape` is that of `lhs`.

    >>> scatter_set_nd(torch.ones(3), torch.tensor([7.0]), torch.tensor([[1]]), shape=(3,))
    tensor([1., 7., 1.])
    """
    return _scattered(lhs, indices, rhs)


@scatter_set_nd.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    return [p.shape]


def _scattered(into: Tensor, indices: Tensor, values: Tensor) -> Tensor:
    where = _coordinates(indices, tuple(into.shape))
    # One slice of `values` for each column of coordinates.
    expected = (*indices.shape[1:], *into.shape[len(where) :])
    if values.shape != expected:
        raise ShapeError(f"data must have shape {expected} to match indices; got {tuple(values.shape)}")
    try:
        return torch.index_put(into, where, values)
    except IndexError:
        raise ParameterError(_outside_of(where, tuple(into.shape), "shape ")) from None


def _outside_of(where: Sequence[Tensor], shape: tuple[int, ...], what: str) -> str:
    """Return the message for coordinates of which one is out of range; they may count from the end."""
    found = ((axis, outside(indices, shape[axis], -shape[axis])) for axis, indices in enumerate(where))
    axis, index = next(((axis, index) for axis, index in found if index is not None), (0, None))
    return f"row {axis} of indices must be in [0, {shape[axis]}), axis {axis} of {what}{shape}; got {index}"


def _strides(shape: tuple[int, ...]) -> list[int]:
    """Return how many elements a step along each axis passes; the first size, which may be -1, does not matter."""
    steps = [1]
    for size in reversed(shape[1:]):
        steps.append(steps[-1] * size)
    return steps[::-1]


@operator("_ravel_multi_index", "ravel_multi_index", head_gradient=False)
def ravel_multi_index(data: Tensor, *, shape: ShapeOrNone = None) -> Tensor:
    """Positions in a flattened array of `shape` from coordinates, which are in the first axis.

    >>> ravel_multi_index(torch.tensor([[0, 1], [2, 1]]), shape=(2, 3))  # (0, 2) and (1, 1)
    tensor([2, 4])
    """
    if not shape or not data.ndim or len(shape) != data.shape[0]:
        raise ShapeError(
            f"shape must have one size for each row of coordinates in data of shape {tuple(data.shape)}; got {shape}"
        )
    # In the type of data, in which MXNet computes.
    steps = torch.tensor(_strides(shape or ()), dtype=data.dtype, device=data.device)
    return torch.sum(data.detach() * steps.reshape(-1, *(1,) * (data.ndim - 1)), 0, dtype=data.dtype)


@operator("_unravel_index", "unravel_index", head_gradient=False)
def unravel_index(data: Tensor, *, shape: ShapeOrNone = None) -> Tensor:
    """Coordinates, in the first axis of the result, from positions in a flattened array of `shape`.

    >>> unravel_index(torch.tensor([2, 4]), shape=(2, 3))
    tensor([[0, 1],
            [2, 1]])
    """
    if not shape:
        raise ShapeError(f"shape must have at least one size; got {shape}")
    # From the last axis to the first; what is left at the end is the first coordinate.
    rest = data.detach().to(dtype=torch.int64)
    coordinates = []
    for size in (shape or ())[:0:-1]:
        coordinates.append(torch.remainder(rest, size))
        rest = torch.div(rest, size, rounding_mode="floor")
    return torch.stack([rest, *coordinates[::-1]]).to(dtype=data.dtype)


@operator(
    "fill_element_0index",
    types={"rhs": "any"},
    listed=dict.fromkeys(("lhs", "mhs", "rhs"), "NDArray"),
)
def fill_element_0index(lhs: Tensor, mhs: Tensor, rhs: Tensor) -> Tensor:
    """`lhs` with one element of each row replaced by that of `mhs`, at the column in `rhs`.

    A column outside of `lhs` leaves the row as it is. `lhs` and `mhs` get gradients, which MXNet's cannot compute.

    Shapes
    ------
    lhs, out : (N, C)
    mhs, rhs : (N,)

    >>> fill_element_0index(torch.zeros(2, 2), torch.tensor([5.0, 6.0]), torch.tensor([0, 1]))
    tensor([[5., 0.],
            [0., 6.]])
    """
    if lhs.ndim != 2 or mhs.shape != lhs.shape[:1] or rhs.shape != lhs.shape[:1]:
        raise ShapeError(
            "lhs must have shape (N, C), mhs and rhs (N,); "
            f"got {tuple(lhs.shape)}, {tuple(mhs.shape)} and {tuple(rhs.shape)}"
        )
    columns = torch.arange(lhs.shape[1], device=lhs.device)
    # A column out of range matches none.
    return torch.where(columns == rhs.to(dtype=torch.int64)[:, None], mhs[:, None], lhs)


@fill_element_0index.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    rows = next((shape[:1] for shape in shapes.values() if shape and shape[0]), None)
    return {"mhs": rows, "rhs": rows} if rows else {}


@operator(
    "_onehot_encode",
    types={"lhs": "any", "rhs": "T"},
    head_gradient=False,
    listed={"lhs": "NDArray", "rhs": "NDArray"},
)
def onehot_encode(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Rows in the shape and type of `rhs` that are 1 at the column in `lhs` and 0 elsewhere.

    A column outside of `rhs` leaves its row 0. ``nd.onehot_encode(lhs, rhs)`` writes them into `rhs`.

    Shapes
    ------
    lhs : (N,)
    rhs, out : (N, C)

    >>> onehot_encode(torch.tensor([1, 0]), torch.zeros(2, 3))
    tensor([[0., 1., 0.],
            [1., 0., 0.]])
    """
    if rhs.ndim != 2 or lhs.shape != rhs.shape[:1]:
        raise ShapeError(
            f"lhs must have shape (N,) and rhs (N, C); got {tuple(lhs.shape)} and {tuple(rhs.shape)}"
        )
    columns = torch.arange(rhs.shape[1], device=rhs.device)
    return (columns == lhs.to(dtype=torch.int64)[:, None]).to(dtype=rhs.dtype)
