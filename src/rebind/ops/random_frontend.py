"""The functions of ``nd.random`` and ``sym.random``: one declaration each, from which both are made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from ..checks import NUMBER, check_kind
from ..dtypes import DTypeLike
from ..errors import ArgumentError
from ..first_use import OnFirstUse
from .declaration import Operator, find
from .frontend import signature

__all__ = ["Drawn", "Front", "make_random_functions", "zipfian"]

T = TypeVar("T")  # NDArray or Symbol
REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class RandomFunction:
    """A function that draws, under MXNet's public name for it.

    Attributes
    ----------
    kind
        Its name, and that of the distribution: the operators are ``_random_<kind>`` and ``_sample_<kind>``.
    parameters
        What it takes, with defaults.
    doc
        Its docstring.
    translate
        Makes the operator's parameters of its own, where they differ.
    number
        What its parameters are, where they are not arrays.
    """

    kind: str
    parameters: Mapping[str, Any]
    doc: str
    translate: Callable[..., dict[str, Any]] | None = None
    number: type = float


def _rate(scale: float) -> dict[str, float]:
    check_kind("random.exponential", NUMBER, scale=scale)
    return {"lam": 1.0 / scale}


FUNCTIONS = (
    RandomFunction(
        "uniform", {"low": 0, "high": 1}, "Draw from the uniform distribution on ``[low, high)``."
    ),
    RandomFunction(
        "normal",
        {"loc": 0, "scale": 1},
        "Draw from the normal distribution with mean `loc` and standard deviation `scale`.",
    ),
    RandomFunction("poisson", {"lam": 1}, "Draw from the Poisson distribution with rate `lam`."),
    RandomFunction(
        "exponential",
        {"scale": 1},
        "Draw from the exponential distribution with mean `scale`.",
        translate=_rate,
    ),
    RandomFunction(
        "gamma",
        {"alpha": 1, "beta": 1},
        "Draw from the gamma distribution with shape `alpha` and scale `beta`.",
    ),
    RandomFunction(
        "negative_binomial",
        {"k": 1, "p": 1},
        "Draw the number of failures before `k` successes of probability `p`.",
    ),
    RandomFunction(
        "generalized_negative_binomial",
        {"mu": 1, "alpha": 1},
        "Draw from the negative binomial distribution with mean `mu` and dispersion `alpha`.",
    ),
    RandomFunction(
        "randint",
        {"low": REQUIRED, "high": REQUIRED},
        "Draw whole numbers from ``[low, high)``; int32 by default.",
        number=int,
    ),
)

#: By distribution, the first line of the function that draws as many numbers as an array has.
LIKE = {
    "uniform": "Draw from the uniform distribution on ``[low, high)``",
    "normal": "Draw from the normal distribution",
    "exponential": "Draw from the exponential distribution with rate `lam`",
    "gamma": "Draw from the gamma distribution with shape `alpha` and scale `beta`",
    "poisson": "Draw from the Poisson distribution with rate `lam`",
    "negative_binomial": "Draw the number of failures before `k` successes",
    "generalized_negative_binomial": "Draw from the negative binomial distribution with mean `mu`",
}


#: What a call that draws was given: the parameters of the distribution where they are arrays, or by name where they are
#: numbers, and the other arguments: shape, dtype, and what the front takes.
Drawn: TypeAlias = tuple[tuple[T, ...], dict[str, Any], dict[str, Any]]


@dataclass(frozen=True)
class Front(Generic[T]):
    """What differs between ``nd.random`` and ``sym.random``.

    Attributes
    ----------
    package, module
        The package it is in, and its public name.
    inputs, inputs_word
        The class of what operators take, and the word for several of these.
    extra
        What each function takes after its parameters, shape and dtype.
    extra_like
        The keywords of those that draw like an array.
    apply
        Applies an operator: ``(operator, hint for the name, inputs, keywords, name in errors)``.
    draw
        Draws: ``(kind of distribution, what a call was given, name in errors)``.
    """

    package: str
    module: str
    inputs: type[T]
    inputs_word: str
    extra: Sequence[inspect.Parameter]
    extra_like: Sequence[str]
    apply: Callable[[Operator, str, Sequence[T], dict[str, Any], str], T]
    draw: Callable[[str, Drawn[T], str], T]


def make_random_functions(front: Front[T]) -> OnFirstUse[Callable[..., T]]:
    """Return the functions of ``nd.random`` or ``sym.random`` by name.

    Those whose signatures differ between the two (``multinomial``, ``rand_zipfian``) are written beside each front.
    """
    return OnFirstUse(
        {
            **{row.kind: partial(_drawing, row, front) for row in FUNCTIONS},
            **{f"{kind}_like": partial(_drawing_like, kind, doc, front) for kind, doc in LIKE.items()},
            "randn": partial(_randn, front),
            "shuffle": partial(_shuffle, front),
        }
    )


def _drawing(row: RandomFunction, front: Front[T], name: str | None = None) -> Callable[..., T]:
    """Return the function of a row; errors call it `name`, by default the row's."""
    name = name or row.kind
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = [
        inspect.Parameter(argument, plain, default=default, annotation=annotation)
        for argument, default, annotation in (
            *((argument, default, row.number | front.inputs) for argument, default in row.parameters.items()),
            ("shape", None, int | Sequence[int] | None),
            ("dtype", None, Any),  # whatever `dtypes.as_dtype` takes
        )
    ]
    interface = inspect.Signature([*own, *front.extra], return_annotation=front.inputs)
    # Computed once, so that a call pays for set comparisons only.
    by_position = [p.name for p in interface.parameters.values() if p.kind is plain]
    known = frozenset(by_position)
    required = {key for key, default in row.parameters.items() if default is REQUIRED}

    def read(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Drawn[T]:
        given = {**dict(zip(by_position, args, strict=False)), **kwargs}
        # `bind` takes as long as the draw: only where something is odd.
        if len(given) < len(args) + len(kwargs) or not required <= given.keys() <= known:
            try:
                interface.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{front.module}.{name}: {error}") from None
        parameters = {key: given.pop(key, default) for key, default in row.parameters.items()}
        if row.translate is not None:
            parameters = row.translate(**parameters)
        # Arrays of parameters are inputs of `_sample_X`; numbers are parameters of `_random_X`.
        inputs = _as_inputs(name, parameters, front)
        return inputs, {} if inputs else parameters, given

    def function(*args: Any, **kwargs: Any) -> T:
        return front.draw(row.kind, read(args, kwargs), f"random.{name}")

    function.__signature__ = interface  # type: ignore[attr-defined]  # functions take attributes, which mypy does not see
    return _named(function, row.kind, row.doc, front)


def _as_inputs(name: str, parameters: dict[str, Any], front: Front[T]) -> tuple[T, ...]:
    """Return the parameters if they are arrays (or symbols), () if they are numbers."""
    inputs = [value for value in parameters.values() if isinstance(value, front.inputs)]
    if inputs and len(inputs) < len(parameters):
        raise ArgumentError(
            f"{front.module}.{name}: parameters must be all numbers or all {front.inputs_word}; got {parameters}"
        )
    return tuple(inputs)


def _drawing_like(kind: str, doc: str, front: Front[T]) -> Callable[..., T]:
    op = find(f"_random_{kind}_like")
    name = f"{kind}_like"

    def function(*args: T, **kwargs: Any) -> T:
        return front.apply(op, name, args, kwargs, f"random.{name}")

    function.__signature__ = signature(op, front.inputs, front.extra_like)  # type: ignore[attr-defined] # as above
    return _named(function, name, f"{doc}, in the shape and type of `data`.", front)


def _randn(front: Front[T]) -> Callable[..., T]:
    normal = _drawing(next(row for row in FUNCTIONS if row.kind == "normal"), front, "randn")

    def function(
        *shape: int, loc: float | T = 0, scale: float | T = 1, dtype: DTypeLike | None = None, **kwargs: Any
    ) -> T:
        return normal(loc, scale, shape or None, dtype, **kwargs)

    # The signature of `normal`, but for `shape`, which comes first and takes the rest to keywords.
    given = inspect.signature(normal).parameters
    shape = inspect.Parameter("shape", inspect.Parameter.VAR_POSITIONAL, annotation=int)
    others = [p if p.kind is p.VAR_KEYWORD else p.replace(kind=p.KEYWORD_ONLY) for p in given.values()]
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # as above
        [shape, *(p for p in others if p.name != "shape")], return_annotation=front.inputs
    )
    doc = "Draw an array of shape `shape` from the normal distribution."
    return _named(function, "randn", doc, front)


