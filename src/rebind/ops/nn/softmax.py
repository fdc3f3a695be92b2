"""The softmax family: probabilities along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from ...params import Params
from ...shapes import Shape, normalize_axis
from .._reading import can_read
from .._signatures import with_interface_of
from .._types import Double, FloatType, require_floating
from ..declaration import Shapes, operator

__all__ = ["log_softmax", "softmax", "softmax_activation", "softmin"]


@operator("SoftmaxActivation", same_shape=True)
def softmax_activation(data: Tensor, *, mode: Literal["channel", "instance"] = "instance") -> Tensor:
    """Softmax along the last axis or over the channels; deprecated in MXNet in favour of `softmax`.

    Parameters
    ----------
    mode
        ``'instance'``: along the last axis (1.9.1 takes it for the instance also when there are more than two);
        ``'channel'``: along axis 1 at each position.

    Shapes
    ------
    data, out : (N, C, ...)

    Examples
    --------
    >>> softmax_activation(torch.zeros(1, 4))
    tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """
    return torch.softmax(data, 1 if mode == "channel" else -1)


@operator(
    "softmax",
    skip=lambda name, p: name == "length" and not p.use_length,
    types=lambda p: {"length": "any", "output": p.dtype or "T"},
)
def softmax(
    data: Tensor,
    length: Tensor | None = None,
    *,
    axis: int = -1,
    temperature: Double | None = None,
    dtype: FloatType | None = None,
    use_length: bool | None = False,
) -> Tensor:
    """``exp(x / temperature)``, scaled so that it sums to 1 along an axis.

    Parameters
    ----------
    axis
        The axis that is summed along.
    temperature
        What `data` is divided by; 1 when left out.
    dtype
        Type of the result, and of the computation; that of `data` when left out.
    use_length
        Take `length` as an input: only so many leading elements along the axis count; the others are 0.

    Shapes
    ------
    data, out : any, the same
    length : that of data without the axis

    Examples
    --------
    >>> softmax(torch.zeros(2, 4))
    tensor([[0.2500, 0.2500, 0.2500, 0.2500],
            [0.2500, 0.2500, 0.2500, 0.2500]])
    >>> softmax(torch.zeros(2, 4), torch.tensor([2, 1]), use_length=True)
    tensor([[0.5000, 0.5000, 0.0000, 0.0000],
            [1.0000, 0.0000, 0.0000, 0.0000]])
    """
    data = _over_temperature(data, temperature, dtype)
    if length is None or not use_length:
        return torch.softmax(data, axis, dtype)
    valid = _valid(data, length, axis)
    out = torch.softmax(torch.where(valid, data, -torch.inf), axis, dtype)
    if can_read(length) and not bool((length < 1).any()):
        return out
    # The second masking gives zeros, not NaN, where the length is 0.
    return out.masked_fill(~valid, 0.0)


def _over_temperature(data: Tensor, temperature: Double | None, dtype: FloatType | None) -> Tensor:
    # With a dtype, integers are converted before the computation.
    if dtype is None:
        require_floating(data)
    return data if temperature is None or temperature == 1.0 else data / temperature


def _valid(data: Tensor, length: Tensor, axis: int) -> Tensor:
    """Return which positions along `axis` are before `length`."""
    axis = normalize_axis(axis, data.dim(), "axis")
    positions = torch.arange(data.shape[axis], device=data.device)
    # (size, 1, ..., 1): one position for all elements of the axes after `axis`.
    positions = positions.view(-1, *(1,) * (data.dim() - 1 - axis))
    return positions < length.unsqueeze(axis)


@softmax.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is None or not p.use_length:
        return {}
    axis = normalize_axis(p.axis, len(data), "axis")
    # A vector has one length, in an array of shape (1,): MXNet has no arrays without axes.
    return {"length": data[:axis] + data[axis + 1 :] or (1,)}


@softmax.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"data": outputs[0]}


def _no_length(p: Params) -> str | None:
    # MXNet lists the parameter for the whole family, and fails for these two when it is set.
    return "use_length must be False: softmax alone takes lengths; got True" if p.use_length else None


@operator("softmin", same_shape=True, types=lambda p: {"output": p.dtype or "T"})
@with_interface_of(softmax.kernels.function, without=("length",))
def softmin(
    data: Tensor,
    *,
    axis: int = -1,
    temperature: Double | None = None,
    dtype: FloatType | None = None,
    **without_effect: bool | None,
) -> Tensor:
    """``exp(-x / temperature)``, scaled so that it sums to 1 along an axis.

    Parameters
    ----------
    use_length
        Must be False, as in MXNet.

    Shapes
    ------
    data, out : any, the same

    Examples
    --------
    >>> softmin(torch.tensor([0.0, 1.0]))
    tensor([0.7311, 0.2689])
    """
    # The sign goes into the temperature: one division instead of a division and a negation.
    return torch.softmax(_over_temperature(data, -(temperature or 1.0), dtype), axis, dtype)


@operator("log_softmax", same_shape=True, types=lambda p: {"output": p.dtype or "T"})
@with_interface_of(softmin.kernels.function)
def log_softmax(
    data: Tensor,
    *,
    axis: int = -1,
    temperature: Double | None = None,
    dtype: FloatType | None = None,
    **without_effect: bool | None,
) -> Tensor:
    """Logarithm of `softmax`, computed without its rounding.

    Shapes
    ------
    data, out : any, the same

    Examples
    --------
    >>> log_softmax(torch.tensor([0.0, 1000.0]))
    tensor([-1000.,     0.])
    """
    data = _over_temperature(data, temperature, dtype)
    return torch.log_softmax(data, axis, dtype)


def _like_data(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    return [data] if data and len(shapes) == 1 and -len(data) <= p.axis < len(data) else []


for _made in (softmax, softmin, log_softmax):
    _made.output_shapes(_like_data)

softmin.check(_no_length)
log_softmax.check(_no_length)


@softmax.check
def _(p: Params) -> str | None:
    return "temperature must not be 0; got 0.0" if p.temperature == 0 else None
