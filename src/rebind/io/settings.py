"""Parameters of the iterators that MXNet wrote in C++: given by name, also as text, and checked."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from typing import Concatenate, ParamSpec, TypeVar, get_type_hints

from ..checks import warn_user
from ..errors import ArgumentError, ParameterError, near_names
from ..params import REQUIRED, Parameter

__all__ = ["settings"]

P = ParamSpec("P")
Self = TypeVar("Self")

_Init = Callable[Concatenate[Self, P], None]


def settings(init: _Init[Self, P]) -> _Init[Self, P]:
    """Decorate a constructor whose parameters are keyword-only: have them parsed and checked by their annotations.

    Programs give these parameters as text too (``batch_size='32'``), since MXNet turned them all into text. One that
    there is not has no effect in MXNet, and examples of its own have such: so it is a warning here, not an error.

    Raises
    ------
    ArgumentError
        When a parameter is given by position, or one without a default is missing.
    ParameterError
        When a value is not of the parameter's type.

    Examples
    --------
    >>> class Repeats:
    ...     @settings
    ...     def __init__(self, *, count: int, loud: bool = False) -> None:
    ...         self.said = (count, loud)
    >>> Repeats(count="3", loud="True").said
    (3, True)
    >>> Repeats(count=1.5)
    Traceback (most recent call last):
    rebind.errors.ParameterError: Repeats: count must be an int; got 1.5
    """

    @functools.wraps(init)
    def parsed(self: Self, *args: P.args, **given: P.kwargs) -> None:
        who = type(self).__name__
        known = _parameters(init)
        if args:
            raise ArgumentError(
                f"{who}: parameters must be given by name; got {len(args)} by position. "
                f"Write {who}({next(iter(known))}=...)."
            )
        init(self, **_parse(who, known, given))  # type: ignore[arg-type, call-arg]  # by the names of the signature

    return parsed


@functools.cache
def _parameters(init: Callable[..., None]) -> dict[str, Parameter]:
    """Return the parameters that a constructor's signature declares, by name."""
    types = get_type_hints(init, include_extras=True)
    return {
        name: Parameter.from_annotation(
            name, types[name], REQUIRED if declared.default is inspect.Parameter.empty else declared.default
        )
        for name, declared in inspect.signature(init).parameters.items()
        if declared.kind is inspect.Parameter.KEYWORD_ONLY
    }


def _parse(who: str, known: Mapping[str, Parameter], given: Mapping[str, object]) -> dict[str, object]:
    for name in given:
        if name not in known:
            warn_user(f"{who}: no parameter {name!r}, so it has no effect{near_names(name, known)}")
    missing = [name for name, parameter in known.items() if parameter.required and name not in given]
    if missing:
        raise ArgumentError(f"{who}: {', '.join(missing)} must be given; got {', '.join(given) or 'nothing'}")
    parsed: dict[str, object] = {}
    for name, value in given.items():
        if name in known:
            try:
                parsed[name] = known[name].parse(
                    os.fspath(value) if isinstance(value, os.PathLike) else value
                )
            except (ArgumentError, ParameterError) as error:
                raise type(error)(f"{who}: {error}", argument=name) from None
    return parsed
