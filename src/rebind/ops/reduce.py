"""Reductions: sums, products, extremes and norms along axes.

As in MXNet 1.x there is no array without axes: what is reduced along all of them has shape ``(1,)``. No axis,
``axis=None`` or ``()``, means all; `exclude` reduces the axes that are not named. Results have data's type.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple, Protocol

import torch
from torch import Tensor

from ..errors import ShapeError
from ..params import Between, Params
from ..shapes import Shape, normalize_axis
from ._types import SumType
from .declaration import Operator, Shapes, operator

__all__ = ["REDUCTIONS", "Reduction", "reduced_axes"]

Axes = tuple[int, ...] | None


class Reduction(NamedTuple):
    """A row of the family."""

    op: Operator
    numpy_name: str


REDUCTIONS: list[Reduction] = []


@functools.lru_cache(maxsize=4096)
def reduced_axes(ndim: int, axis: Axes, exclude: bool) -> tuple[int, ...]:
    """Return the axes to reduce, in order.

    >>> (
    ...     reduced_axes(3, (-1,), False),
    ...     reduced_axes(3, (1,), True),
    ...     reduced_axes(3, None, False),
    ... )
    ((2,), (0, 2), (0, 1, 2))
    """
    # MXNet: () means all axes too, and then `exclude` has no effect.
    if not axis:
        return tuple(range(ndim))
    # A set finds axes named twice, also as -1 and ndim - 1.
    named = {normalize_axis(a, ndim, "axis") for a in axis}
    if len(named) != len(axis):
        raise ShapeError(f"axis must not name an axis twice; got {axis}")
    return tuple(a for a in range(ndim) if (a in named) != exclude)


def _reduction(
    name: str,
    *aliases: str,
    compute: Callable[[Tensor, tuple[int, ...], bool], Tensor],
    doc: str,
    numpy_name: str,
) -> Operator:
    """Make a reduction of `compute`, which takes data, axes (at least one) and keepdims."""

    def function(data: Tensor, *, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> Tensor:
        ndim = data.dim()
        axes = reduced_axes(ndim, axis, exclude)
        # The most frequent reduction, to one number.
        if len(axes) == ndim and not keepdims and data.is_contiguous():
            # Of shape (1,) as it comes, where the last line makes a view.
            return compute(data.view(-1), (0,), True)
        out = compute(data, axes, keepdims) if axes else data.view_as(data)
        return out if out.dim() else out.reshape(1)

    function.__doc__ = doc
    function.__name__ = function.__qualname__ = name
    made = operator(name, *aliases)(function)
    made.output_shapes(_reduced)
    REDUCTIONS.append(Reduction(made, numpy_name))
    return made


def _reduced(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    if not data or any(not -len(data) <= axis < len(data) for axis in p.axis or ()):
        return []
    try:
        axes = reduced_axes(len(data), p.axis, p.exclude)
    except ShapeError:
        return []
    sizes = ((n, axis in axes) for axis, n in enumerate(data))
    # No array has no axes.
    return [tuple(1 if reduced else n for n, reduced in sizes if p.keepdims or not reduced) or (1,)]


def _dim(axes: tuple[int, ...]) -> Any:
    """Return axes as torch reads them soonest: one as a number, in 0.3 µs less than in a tuple."""
    return axes[0] if len(axes) == 1 else axes


def _sum(data: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if data.is_floating_point():
        return torch.sum(data, _dim(axes), keepdims)
    # torch would sum integers up in int64; MXNet stays in their type.
    return torch.sum(data, axes, keepdim=keepdims, dtype=data.dtype)


def _mean(data: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if data.is_floating_point():
        return torch.mean(data, _dim(axes), keepdims)
    # Integers: the sum divided, rounded towards 0; torch has no mean of them.
    count = 1
    for axis in axes:
        count *= data.shape[axis]
    return torch.div(torch.sum(data, axes, keepdim=keepdims), count, rounding_mode="trunc").to(
        dtype=data.dtype
    )


def _prod(data: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if len(axes) == 1:
        # The type is given: torch would multiply small integers in int64.
        return torch.prod(data, axes[0], keepdim=keepdims, dtype=data.dtype)
    # torch reduces products along one axis only: the reduced ones become the last one.
    others = [axis for axis in range(data.ndim) if axis not in axes]
    out = torch.prod(data.permute(*others, *axes).flatten(len(others)), -1, dtype=data.dtype)
    return out.reshape([1 if a in axes else n for a, n in enumerate(data.shape)]) if keepdims else out


def _nansum(data: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if not data.is_floating_point():
        return _sum(data, axes, keepdims)
    return torch.nansum(data, axes, keepdim=keepdims)


def _nanprod(data: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return _prod(data.masked_fill(torch.isnan(data), 1), axes, keepdims)


def _max(data: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    # Its own gradient is shared among equals; `_extreme_gradient` replaces it.
    return torch.amax(data, _dim(axes), keepdims)


def _min(data: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return torch.amin(data, _dim(axes), keepdims)


sum = _reduction("sum", "sum_axis", compute=_sum, doc="Sum along axes.", numpy_name="sum")
mean = _reduction(
    "mean", compute=_mean, doc="Mean along axes; of integers, rounded towards 0.", numpy_name="mean"
)


@sum.derivative("data")
def _(p: Params, head_grad: Tensor, output: Tensor, data: Tensor) -> Tensor:
    return _spread(head_grad, data, p)


@mean.derivative("data")
def _(p: Params, head_grad: Tensor, output: Tensor, data: Tensor) -> Tensor:
    return _spread(head_grad / (data.numel() // head_grad.numel()), data, p)


def _spread(reduced: Tensor, data: Tensor, p: Params) -> Tensor:
    """Return what was reduced in the shape of `data`, each number in all the places that it stands for."""
    axes = reduced_axes(data.ndim, p.axis, p.exclude)
    return reduced.reshape([1 if axis in axes else n for axis, n in enumerate(data.shape)]).expand_as(data)


prod = _reduction("prod", compute=_prod, doc="Product along axes.", numpy_name="prod")
nansum = _reduction("nansum", compute=_nansum, doc="Sum along axes, nan counting as 0.", numpy_name="nansum")
nanprod = _reduction(
    "nanprod", compute=_nanprod, doc="Product along axes, nan counting as 1.", numpy_name="nanprod"
)
max = _reduction(
    "max",
    "max_axis",
    compute=_max,
    doc="Largest element along axes; each of several largest gets the full gradient.",
    numpy_name="max",
)
min = _reduction(
    "min",
    "min_axis",
    compute=_min,
    doc="Smallest element along axes; each of several smallest gets the full gradient.",
    numpy_name="min",
)
square_sum = _reduction(
    "_square_sum",
    compute=lambda data, axes, keepdims: _sum(torch.square(data), axes, keepdims),
    doc="Sum of squares along axes.",
    numpy_name="",
)


def _extreme_gradient(
    p: Params, inputs: Sequence[Tensor], outputs: Sequence[Tensor], head_grads: Sequence[Tensor]
) -> Sequence[Tensor]:
    """Give each extreme element the head gradient, where torch would share it among them."""
    (data,), (out,), (head_grad,) = inputs, outputs, head_grads
    axes = reduced_axes(data.ndim, p.get("axis"), p.get("exclude", False))
    # `out` may lack the reduced axes: with size 1 in their place it broadcasts again.
    with_ones = [1 if axis in axes else size for axis, size in enumerate(data.shape)]
    # Equal elements each get all of it, as in MXNet.
    return ((data == out.reshape(with_ones)) * head_grad.reshape(with_ones),)


max.gradient(_extreme_gradient)
min.gradient(_extreme_gradient)


@operator("norm", types=lambda p: {"output": p.out_dtype} if p.out_dtype else {})
def norm(
    data: Tensor,
    *,
    ord: Annotated[int, Between(1, 2)] = 2,
    axis: Axes = None,
    out_dtype: SumType | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Norm of the elements along axes: the sum of absolute values (``ord=1``) or the root of the sum of squares.

    Unlike in MXNet, where it is nan, the gradient of the root at 0 is 0.

    >>> norm(torch.tensor([[3.0, 4.0], [5.0, 12.0]]), axis=(1,))
    tensor([ 5., 13.])
    """
    axes = reduced_axes(data.ndim, axis, False)
    # Integers have no norm in torch; in float64 they lose nothing below 2**53.
    values = data if data.is_floating_point() else data.to(dtype=torch.float64)
    if len(axes) == data.dim() and not keepdims and data.is_contiguous():
        # Of shape (1,) as it comes.
        out = torch.linalg.vector_norm(values.view(-1), ord, (0,), True)
    else:
        out = torch.linalg.vector_norm(values, ord, axes, keepdims)
        out = out if out.dim() else out.reshape(1)
    dtype = out_dtype or data.dtype
    return out if out.dtype is dtype else out.to(dtype=dtype)


