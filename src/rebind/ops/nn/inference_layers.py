"""Layers as inference runs them: batch norms folded into weights, convolutions with what follows them in one call.

Neither MXNet's operators nor the user's: passes put them into graphs that run in inference. Those marked ``retained``
depend on parameters alone, and their results are retained from run to run.
"""

from __future__ import annotations

from math import prod
from operator import attrgetter
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from ..._torch import onednn
from ..._torch.functions import convolve_by_product
from ...params import Params
from .._signatures import with_interface_of
from .._types import NumericType
from ..declaration import InPlace, Kernels, Operator, Record, Shapes, read_signature
from .memory_order import channels_last

__all__ = [
    "CAST_PARAMETER",
    "FOLD_BATCH_NORM",
    "FOLD_NORM_BEFORE",
    "FUSED_CONVOLUTION",
    "FUSED_DECONVOLUTION",
    "PACK_FILTERS",
    "PACK_TRANSPOSED_FILTERS",
    "TINY_CONVOLUTION",
    "can_fuse",
    "have_same_layout",
]

Ints: TypeAlias = tuple[int, ...]

_form_of = attrgetter("shape", "dtype", "device", "layout")


def can_fuse(dtype: torch.dtype | None) -> bool:
    """Whether this PyTorch has oneDNN's convolutions with what follows them for a type, and they are not switched off.

    >>> can_fuse(torch.float64)
    False
    """
    return onednn.has(*onednn.CONVOLUTIONS) and onednn.computes(dtype)


def _cast_parameter(data: Tensor, *, dtype: NumericType) -> Tensor:
    return data.to(dtype=dtype)


#: A parameter in another type.
CAST_PARAMETER = Operator(
    "_cast_parameter",
    read_signature(_cast_parameter),
    Kernels(_cast_parameter, prepared=True),
)


def _filters_channels_last(weight: Tensor) -> Tensor:
    return channels_last(weight)


#: The filters of a convolution with their channels last in memory.
FILTERS_CHANNELS_LAST = Operator(
    "_filters_channels_last",
    read_signature(_filters_channels_last),
    Kernels(_filters_channels_last, prepared=True),
)


def _scale_of(gamma: Tensor, moving_var: Tensor, eps: float, fix_gamma: bool) -> Tensor:
    """What a batch norm multiplies channels by; in double precision: results are rounded once, not three times."""
    scale = (moving_var.double() + eps).rsqrt_()
    return scale if fix_gamma else scale.mul_(gamma)


def _fold_batch_norm(
    weight: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    bias: Tensor | None = None,
    *,
    eps: float,
    fix_gamma: bool,
    no_bias: bool,
    transposed_groups: int = 0,
) -> tuple[Tensor, Tensor]:
    """Weight and bias of a layer that gives what the layer and the batch norm after it give in inference.

    Shapes
    ------
    weight : (C, ...), or (M, C / transposed_groups, ...) of a deconvolution
    bias, gamma, beta, moving_mean, moving_var : (C,)

    References
    ----------
    Jacob et al., Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference,
    section 3.2.

    Examples
    --------
    >>> one, two = torch.ones(1), torch.full((1,), 2.0)
    >>> _fold_batch_norm(torch.ones(1, 2), two, one, one, one, eps=0.0, fix_gamma=False, no_bias=True)
    (tensor([[2., 2.]]), tensor([-1.]))
    """
    scale = _scale_of(gamma, moving_var, eps, fix_gamma)
    shift = -moving_mean.double() if bias is None else bias.double() - moving_mean
    shift, scale = shift.mul_(scale).add_(beta), scale.to(dtype=weight.dtype)
    return _filters_times(scale, weight, transposed_groups), shift.to(dtype=weight.dtype)


