"""Functions applied to each element or along an axis: activations and the softmax family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ... import draws
from ...draws import Source
from ...errors import ShapeError
from ...params import Params
from ...shapes import Shape, normalize_axis
from .._types import require_floating
from ..spec import Shapes, operator

__all__ = ["activation", "leaky_relu", "log_softmax", "softmax", "softmax_activation", "softmin"]

_ACTIVATIONS = {
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softrelu": F.softplus,
    "softsign": F.softsign,
}


@operator("Activation", alike=True)
def activation(
    data: Tensor, *, act_type: Literal["relu", "sigmoid", "tanh", "softrelu", "softsign"]
) -> Tensor:
    """Element-wise activation.

    Parameters
    ----------
    act_type
        ``'relu'`` max(x, 0); ``'sigmoid'`` 1 / (1 + exp(-x)); ``'tanh'``; ``'softrelu'`` log(1 + exp(x));
        ``'softsign'`` x / (1 + abs(x)).

    Shapes
    ------
    data, out : any, the same
    """
    return _ACTIVATIONS[act_type](data)


_OVERWRITING = {"relu": torch.relu_, "sigmoid": torch.sigmoid_, "tanh": torch.tanh_}


@activation.in_place("data", when=lambda p: p.act_type in _OVERWRITING)
def _(data: Tensor, *, act_type: str) -> Tensor:
    return _OVERWRITING[act_type](data)


@operator(
    "LeakyReLU",
    skip=lambda name, p: name == "gamma" and p.act_type != "prelu",
    inits={"gamma": '["Constant", {"value": 0.25}]'},
    outputs=lambda p: ("output", "mask") if p.act_type == "rrelu" else ("output",),
)
def leaky_relu(
    data: Tensor,
    gamma: Tensor | None = None,
    *,
    act_type: Literal["elu", "gelu", "leaky", "prelu", "rrelu", "selu"] = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
    training: bool = False,
    generator: Source | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Rectifiers that let something through below zero.

    Parameters
    ----------
    act_type
        ``'leaky'`` and ``'elu'`` use `slope`; ``'prelu'`` learns a slope, for all or for each channel;
        ``'rrelu'`` draws the slope of each element uniformly from `lower_bound` to `upper_bound` in training
        and takes their mean otherwise; ``'selu'`` and ``'gelu'`` (with the error function) have no parameter.
        (1.9.1 has a wrong gradient for ``'selu'`` below zero, and crashes with ``'rrelu'`` in training.)
    slope
        What multiplies x below zero (``'leaky'``), or exp(x) - 1 (``'elu'``).
    lower_bound, upper_bound
        Range of the slopes of ``'rrelu'``.

    Shapes
    ------
    data, out : (N, C, ...)
    gamma : (C,) or (1,)     with ``'prelu'`` only
    mask : that of data      with ``'rrelu'`` only: the slopes in training, 1 above zero; zeros otherwise

    References
    ----------
    He et al., Delving Deep into Rectifiers (prelu); Clevert et al., Fast and Accurate Deep Network Learning
    by Exponential Linear Units; Klambauer et al., Self-Normalizing Neural Networks; Xu et al., Empirical
    Evaluation of Rectified Activations in Convolution Network (rrelu); Hendrycks and Gimpel, Gaussian Error
    Linear Units.
    """
    if act_type == "leaky":
        return F.leaky_relu(data, slope)
    if act_type == "prelu":
        assert gamma is not None
        return F.prelu(data, gamma)
    if act_type == "elu":
        return F.elu(data, slope)
    if act_type == "gelu":
        return F.gelu(data)
    if act_type == "selu":
        return F.selu(data)
    if not training:
        return F.leaky_relu(data, (lower_bound + upper_bound) / 2), torch.zeros_like(data)
    with torch.no_grad():
        slopes = draws.uniform(
            data.shape, generator, dtype=data.dtype, device=data.device, low=lower_bound, high=upper_bound
        )
        slopes.masked_fill_(data > 0, 1.0)
    return data * slopes, slopes


