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
from ..memo import Exactly
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
    # Asked at the first call, which has the signature read: the class, and how many arrays come before the parameters.
    array_class: type | None = None
    count = 0

    def function(*args: Any, **kwargs: Any) -> Any:
        nonlocal array_class, count
        if array_class is None:
            array_class = DenseStorage.array_class
            count = sys.maxsize if op.signature.variadic else len(op.signature.inputs)
        arrays: Sequence[Any] = args
        values: tuple[Any, ...] = ()
        named: Sequence[str] = ()
        out = None
        key: Hashable = len(args)
        if len(args) > count:
            arrays, values = args[:count], args[count:]
        if kwargs:
            values = (*values, *kwargs.values())
        if values:
            key = (len(args), *kwargs, *values, *map(type, values))
        try:
            form = forms.get(key)
            if form is None and kwargs and array_class in map(type, kwargs.values()):
                # Of arrays the key has no more than where they are.
                named = [name for name, value in kwargs.items() if type(value) is array_class]
                if "out" in named:
                    named.remove("out")
                    out = kwargs["out"]
                arrays = (*arrays, *[kwargs[name] for name in named])
                types = tuple(map(type, values))
                values = tuple([value for value in values if type(value) is not array_class])
                key = (len(args), *kwargs, *values, *types)
                form = forms.get(key)
        except TypeError:  # a list among the parameters
            form = key = None
        if form is not None and (form.exactly is None or form.exactly.are(values)):
            try:
                if form.order is not None:
                    arrays = [arrays[place] for place in form.order]
                result = form.run(arrays) if out is None else form.run_into(arrays, out)
                if result is None and all([isinstance(each, ArrayBase) for each in arrays]):
                    result = invoke(form.op, (*arrays, *form.absent), form.p, out, form.device)
                if result is not None:
                    return result
            except MXNetError as error:
                error.locate(op.name, called_as=called_as)
                raise
        chosen, finish = op, None
        if translate is not None:  # whose errors say themselves what was called
            chosen, args, kwargs, finish = translate(args, kwargs)
        try:
            read = _read(chosen, args, kwargs)
            # Of a translated call names are others.
            if (
                form is None
                and key is not None
                and not (translate is not None and (named or out is not None))
            ):
                made = _form_of(read, arrays, named, out, values) if finish is None else None
                if made is not None:
                    if len(forms) == _MOST_FORMS:
                        forms.clear()
                    forms[key] = made
            result = invoke(read.op, read.inputs, read.p, read.out, read.device)
            return result if finish is None else finish(result)
        except MXNetError as error:
            error.locate(chosen.name, called_as=called_as)
            raise

    return function


def _form_of(
    read: _Read, arrays: Sequence[Any], named: Sequence[str], out: Any, values: tuple[Any, ...]
) -> Form | None:
    """Return the form of a call for others like it; None where another call may be read otherwise.

    So it is where arrays came in a list, where some are missing or ignored, and where parameters choose the operator.

    Parameters
    ----------
    read
        What was read of the call.
    arrays, named, out
        Its arrays, those by position and then those by name; the names of these; and the one for the result.
    values
        Its other arguments.
    """
    op = read.op
    names = op.signature.input_names
    order: Sequence[int] = range(len(arrays))
    if named and not op.signature.variadic:
        if not {*named} <= {*names}:  # an array for a parameter
            return None
        places = [*range(len(arrays) - len(named)), *map(names.index, named)]
        order = sorted(order, key=places.__getitem__)
    given = [arrays[place] for place in order]
    absent = len(read.inputs) - len(given)
    same = absent >= 0 and all(map(operator.is_, read.inputs, (*given, *(None,) * absent)))
    if not same or any(each is None for each in given) or read.out is not out or op.depends_on_parameters:
        return None
    return Form(op, read.p, read.device, order, absent, Exactly.needed(values))


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
