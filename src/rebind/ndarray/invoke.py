"""Running an operator on arrays: `invoke` computes, makes arrays of the results, and remembers them in a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from ..device import Device
from ..errors import ArgumentError, ShapeError, shown
from ..mode import mode
from ..ops import Operator
from ..params import Params
from .base import ArrayBase, wrap, wrap_tensor
from .compute import compute
from .history import remember
from .storage import DenseStorage

__all__ = ["invoke"]


def invoke(
    op: Operator,
    arrays: Sequence[ArrayBase | None],
    p: Params,
    out: ArrayBase | Sequence[ArrayBase] | None = None,
    device: Device | None = None,
) -> Any:
    """Run `op` with parsed parameters; return its visible outputs, an array or a list, or `out` filled.

    >>> import rebind as mx
    >>> from rebind.ops import find
    >>> op = find("clip")
    >>> invoke(op, [mx.nd.array([1, 5])], op.parse({"a_min": 0, "a_max": 2})).asnumpy().tolist()
    [1.0, 2.0]
    """
    if out is not None:
        return _invoke_into(op, arrays, p, out, device)
    recording = mode.recording
    results, device = compute(op, arrays, p, device, recording)
    # The common case first: every call of nd.X comes through here.
    if len(results) == 1 and not recording:
        first = results[0]
        return wrap_tensor(first, device) if isinstance(first, Tensor) else wrap(first, device)
    made = [
        wrap_tensor(value, device) if isinstance(value, Tensor) else wrap(value, device) for value in results
    ]
    if recording:
        remember(op, p, arrays, made)
    return made[0] if len(made) == 1 else made


def _invoke_into(
    op: Operator,
    arrays: Sequence[ArrayBase | None],
    p: Params,
    out: ArrayBase | Sequence[ArrayBase],
    device: Device | None,
) -> ArrayBase | Sequence[ArrayBase]:
    targets: list[ArrayBase] = [out] if isinstance(out, ArrayBase) else list(out)
    if not all(isinstance(target, ArrayBase) for target in targets):
        raise ArgumentError(f"out must be an NDArray, or a list of them; got {shown(out)}", argument="out")
    # What is recorded needs results of its own; what writes its states is never recorded.
    recording = mode.recording
    if op.kernels.writes_over and (op.kernels.writes_aux or not recording):
        kernel = op.kernel_over(arrays, targets, p)
        if kernel is not None and _take_writes(targets):
            compute(op, arrays, p, device, recording, kernel)
            return out
    results, device = compute(op, arrays, p, device, recording)
    if len(targets) != len(results):
        raise ArgumentError(
            f"out must hold {len(results)} arrays; got {len(targets)}", argument="out"
        ).locate(op.name)
    # Checked one by one: `write` would broadcast a smaller result.
    for target, value in zip(targets, results, strict=True):
        if target.storage.shape != value.shape:
            raise ShapeError(
                f"out must have shape {tuple(value.shape)}; got {target.shape}", argument="out"
            ).locate(op.name)
        target.write(value if isinstance(value, Tensor) else wrap(value, device))
    return out


def _take_writes(targets: Sequence[ArrayBase]) -> bool:
    """Make arrays ready for a kernel that writes into their memory; return False when one of them is not dense."""
    for target in targets:
        if not isinstance(target.storage, DenseStorage):
            return False
        target.begin_write(recorded=False)
    return True