@leaky_relu.check
def _(p: Params) -> str | None:
    if p.act_type == "rrelu" and p.lower_bound > p.upper_bound:
        return f"lower_bound must not exceed upper_bound {p.upper_bound}; got {p.lower_bound}"
    return None


@leaky_relu.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data, gamma = shapes["data"], shapes.get("gamma")
    if p.act_type != "prelu" or data is None or gamma == (1,):
        return {}
    if len(data) < 2:
        raise ShapeError(f"data must have a channel axis (1) for act_type 'prelu'; got shape {data}")
    return {"gamma": (data[1],)}


@leaky_relu.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"data": outputs[0]}


@operator("SoftmaxActivation", alike=True)
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
    temperature: float | None = None,
    dtype: torch.dtype | None = None,
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
        Take `length` as an input: only so many leading elements along the axis take part, the others are 0.

    Shapes
    ------
    data, out : any, the same
    length : that of data without the axis
    """
    data = _over_temperature(data, temperature, dtype)
    if length is None or not use_length:
        return torch.softmax(data, axis, dtype)
    valid = _valid(data, length, axis)
    # The second masking gives zeros, not NaN, where the length is 0.
    out = torch.softmax(data.masked_fill(~valid, -torch.inf), axis, dtype)
    return out.masked_fill(~valid, 0.0)


def _over_temperature(data: Tensor, temperature: float | None, dtype: torch.dtype | None) -> Tensor:
    if dtype is None:
        require_floating(data)
    return data if temperature is None or temperature == 1.0 else data / temperature


def _valid(data: Tensor, length: Tensor, axis: int) -> Tensor:
    """Return which positions along `axis` are before `length`."""
    axis = normalize_axis(axis, data.dim(), "axis")
    positions = torch.arange(data.shape[axis], device=data.device)
    positions = positions.view(-1, *(1,) * (data.dim() - 1 - axis))
    return positions < length.unsqueeze(axis)


@softmax.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data = shapes["data"]
    if data is None or not p.use_length:
        return {}
    axis = normalize_axis(p.axis, len(data), "axis")
    return {"length": data[:axis] + data[axis + 1 :] or (1,)}


@softmax.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"data": outputs[0]}


def _no_length(p: Params) -> str | None:
    # MXNet lists the parameter for the whole family, and fails for these two when it is set.
    return "use_length must be False: softmax alone takes lengths; got True" if p.use_length else None


@operator("softmin", alike=True, types=lambda p: {"output": p.dtype or "T"})
def softmin(
    data: Tensor,
    *,
    axis: int = -1,
    temperature: float | None = None,
    dtype: torch.dtype | None = None,
    use_length: bool | None = False,
) -> Tensor:
    """``exp(-x / temperature)``, scaled so that it sums to 1 along an axis.

    Parameters
    ----------
    axis
        The axis that is summed along.
    temperature
        What `data` is divided by; 1 when left out.
    dtype
        Type of the result, and of the computation; that of `data` when left out.
    use_length
        Must be False, as in MXNet.

    Shapes
    ------
    data, out : any, the same
    """
    return torch.softmax(_over_temperature(data, -(temperature or 1.0), dtype), axis, dtype)


@operator("log_softmax", alike=True, types=lambda p: {"output": p.dtype or "T"})
def log_softmax(
    data: Tensor,
    *,
    axis: int = -1,
    temperature: float | None = None,
    dtype: torch.dtype | None = None,
    use_length: bool | None = False,
) -> Tensor:
    """Logarithm of `softmax`, computed without its rounding.

    Parameters
    ----------
    axis
        The axis that is summed along.
    temperature
        What `data` is divided by; 1 when left out.
    dtype
        Type of the result, and of the computation; that of `data` when left out.
    use_length
        Must be False, as in MXNet.

    Shapes
    ------
    data, out : any, the same
    """
    data = _over_temperature(data, temperature, dtype)
    return torch.log_softmax(data, axis, dtype)


softmin.check(_no_length)
log_softmax.check(_no_length)


@softmax.check
def _(p: Params) -> str | None:
    return "temperature must not be 0; got 0.0" if p.temperature == 0 else None
