"""Layers of quantized arrays that sum products: fully connected, convolution."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from math import prod
from typing import Annotated, TypeVar

import torch
from torch import Tensor

from ...errors import ParameterError, ShapeError
from ...params import AtLeast, Params
from ...shapes import Shape
from .._signatures import arguments, array, with_signature
from .._types import Count
from ..declaration import Operator, Shapes, operator
from ..nn import convolution, linear
from ..nn.layout import channels_last, to_channels_first, to_channels_last
from ._levels import INT32_LEVELS, LEVELS, require
from ._products import bias_levels
from ._products import convolution as exact_convolution
from ._products import linear as exact_linear
from ._ranges import magnitude, scalars

__all__ = ["quantized_conv", "quantized_fully_connected"]

T = TypeVar("T")

_OUTPUTS = ("output", "min_output", "max_output")
_RANGE = {"min_output": torch.float32, "max_output": torch.float32}
_LEVELS_TYPES = (torch.int8, torch.uint8)
_ENDS = ("min_data", "max_data", "min_weight", "max_weight", "min_bias", "max_bias")


def _sums_types(p: Params) -> dict[str, torch.dtype]:
    kinds = dict.fromkeys(_ENDS, torch.float32)
    return {"weight": torch.int8, "bias": torch.int8, **kinds, "output": torch.int32, **_RANGE}


def _no_bias(name: str, p: Params) -> bool:
    return p.no_bias and name in ("bias", "min_bias", "max_bias")


def _arguments(
    no_bias: bool, data: Tensor, weight: Tensor, inputs: tuple[Tensor | None, ...]
) -> tuple[Tensor, Tensor, Tensor | None, Tensor, Tensor, Tensor | None]:
    """Return data, weight and bias, and their largest absolute values, from what follows the weight."""
    present = [array for array in inputs if array is not None]
    # Two ends for the data and two for the weight; with a bias, that and its two ends.
    wanted = 4 if no_bias else 7
    if len(present) != wanted:
        raise ParameterError(
            f"needs {'' if no_bias else 'bias, '}{', '.join(_ENDS[: 4 if no_bias else 6])} "
            f"after weight with no_bias={no_bias}; got {len(present)} arrays"
        )
    bias = None if no_bias else present.pop(0)
    data = require("data", data, *_LEVELS_TYPES)
    weight = require("weight", weight, torch.int8)
    if bias is not None:
        bias = require("bias", bias, torch.int8)
    # Without a bias its range is absent too, and `present` ends before it.
    ends = dict(zip(_ENDS, present, strict=False))
    largest = [
        magnitude(**{name: ends[name] for name in pair})
        for pair in (_ENDS[:2], _ENDS[2:4], _ENDS[4:])
        if pair[0] in ends
    ]
    return data, weight, bias, largest[0], largest[1], largest[2] if bias is not None else None


def _finish(
    sums: Tensor, data: Tensor, weight: Tensor, bias: Tensor | None, of_data: Tensor, of_weight: Tensor,
    of_bias: Tensor | None, axis: int,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Add the bias to sums of products, and say what range the whole int32 has then."""
    if bias is not None and of_bias is not None:
        terms = prod(weight.shape[1:])
        levels = bias_levels(bias, of_bias, data, of_data, of_weight, terms)
        # (num_filter, 1, ..., 1): `axis` counts from the end, and as many axes follow the channels.
        sums = sums.add_(levels.reshape(-1, *(1,) * (-1 - axis)))
    # The real number that the largest int32 represents.
    reach = (of_data / LEVELS[data.dtype]) * (of_weight / LEVELS[torch.int8]) * INT32_LEVELS
    return sums, -reach, reach


