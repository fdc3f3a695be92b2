"""Gradients of arrays of whole numbers, where there is an exact one: selecting, joining, summing, multiplying.

torch records floating types only. What is marked has a stand-in of float64, in which operators that are exact for whole
numbers are recorded too; the array itself holds what they compute in its own type, and the gradient is converted back.
Through other operators no gradient flows: rounding has no slope.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, trunc
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import Tensor

from ..device import Device
from ..ops import Operator, find
from ..params import Params
from .base import Array, ArrayBase, wrap_tensor

if TYPE_CHECKING:
    from .storage import Storage

__all__ = ["Results", "as_floating", "compute_exactly", "wrap_recorded"]

_NAMES = """
    Activation BlockGrad Cast Concat Crop Embedding Flatten Reshape SequenceLast SequenceMask SequenceReverse
    SwapAxis UpSampling _contrib_boolean_mask _contrib_gradientmultiplier _contrib_index_copy _contrib_round_ste
    _contrib_sign_ste _copy _copyto _grad_add _identity_with_attr_like_rhs _image_crop _image_flip_left_right
    _image_flip_top_bottom _maximum _maximum_scalar _minimum _minimum_scalar _minus_scalar _mul_scalar _plus_scalar
    _power_scalar _rminus_scalar _rnn_param_concat _scatter_minus_scalar _scatter_plus_scalar _scatter_set_nd
    _slice_assign _slice_assign_scalar _split_v2 _square_sum abs add_n amp_cast amp_multicast batch_dot batch_take
    broadcast_add broadcast_axis broadcast_like broadcast_maximum broadcast_minimum broadcast_mul broadcast_sub
    broadcast_to cast_storage clip cumsum depth_to_space diag dot elemwise_add elemwise_mul elemwise_sub expand_dims
    fill_element_0index flip gather_nd khatri_rao make_loss max min nanprod nansum negative norm pad pick prod relu
    repeat reshape_like scatter_nd slice slice_axis slice_like sort space_to_depth split square squeeze stack sum take
    tile topk transpose where
"""
#: Operators whose results on float64 are those on whole numbers, and so are their gradients.
_EXACT = frozenset(find(name).name for name in _NAMES.split())

#: Those that are exact with some parameters only.
_EXACT_WITH: dict[str, Callable[[Params], bool]] = {
    "Activation": lambda p: p.act_type == "relu",
    "UpSampling": lambda p: p.sample_type == "nearest",
    "_power_scalar": lambda p: p.scalar >= 0,
    "norm": lambda p: p.ord == 1,
}

_IDENTITY = find("_copy")

#: What an operator computed, and the device that it is on.
Results: TypeAlias = "tuple[Sequence[Tensor | Storage | ArrayBase], Device]"
Compute: TypeAlias = "Callable[[Operator, Sequence[ArrayBase | None], Params, Device | None, bool], Results]"


def as_floating(tensor: Tensor) -> Tensor:
    """Return a stand-in for whole numbers that torch can record; float64 holds them up to 2**53.

    >>> as_floating(torch.tensor([1, 2]))
    tensor([1., 2.], dtype=torch.float64)
    """
    return tensor.detach().to(dtype=torch.float64)


def wrap_recorded(tensor: Tensor, dtype: torch.dtype, device: Device) -> Array:  # type: ignore[type-var]  # as `wrap_tensor`
    """Return the array of `dtype` that a recorded `tensor`, perhaps a stand-in for whole numbers, is the content of.

    >>> import rebind as mx
    >>> whole = wrap_recorded(torch.ones(2, requires_grad=True) * 3, torch.int32, mx.cpu())
    >>> whole.asnumpy(), whole.is_recorded
    (array([3, 3], dtype=int32), True)
    """
    return _recorded_as(tensor, tensor.detach().to(dtype=dtype), device)


def _recorded_as(stand_in: Tensor, content: Tensor, device: Device) -> Array:  # type: ignore[type-var]  # as `wrap_tensor`
    """Return the array of a content, which a stand-in of another type is recorded for."""
    if stand_in.dtype is content.dtype:  # converted to a floating type
        return wrap_tensor(stand_in, device)
    made: Array = wrap_tensor(content, device)
    if stand_in.requires_grad:
        made.leaf = stand_in
    return made


def compute_exactly(
    compute: Compute, op: Operator, arrays: Sequence[ArrayBase | None], p: Params, device: Device | None
) -> Results:
    """Run `op` recorded, by `compute`, on arrays some of which are recorded whole numbers.

    >>> import rebind as mx
    >>> x = mx.nd.array([1, 2, 3], dtype="int32")
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.sum(x * x)
    >>> y.backward()
    >>> y.dtype.__name__, x.grad.asnumpy()
    ('int32', array([2, 4, 6], dtype=int32))
    """
    exact = op.name in _EXACT and _EXACT_WITH.get(op.name, _always)(p)
    # Without their stand-ins whole numbers are constants; then gradients flow to the other arrays only.
    plain = [array if array is None or not _stands_in(array) else _constant(array) for array in arrays]
    results, device = compute(op, plain, p, device, not exact)
    if not exact:
        return results, device
    if op.name == "Cast" and not p.dtype.is_floating_point:
        op, p = _IDENTITY, _IDENTITY.parse({})  # of whole numbers nothing is rounded
    recorded, device = compute(op, [_floating(array) for array in arrays], _whole(p), device, True)
    made: list[Tensor | Storage | ArrayBase] = []
    for result, stand_in in zip(results, recorded, strict=True):
        if isinstance(result, Tensor) and isinstance(stand_in, Tensor) and stand_in.requires_grad:
            result = _recorded_as(stand_in, result, device)
        made.append(result)
    return made, device


def _always(p: Params) -> bool:
    return True


def _whole(p: Params) -> Params:
    """Return parameters as an operator on whole numbers takes them: without fractions."""
    return Params(
        {
            name: trunc(value) if isinstance(value, float) and isfinite(value) else value
            for name, value in p.items()
        }
    )


def _stands_in(array: ArrayBase) -> bool:
    # Its leaf holds the same numbers in floating point, which torch can differentiate.
    return array.leaf is not None and array.leaf.dtype is not array.storage.dtype


def _constant(array: ArrayBase) -> ArrayBase:
    return ArrayBase(array.tensor.detach(), array.device)


def _floating(array: ArrayBase | None) -> ArrayBase | None:
    if array is None:
        return None
    tensor = array.recorded_tensor
    return ArrayBase(tensor if tensor.is_floating_point() else as_floating(tensor), array.device)
