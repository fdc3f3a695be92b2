"""Calls of operators on arrays: `call` reads the arguments of ``nd.X(...)``, `invoke` runs and wraps the results."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from torch import Tensor

from ..device import Device
from ..errors import ArgumentError, MXNetError, ShapeError
from ..memo import exact_key
from ..ops import Operator, find
from ..ops.frontend import bind_arguments
from ..params import Params
from .base import ArrayBase, wrap, wrap_tensor
from .compute import compute
from .forms import Form
from .history import remember
from .mode import mode
from .storage import DenseStorage

__all__ = ["Translated", "call", "invoke", "invoke_by_name", "make_caller"]

_MISSING = type(None)
# Bounded, as a program may compute parameters without end.
_MOST_FORMS = 1024


def invoke(
    op: Operator,
    arrays: Sequence[ArrayBase | None],
    p: Params,
    out: ArrayBase | Sequence[ArrayBase] | None = None,
    device: Device | None = None,
) -> Any:
    """Run `op` with parsed parameters; return its visible outputs, an array or a list, or `out` filled.

    >>> import rebind as mx
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
        if target.storage.tensor is None:
            return False
        target.begin_write(recorded=False)
    return True


def call(op: Operator, args: Sequence[Any], kwargs: dict[str, Any], called_as: str | None = None) -> Any:
    """Run a call of ``nd.X(*args, **kwargs)``; `kwargs` is used up. Errors name the operator as it was called.

    >>> import rebind as mx
    >>> call(find("clip"), (mx.nd.array([1, 5]), 0), {"a_max": 2}).asnumpy().tolist()
    [1.0, 2.0]
    """
    try:
        read = _read(op, args, kwargs)
        return invoke(read.op, read.inputs, read.p, read.out, read.device)
    except MXNetError as error:
        error.locate(op.name, called_as=called_as)
        raise


class _Read(NamedTuple):
    """What was read of a call's arguments, in the order of `invoke`."""

    op: Operator
    inputs: Sequence[ArrayBase | None]
    p: Params
    out: ArrayBase | Sequence[ArrayBase] | None
    device: Device | None


class Translated(NamedTuple):
    """A call of another function as that of an operator.

    Attributes
    ----------
    op, args, kwargs
        The operator, and what it is given.
    finish
        What is done to the result, if anything.
    """

    op: Operator
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    finish: Callable[[Any], Any] | None = None


def _read(op: Operator, args: Sequence[Any], kwargs: dict[str, Any]) -> _Read:
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
    return _Read(op, inputs, p, out, device)


def make_caller(
    op: Operator,
    called_as: str,
    translate: Callable[[Sequence[Any], dict[str, Any]], Translated] | None = None,
) -> Callable[..., Any]:
    """Return the function that runs calls of ``nd.X`` as `call` does, and remembers what it read of them.

    Parameters
    ----------
    op
        The operator.
    called_as
        What errors call it.
    translate
        Makes the arguments of the operator of a call's, where they are others; it may choose another operator for some.

    Examples
    --------
    >>> import rebind as mx
    >>> clip = make_caller(find("clip"), "clip")
    >>> clip(mx.nd.array([1, 5]), 0, a_max=2).asnumpy().tolist()
    [1.0, 2.0]
    """
    forms: dict[Hashable, Form] = {}
    # How many arrays come before the parameters; asked at the first call, as it has the signature read.
    count = -1

    def function(*args: Any, **kwargs: Any) -> Any:
        nonlocal count
        if count < 0:
            count = sys.maxsize if op.signature.variadic else len(op.signature.inputs)
        arrays = args
        key: Hashable = len(args)
        if len(args) > count:
            arrays = args[:count]
            key = exact_key(args[count:])
        if kwargs:
            key = key, tuple(kwargs), exact_key(tuple(kwargs.values()))
        try:
            form = forms.get(key)
        except TypeError:  # a list among the parameters
            form = key = None
        try:
            if form is not None and (result := form.run(arrays)) is not None:
                return result
        except MXNetError as error:
            error.locate(op.name, called_as=called_as)
            raise
        chosen, finish = op, None
        if translate is not None:  # whose errors say themselves what was called
            chosen, args, kwargs, finish = translate(args, kwargs)
        try:
            read = _read(chosen, args, kwargs)
            if form is None and key is not None and finish is None and _repeats(read, arrays):
                if len(forms) == _MOST_FORMS:
                    forms.clear()
                forms[key] = Form(chosen, read.p, read.device)
            result = invoke(read.op, read.inputs, read.p, read.out, read.device)
            return result if finish is None else finish(result)
        except MXNetError as error:
            error.locate(chosen.name, called_as=called_as)
            raise

    return function


def _repeats(read: _Read, arrays: Sequence[Any]) -> bool:
    """Whether another call may be of the form of this one, whose arrays by position were `arrays`.

    Not where arrays came by name or in a list, where some were ignored, where parameters choose the operator, or
    where it has states.
    """
    op, absent = read.op, len(read.inputs) - len(arrays)
    same = absent >= 0 and all(map(operator.is_, read.inputs, (*arrays, *(None,) * absent)))
    return same and read.out is None and not (op.depends_on_parameters or op.returned_aux)


def invoke_by_name(name: str, *arrays: ArrayBase, **given: object) -> Any:
    """Run the operator `name` on arrays, with parameters by name that are not parsed yet.

    >>> import rebind as mx
    >>> invoke_by_name("clip", mx.nd.array([1, 5]), a_min=0, a_max=2).asnumpy().tolist()
    [1.0, 2.0]
    """
    return _caller(name)(*arrays, **given)


@functools.cache
def _caller(name: str) -> Callable[..., Any]:
    return make_caller(find(name), name)