class _ArgFinder(Protocol):
    """`torch.argmax` or `torch.argmin`."""

    def __call__(self, input: Tensor, dim: int, keepdim: bool = False) -> Tensor: ...


def _position(find: _ArgFinder, data: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    """Return the position of an extreme in data's type."""
    if axis is None:
        # Without an axis the result has one element, or as many axes as data.
        out = find(data.reshape(-1), 0).reshape([1] * data.ndim if keepdims else [1])
    else:
        out = find(data, normalize_axis(axis, data.dim(), "axis"), keepdims)
    # In place, as a view would be distinguished from a new tensor later.
    out = out if out.dim() else out.unsqueeze_(0)
    return out.float() if data.dtype is torch.float32 else out.to(dtype=data.dtype)


@operator("argmax", head_gradient=False)
def argmax(data: Tensor, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Position of the first of the largest elements along an axis, in data's type; of the flattened array without.

    >>> argmax(torch.tensor([[1, 3, 3], [4, 0, 0]]), axis=1)
    tensor([1, 0])
    """
    return _position(torch.argmax, data, axis, keepdims)


@operator("argmin", head_gradient=False)
def argmin(data: Tensor, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Position of the first of the smallest elements along an axis, in data's type; of the flattened array without.

    >>> argmin(torch.tensor([2.0, 0.0, 1.0]))
    tensor([1.])
    """
    return _position(torch.argmin, data, axis, keepdims)


@operator("argmax_channel", head_gradient=False)
def argmax_channel(data: Tensor) -> Tensor:
    """Position of the largest element along axis 1, in data's type.

    Shapes
    ------
    data : (N, C, ...)
    out : (N, ...)

    >>> argmax_channel(torch.tensor([[1, 3], [4, 0]]))
    tensor([1, 0])
    """
    return _position(torch.argmax, data, 1, False)


@operator("moments", outputs=("output0", "output1"))
def moments(data: Tensor, *, axes: Axes = None, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Mean and variance along axes, of integers rounded towards 0; all axes where MXNet asks for their names.

    >>> moments(torch.tensor([1.0, 3.0]))
    (tensor([2.]), tensor([1.]))
    """
    along = reduced_axes(data.ndim, axes, False)
    # From the centred data: the mean of squares less the squared mean would cancel.
    centre = _mean(data, along, True)
    variance = _mean(torch.square(data - centre), along, keepdims)
    average = centre if keepdims else centre.squeeze(along)
    return (average, variance) if average.ndim else (average.reshape(1), variance.reshape(1))


def _sum_type(dtype: torch.dtype) -> torch.dtype:
    """Return the type of running sums: that of the numbers, int64 for bools."""
    return torch.int64 if dtype is torch.bool else dtype


@operator("_np_cumsum", "cumsum", types=lambda p: {"output": p.dtype or _sum_type})
def cumsum(a: Tensor, *, axis: int | None = None, dtype: SumType | None = None) -> Tensor:
    """Running sum along an axis, of the flattened array without one.

    >>> cumsum(torch.tensor([1, 2, 3]))
    tensor([1, 3, 6])
    """
    if axis is None:
        # With the type given: torch sums small integers in int64.
        return torch.cumsum(a.reshape(-1), 0, dtype=dtype or _sum_type(a.dtype))
    return torch.cumsum(a, normalize_axis(axis, a.ndim, "axis"), dtype=dtype or _sum_type(a.dtype))


@operator(
    "all_finite",
    types={"data": "any", "output": torch.float32},
    head_gradient=False,
    listed={"data": "NDArray"},
)
def all_finite(data: Tensor, *, init_output: bool = True) -> Tensor:
    """1 when no element is infinite or nan, else 0. `init_output` has no effect.

    >>> all_finite(torch.tensor([1.0, torch.inf]))
    tensor([0.])
    """
    return _is_finite(data).reshape(1).to(dtype=torch.float32)


@all_finite.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    return [(1,)]


@operator(
    "multi_all_finite",
    count="num_arrays",
    types={"*": "any", "output": torch.float32},
    head_gradient=False,
    listed={"num_arrays": "int, optional, default='1'"},
)
def multi_all_finite(*data: Tensor, init_output: bool = True) -> Tensor:
    """1 when no element of any array is infinite or nan, else 0. `init_output` has no effect.

    >>> multi_all_finite(torch.ones(2), torch.ones(3))
    tensor([1.])
    """
    return torch.stack([_is_finite(tensor) for tensor in data]).all().reshape(1).to(dtype=torch.float32)


def _is_finite(data: Tensor) -> Tensor:
    if not (data.is_floating_point() and data.numel()):
        return torch.ones((), dtype=torch.bool, device=data.device)
    # Nan is both the least and the greatest, and above nothing. One pass over memory, where `isfinite` takes several.
    least, greatest = torch.aminmax(data)
    return (least > -torch.inf) & (greatest < torch.inf)


@multi_all_finite.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    return [(1,)]


@operator("multi_sum_sq", count="num_arrays", types={"*": "T", "output": torch.float32})
def multi_sum_sq(*data: Tensor) -> Tensor:
    """Sum of squares of each array.

    >>> multi_sum_sq(torch.tensor([3.0, 4.0]), torch.tensor([2.0]))
    tensor([25.,  4.])
    """
    return torch.stack([torch.sum(torch.square(tensor.to(dtype=torch.float32))) for tensor in data])


@multi_sum_sq.half_known
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    return [(len(shapes),)]
