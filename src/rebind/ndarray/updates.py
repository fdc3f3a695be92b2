"""Update operators whose arguments are lists, or a number instead of an array (``nd.contrib``).

Examples
--------
>>> import rebind as mx
>>> weight, mean, var = mx.nd.ones((2,)), mx.nd.zeros((2,)), mx.nd.zeros((2,))
>>> grad = mx.nd.ones((2,))
>>> _ = mx.nd.contrib.adamw_update(weight, grad, mean, var, float("inf"), lr=0.1, eta=1, out=weight)
>>> weight.asnumpy().tolist()
[1.0, 1.0]
"""

from __future__ import annotations

import torch

from ..errors import ArgumentError
from ..ops import find
from ..ops.update.front_ends import FRONT_ENDS, Call, front_end
from .ndarray import NDArray, call

__all__ = [
    "adamw_update", "mp_adamw_update", "multi_adamw_update", "multi_lamb_update", "multi_mp_adamw_update",
    "multi_mp_lamb_update",
]  # fmt: skip


def _apply(read: Call[NDArray]) -> NDArray | list[NDArray]:
    arrays = list(read.arrays)
    if read.front.takes_factor:
        arrays.append(_factor(read, arrays[0]))
    called_as = f"contrib.{read.front.name}"
    return call(find(read.front.operator), arrays, {**read.settings, "out": read.out}, called_as)


def _factor(read: Call[NDArray], weight: NDArray) -> NDArray:
    """Return the factor of gradients as an array on the device of a weight."""
    value = read.factor
    if isinstance(value, NDArray):
        return value if value.device == weight.device else value.as_in_context(weight.device)
    try:
        number = float(value)  # type: ignore[arg-type]  # None is an error like any other
    except (TypeError, ValueError):
        raise ArgumentError(
            f"contrib.{read.front.name}: rescale_grad must be an NDArray or a number; got {value!r}"
        ) from None
    return NDArray(torch.full((1,), number, device=weight.device.torch), weight.device)


adamw_update = front_end(FRONT_ENDS["adamw_update"], NDArray, _apply)
mp_adamw_update = front_end(FRONT_ENDS["mp_adamw_update"], NDArray, _apply)
multi_adamw_update = front_end(FRONT_ENDS["multi_adamw_update"], NDArray, _apply)
multi_mp_adamw_update = front_end(FRONT_ENDS["multi_mp_adamw_update"], NDArray, _apply)
multi_lamb_update = front_end(FRONT_ENDS["multi_lamb_update"], NDArray, _apply)
multi_mp_lamb_update = front_end(FRONT_ENDS["multi_mp_lamb_update"], NDArray, _apply)
