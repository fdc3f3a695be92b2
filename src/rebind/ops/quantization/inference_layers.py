"""Layers of 8-bit whole numbers as inference runs them: weights held to levels, and convolutions of oneDNN on levels.

Neither MXNet's operators nor the user's: passes put them into graphs. Those marked ``held`` depend on parameters alone,
and their results are retained from run to run.
"""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

import torch
from torch import Tensor

from ..._torch import onednn
from ...params import Params
from .._types import NumericType
from ..declaration import Inference, InPlace, Kernels, Operator, Record, read_signature
from ._levels import (
    FINE,
    HIGHEST_BIT,
    INT32_LEVELS,
    LEVELS,
    levels_per_unit,
    other_sign,
    per_level,
    require,
    to_levels,
)
from ._ranges import magnitude

__all__ = [
    "AS_SUMS", "FILTER_LEVELS", "HOLD_ON_LEVELS", "INT8_ACTIVATIONS", "INT8_CONVOLUTION", "INT8_DENSE", "KNOWN_BIAS",
    "KNOWN_LEVELS", "PACK_DENSE_LEVELS", "PACK_LEVELS", "RANGE_END", "bias_factor", "can_compute_levels", "level_unit",
]  # fmt: skip

Ints: TypeAlias = tuple[int, ...]

#: Activations, by PyTorch's names, that its convolutions on levels compute in the same call.
INT8_ACTIVATIONS = frozenset({"none", "relu", "hardtanh"})


def level_unit(low: float, high: float, dtype: torch.dtype, of_sums: bool = False) -> float:
    """Return the real number that one level of an array is worth, for its range.

    Layers that give sums, and `_contrib_requantize`, count half a level less on each side (`of_sums`).

    >>> level_unit(-255.0, 1.0, torch.int8), level_unit(-254.0, 1.0, torch.int8, of_sums=True)
    (2.0, 2.0)
    """
    return max(abs(low), abs(high)) / (LEVELS if of_sums else FINE)[dtype]


def _largest(weight: Tensor, whole: bool) -> Tensor:
    """Return the largest absolute value of each filter, or of the whole weight; as many axes as it has."""
    axes = list(range(0 if whole else 1, weight.dim()))
    # No gradient comes to a quantized network.
    return weight.detach().abs().amax(axes, keepdim=True)