def _layer(base: Operator) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Give a function the interface of a layer, with the ranges of its inputs after these; a decorator."""
    # Optional, as without a bias two of them are absent; `_arguments` counts those that are there.
    named = [*arguments(base.kernels.function), *(array(name, optional=True) for name in _ENDS)]

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        return with_signature(function, function.__name__, inspect.getdoc(function) or "", named)

    return decorate


@operator(
    "_contrib_quantized_fully_connected",
    skip=_no_bias,
    outputs=_OUTPUTS,
    types=_sums_types,
    head_gradient=False,
)
@_layer(linear.fully_connected)
def quantized_fully_connected(
    data: Tensor,
    weight: Tensor,
    *others: Tensor | None,
    num_hidden: Annotated[int, AtLeast(1)],
    no_bias: bool = False,
    flatten: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """``data @ weight.T + bias`` in whole numbers: exact sums in int32.

    The bias, which has a range of its own, is converted to the levels of the sums and cut towards 0.

    Parameters
    ----------
    num_hidden
        Size of the last axis of the result.
    no_bias
        Leave the bias and its range out; the layer then has no such inputs.
    flatten
        Count all axes of `data` but the first as one; otherwise the map is applied along the last axis.

    Shapes
    ------
    data : (N, ...)            int8 or uint8; with ``flatten=False``: (..., C)
    weight : (num_hidden, C)   int8
    bias : (num_hidden,)       int8
    min_data, max_data, min_weight, max_weight, min_bias, max_bias : (1,)
    output : (N, num_hidden)   int32; with ``flatten=False``: (..., num_hidden)
    min_output, max_output : (1,)     of the whole int32

    >>> one = torch.tensor([1.0])
    >>> data, weight = torch.tensor([[1, 2]], dtype=torch.int8), torch.tensor([[3, 4]], dtype=torch.int8)
    >>> quantized_fully_connected(data, weight, None, -one, one, -one, one, num_hidden=1, no_bias=True)[0]
    tensor([[11]], dtype=torch.int32)
    """
    data, weight, bias, of_data, of_weight, of_bias = _arguments(no_bias, data, weight, others)
    rows = linear.as_rows(data) if flatten else data
    if weight.shape != (num_hidden, rows.shape[-1]):
        raise ShapeError(
            f"weight must have shape {(num_hidden, rows.shape[-1])} to match data {tuple(data.shape)}; "
            f"got {tuple(weight.shape)}"
        )
    # The exact product takes matrices only: the leading axes become one.
    sums = exact_linear(rows.reshape(prod(rows.shape[:-1]), rows.shape[-1]), weight).reshape(
        *rows.shape[:-1], num_hidden
    )
    return _finish(sums, data, weight, bias, of_data, of_weight, of_bias, -1)


@operator("_contrib_quantized_conv", skip=_no_bias, outputs=_OUTPUTS, types=_sums_types, head_gradient=False)
@_layer(convolution.convolution)
def quantized_conv(
    data: Tensor,
    weight: Tensor,
    *others: Tensor | None,
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
    num_group: Count = 1,
    no_bias: bool = False,
    layout: convolution.Layout | None = None,
    **without_effect: int | str | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Correlation of quantized data with a bank of filters: exact sums in int32.

    MXNet's CPU build takes uint8 data, two or three spatial axes, one group and channels first. It gives such data
    the range of int8, so that all results count twice, and adds the bias as if its levels were those of the sums.
    Here every combination that `Convolution` takes works, and the range and the bias are right.

    Parameters
    ----------
    kernel, stride, dilate, pad, num_filter, num_group, layout
        As in `Convolution`.
    no_bias
        Leave the bias and its range out; the layer then has no such inputs.
    workspace, cudnn_tune, cudnn_off
        No effect here; accepted for old programs.

    Shapes
    ------
    data : (N, C, *spatial)                           int8 or uint8; with channels last: (N, *spatial, C)
    weight : (num_filter, C / num_group, *kernel)     int8; with channels last: (num_filter, *kernel, C / num_group)
    bias : (num_filter,)                              int8
    min_data, max_data, min_weight, max_weight, min_bias, max_bias : (1,)
    output : (N, num_filter, *windows)                int32
    min_output, max_output : (1,)                     of the whole int32

    Examples
    --------
    >>> one = torch.tensor([1.0])
    >>> data, weight = (
    ...     torch.full((1, 1, 3), 100, dtype=torch.int8),
    ...     torch.full((1, 1, 2), 2, dtype=torch.int8),
    ... )
    >>> quantized_conv(data, weight, None, -one, one, -one, one, kernel=(2,), num_filter=1, no_bias=True)[0]
    tensor([[[400, 400]]], dtype=torch.int32)
    """
    data, weight, bias, of_data, of_weight, of_bias = _arguments(no_bias, data, weight, others)
    convolution.check_data(data, weight, kernel)
    last = channels_last(layout)
    if last:
        data, weight = to_channels_first(data), to_channels_first(weight)
    sums = exact_convolution(data, weight, stride, pad, dilate, num_group)
    sums, low, high = _finish(sums, data, weight, bias, of_data, of_weight, of_bias, -1 - len(kernel))
    return to_channels_last(sums) if last else sums, low, high


def _renamed(shapes: Shapes, p: Params, op: Operator) -> Shapes:
    """Return the shapes that follow as in the layer of real numbers, and those of the ranges."""
    found = {name: shape for name, shape in op.inference.filled_shapes(shapes, p).items() if name in shapes}
    return {**found, **{name: shape for name, shape in scalars(*_ENDS).items() if name in shapes}}


@quantized_fully_connected.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    return _renamed(shapes, p, linear.fully_connected)


@quantized_conv.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    return _renamed(shapes, p, convolution.convolution)


@quantized_conv.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return convolution.convolution.inference.shapes_of_inputs(shapes, outputs, p)


@quantized_fully_connected.shapes_from_outputs
def _(shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
    return linear.fully_connected.inference.shapes_of_inputs(shapes, outputs, p)


quantized_conv.check(convolution.check_parameters)