def _filters_times(scale: Tensor, weight: Tensor, transposed_groups: int) -> Tensor:
    """Weights of `_fold_batch_norm`, each filter times its number."""
    if not transposed_groups:
        return weight * scale.view(-1, *[1] * (weight.dim() - 1))
    # (groups, channels of a group, filters of a group, elements of a filter)
    apart = weight.reshape(transposed_groups, weight.shape[0] // transposed_groups, weight.shape[1], -1)
    return (apart * scale.view(transposed_groups, 1, -1, 1)).view(weight.shape)


def _without_bias(name: str, p: Params) -> bool:
    return name == "bias" and p.no_bias


#: Weight and bias from those of a layer and what its batch norm has.
FOLD_BATCH_NORM = Operator(
    "_fold_batch_norm",
    read_signature(_fold_batch_norm, aux=("moving_mean", "moving_var"), skip=_without_bias),
    # The states are read only; what is not returned does not change.
    Kernels(_fold_batch_norm, prepared=True, writes_aux=True),
    record=Record(outputs=("weight", "bias")),
)


def _fold_norm_before(
    weight: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    bias: Tensor | None = None,
    *,
    eps: float,
    fix_gamma: bool,
    no_bias: bool,
    num_group: int,
) -> tuple[Tensor, Tensor]:
    """Weight and bias of a layer that gives what the batch norm before it and the layer give in inference.

    Shapes
    ------
    weight : (M, C / num_group, ...), or (M, C * size) with the elements of a channel side by side
    gamma, beta, moving_mean, moving_var : (C,)
    bias : (M,)

    Examples
    --------
    >>> one, two = torch.ones(1), torch.full((1,), 2.0)
    >>> p = {"eps": 0.0, "fix_gamma": False, "no_bias": True, "num_group": 1}
    >>> _fold_norm_before(torch.ones(1, 2), two, one, one, one, **p)
    (tensor([[2., 2.]]), tensor([-2.]))
    """
    scale = _scale_of(gamma, moving_var, eps, fix_gamma)
    shift = beta.double() - moving_mean * scale
    exact = weight.double()
    added = _channels_times(shift, exact, num_group).flatten(1).sum(1)
    if bias is not None:
        added += bias
    folded = _channels_times(scale, exact, num_group)
    return folded.to(dtype=weight.dtype), added.to(dtype=weight.dtype)


def _channels_times(scale: Tensor, weight: Tensor, num_group: int) -> Tensor:
    """Weights of `_fold_norm_before`, what is multiplied by a channel times its number."""
    channels = scale.shape[0] // num_group
    # (groups, filters of a group, channels of a group, elements of a channel)
    apart = weight.reshape(num_group, weight.shape[0] // num_group, channels, -1)
    return (apart * scale.view(num_group, 1, channels, 1)).reshape(weight.shape)


#: Weight and bias from those of a layer and what the batch norm before it has.
FOLD_NORM_BEFORE = Operator(
    "_fold_norm_before",
    read_signature(_fold_norm_before, aux=("moving_mean", "moving_var"), skip=_without_bias),
    # The states are read only.
    Kernels(_fold_norm_before, prepared=True, writes_aux=True),
    record=Record(outputs=("weight", "bias")),
)


def _pack_filters(
    weight: Tensor, *, stride: Ints, pad: Ints, dilate: Ints, num_group: int, data_shape: Ints
) -> Tensor:
    """The filters of a convolution in the layout in which oneDNN is quickest for data of a shape."""
    found: Tensor = onednn.pack_convolution(
        weight.contiguous(), list(pad), list(stride), list(dilate), num_group, list(data_shape)
    )
    return found


def have_same_layout(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are of one shape, type and device, and their values in the same places, packed ones too.

    >>> (
    ...     have_same_layout(torch.ones(2, 3), torch.zeros(2, 3)),
    ...     have_same_layout(torch.ones(2, 3), torch.ones(3, 2).t()),
    ... )
    (True, False)
    """
    if _form_of(one) != _form_of(other):
        return False
    if one.layout is torch.strided:
        return one.stride() == other.stride()
    describe = onednn.describe_layout
    return describe is not None and torch.equal(describe(one), describe(other))


#: The filters of a convolution as `FUSED_CONVOLUTION` takes them.
PACK_FILTERS = Operator("_pack_filters", read_signature(_pack_filters), Kernels(_pack_filters, prepared=True))


def _pack_transposed_filters(
    weight: Tensor, *, stride: Ints, pad: Ints, adj: Ints, dilate: Ints, num_group: int, data_shape: Ints
) -> Tensor:
    """The filters of a deconvolution in the layout in which oneDNN is quickest for data of a shape."""
    given = (list(pad), list(adj), list(stride), list(dilate), num_group, list(data_shape))
    found: Tensor = onednn.pack_transposed_convolution(weight.contiguous(), *given)
    return found


#: The filters of a deconvolution as `FUSED_DECONVOLUTION` takes them.
PACK_TRANSPOSED_FILTERS = Operator(
    "_pack_transposed_filters",
    read_signature(_pack_transposed_filters),
    Kernels(_pack_transposed_filters, prepared=True),
)


def _fused_convolution(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    addend: Tensor | None = None,
    *,
    stride: Ints,
    pad: Ints,
    dilate: Ints,
    num_group: int,
    no_bias: bool,
    adds: bool,
    activation: str,
    numbers: tuple[float, ...],
) -> Tensor:
    """Convolution, then the sum with `addend` (with `adds`), then an activation, in one pass over memory.

    The weight is packed. `activation` and its `numbers` are by PyTorch's names: ``'leaky_relu'``, ``(0.1,)``. In memory
    the result has its channels last.
    """
    given = (list(pad), list(stride), list(dilate), num_group)
    if not adds:
        out: Tensor = onednn.convolution(data, weight, bias, *given, activation, list(numbers), "")
        return out
    assert addend is not None
    if torch.compiler.is_compiling():
        # Inductor makes one call of them itself, in the addend's memory where it is the last to read that.
        total: Tensor = onednn.convolution(data, weight, bias, *given, "none", [], "") + addend
        return total.relu() if activation == "relu" else total
    out = onednn.convolution.binary(
        data, addend, weight, bias, *given, "add", 1.0, _or_none(activation), list(numbers), ""
    )
    return out


def _fused_convolution_over_addend(
    data: Tensor, weight: Tensor, bias: Tensor | None, addend: Tensor, **keywords: Any
) -> Tensor:
    given = (*(list(keywords[name]) for name in ("pad", "stride", "dilate")), keywords["num_group"])
    then = (_or_none(keywords["activation"]), list(keywords["numbers"]), "")
    out: Tensor = onednn.convolution_over_addend.binary(addend, data, weight, bias, *given, "add", 1.0, *then)
    return out


def _tiny_convolution(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    kernel: Ints,
    stride: Ints,
    pad: Ints,
    no_bias: bool,
) -> Tensor:
    """Convolution without oneDNN: one product of matrices for each image."""
    if torch.compiler.is_compiling():  # it chooses by itself
        return F.conv2d(data, weight, bias, stride, pad)
    return convolve_by_product(data.contiguous(), weight, kernel, bias, stride, pad)


#: A convolution of so few products that to describe it to oneDNN would take longer.
TINY_CONVOLUTION = Operator(
    "_tiny_convolution",
    read_signature(_tiny_convolution, skip=_without_bias),
    Kernels(_tiny_convolution, owns_output=True),
)


def _or_none(activation: str) -> str | None:
    # Of sums PyTorch says it in another way.
    return None if activation == "none" else activation


def _without_addend(name: str, p: Params) -> bool:
    return _without_bias(name, p) or (name == "addend" and not p.adds)


#: A convolution with the sum and the activation that follow it.
FUSED_CONVOLUTION = Operator(
    "_fused_convolution",
    read_signature(_fused_convolution, skip=_without_addend),
    Kernels(
        _fused_convolution,
        owns_output=True,
        in_place={"addend": InPlace(_fused_convolution_over_addend)},
    ),
)


@with_interface_of(_fused_convolution, without=("activation", "numbers"))
def _rectified_convolution(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, addend: Tensor | None = None, **keywords: Any
) -> Tensor:
    """Convolution, then the sum with `addend` (with `adds`), then relu, on a GPU in one pass over memory."""
    given = (*(list(keywords[name]) for name in ("stride", "pad", "dilate")), keywords["num_group"])
    if torch.backends.cudnn.enabled:
        try:
            if addend is None:
                return torch.cudnn_convolution_relu(data, weight, bias, *given)
            return torch.cudnn_convolution_add_relu(data, weight, addend, 1.0, bias, *given)
        except RuntimeError:  # it has no such kernel for some shapes, groups and devices
            pass
    out = F.conv2d(data, weight, bias, *given)
    return (out if addend is None else out.add_(addend)).relu_()


#: A convolution with the sum and the relu that follow it, as cuDNN has them.
RECTIFIED_CONVOLUTION = Operator(
    "_rectified_convolution",
    read_signature(_rectified_convolution, skip=_without_addend),
    Kernels(_rectified_convolution, owns_output=True),
)


def _fused_deconvolution(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: Ints,
    pad: Ints,
    adj: Ints,
    dilate: Ints,
    num_group: int,
    no_bias: bool,
    activation: str,
    numbers: tuple[float, ...],
) -> Tensor:
    """Deconvolution, then an activation, in one pass over memory; as `_fused_convolution`, without a sum."""
    given = (list(pad), list(adj), list(stride), list(dilate), num_group)
    out: Tensor = onednn.transposed_convolution(data, weight, bias, *given, activation, list(numbers), "")
    return out


#: A deconvolution with the activation that follows it.
FUSED_DECONVOLUTION = Operator(
    "_fused_deconvolution",
    read_signature(_fused_deconvolution, skip=_without_bias),
    Kernels(_fused_deconvolution, owns_output=True),
)


@FUSED_CONVOLUTION.products
@RECTIFIED_CONVOLUTION.products
@TINY_CONVOLUTION.products
def _(shapes: Shapes, p: Params) -> int:
    data, weight = shapes["data"] or (0, 0), shapes["weight"] or (0, 0)
    dilate = p.get("dilate") or (1,) * len(p.stride)
    sizes = zip(data[2:], weight[2:], p.stride, p.pad, dilate, strict=True)
    windows = [(n + 2 * pad - d * (k - 1) - 1) // s + 1 for n, k, s, pad, d in sizes]
    return data[0] * prod(windows) * prod(weight)


@FUSED_DECONVOLUTION.products
def _(shapes: Shapes, p: Params) -> int:
    # Packed, the weight begins with the filters.
    data, weight = shapes["data"] or (0, 0), shapes["weight"] or (0, 0)
    return prod(data) * (weight[0] // p.num_group) * prod(weight[2:])
