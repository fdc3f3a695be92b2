"""Layers of quantized arrays whose results have the range of their data: rectifier, flattening, pooling, embedding."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import torch
from torch import Tensor

from ..._torch import onednn
from ...errors import ShapeError
from ...params import AtLeast, Params
from .._signatures import with_interface_of
from ..declaration import Shapes, operator
from ..nn import linear, pooling
from ._levels import other_sign, require
from ._ranges import require_ends, scalars

__all__ = ["quantized_act", "quantized_embedding", "quantized_flatten", "quantized_pooling"]

Pool: TypeAlias = Literal["avg", "lp", "max", "sum"]

_OUTPUTS = ("output", "min_output", "max_output")
_RANGE = {"min_output": torch.float32, "max_output": torch.float32}
_LEVELS_TYPES = (torch.int8, torch.uint8)


def _same_range(min_data: Tensor, max_data: Tensor) -> tuple[Tensor, Tensor]:
    require_ends(min_data=min_data, max_data=max_data)
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

    Examples
    --------
    >>> one = torch.tensor([1.0])
    >>> quantized_act(torch.tensor([-5, 5], dtype=torch.int8), -one, one, act_type="relu")
    (tensor([0, 5], dtype=torch.int8), tensor([-1.]), tensor([1.]))
    """
    data = require("data", data, *_LEVELS_TYPES)
    # Zero is level 0 in both types, so that the levels can be cut themselves.
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

    Examples
    --------
    >>> one = torch.tensor([1.0])
    >>> quantized_flatten(torch.zeros(2, 3, 4, dtype=torch.int8), -one, one)[0].shape
    torch.Size([2, 12])
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

    Examples
    --------
    >>> one, data = torch.tensor([1.0]), torch.tensor([[[1, 4, 2, 8]]], dtype=torch.int8)
    >>> quantized_pooling(data, -one, one, kernel=(2,), stride=(2,))[0]
    tensor([[[4, 8]]], dtype=torch.int8)
    """
    data = require("data", data, *_LEVELS_TYPES)
    if pool_type == "max" and (most := _greatest(data, **settings)) is not None:
        return most, *_same_range(min_data, max_data)
    # Whole numbers below 2**24 are exact in float32: so is the sum of any window of fewer than 65793 elements.
    out = pooling.pooling.kernels.function(data.float(), pool_type=pool_type, **settings)
    if pool_type == "avg":
        out = out.round_()
    return out.to(dtype=data.dtype), *_same_range(min_data, max_data)


def _greatest(
    data: Tensor,
    *,
    kernel: tuple[int, ...] = (),
    stride: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
    global_pool: bool = False,
    pooling_convention: str = "valid",
    layout: str | None = None,
    **without_effect: object,
) -> Tensor | None:
    """Return the maximum over windows, of the bytes themselves; None where PyTorch has none for that."""
    known = data.device.type == "cpu" and data.dim() == 4 and len(kernel) == 2 and layout in (None, "NCHW")
    if (
        onednn.largest_byte is None
        or not known
        or global_pool
        or pooling_convention != "valid"
        or not data.numel()
    ):
        return None
    stride, pad = stride or (1, 1), pad or (0, 0)
    sizes = zip(data.shape[2:], kernel, pad, strict=True)
    if not all(2 * beside <= width <= size + 2 * beside for size, width, beside in sizes):
        return None
    signed = data.dtype is torch.int8
    windows = (list(kernel), list(stride), list(pad), [1, 1], False)
    # It takes uint8 alone.
    out: Tensor = onednn.largest_byte(other_sign(data) if signed else data, *windows)
    return other_sign(out) if signed else out


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

    Examples
    --------
    >>> one, weight = torch.tensor([1.0]), torch.tensor([[1, 2], [3, 4]], dtype=torch.int8)
    >>> quantized_embedding(torch.tensor([1.0]), weight, -one, one, input_dim=2, output_dim=2)[0]
    tensor([[3, 4]], dtype=torch.int8)
    """
    weight = require("weight", weight, torch.int8)
    if weight.shape != (input_dim, output_dim):
        raise ShapeError(f"weight must have shape {(input_dim, output_dim)}; got {tuple(weight.shape)}")
    # Clipped as MXNet does: an index outside of the table takes the nearest row.
    chosen = weight.index_select(0, data.reshape(-1).long().clamp_(0, input_dim - 1))
    require_ends(min_weight=min_weight, max_weight=max_weight)
    return chosen.reshape(*data.shape, output_dim), min_weight.clone(), max_weight.clone()


@quantized_embedding.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    return {"weight": (p.input_dim, p.output_dim), **scalars("min_weight", "max_weight")}
