"""Calls of operators on arrays: ``nd.X(...)`` reads its arguments once for each form of a call.

A program repeats its calls: as many arrays, by position or under the same names, with the same parameters. What was
read of such a call is cached (`prepare`), and `invoke` runs it on the arrays of each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from ..device import Device
from ..errors import ArgumentError, MXNetError
from ..memo import LOOSE, exact_key
from ..ops import Operator, find
from ..ops.frontend import bind_arguments, warn_ignored
from ..params import Params
from ..tuning import current
from .base import ArrayBase, wrap
from .compute import invoke
from .storage import DenseStorage

__all__ = ["call", "invoke_by_name", "make_caller"]

_MISSING = type(None)


class Read(NamedTuple):
    """What was read of a call's arguments, in the order of `invoke`."""

    op: Operator
    inputs: Sequence[ArrayBase | None]
    p: Params
    out: ArrayBase | Sequence[ArrayBase] | None
    device: Device | None


class Prepared(NamedTuple):
    """What was read of a form of calls: `inputs` and `out` are positions among the arrays of a call.

    As inputs None stands for all of its arrays, in their order.
    """

    inputs: Sequence[int | None] | None
    p: Params
    out: int | None
    device: Device | None


def make_caller(op: Operator, called_as: str) -> Callable[..., Any]:
    """Return the function that runs calls of ``nd.X``; errors name the operator as `called_as`.

    >>> import rebind as mx
    >>> clip = make_caller(find("clip"), "clip")
    >>> clip(mx.nd.array([1, 5]), 0, a_max=2).asnumpy().tolist()
    [1.0, 2.0]
    """
    by_form: dict[Hashable, Prepared] = {}

    def function(*args: Any, **kwargs: Any) -> Any:
        array_class = DenseStorage.array_class
        arrays: list[Any] = []
        form: list[Any] = [len(args), *kwargs]
        is_exact = True
        for value in (*args, *kwargs.values()):
            kind = value.__class__
            form.append(kind)
            if isinstance(value, array_class):
                arrays.append(value)
            else:
                form.append(value)
                # Of floats only zeros are equal and not the same.
                is_exact = is_exact and (kind not in LOOSE or (kind is float and value != 0))
        key = tuple(form) if is_exact else exact_key(tuple(form))
        try:
            try:
                prepared = by_form.get(key)
            except TypeError:  # a list among the parameters, which is no key
                return call(op, args, kwargs, called_as)
            if prepared is None:
                prepared = prepare(op, args, kwargs, called_as)
                if prepared is None:
                    return call(op, args, kwargs, called_as)
                if len(by_form) >= current().remembered_call_forms:
                    by_form.clear()
                by_form[key] = prepared
            inputs, p, out, device = prepared
            chosen = arrays if inputs is None else [None if i is None else arrays[i] for i in inputs]
            return invoke(op, chosen, p, None if out is None else arrays[out], device)
        except MXNetError as error:
            error.locate(op.name, called_as=called_as)
            raise

    return function


def prepare(op: Operator, args: Sequence[Any], kwargs: dict[str, Any], called_as: str) -> Prepared | None:
    """Return what all calls of the form of this one have; None where another such call may be read otherwise.

    So it is where parameters name the operator, and where arrays are in a list.

    >>> import rebind as mx
    >>> x, y = mx.nd.array([1]), mx.nd.array([5])
    >>> prepare(find("elemwise_sub"), (x,), {"rhs": y}, "elemwise_sub")
    Prepared(inputs=None, p={}, out=None, device=None)
    >>> prepare(find("elemwise_sub"), (), {"rhs": y, "lhs": x}, "elemwise_sub").inputs
    [1, 0]
    """
    if op.depends_on_parameters:
        return None
    array_class: type[Any] = DenseStorage.array_class
    # Read with an object for each array, as one that is given twice is two inputs.
    objects: list[ArrayBase] = []

    def as_object(value: Any) -> Any:
        if not isinstance(value, array_class):
            return value
        objects.append(wrap(value.storage, value.device))
        return objects[-1]

    args = [as_object(value) for value in args]
    read = read_call(op, args, {name: as_object(value) for name, value in kwargs.items()}, called_as)
    position = {id(array): i for i, array in enumerate(objects)}
    if not all(array is None or id(array) in position for array in (*read.inputs, read.out)):
        return None
    inputs = [None if array is None else position[id(array)] for array in read.inputs]
    out = None if read.out is None else position[id(read.out)]
    return Prepared(None if inputs == [*range(len(objects))] else inputs, read.p, out, read.device)


def call(op: Operator, args: Sequence[Any], kwargs: dict[str, Any], called_as: str | None = None) -> Any:
    """Run a call of ``nd.X(*args, **kwargs)``, of which nothing is cached.

    >>> import rebind as mx
    >>> call(find("clip"), (mx.nd.array([1, 5]), 0), {"a_max": 2}).asnumpy().tolist()
    [1.0, 2.0]
    """
    try:
        read = read_call(op, args, dict(kwargs), called_as)
        return invoke(read.op, read.inputs, read.p, read.out, read.device)
    except MXNetError as error:
        error.locate(op.name, called_as=called_as)
        raise


def read_call(
    op: Operator, args: Sequence[Any], kwargs: dict[str, Any], called_as: str | None = None
) -> Read:
    """Read the arguments of a call; `kwargs` is used up."""
    array_class, signature = DenseStorage.array_class, op.signature
    # Programs share calls with mx.sym, where nodes have names.
    kwargs.pop("name", None)
    out = kwargs.pop("out", None)
    # A Device is taken out here; text such as 'cpu(0)' is parsed like any parameter.
    device = None
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
