"""Checking that two optimizers make the same updates."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..dtypes import DTypeLike
from ..errors import ParameterError
from ..optimizer import Optimizer
from .arrays import rand_ndarray
from .compare import compare_ndarray_tuple

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = ["compare_optimizer"]


def compare_optimizer(
    opt1: Optimizer,
    opt2: Optimizer,
    shape: Sequence[int] | Sequence[Sequence[int]],
    dtype: DTypeLike,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """Check that two optimizers make the same update of random weights, and the same states.

    Parameters
    ----------
    opt1, opt2
        The optimizers.
    shape
        The shape of the weight; with several tensors a list of shapes, or one shape for all.
    dtype
        The type of weights and gradients.
    w_stype, g_stype
        The storage types of weights and gradients; all rows of sparse weights are stored.
    rtol, atol
        Tolerances.
    compare_states
        Whether states are compared too.
    ntensors
        How many weights there are; an optimizer that takes lists is given all of them in one call.

    Examples
    --------
    >>> import rebind as mx
    >>> compare_optimizer(mx.optimizer.SGD(), mx.optimizer.SGD(momentum=0), (2, 3), "float32")
    """
    shapes = list(shape) if _are_shapes(shape) else [shape] * ntensors
    if len(shapes) != ntensors:
        raise ParameterError(f"compare_optimizer: ntensors must be the number of shapes; got {ntensors}")
    start = [rand_ndarray(one, w_stype, density=1.0, dtype=dtype) for one in shapes]
    grads = [rand_ndarray(one, g_stype, dtype=dtype) for one in shapes]
    # Each optimizer gets copies of the gradients too, since it may write into them.
    made = []
    for opt in (opt1, opt2):
        weights = [weight.copy() for weight in start]
        states = [opt.create_state_multi_precision(i, weight) for i, weight in enumerate(weights)]
        if ntensors > 1 and opt.takes_lists:
            copies = [grad.copy() for grad in grads]
            opt.update_multi_precision(list(range(ntensors)), weights, copies, states)
        else:
            for i, weight in enumerate(weights):
                opt.update_multi_precision(i, weight, grads[i].copy(), states[i])
        made.append((weights, states))
    if compare_states:
        # States first: where both differ, the state is the cause.
        compare_ndarray_tuple(made[0][1], made[1][1], rtol, atol)
    compare_ndarray_tuple(made[0][0], made[1][0], rtol, atol)


def _are_shapes(shape: Sequence[int] | Sequence[Sequence[int]]) -> TypeIs[Sequence[Sequence[int]]]:
    """Return whether the argument is several shapes rather than one."""
    return bool(shape) and not isinstance(shape[0], numbers.Integral)
