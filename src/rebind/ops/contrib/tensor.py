"""Small tensor operators of ``contrib``: gradients that are not derivatives, and indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import torch
from torch import Tensor

from ...errors import ParameterError, ShapeError
from ...params import AtLeast, Params
from ...shapes import normalize_axis
from .._reading import outside
from .._types import Double
from ..declaration import Shapes, operator
from ..unary import round_, sign

__all__ = [
    "allclose", "arange_like", "boolean_mask", "div_sqrt_dim", "gradientmultiplier", "index_array", "index_copy",
    "quadratic", "round_ste", "sign_ste",
]  # fmt: skip


@operator("_contrib_quadratic", same_shape=True)
def quadratic(data: Tensor, *, a: float = 0.0, b: float = 0.0, c: float = 0.0) -> Tensor:
    """``a * data**2 + b * data + c``; for integers cut towards 0.

    >>> quadratic(torch.tensor([1.0, 2.0]), a=1.0, b=2.0, c=3.0)
    tensor([ 6., 11.])
    """
    if not data.is_floating_point():
        return (a * (data * data) + b * data + c).to(dtype=data.dtype)
    # (a * data + b) * data + c: two passes over memory instead of five.
    return torch.addcmul(data.new_full((), c), torch.add(data.new_full((), b), data, alpha=a), data)


@operator("_contrib_div_sqrt_dim", same_shape=True)
def div_sqrt_dim(data: Tensor) -> Tensor:
    """`data` divided by the square root of the size of its last axis; integers are cut towards 0.

    >>> div_sqrt_dim(torch.tensor([2.0, 4.0, 6.0, 8.0]))
    tensor([1., 2., 3., 4.])
    """
    if not data.ndim:
        raise ShapeError("data must have 1 axis or more; got shape ()")
    return (data / math.sqrt(data.shape[-1])).to(dtype=data.dtype)


@operator("_contrib_gradientmultiplier", same_shape=True)
def gradientmultiplier(data: Tensor, *, scalar: Double = 1.0, is_int: bool = True) -> Tensor:
    """`data` as it is; the gradient that flows back through it is multiplied by `scalar`.

    Parameters
    ----------
    scalar
        Below 0 it reverses the gradient.
    is_int
        Has no effect on arrays of floating type.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.nd.ones((2,))
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.contrib.gradientmultiplier(x, scalar=-0.5)
    >>> y.backward()
    >>> x.grad.asnumpy().tolist()
    [-0.5, -0.5]
    """
    return data.view_as(data)


@gradientmultiplier.gradient
def _(
    p: Params, inputs: Sequence[Tensor], outputs: Sequence[Tensor], head_grads: Sequence[Tensor]
) -> Sequence[Tensor]:
    return ((head_grads[0] * p.scalar).to(dtype=head_grads[0].dtype),)


@operator("_contrib_round_ste", same_shape=True)
def round_ste(data: Tensor) -> Tensor:
    """Nearest whole number, halves away from 0; the gradient flows through as it is (*straight through*).

    >>> round_ste(torch.tensor([-1.5, 0.4, 2.5]))
    tensor([-2.,  0.,  3.])
    """
    # Not torch.round, which takes halves to even numbers.
    return round_.kernels.function(data)


@operator("_contrib_sign_ste", same_shape=True)
def sign_ste(data: Tensor) -> Tensor:
    """-1, 0 or 1, as the sign is; the gradient flows through as it is (*straight through*).

    >>> sign_ste(torch.tensor([-1.5, 0.0, 2.5]))
    tensor([-1.,  0.,  1.])
    """
    return sign.kernels.function(data)


@round_ste.gradient
@sign_ste.gradient
def _(
    p: Params, inputs: Sequence[Tensor], outputs: Sequence[Tensor], head_grads: Sequence[Tensor]
) -> Sequence[Tensor]:
    return (head_grads[0],)


@operator("_contrib_allclose", types={"a": "T", "b": "T", "output": torch.uint8}, head_gradient=False)
def allclose(
    a: Tensor, b: Tensor, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = True
) -> Tensor:
    """1 where ``|a - b| <= atol + rtol * |b|`` everywhere, else 0, as an array without axes.

    Parameters
    ----------
    equal_nan
        Whether two values that are not a number are equal.

    Examples
    --------
    >>> allclose(torch.ones(2), torch.tensor([1.0, 1.1]), atol=0.2)
    tensor(1, dtype=torch.uint8)
    """
    if a.shape != b.shape:
        raise ShapeError(f"b must have the shape of a, {tuple(a.shape)}; got {tuple(b.shape)}")
    return torch.isclose(a, b, rtol, atol, equal_nan).all().to(dtype=torch.uint8)


@operator("_contrib_arange_like", head_gradient=False)
def arange_like(
    data: Tensor,
    *,
    start: Double = 0.0,
    step: Double = 1.0,
    repeat: Annotated[int, AtLeast(1)] = 1,
    ctx: str = "",
    axis: int | None = None,
) -> Tensor:
    """Evenly spaced values, as many as `data` has elements and in its shape, or as many as one axis is long.

    Parameters
    ----------
    start, step
        For an array of an integer type they are cut towards 0.
    repeat
        How often each value is repeated.
    ctx
        Has no effect: the result is on the device of `data`.
    axis
        The axis whose size counts; None for all elements.

    >>> arange_like(torch.zeros(2, 3), axis=1, step=2.0)
    tensor([0., 2., 4.])
    """
    if axis is None:
        shape = data.shape
    else:
        shape = data.shape[normalize_axis(axis, data.ndim, "axis") :][:1]  # a torch.Size, for `numel`
    if not data.is_floating_point():
        start, step = int(start), int(step)
    position = torch.arange(shape.numel(), device=data.device) // repeat
    return (start + step * position.to(dtype=data.dtype)).to(dtype=data.dtype).reshape(shape)


@operator("_contrib_index_array", types={"data": "any", "output": torch.int64}, head_gradient=False)
def index_array(data: Tensor, *, axes: tuple[int, ...] | None = None) -> Tensor:
    """Coordinates of each element of `data`, in a further last axis.

    Parameters
    ----------
    axes
        Which coordinates, in this order; None for all.

    Shapes
    ------
    data : (X0, X1, ...)
    out : (X0, X1, ..., K)     K coordinates

    >>> index_array(torch.zeros(2, 2), axes=(1,))[..., 0]
    tensor([[0, 1],
            [0, 1]])
    """
    chosen = range(data.ndim) if axes is None else axes
    columns = []
    for axis in chosen:
        axis = normalize_axis(axis, data.ndim, "axes")
        along = torch.arange(data.shape[axis], device=data.device)
        # A view, repeated without memory; only `stack` copies.
        columns.append(along.reshape(-1, *(1,) * (data.ndim - axis - 1)).expand(data.shape))
    if not columns:
        return torch.empty(*data.shape, 0, dtype=torch.int64, device=data.device)
    return torch.stack(columns, -1)


@operator("_contrib_index_copy", types={"old_tensor": "T", "index_vector": "any", "new_tensor": "T"})
def index_copy(old_tensor: Tensor, index_vector: Tensor, new_tensor: Tensor) -> Tensor:
    """A copy of `old_tensor` with the rows of `new_tensor` at the positions in `index_vector`.

    Where a position occurs twice, either row may be the result.

    Shapes
    ------
    old_tensor, out : (N, ...)
    index_vector : (K,)
    new_tensor : (K, ...)

    Examples
    --------
    >>> index_copy(torch.zeros(3, 2), torch.tensor([2, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [0., 0.],
            [1., 2.]])
    """
    if not old_tensor.ndim:
        raise ShapeError("old_tensor must have 1 axis or more; got shape ()")
    if index_vector.ndim != 1:
        raise ShapeError(f"index_vector must have 1 axis; got shape {tuple(index_vector.shape)}")
    expected = (*index_vector.shape, *old_tensor.shape[1:])
    if new_tensor.shape != expected:
        raise ShapeError(
            f"new_tensor must have shape {expected} to match index_vector {tuple(index_vector.shape)} and "
            f"old_tensor {tuple(old_tensor.shape)}; got {tuple(new_tensor.shape)}"
        )
    try:
        return torch.index_copy(old_tensor, 0, index_vector.to(dtype=torch.int64), new_tensor)
    # torch finds bad positions while it copies; a look at them before would wait for the device.
    except IndexError:
        raise ParameterError(
            f"index_vector must be in [0, {old_tensor.shape[0]}), axis 0 of old_tensor {tuple(old_tensor.shape)}; "
            f"got {outside(index_vector, old_tensor.shape[0])}"
        ) from None


@index_copy.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    old, index = shapes["old_tensor"], shapes["index_vector"]
    return {"new_tensor": (*index, *old[1:])} if old and index else {}


@operator("_contrib_boolean_mask", types={"data": "T", "index": "any", "output": "T"})
def boolean_mask(data: Tensor, index: Tensor, *, axis: int = 0) -> Tensor | None:
    """Slices of `data` along an axis where `index` is not 0.

    How many they are depends on the values of `index`: inference leaves the shape of the result unknown, and the
    operator runs imperatively. Different from MXNet, `axis` may be any.

    Shapes
    ------
    data : (N, ...)     N in `axis`
    index : (N,)
    out : (K, ...)      K elements of `index` are not 0

    >>> boolean_mask(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 1]))
    tensor([[3, 4]])
    """
    axis = normalize_axis(axis, data.ndim, "axis")
    if index.shape != data.shape[axis : axis + 1]:
        raise ShapeError(
            f"index must have shape ({data.shape[axis]},) to match axis {axis} of data "
            f"of shape {tuple(data.shape)}; got {tuple(index.shape)}"
        )
    # Shapes come from a run without values, and this one depends on them: None says that it is unknown.
    if index.is_meta:
        return None
    return torch.index_select(data, axis, torch.nonzero(index).squeeze(1))


@boolean_mask.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    return {"index": (data[p.axis],)} if data and -len(data) <= p.axis < len(data) else {}
