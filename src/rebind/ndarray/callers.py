"""Functions that run operators as they are called: a call is read once, and run again by what was read (`forms.py`)."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ..errors import MXNetError
from ..memo import Exactly
from ..ops import Operator, find
from .base import ArrayBase
from .forms import Form
from .invoke import Read, invoke, read_call
from .storage import DenseStorage

__all__ = ["Translated", "invoke_by_name", "make_caller"]

# Bounded, as a program may compute parameters without end.
_MOST_FORMS = 1024


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


#: From the arguments of a function to those of an operator.
Translate: TypeAlias = Callable[[Sequence[Any], dict[str, Any]], Translated]


def make_caller(op: Operator, called_as: str, translate: Translate | None = None) -> Callable[..., Any]:
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
        # Every step counts here, where most calls give arrays by position.
        arrays: Sequence[Any] = args
        out = None
        if kwargs or len(args) > count:
            values = (*args[count:], *kwargs.values())
            key: Hashable = (len(args), *kwargs, *values, *map(type, values))
            arrays = args[:count]
            try:
                form = forms.get(key)
                if form is None and kwargs:
                    key, arrays, _, out, values = _Given.of(args, kwargs, count)
                    form = forms.get(key)
            except TypeError:  # a list among the parameters, which is no key
                form = None
            if form is not None:
                if form.order is not None:
                    arrays = [arrays[place] for place in form.order]
                if form.exactly is not None and not form.exactly.are(values):
                    form = None
        else:
            form = forms.get(len(args))
        if form is not None:
            try:
                result = form.run(arrays) if out is None else form.run_into(arrays, out)
                if result is not None:
                    return result
                if all([isinstance(each, ArrayBase) for each in arrays]):
                    return invoke(form.op, (*arrays, *form.absent), form.p, out, form.device)
            except MXNetError as error:
                error.locate(op.name, called_as=called_as)
                raise
        given = _Given.of(args, kwargs, count)
        chosen, finish = op, None
        if translate is not None:  # whose errors say themselves what was called
            chosen, args, kwargs, finish = translate(args, kwargs)
        try:
            read = read_call(chosen, args, kwargs)
            # What is done to the result is not remembered, arrays under names that are translated, and what parameters
            # name: a custom operator may be registered anew.
            is_translated = translate is not None and (given.named or given.out is not None)
            if finish is None and not is_translated and not chosen.depends_on_parameters:
                _remember(forms, given, read)
            result = invoke(read.op, read.inputs, read.p, read.out, read.device)
            return result if finish is None else finish(result)
        except MXNetError as error:
            error.locate(chosen.name, called_as=called_as)
            raise

    return function


class _Given(NamedTuple):
    """What a call gives.

    Attributes
    ----------
    key
        What the call is found by again; of arrays it has no more than where they are.
    arrays
        Those by position, then those by name, in the order of the call.
    named
        The names of the latter.
    out
        The array for the result.
    values
        All others.
    """

    key: Hashable
    arrays: Sequence[Any]
    named: Sequence[str]
    out: Any
    values: tuple[Any, ...]

    @classmethod
    def of(cls, args: tuple[Any, ...], kwargs: dict[str, Any], count: int) -> _Given:
        """Return what a call gives, the first `count` arguments of which are arrays."""
        array_class = DenseStorage.array_class
        arrays, values = [*args[:count]], [*args[count:]]
        kinds, named, out = [*map(type, values)], [], None
        for name, value in kwargs.items():
            kinds.append(kind := type(value))
            if kind is not array_class:
                values.append(value)
            elif name == "out":
                out = value
            else:
                named.append(name)
                arrays.append(value)
        key = (len(args), *kwargs, *values, *kinds) if kinds else len(args)
        return cls(key, arrays, named, out, tuple(values))


def _remember(forms: dict[Hashable, Form], given: _Given, read: Read) -> None:
    """Keep what was read of a call for others like it, if they are read so."""
    made = _form_of(given, read)
    if made is None:
        return
    try:
        if given.key not in forms:
            if len(forms) == _MOST_FORMS:
                forms.clear()
            forms[given.key] = made
    except TypeError:  # as above
        pass


def _form_of(given: _Given, read: Read) -> Form | None:
    """Return the form of a call; None where another one with the same key may be read otherwise.

    So it is where arrays came in a list, and where some are missing or ignored.
    """
    op, arrays = read.op, given.arrays
    names = op.signature.input_names
    order: Sequence[int] = range(len(arrays))
    if given.named and not op.signature.variadic:
        if not {*given.named} <= {*names}:  # an array for a parameter
            return None
        places = [*range(len(arrays) - len(given.named)), *map(names.index, given.named)]
        order = sorted(order, key=places.__getitem__)
    inputs = [arrays[place] for place in order]
    absent = len(read.inputs) - len(inputs)
    same = absent >= 0 and all(map(operator.is_, read.inputs, (*inputs, *(None,) * absent)))
    if not same or any(each is None for each in inputs) or read.out is not given.out:
        return None
    return Form(op, read.p, read.device, order, absent, Exactly.needed(given.values))


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
