"""Layers on quantized arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from math import prod
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import torch
from torch import Tensor

from ...errors import ParameterError, ShapeError
from ...params import AtLeast, Params
from ...shapes import Shape
from .._signatures import arguments, array, with_interface_of, with_signature
from ..nn import convolution, linear, pooling
from ..nn._layout import channels_last, to_channels_first, to_channels_last
from ..spec import Operator, Shapes, operator
from ._levels import INT32_LEVELS, LEVELS, magnitude, require, scalars
from ._products import bias_levels
from ._products import convolution as exact_convolution
from ._products import linear as exact_linear

__all__ = [
    "quantized_act", "quantized_conv", "quantized_embedding", "quantized_flatten", "quantized_fully_connected",
    "quantized_pooling",
]  # fmt: skip

T = TypeVar("T")
Pool: TypeAlias = Literal["avg", "lp", "max", "sum"]

_OUTPUTS = ("output", "min_output", "max_output")
_RANGE = {"min_output": torch.float32, "max_output": torch.float32}
_LEVELS_TYPES = (torch.int8, torch.uint8)
_ENDS = ("min_data", "max_data", "min_weight", "max_weight", "min_bias", "max_bias")


# ---- sums of products ---------------------------------------------------------------------------------


def _sums_types(p: Params) -> dict[str, Any]:
    kinds = dict.fromkeys(_ENDS, torch.float32)
    return {"weight": torch.int8, "bias": torch.int8, **kinds, "output": torch.int32, **_RANGE}


def _no_bias(name: str, p: Params) -> bool:
    return p.no_bias and name in ("bias", "min_bias", "max_bias")


def _arguments(
    no_bias: bool, data: Tensor, weight: Tensor, inputs: tuple[Tensor | None, ...]
) -> tuple[Tensor, Tensor, Tensor | None, Tensor, Tensor, Tensor | None]:
    """Return data, weight and bias, and their largest absolute values, from what follows the weight."""
    present = [array for array in inputs if array is not None]
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
        sums = sums.add_(levels.reshape(-1, *(1,) * (-1 - axis)))
    reach = (of_data / LEVELS[data.dtype]) * (of_weight / LEVELS[torch.int8]) * INT32_LEVELS
    return sums, -reach, reach


def _layer(base: Operator) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Give a function the interface of a layer, with the ranges of its inputs after these; a decorator."""
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
    num_group: Annotated[int, AtLeast(1)] = 1,
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
    """Return the shapes that follow as in the layer that this one stands for, and those of the ranges."""
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


# ---- what leaves the range as it is -------------------------------------------------------------------


def _same_range(min_data: Tensor, max_data: Tensor) -> tuple[Tensor, Tensor]:
    magnitude(min_data=min_data, max_data=max_data)  # for its check
    return min_data.clone(), max_data.clone()


@operator(
    "_contrib_quantized_act",
    outputs=_OUTPUTS,
    types={"min_data": torch.float32, "max_data": torch.float32, **_RANGE},
    head_gradient=False,
)
def quantized_act(
    data: Tensor,
    min_data: Tensor,
    max_data: Tensor,
    *,
    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"],
) -> tuple[Tensor, Tensor, Tensor]:
    """Rectifier of quantized data: negative levels become 0; the range stays as it is.

    What is uint8 passes as it is. MXNet reads its bytes as int8 then.

    Parameters
    ----------
    act_type
        ``'relu'``: of the functions that `Activation` knows only this one maps levels to levels.

    Shapes
    ------
    data, output : (...)     int8 or uint8
    min_data, max_data, min_output, max_output : (1,)
    """
    data = require("data", data, *_LEVELS_TYPES)
    return data.clamp(min=0), *_same_range(min_data, max_data)


@quantized_act.check
def _(p: Params) -> str | None:
    if p.act_type != "relu":
        return f"act_type must be 'relu'; got {p.act_type!r}. Dequantize the data for the other functions."
    return None