def _shuffle(front: Front[T]) -> Callable[..., T]:
    op = find("_shuffle")

    def function(data: T, **kwargs: Any) -> T:
        return front.apply(op, "_shuffle", (data,), kwargs, "random.shuffle")

    function.__signature__ = signature(op, front.inputs, front.extra_like)  # type: ignore[attr-defined]  # as above
    return _named(function, "shuffle", "Return the rows of `data` in random order.", front)


def _named(function: Callable[..., T], name: str, doc: str, front: Front[T]) -> Callable[..., T]:
    function.__name__ = function.__qualname__ = name
    function.__module__ = f"rebind.{front.package}.random"
    function.__doc__ = doc
    return function


def zipfian(
    apply: Callable[..., Any], base: T, true_classes: T, num_sampled: int, range_max: int, **where: Any
) -> tuple[T, T, T]:
    """Draw classes from a Zipfian distribution, with arrays or symbols; see `rand_zipfian`.

    `apply` applies an operator, ``(name, *inputs, **parameters)``; `base` holds ``range_max + 1``; `where` says on
    which device to draw.
    """
    # By the inverse of the distribution function: ``(range_max + 1) ** u - 1`` has the density of 1 / (class + 1).
    scale = apply("log", base)
    draws = apply("_random_uniform", shape=(num_sampled,), dtype="float64", **where)
    sampled = apply("Cast", apply("exp", apply("broadcast_mul", draws, scale)) - 1, dtype="int64") % range_max

    def expected(classes: T) -> T:
        # In float64: the logarithms of neighbours differ little for large classes.
        exact = apply("Cast", classes, dtype="float64")
        return apply("broadcast_div", apply("log", (exact + 2) / (exact + 1)), scale) * num_sampled

    return sampled, expected(true_classes), expected(sampled)
