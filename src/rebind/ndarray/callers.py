"""Functions that run operators as they are called: a call is read once, and run again by what was read (`forms.py`)."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Collection, Hashable, Sequence
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
    known = _Known()
    forms, layouts = known.forms, known.layouts
    # How many arrays come before the parameters; asked at the first call, as it has the signature read.
    count = -1
    array_class: type | None = None

    def function(*args: Any, **kwargs: Any) -> Any:
        nonlocal count, array_class
        if count < 0:
            array_class = DenseStorage.array_class  # which there is not yet when this function is made
            count = sys.maxsize if op.signature.variadic else len(op.signature.inputs)
        # Every step counts here, where most calls give arrays by position.
        form = out = None
        arrays = args
        if kwargs or len(args) > count:
            values: Collection[Any] = kwargs.values()
            if len(args) > count:
                values, arrays = (*args[count:], *values), args[:count]
            kinds = [*map(type, values)]
            try:
                if array_class not in kinds:
                    form = forms.get((len(args), *kwargs, *values, *kinds))
                elif (layout := layouts.get((len(args), *kwargs, *kinds))) is not None:
                    every = tuple(values)
                    arrays, values = (*arrays, *layout.named(every)), layout.others(every)
                    if layout.out is not None:
                        out = every[layout.out]
                    form = forms.get((layout, *values))
            except TypeError:  # a list among the parameters, which is no key
                pass
            if form is not None and form.exactly is not None and not form.exactly.are(values):
                form = None
        else:
            form = forms.get(len(args))
        if form is not None:
            try:
                result = form.run(*arrays) if out is None else form.run_into(arrays, out)
                if result is not None:
                    return result
                if all([isinstance(each, ArrayBase) for each in arrays]):
                    return invoke(form.op, form.in_order(arrays), form.p, out, form.device)
            except MXNetError as error:
                error.locate(op.name, called_as=called_as)
                raise
        given = _Given.of(args, kwargs, count)
        chosen, finish = op, None
        if translate is not None:  # whose errors say themselves what was called
            chosen, args, kwargs, finish = translate(args, kwargs)
        try:
            read = read_call(chosen, args, kwargs, called_as)
            # What is done to the result is not remembered, arrays under names that are translated, and what parameters
            # name: a custom operator may be registered anew.
            is_translated = translate is not None and given.layout is not None
            if finish is None and not is_translated and not chosen.depends_on_parameters:
                known.remember(given, read)
            result = invoke(read.op, read.inputs, read.p, read.out, read.device)
            return result if finish is None else finish(result)
        except MXNetError as error:
            error.locate(chosen.name, called_as=called_as)
            raise

    return function


class _Known:
    """What was read of a function's calls.

    Attributes
    ----------
    forms
        Of each call, by how many arrays and values are given by position, the names of the others, the values and their
        classes; of one with arrays by name, by its layout and the values.
    layouts
        Of calls with arrays by name, by what their forms would be found by, without the values.
    """

    __slots__ = ("forms", "layouts")

    def __init__(self) -> None:
        self.forms: dict[Hashable, Form] = {}
        self.layouts: dict[Hashable, _Layout] = {}

    def remember(self, given: _Given, read: Read) -> None:
        """Keep what was read of a call for others like it, if they are read so."""
        form = _form_of(given, read)
        if form is None:
            return
        if len(self.forms) == _MOST_FORMS:
            self.forms.clear()
            self.layouts.clear()
        try:
            if given.layout is None:
                self.forms.setdefault(given.key, form)
            else:
                layout = self.layouts.get(given.key, given.layout)
                self.forms.setdefault((layout, *given.values), form)
                self.layouts[given.key] = layout
        except TypeError:  # as above
            pass


class _Layout:
    """Where the arrays by name are among the values of a call.

    Attributes
    ----------
    named, others
        Pick the arrays that are inputs, and what is no array.
    out
        The place of the array for the result.
    """

    __slots__ = ("named", "others", "out")

    def __init__(self, named: Sequence[int], others: Sequence[int], out: int | None) -> None:
        self.named, self.others, self.out = _picker(named), _picker(others), out


def _picker(places: Sequence[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Return the function that picks what is at some places of a tuple."""
    if len(places) > 1:
        return operator.itemgetter(*places)
    return operator.itemgetter(slice(places[0], places[0] + 1) if places else slice(0))


class _Given(NamedTuple):
    """What a call gives.

    Attributes
    ----------
    key
        What it is found by, as `_Known` says.
    arrays
        Those by position, then those by name, in the order of the call.
    named
        The names of the latter.
    out
        The array for the result.
    values
        All others.
    layout
        Where the arrays by name are, if there are any.
    """

    key: Hashable
    arrays: tuple[Any, ...]
    named: Sequence[str]
    out: Any
    values: tuple[Any, ...]
    layout: _Layout | None

    @classmethod
    def of(cls, args: tuple[Any, ...], kwargs: dict[str, Any], count: int) -> _Given:
        """Return what a call gives, the first `count` arguments of which are arrays."""
        array_class = DenseStorage.array_class
        values = (*args[count:], *kwargs.values())
        if not values:
            return cls(len(args), args, (), None, (), None)
        kinds = [*map(type, values)]
        if array_class not in kinds:
            return cls((len(args), *kwargs, *values, *kinds), args[:count], (), None, values, None)
        places = {name: len(args[count:]) + i for i, name in enumerate(kwargs)}
        is_array = {name: kinds[place] is array_class for name, place in places.items()}
        out = places["out"] if is_array.get("out") else None
        named = [name for name in kwargs if is_array[name] and name != "out"]
        taken = {out, *map(places.__getitem__, named)}
        layout = _Layout(
            [places[name] for name in named], [i for i in range(len(values)) if i not in taken], out
        )
        return cls(
            key=(len(args), *kwargs, *kinds),
            arrays=(*args[:count], *layout.named(values)),
            named=named,
            out=None if out is None else values[out],
            values=layout.others(values),
            layout=layout,
        )


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
    return Form(op, read.p, order, read.device, absent, Exactly.needed(given.values))


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
