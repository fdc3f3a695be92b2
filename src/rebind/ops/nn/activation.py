"""Activations: functions applied to each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ... import draws
from ...draws import Source
from ...errors import ShapeError
from ...params import Params
from ...shapes import Shape
from ..declaration import Shapes, one_shape, operator

__all__ = ["activation", "leaky_relu"]

_ACTIVATIONS = {
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softrelu": F.softplus,
    "softsign": F.softsign,
}


@operator("Activation", same_shape=True)
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

    Examples
    --------
    >>> activation(torch.tensor([-1.0, 0.0, 2.0]), act_type="relu")
    tensor([0., 0., 2.])
    """
    return _ACTIVATIONS[act_type](data)


activation.output_shapes(one_shape)

# torch has in-place forms of these three only.
_OVERWRITING = {"relu": torch.relu_, "sigmoid": torch.sigmoid_, "tanh": torch.tanh_}


@activation.in_place("data", when=lambda p: p.act_type in _OVERWRITING)
def _(data: Tensor, *, act_type: str) -> Tensor:
    return _OVERWRITING[act_type](data)


# From the output where a form writes over the input. That of softsign is several operations, which autograd knows.
_DERIVATIVES: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "relu": lambda head_grad, output, data: torch.ops.aten.threshold_backward.default(head_grad, output, 0),
    "sigmoid": lambda head_grad, output, data: torch.ops.aten.sigmoid_backward.default(head_grad, output),
    "tanh": lambda head_grad, output, data: torch.ops.aten.tanh_backward.default(head_grad, output),
    "softrelu": lambda head_grad, output, data: torch.ops.aten.softplus_backward.default(
        head_grad, data, 1, 20
    ),
}


@activation.derivative("data", when=lambda p: p.act_type in _DERIVATIVES)
def _(p: Params, head_grad: Tensor, output: Tensor, data: Tensor) -> Tensor:
    return _DERIVATIVES[p.act_type](head_grad, output, data)


@operator(
    "LeakyReLU",
    skip=lambda name, p: name == "gamma" and p.act_type != "prelu",
    inits={"gamma": '["Constant", {"value": 0.25}]'},
    outputs=lambda p: ("output", "mask") if p.act_type == "rrelu" else ("output",),
    draws=lambda p, training: training and p.act_type == "rrelu",
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

    Examples
    --------
    >>> leaky_relu(torch.tensor([-2.0, 2.0]), slope=0.25)
    tensor([-0.5000,  2.0000])
    >>> leaky_relu(torch.tensor([[-2.0, -2.0]]), torch.tensor([0.5, 0.25]), act_type="prelu")
    tensor([[-1.0000, -0.5000]])
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
        # The expected slope (Xu et al., 2015), so that inference is deterministic.
        return F.leaky_relu(data, (lower_bound + upper_bound) / 2), torch.zeros_like(data)
    # The slopes are drawn, not computed from data: the gradient sees them as constants.
    with torch.no_grad():
        slopes = draws.uniform(
            data.shape, generator, dtype=data.dtype, device=data.device, low=lower_bound, high=upper_bound
        )
        # Where x is positive the slope is 1, and the mask, which is an output, holds it.
        slopes.masked_fill_(data > 0, 1.0)
    return data * slopes, slopes


@leaky_relu.derivative("data", when=lambda p: p.act_type == "leaky")
def _(p: Params, head_grad: Tensor, output: Tensor, data: Tensor) -> Tensor:
    return torch.ops.aten.leaky_relu_backward.default(head_grad, data, p.slope, False)


@leaky_relu.check
def _(p: Params) -> str | None:
    if p.act_type == "rrelu" and p.lower_bound > p.upper_bound:
        return f"lower_bound must not exceed upper_bound {p.upper_bound}; got {p.lower_bound}"
    return None


@leaky_relu.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    data, gamma = shapes["data"], shapes.get("gamma")
    # A gamma of one element is shared by all channels; nothing says so but its own shape.
    if p.act_type != "prelu" or data is None or gamma == (1,):
        return {}
    if len(data) < 2:
        raise ShapeError(f"data must have a channel axis (1) for act_type 'prelu'; got shape {data}")
    return {"gamma": (data[1],)}


@leaky_relu.output_shapes
def _(shapes: Shapes, p: Params) -> list[Shape | None]:
    data = shapes["data"]
    if data is None or p.act_type == "prelu":  # whose slopes must fit the channels
        return []
    return [data] * (2 if p.act_type == "rrelu" else 1)


@leaky_relu.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return {"data": outputs[0]}