def _filter_levels(weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Levels in int8 of a layer's weights, what a level of each filter is worth, and its level of 0.

    Shapes
    ------
    weight, levels : (C, ...)
    units, zeros : (C,)

    >>> _filter_levels(torch.tensor([[0.5, -1.0], [10.0, 2.5]]))[0]
    tensor([[  64, -128],
            [ 127,   32]], dtype=torch.int8)
    """
    largest = _largest(weight, whole=False)
    levels = to_levels(weight, levels_per_unit(largest), torch.int8)
    units = largest.flatten() / FINE[torch.int8]
    return levels, units, torch.zeros_like(units, dtype=torch.int32)


def _known_levels(
    weight: Tensor, min_weight: Tensor, max_weight: Tensor, *, of_sums: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """The same of a weight that is levels already, with its range."""
    levels = (LEVELS if of_sums else FINE)[torch.int8]
    unit = magnitude(min_weight=min_weight, max_weight=max_weight) / levels
    units = unit.repeat(weight.shape[0])
    return weight, units, torch.zeros_like(units, dtype=torch.int32)


def _known_bias(bias: Tensor, min_bias: Tensor, max_bias: Tensor, *, times: float) -> Tensor:
    """A bias that is levels, with its range, in real numbers, `times` a number."""
    return bias * (magnitude(min_bias=min_bias, max_bias=max_bias) / FINE[torch.int8] * times)


def bias_factor(data: torch.dtype) -> float:
    """Return what a layer of sums of levels of a type multiplies its bias by, if its results are to be real numbers.

    MXNet counts the levels of the bias finely, and those of data and weight not.

    >>> round(bias_factor(torch.int8), 4)
    1.0079
    """
    return (FINE[data] / LEVELS[data]) * (FINE[torch.int8] / LEVELS[torch.int8])


#: The levels of a weight.
FILTER_LEVELS = Operator(
    "_filter_levels",
    read_signature(_filter_levels),
    Kernels(_filter_levels, prepared=True),
    record=Record(outputs=("levels", "units", "zeros")),
)


#: Levels that a file has.
KNOWN_LEVELS = Operator(
    "_known_levels",
    read_signature(_known_levels),
    Kernels(_known_levels, prepared=True),
    record=Record(outputs=("levels", "units", "zeros")),
)

#: A bias that a file has as levels.
KNOWN_BIAS = Operator("_known_bias", read_signature(_known_bias), Kernels(_known_bias, prepared=True))


def _hold_on_levels(weight: Tensor, *, whole: bool) -> Tensor:
    """A weight with each filter, or the whole, on the levels of int8 that its largest element sets.

    >>> _hold_on_levels(torch.tensor([[51.0, 10.3]]), whole=False)
    tensor([[50.8000, 10.4000]])
    """
    largest = _largest(weight, whole)
    levels = to_levels(weight, levels_per_unit(largest), torch.int8)
    return levels * (largest / FINE[torch.int8])


#: A weight as a quantized layer counts it, in real numbers.
HOLD_ON_LEVELS = Operator(
    "_hold_on_levels", read_signature(_hold_on_levels), Kernels(_hold_on_levels, prepared=True)
)


def _range_end(*, value: float, device: torch.device | None = None) -> Tensor:
    """One end of a range that is known."""
    return torch.full((1,), value, device=device)


#: An end of a range, made once: for nodes in the graph only, as nobody may write into it.
RANGE_END = Operator("_range_end", read_signature(_range_end), Kernels(_range_end, prepared=True))


def _as_sums(
    data: Tensor,
    levels: Tensor,
    min_data: Tensor,
    max_data: Tensor,
    weight: Tensor,
    max_weight: Tensor | None = None,
    *,
    has_range: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Results of a layer as the sums of products that they are: in int32, and the range of the whole int32.

    Shapes
    ------
    data : (...)                   the results, real numbers
    levels, min_data, max_data     the layer's data, whose type and range count
    weight                         its weight, whose largest element counts
    weight, max_weight             or, with `has_range`, the range of its weight
    """
    levels = require("data", levels, *FINE)
    of_data = magnitude(min_data=min_data, max_data=max_data)
    if max_weight is not None:
        of_weight = magnitude(min_weight=weight, max_weight=max_weight)
    else:
        of_weight = _largest(weight, whole=True).reshape(1)
    unit = (of_data / FINE[levels.dtype]) * (of_weight / FINE[torch.int8])
    # As MXNet says it, which counts sums in other levels than their terms.
    reach = (of_data / LEVELS[levels.dtype]) * (of_weight / LEVELS[torch.int8]) * INT32_LEVELS
    # float64, as float32 has no number next to 2**31.
    sums = (data.detach().double() * per_level(torch.ones_like(unit), unit)).round_()
    return sums.clamp_(-(2.0**31), 2.0**31 - 1).to(dtype=torch.int32), -reach, reach


#: What a quantized layer without a calibrated range gives.
AS_SUMS = Operator(
    "_as_sums",
    read_signature(_as_sums, skip=lambda name, p: name == "max_weight" and not p.has_range),
    Kernels(_as_sums),
    Inference(
        types={
            "levels": "any",
            "output": torch.int32,
            "min_output": torch.float32,
            "max_output": torch.float32,
        }
    ),
    record=Record(outputs=("output", "min_output", "max_output")),
)


@functools.cache
def _multiplies_bytes() -> bool:
    """Whether the processor sums products of bytes in one instruction, without cutting them off on the way."""
    known: Any = torch.cpu.get_capabilities()
    return any(known.get(name) for name in ("avx512_vnni", "avx_vnni", "amx_int8"))


def can_compute_levels() -> bool:
    """Whether oneDNN's layers of levels are here and are not switched off, and the processor is made for them.

    >>> isinstance(can_compute_levels(), bool)
    True
    """
    return onednn.has(*onednn.BYTES) and _multiplies_bytes()


def _pack_levels(
    levels: Tensor,
    units: Tensor,
    *,
    stride: Ints,
    pad: Ints,
    dilate: Ints,
    num_group: int,
    data_shape: Ints,
    signed: bool,
) -> Tensor:
    """Filters on levels in the layout in which oneDNN is quickest for data of a shape."""
    where = (list(stride), list(pad), list(dilate), num_group, list(data_shape))
    found: Tensor = onednn.pack_conv2d_bytes(levels, units, 1.0, HIGHEST_BIT if signed else 0, *where)
    return found


def _pack_dense_levels(levels: Tensor, *, rows: int) -> Tensor:
    """The same of the weight of a dense layer, for data of some rows."""
    found: Tensor = onednn.pack_linear_bytes(levels, [rows, levels.shape[1]])
    return found


#: Filters on levels as `INT8_CONVOLUTION` takes them.
PACK_LEVELS = Operator("_pack_levels", read_signature(_pack_levels), Kernels(_pack_levels, prepared=True))
#: The weight of a dense layer as `INT8_DENSE` takes it.
PACK_DENSE_LEVELS = Operator(
    "_pack_dense_levels", read_signature(_pack_dense_levels), Kernels(_pack_dense_levels, prepared=True)
)


def _int8_convolution(
    data: Tensor,
    weight: Tensor,
    units: Tensor,
    zeros: Tensor,
    bias: Tensor | None = None,
    addend: Tensor | None = None,
    *,
    stride: Ints,
    pad: Ints,
    dilate: Ints,
    num_group: int,
    no_bias: bool,
    adds: bool,
    data_unit: float,
    addend_unit: float,
    out_unit: float,
    out_type: NumericType,
    activation: str,
    numbers: tuple[float, ...],
) -> Tensor:
    """Convolution of levels, then the sum with `addend` (with `adds`), then an activation, in one pass over memory.

    The weight is packed. A unit is the real number that one level is worth: of data, of each filter, of what is added
    and of the result, which is levels in `out_type`, or real numbers. In memory the result has its channels last.
    """
    # PyTorch takes data in uint8 only.
    signed = data.dtype is torch.int8
    if signed:
        data = other_sign(data)
    # oneDNN adds in the memory of the result, which has one type and one order.
    zero = 0
    if addend is not None:
        addend = addend.contiguous(memory_format=torch.channels_last)
        if addend.dtype is not out_type:
            zero = HIGHEST_BIT if addend.dtype is torch.int8 else -HIGHEST_BIT
            addend = other_sign(addend)
    given = (
        *(data, data_unit, HIGHEST_BIT if signed else 0, weight, units, zeros),
        *((bias,) if addend is None else (addend, bias)),
        *(list(stride), list(pad), list(dilate), num_group, out_unit, 0, out_type),
    )
    if addend is None:
        out: Tensor = onednn.conv2d_bytes(*given, activation, list(numbers), "")
        return out
    then = None if activation == "none" else activation
    out = onednn.conv2d_bytes.binary(*given, addend_unit, zero, "sum", 1.0, then, list(numbers), "")
    return out


def _int8_convolution_beside_addend(
    data: Tensor,
    weight: Tensor,
    units: Tensor,
    zeros: Tensor,
    bias: Tensor | None = None,
    addend: Tensor | None = None,
    *,
    out_type: torch.dtype,
    **keywords: Any,
) -> Tensor:
    # PyTorch's sum is written over what is added; what is of another type is copied anyway.
    if addend is not None and addend.dtype is out_type:
        addend = addend.clone(memory_format=torch.channels_last)
    return _int8_convolution(data, weight, units, zeros, bias, addend, out_type=out_type, **keywords)


def _absent(name: str, p: Params) -> bool:
    return (name == "bias" and p.no_bias) or (name == "addend" and not p.adds)


#: A convolution of levels with the sum and the activation that follow it.
INT8_CONVOLUTION = Operator(
    "_int8_convolution",
    read_signature(_int8_convolution, skip=_absent),
    Kernels(
        _int8_convolution_beside_addend,
        owns_output=True,
        in_place={"addend": InPlace(_int8_convolution)},
    ),
)


def _int8_dense(
    data: Tensor,
    weight: Tensor,
    units: Tensor,
    zeros: Tensor,
    bias: Tensor | None = None,
    *,
    flatten: bool,
    no_bias: bool,
    data_unit: float,
    out_unit: float,
    out_type: NumericType,
    activation: str,
    numbers: tuple[float, ...],
) -> Tensor:
    """Dense layer of levels, then an activation; as in `INT8_CONVOLUTION`."""
    rows = data.flatten(1) if flatten else data
    scale = (data_unit, 0, weight, units, zeros, bias, out_unit, 0, out_type)
    out: Tensor = onednn.linear_bytes(rows, *scale, activation, list(numbers), "")
    return out


#: A dense layer of levels with the activation that follows it.
INT8_DENSE = Operator(
    "_int8_dense",
    read_signature(_int8_dense, skip=lambda name, p: name == "bias" and p.no_bias),
    Kernels(_int8_dense, owns_output=True),
)
