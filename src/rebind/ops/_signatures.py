"""Signatures that are composed: for operators that are rows of a table, or differ little from another one.

One function of ``*arrays`` and ``**settings`` then computes a whole family. `operator` reads an operator's
interface from a signature, so each member gets one that names its arrays and settings.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

from torch import Tensor

from ..params import ParameterValue

__all__ = ["arguments", "array", "setting", "with_interface_of", "with_signature"]

Function = TypeVar("Function", bound=Callable[..., object])
#: Marks a setting without a default; Python types the class as no value.
REQUIRED: Any = inspect.Parameter.empty
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def array(name: str, *, optional: bool = False) -> inspect.Parameter:
    """Return the argument of a signature that is an array.

    >>> str(array("weight", optional=True))
    'weight: torch.Tensor = None'
    """
    default = None if optional else inspect.Parameter.empty
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=default, annotation=Tensor)


def setting(name: str, annotation: object, default: ParameterValue = REQUIRED) -> inspect.Parameter:
    """Return the argument of a signature that is a parameter of the operator; `annotation` is its type.

    >>> str(setting("axis", int, -1))
    'axis: int = -1'
    """
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def arguments(function: Callable[..., object]) -> list[inspect.Parameter]:
    """Return the arguments of a function, annotated with types rather than their names.

    >>> def scaled(data: Tensor, *, factor: "float" = 1.0) -> Tensor: ...
    >>> [(argument.name, argument.annotation) for argument in arguments(scaled)]
    [('data', <class 'torch.Tensor'>), ('factor', <class 'float'>)]
    """
    hints = typing.get_type_hints(function, include_extras=True)
    found = inspect.signature(function).parameters.values()
    return [argument.replace(annotation=hints[argument.name]) for argument in found]


def with_signature(function: Function, name: str, doc: str, named: Iterable[inspect.Parameter]) -> Function:
    """Give a function a name, a docstring, and a signature in which `named` come first of their kind.

    Its own ``*arrays`` and ``**settings`` disappear; what it names itself follows, unless `named` has it.

    >>> def powers(data: Tensor, **settings: float) -> Tensor: ...
    >>> square = with_signature(powers, "square", "Square of data.", [setting("scale", float, 1.0)])
    >>> str(inspect.signature(square))
    "(data: torch.Tensor, *, scale: float = 1.0) -> 'Tensor'"
    """
    by_name = {argument.name: argument for argument in named}
    own = {argument.name: argument for argument in arguments(function) if argument.kind not in VARIADIC}
    # In the order of `named`, with the function's own types and defaults.
    merged = {**by_name, **own}.values()
    # Python wants them by kind; the sort is stable, so that their order within a kind stays.
    ordered = sorted(merged, key=lambda argument: argument.kind)
    returned = inspect.signature(function).return_annotation
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__annotations__ = {argument.name: argument.annotation for argument in ordered}
    function.__signature__ = inspect.Signature(ordered, return_annotation=returned)  # type: ignore[attr-defined]  # a function
    return function


def with_interface_of(
    base: Callable[..., object], *, without: Collection[str] = ()
) -> Callable[[Function], Function]:
    """Give a function the arguments of another one, in its order, but for those in `without`; a decorator.

    Its docstring explains parameters that differ; the others are explained as there.

    >>> def normalize(data: Tensor, gamma: Tensor, *, eps: float = 1e-3, axis: int = 1) -> Tensor: ...
    >>> @with_interface_of(normalize, without=["axis"])
    ... def normalize_and_cut(*arrays: Tensor, key: str, **settings: float) -> Tensor: ...
    >>> list(inspect.signature(normalize_and_cut).parameters)
    ['data', 'gamma', 'eps', 'key']
    """
    inherited = [argument for argument in arguments(base) if argument.name not in without]
    names = [argument.name for argument in inherited]

    def decorate(function: Function) -> Function:
        doc = _explained_as(inspect.getdoc(base) or "", inspect.getdoc(function) or "", names)
        return with_signature(function, function.__name__, doc, inherited)

    return decorate


_TITLE = "Parameters\n----------\n"
_SECTION = re.compile(r"\n\n\w[\w ]*\n-{3,}\n")
_ENTRY = re.compile(r"^(\w.*)\n((?:[ ]+.*\n)+)", re.MULTILINE)


def _explained_as(base: str, doc: str, names: Collection[str]) -> str:
    """Return `doc` with explanations of those `names` that it does not explain, from another docstring."""
    before, _, own = doc.partition(_TITLE)
    explained = _explanations(own)
    more = {name: text for name, text in _explanations(base.partition(_TITLE)[2]).items() if name in names}
    entries = "".join(f"{name}\n{text}" for name, text in more.items() if name not in explained)
    if not entries or own:
        return f"{before}{_TITLE}{entries}{own}" if own else doc
    first = _SECTION.search(doc)  # the section of parameters comes before it
    start = first.start() if first else len(doc)
    return f"{doc[:start]}\n\n{_TITLE}{entries.rstrip()}{doc[start:]}"


def _explanations(section: str) -> dict[str, str]:
    """Return the indented lines below each name; ``a, b`` means both."""
    found: dict[str, str] = {}
    for names, text in _ENTRY.findall(section.partition("\n\n")[0] + "\n"):
        found |= dict.fromkeys((name.strip() for name in names.split(",")), text)
    return found