@operator(
    "_contrib_quantized_flatten",
    outputs=_OUTPUTS,
    types={"min_data": torch.float32, "max_data": torch.float32, **_RANGE},
    head_gradient=False,
)
def quantized_flatten(data: Tensor, min_data: Tensor, max_data: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """All axes but the first as one; the range stays as it is.

    Shapes
    ------
    data : (N, ...)
    output : (N, C)     C = product of the trailing axes of data
    min_data, max_data, min_output, max_output : (1,)
    """
    return linear.as_rows(data), *_same_range(min_data, max_data)


@operator(
    "_contrib_quantized_pooling",
    outputs=_OUTPUTS,
    types={"min_data": torch.float32, "max_data": torch.float32, **_RANGE},
    head_gradient=False,
)
@with_interface_of(pooling.pooling.kernels.function)
def quantized_pooling(
    data: Tensor, min_data: Tensor, max_data: Tensor, *, pool_type: Pool = "max", **settings: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Maximum or mean over windows of quantized data; a mean is rounded, halves to even. The range stays as it is.

    MXNet takes two or three spatial axes and channels first, and divides the mean of a window that is cut short
    (``pooling_convention='full'``) by the size of the whole window, other than its `Pooling`.

    Parameters
    ----------
    pool_type
        ``'max'`` or ``'avg'``; the others leave the range of the data.
    kernel, global_pool, pooling_convention, stride, pad, count_include_pad, layout
        As in `Pooling`.
    p_value, cudnn_off
        No effect here.

    Shapes
    ------
    data : (N, C, *spatial)       int8 or uint8; with channels last: (N, *spatial, C)
    output : (N, C, *windows)     of the type of data
    min_data, max_data, min_output, max_output : (1,)
    """
    data = require("data", data, *_LEVELS_TYPES)
    # Whole numbers below 2**24 are exact in float32: so is the sum of any window of fewer than 65793 elements.
    out = pooling.pooling.kernels.function(data.float(), pool_type=pool_type, **settings)
    if pool_type == "avg":
        out = out.round_()
    return out.to(data.dtype), *_same_range(min_data, max_data)


@quantized_pooling.check
def _(p: Params) -> str | None:
    if p.pool_type not in ("max", "avg"):
        return f"pool_type must be 'max' or 'avg'; got {p.pool_type!r}"
    rule = pooling.pooling.signature.check
    return rule(p) if rule else None


@quantized_pooling.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    pooling.check_fits(shapes["data"], p)
    return scalars("min_data", "max_data")


@quantized_act.fill_shapes
@quantized_flatten.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    return scalars("min_data", "max_data")


@operator(
    "_contrib_quantized_embedding",
    outputs=_OUTPUTS,
    types={
        "data": "any",
        "weight": torch.int8,
        "min_weight": torch.float32,
        "max_weight": torch.float32,
        "output": torch.int8,
        **_RANGE,
    },
    head_gradient=False,
)
@with_interface_of(linear.embedding.kernels.function)
def quantized_embedding(
    data: Tensor,
    weight: Tensor,
    min_weight: Tensor,
    max_weight: Tensor,
    *,
    input_dim: Annotated[int, AtLeast(1)],
    output_dim: Annotated[int, AtLeast(1)],
    **without_effect: torch.dtype | bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of a table in int8 chosen by the indices in `data`; the range stays as it is.

    An index may be of any type and is cut to an integer; one outside of the table takes the nearest row.

    Parameters
    ----------
    input_dim
        Number of rows: the size of the vocabulary.
    output_dim
        Size of a row.
    dtype, sparse_grad
        No effect here: the table is int8 and has no gradient.

    Shapes
    ------
    data : (...)
    weight : (input_dim, output_dim)     int8
    output : (..., output_dim)           int8
    min_weight, max_weight, min_output, max_output : (1,)
    """
    weight = require("weight", weight, torch.int8)
    if weight.shape != (input_dim, output_dim):
        raise ShapeError(f"weight must have shape {(input_dim, output_dim)}; got {tuple(weight.shape)}")
    chosen = weight.index_select(0, data.reshape(-1).long().clamp_(0, input_dim - 1))
    magnitude(min_weight=min_weight, max_weight=max_weight)
    return chosen.reshape(*data.shape, output_dim), min_weight.clone(), max_weight.clone()


@quantized_embedding.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    return {"weight": (p.input_dim, p.output_dim), **scalars("min_weight", "max_weight")}
