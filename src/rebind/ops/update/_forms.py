"""What the operators of a rule have in common: names, parameters, checks, and how they run the rule."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import torch
from torch import Tensor

from ...errors import DTypeError, ShapeError
from ...params import AtLeast, Params
from ...shapes import Shape, together
from ..declaration import Shapes
from ._docs import describe
from .lists import Count, Limit, Number, Rate, Tensors
from .wrappers import skipping, through_masters

__all__ = ["PRELOADED", "Declaration", "Form", "Result", "common_shape"]

ARRAYS = {"weights": "weight", "grads": "grad"}
MASTER = "weight32"
PRELOADED = ("lrs", "wds")

Result: TypeAlias = Tensor | tuple[Tensor, ...]

#: What annotations of a rule mean for the operators of one weight, and of several.
ONE = {Rate: float, Number: float, Limit: float, Count: Annotated[int, AtLeast(1)]}
MANY = {Rate: tuple[float, ...], Count: tuple[int, ...]}


@dataclass(frozen=True)
class Declaration:
    """What the signature of a rule does not say of its operators.

    Attributes
    ----------
    name, aliases
        The names of the form for one weight; prefixes make the others.
    forms
        Which forms there are.
    names
        Parameters that the operator calls otherwise than the rule.
    ignored
        Further parameters, with defaults, that change nothing.
    reads
        Arrays that are no states.
    free
        Arrays whose shape is not that of the weight.
    factor
        The parameter that comes as an array after all others. Where it is not finite, or 0, nothing changes.
    overwrites
        Whether the rule writes the weights. Otherwise what it returns is the operator's output.
    plural
        The names of parameters that are lists where there are several weights.
    number
        The parameter that counts the weights.
    rates_first
        Whether these lists come first.
    check
        What must hold between parameters: a sentence if it does not.
    check_arrays
        Raises an error for arrays that do not fit.
    """

    name: str
    aliases: tuple[str, ...] = ()
    forms: Sequence[str] = ("",)
    names: Mapping[str, str] | None = None
    ignored: Mapping[str, float] | None = None
    reads: Sequence[str] = ()
    free: Sequence[str] = ()
    factor: str | None = None
    overwrites: bool = True
    plural: Mapping[str, str] | None = None
    number: str = "num_weights"
    rates_first: bool = False
    check: Callable[[Params], str | None] | None = None
    check_arrays: Callable[[Mapping[str, Tensor]], None] | None = None

    def form_name(self, form: str) -> str:
        """Return the name of a form's operator: ``_mp_adamw_update`` of ``_adamw_update``.

        Examples
        --------
        >>> Declaration("_adamw_update").form_name("multi_mp"), Declaration("sgd_update").form_name("mp")
        ('_multi_mp_adamw_update', 'mp_sgd_update')
        """
        private, stem = ("_", self.name[1:]) if self.name.startswith("_") else ("", self.name)
        return f"{private}{form}_{stem}" if form else self.name


class Form:
    """One operator of a rule.

    Attributes
    ----------
    arrays
        The arrays of one weight, in order.
    trailing
        Arrays that come once, after those of the last weight.
    states
        Those of `arrays` that are written: auxiliary states.
    fixed
        The arrays that have a type of their own.
    base_name
        The operator that it is a variant of, if it is one.
    """

    def __init__(self, function: Callable[..., Tensors | None], declaration: Declaration, form: str) -> None:
        self.declaration = declaration
        self.name = declaration.form_name(form)
        # "multi_mp" is both; "mp" alone must be a whole word.
        self.several, self.masters = "multi" in form, "mp" in form.split("_")
        self.preloaded = form.startswith("preloaded")
        arguments = inspect.signature(function).parameters.values()
        arrays = [ARRAYS.get(a.name, a.name) for a in arguments if a.kind is not a.KEYWORD_ONLY]
        # What comes after the weight and its gradient is state, unless it is declared as read.
        states = [name for name in arrays[2:] if name not in declaration.reads]
        extra = [MASTER] if self.masters else []
        self.arrays = (*arrays, *extra)
        self.states = (*states, *extra)
        self.trailing: tuple[str, ...] = PRELOADED if self.preloaded else ()
        if declaration.factor is not None:
            self.trailing = (declaration.factor,)
        # With masters, states are float32 whatever the weight is.
        typed = ("weight", "grad") if self.masters else self.arrays
        self.fixed = dict.fromkeys(
            (n for n in (*self.arrays, *self.trailing) if n not in typed), torch.float32
        )
        self.function = through_masters(function, declaration.overwrites) if self.masters else function
        self.rates: list[str] = []  # the parameters that are lists
        #: By the operator's parameter, that of the rule; parameters that change nothing are not in it.
        self.to_rule: dict[str, str] = {}
        self.parameters = self._parameters(function)
        simplest = declaration.form_name(declaration.forms[0])
        self.base_name = None if self.name == simplest else simplest
        self.module = function.__module__
        # Last: it reads all that stands above.
        self.documentation = describe(self, function)

    def _parameters(self, function: Callable[..., Tensors | None]) -> list[inspect.Parameter]:
        """Return the operator's parameters."""
        declaration = self.declaration
        hints = typing.get_type_hints(function, include_extras=True)
        plural = declaration.plural or {"lr": "lrs", "wd": "wds", "eta": "etas"}
        found: list[inspect.Parameter] = []
        lists_: list[inspect.Parameter] = []
        for argument in inspect.signature(function).parameters.values():
            name, annotation, default = argument.name, hints[argument.name], argument.default
            if argument.kind is not argument.KEYWORD_ONLY or name == declaration.factor:
                continue
            public = (declaration.names or {}).get(name, name)
            is_list = self.several and name in plural
            if is_list:
                public, annotation, default = plural[name], MANY[annotation], argument.empty
                # They come as arrays, in `trailing`.
                if self.preloaded:
                    continue
                self.rates.append(public)
            self.to_rule[public] = name
            # MXNet lists rates before or after the other parameters, by family; callers may pass them by position.
            (lists_ if is_list and declaration.rates_first else found).append(
                _parameter(public, ONE.get(annotation, annotation), default)
            )
        if self.several:
            found.append(_parameter(declaration.number, int, 1))
        else:
            found += [_parameter(n, type(v), v) for n, v in (declaration.ignored or {}).items()]
        return lists_ + found

    def apply(
        self, columns: Sequence[Tensors], trailing: Sequence[Tensor], settings: Mapping[str, object]
    ) -> Tensors | None:
        """Run the rule on lists of tensors that want no gradient: an update is no part of what is differentiated."""
        to_rule = self.to_rule
        values = {to_rule[name]: value for name, value in settings.items() if name in to_rule}
        if self.preloaded:  # they stay on their device
            values["lr"], values["wd"] = (list(array.unbind()) for array in trailing)
        if self.declaration.factor is not None:
            # What such a factor decides cannot be returned: it acts in place, or not at all.
            skipping(functools.partial(self.function, **values), trailing[0], *columns)
            return None
        return self.function(*columns, **values)

    def check(self, number: str, named: Mapping[str, Tensor]) -> None:
        """Raise an error for types that are not floating, or not fitting, and for shapes that are not the weight's."""
        weight = named["weight"]
        shape = weight.shape
        if not weight.dtype.is_floating_point:
            raise DTypeError(
                f"weight{number} must be of a floating type; got {_text(weight.dtype)}. "
                "Convert it with astype()."
            )
        for name, array in named.items():
            if array.shape != shape and name not in self.declaration.free and name not in self.trailing:
                raise ShapeError(
                    f"{name}{number} must have the shape of weight{number}, {tuple(shape)}; "
                    f"got {tuple(array.shape)}"
                )
        if self.fixed:
            self.check_types(named)

    def check_types(self, named: Mapping[str, Tensor]) -> None:
        """Raise an error for an array that is not of the type that it always has."""
        for name, wanted in self.fixed.items():
            if name in named and named[name].dtype is not wanted:
                raise DTypeError(
                    f"{name} must be of type {_text(wanted)}; got {_text(named[name].dtype)}. "
                    "Convert it with astype()."
                )

    def with_signature(
        self, function: Callable[..., Result], inputs: Iterable[inspect.Parameter]
    ) -> Callable[..., Result]:
        """Give a function the operator's name, signature and documentation."""
        arguments = [*inputs, *self.parameters]
        function.__name__ = function.__qualname__ = self.name
        function.__module__ = self.module
        function.__doc__ = self.documentation
        function.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]  # it is a function's
        function.__annotations__ = {argument.name: argument.annotation for argument in arguments}
        return function


def common_shape(shapes: Shapes) -> dict[str, Shape | None]:
    """Return the one shape that arrays have, by their names.

    Examples
    --------
    >>> common_shape({"weight": (0, 3), "grad": (2, 0), "mom": None})
    {'weight': (2, 3), 'grad': (2, 3), 'mom': (2, 3)}
    """
    return dict.fromkeys(shapes, together(*shapes.values()))


def _parameter(name: str, annotation: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _text(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
