"""Arrays made from nothing but parameters.

``ctx`` is read by the caller: it chooses the `device` that the functions are given. A shape that is left out, and a
size of 0 or -1 in it, is one that inference fills in (`unknown_sizes`).
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
from torch import Tensor

from ..dtypes import number_in
from ..params import AtLeast, Params
from ..shapes import Shape
from ._types import AnyType, Double, Long, MatrixType, NumericType, SizesOrNone, made_shape, whole_number
from .declaration import TypeSlots, operator

__all__ = ["arange", "eye", "full", "linspace", "ones", "zeros", "zeros_without_dtype"]


def _typed(p: Params) -> TypeSlots:
    return {"output": p.dtype}


@operator("_zeros", types=_typed)
def zeros(
    *,
    shape: SizesOrNone = (),
    ctx: str = "",
    dtype: AnyType = torch.float32,
    device: torch.device | None = None,
) -> Tensor:
    """Array of zeros.

    >>> zeros(shape=(2,), dtype=torch.int32)
    tensor([0, 0], dtype=torch.int32)
    """
    return torch.zeros(size=made_shape(shape), dtype=dtype, device=device)


@operator("_zeros_without_dtype")
def zeros_without_dtype(
    *, shape: SizesOrNone = None, ctx: str = "", dtype: int = -1, device: torch.device | None = None
) -> Tensor:
    """Array of zeros whose type others decide; alone it is float32.

    Parameters
    ----------
    dtype
        No effect here; accepted for old programs.

    Examples
    --------
    >>> zeros_without_dtype(shape=(2,))
    tensor([0., 0.])
    """
    return torch.zeros(made_shape(shape), dtype=torch.float32, device=device)


@operator("_ones", types=_typed)
def ones(
    *,
    shape: SizesOrNone = (),
    ctx: str = "",
    dtype: AnyType = torch.float32,
    device: torch.device | None = None,
) -> Tensor:
    """Array of ones.

    >>> ones(shape=(3,))
    tensor([1., 1., 1.])
    """
    return torch.ones(size=made_shape(shape), dtype=dtype, device=device)


for _made in (zeros, ones):
    _made.output_shapes(lambda shapes, p: [p.shape or ()])


@operator("_full", types=_typed)
def full(
    *,
    shape: SizesOrNone = None,
    ctx: str = "",
    dtype: AnyType = torch.float32,
    value: Double,
    device: torch.device | None = None,
) -> Tensor:
    """Array of one value; for an integer type the value is rounded towards 0.

    >>> full(shape=(2,), value=2.5)
    tensor([2.5000, 2.5000])
    """
    number: float = (
        value if dtype.is_floating_point or dtype is torch.bool else whole_number(value, "value", dtype)
    )
    return torch.full(made_shape(shape), number_in(dtype, number), dtype=dtype, device=device)


#: Below it float32 holds all integers.
_EXACT = 1 << 24


@operator("_arange", types=_typed)
def arange(
    *,
    start: Double,
    stop: Double | None = None,
    step: Double = 1.0,
    repeat: Annotated[int, AtLeast(1)] = 1,
    infer_range: bool = False,
    ctx: str = "",
    dtype: NumericType = torch.float32,
    device: torch.device | None = None,
) -> Tensor:
    """Numbers from `start` up to but not including `stop`, each `repeat` times; from 0 to `start` when it is alone.

    With `infer_range` and no `stop` the length follows from where the array is used.

    >>> arange(start=0, stop=3, repeat=2)
    tensor([0., 0., 1., 1., 2., 2.])
    """
    # Size 0 means unknown; `sized`, below, gives the stop once inference knows the length.
    if stop is None and infer_range:
        return torch.zeros((0,), dtype=dtype, device=device)
    if stop is None:
        start, stop = 0.0, start
    count = math.ceil((stop - start) / step)
    if not dtype.is_floating_point:
        # As MXNet has it: the length is that of the range, start and step are cut to the type.
        start, step = int(start), int(step)
    # The stop is left out, as in Python's range, also for steps that do not divide it.
    end = start + count * step
    if (
        dtype is torch.float32
        and start % 1 == step % 1 == 0
        and -_EXACT < start < _EXACT
        and -_EXACT < end < _EXACT
    ):
        # Integers that float32 holds exactly: no detour is needed.
        numbers = torch.arange(start, end, step, dtype=dtype, device=device)
    else:
        # Computed in float64 and rounded to the type at the end, as MXNet does: steps of 0.3 end where they should.
        numbers = torch.arange(count, dtype=torch.float64, device=_wide(device)) * step + start
        numbers = numbers.to(device=device, dtype=dtype)
    return numbers.repeat_interleave(repeat, output_size=count * repeat) if repeat > 1 else numbers


@arange.sized(known=lambda p: (0,) if p.infer_range and p.stop is None else None)
def _(p: Params, shape: Shape) -> dict[str, float]:
    # Half a step short of the next number: rounding must not add one.
    return {"stop": p.start + p.step * (shape[0] // p.repeat - 0.5)}


@arange.check
def _(p: Params) -> str | None:
    if p.step == 0:
        return "step must not be 0; got 0"
    start, stop = (p.start, p.stop) if p.stop is not None else (0, p.start)
    if not all(map(math.isfinite, (start, stop, p.step))):
        return f"start, stop and step must be finite; got {start}, {stop} and {p.step}"
    if (stop - start) * p.step <= 0 and not p.infer_range:
        side = "above" if p.step > 0 else "below"
        return f"stop must be {side} start with step={p.step}; got start={start} and stop={stop}"
    return None


@operator("_linspace", types=_typed)
def linspace(
    *,
    start: Double,
    stop: Double,
    num: Annotated[int, AtLeast(0)],
    endpoint: bool = True,
    ctx: str = "",
    dtype: NumericType = torch.float32,
    device: torch.device | None = None,
) -> Tensor:
    """`num` numbers at equal distances from `start` to `stop`, which is the last one with `endpoint`.

    >>> linspace(start=0, stop=1, num=5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    # Without the endpoint there is a gap after the last number too.
    gaps = num - 1 if endpoint else num
    step = (stop - start) / gaps if gaps > 0 else 0.0
    numbers = torch.arange(num, dtype=torch.float64, device=_wide(device)) * step + start
    return numbers.to(device=device, dtype=dtype)


@operator("_eye", types=_typed)
def eye(
    *,
    N: Annotated[Long, AtLeast(0)],
    M: Long = 0,
    k: Long = 0,
    ctx: str = "",
    dtype: MatrixType = torch.float32,
    device: torch.device | None = None,
) -> Tensor:
    """Matrix of N rows and M columns (0: as many as rows) with ones on diagonal `k`, zeros elsewhere.

    >>> eye(N=2, M=3, k=1)
    tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    out = torch.zeros((N, M if M > 0 else N), dtype=dtype, device=device)
    if -N < k < out.shape[1]:
        out.diagonal(k).fill_(1)
    return out


def _wide(device: torch.device | None) -> torch.device | str | None:
    """Return where to compute in float64: not all accelerators can."""
    return "cpu" if device is not None and torch.device(device).type == "mps" else device
