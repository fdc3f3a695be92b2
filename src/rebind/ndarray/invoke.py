"""Calls of operators on arrays: `call` reads the arguments of ``nd.X(...)``, `invoke` runs and wraps the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor

from ..device import Device
from ..errors import ArgumentError, MXNetError, ShapeError, shown
from ..mode import mode
from ..ops import Operator
from ..ops.frontend import bind_arguments, warn_ignored
from ..params import Params
from .base import ArrayBase, wrap, wrap_tensor
from .compute import compute
from .history import remember
from .storage import DenseStorage

__all__ = ["Read", "call", "invoke", "read_call"]

_MISSING = type(None)


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


def call(op: Operator, args: Sequence[Any], kwargs: dict[str, Any], called_as: str | None = None) -> Any:
    """Run a call of ``nd.X(*args, **kwargs)``; `kwargs` is used up. Errors name the operator as it was called.

    >>> import rebind as mx
    >>> from rebind.ops import find
    >>> call(find("clip"), (mx.nd.array([1, 5]), 0), {"a_max": 2}).asnumpy().tolist()
    [1.0, 2.0]
    """
    try:
        read = read_call(op, args, kwargs, called_as)
        return invoke(read.op, read.inputs, read.p, read.out, read.device)
    except MXNetError as error:
        error.locate(op.name, called_as=called_as)
        raise


class Read(NamedTuple):
    """What was read of a call's arguments, in the order of `invoke`."""

    op: Operator
    inputs: Sequence[ArrayBase | None]
    p: Params
    out: ArrayBase | Sequence[ArrayBase] | None
    device: Device | None


def read_call(
    op: Operator, args: Sequence[Any], kwargs: dict[str, Any], called_as: str | None = None
) -> Read:
    """Read the arguments of a call; `kwargs` is used up."""
    array_class, signature = DenseStorage.array_class, op.signature
    out = device = None
    if kwargs:
        out = kwargs.pop("out", None)
        # Programs share calls with mx.sym, where nodes have names.
        kwargs.pop("name", None)
        # A Device is taken out here; text such as 'cpu(0)' is parsed like any parameter.
        if "ctx" in signature.parameters and isinstance(kwargs.get("ctx"), Device):
            device = kwargs.pop("ctx")
    if op.depends_on_parameters:
        op = op.resolved(
            # Arrays do not decide, and would have to be parsed.
            {key: value for key, value in kwargs.items() if not isinstance(value, array_class)}
        )
        signature = op.signature
    inputs, given = bind_arguments(op, args, kwargs, array_class)
    if given and signature.takes_any:
        warn_ignored(signature, given, called_as or op.name)
    count = signature.count  # `num_args` and its like may be left out, as in MXNet
    if count and given.get(count) is None:
        given[count] = len(inputs)
    p = op.parse(given)
    skip = signature.skip
    if not signature.variadic and (skip is not None or _MISSING in map(type, inputs)):
        names = signature.input_names
        for i, value in enumerate(inputs):
            if value is None:
                if skip is None or not skip(names[i], p):
                    raise ArgumentError(f"needs the array {names[i]!r}; it is missing", argument=names[i])
            elif skip is not None and skip(names[i], p):
                # Given, but not used with these parameters, as a bias with no_bias: ignored, as in MXNet.
                inputs[i] = None
    return Read(op, inputs, p, out, device)
