"""Functions of ``nd.contrib`` and ``sym.contrib`` over update operators.

They take the factor of gradients as a number too, and several weights as lists. Each is declared once, here; arrays and
symbols differ only in how an operator is applied.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from ...errors import ArgumentError

__all__ = ["FRONT_ENDS", "Call", "FrontEnd", "front_end"]

A = TypeVar("A")

_MEANINGS = {
    "weight": "The weight and its gradient.",
    "mean": "Running means of the gradient and of its square; written in place.",
    "weight32": "The copy of the weight in float32, which the update goes through; written in place.",
    "weights": "Lists with an array for each weight.",
    "weights32": "The copies of the weights in float32, which the update goes through; written in place.",
    "rescale_grad": "The factor of the gradients. Where it is 0, infinite or nan, nothing changes.",
    "step_count": "The number of this update of each weight, from 1.",
    "lr": "Learning rate, and the multiplier of the whole step.",
    "lrs": "Learning rates, weight decays and so on, one for each weight.",
    "beta1": "The fractions of the running means that remain at an update.",
    "epsilon": "Added to the denominator.",
    "wd": "Weight decay.",
    "clip_gradient": "Each element of the rescaled gradient is cut to this size; a negative number cuts nothing.",
    "out": "What to write the result into; the weights, as a rule.",
    "name": "The name of the node, where it is one.",
    "size": "How many weights there are; 0 is as many as are given.",
    "num_tensors": "How many weights there are; 0 is as many as are given.",
    "kwargs": "Further parameters of the operator.",
}

#: Types of arguments other than float.
_TYPES = {
    "lrs": Sequence[float],
    "wds": Sequence[float],
    "etas": Sequence[float],
    "step_count": Sequence[int],
    "size": int,
    "num_tensors": int,
    "name": str | None,
}


@dataclass(frozen=True)
class FrontEnd:
    """One function: its operator, and what it takes.

    Attributes
    ----------
    name, operator
        Its name, and that of the operator.
    summary
        The first line of its help.
    arrays
        The arrays of the operator, without the factor; lists of them if they are ``weights``.
    parameters
        The further arguments, in order; those without a default are required.
    renamed
        What the operator calls otherwise.
    number
        The parameter of the operator that counts the weights, if there are several.
    size
        The argument that may say how many there are.
    """

    name: str
    operator: str
    summary: str
    arrays: tuple[str, ...]
    parameters: Mapping[str, object]
    renamed: Mapping[str, str]
    number: str = ""
    size: str = ""

    @property
    def takes_factor(self) -> bool:
        """Whether it takes the factor of gradients.

        Examples
        --------
        >>> FRONT_ENDS["adamw_update"].takes_factor, FRONT_ENDS["multi_lamb_update"].takes_factor
        (True, False)
        """
        return "rescale_grad" in self.parameters

    def signature(self, kind: type) -> inspect.Signature:
        """Return its signature on arrays or symbols.

        Examples
        --------
        >>> list(FRONT_ENDS["multi_lamb_update"].signature(float).parameters)[:5]
        ['weights', 'grads', 'mean', 'var', 'step_count']
        """
        either = inspect.Parameter.POSITIONAL_OR_KEYWORD
        several = Sequence[kind] if self.number else kind  # type: ignore[valid-type]  # a class that is not known here
        types = _TYPES | {"rescale_grad": kind | float, "out": several | None}
        return inspect.Signature(
            [
                *(inspect.Parameter(name, either, annotation=several) for name in self.arrays),
                *(
                    inspect.Parameter(name, either, default=value, annotation=types.get(name, float))
                    for name, value in self.parameters.items()
                ),
                inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD, annotation=float),
            ],
            return_annotation=several,
        )

    def documentation(self) -> str:
        """Return its help text.

        Examples
        --------
        >>> print(FRONT_ENDS["mp_adamw_update"].documentation().splitlines()[0])
        Update a weight by AdamW.
        """
        lines = [self.summary, "", "Parameters", "----------"]
        names: list[str] = []
        # From the last: a name without a meaning of its own shares the entry of the one before it.
        for name in reversed((*self.arrays, *self.parameters, "kwargs")):
            names.insert(0, name)
            if name in _MEANINGS:
                lines[4:4] = [", ".join(names), f"    {_MEANINGS[name]}"]
                names = []
        return "\n".join(lines) + "\n"

    def interleaved(self, given: Mapping[str, object]) -> list[object]:
        """Return the arrays of the first weight, then those of the second, and so on.

        Examples
        --------
        >>> front = FRONT_ENDS["multi_lamb_update"]
        >>> given = {
        ...     "weights": ["w0", "w1"],
        ...     "grads": ["g0", "g1"],
        ...     "mean": ["m0", "m1"],
        ...     "var": ["v0", "v1"],
        ... }
        >>> front.interleaved({**given, "num_tensors": 0})
        ['w0', 'g0', 'm0', 'v0', 'w1', 'g1', 'm1', 'v1']
        """
        lists = [cast("Sequence[object]", given[name]) for name in self.arrays]
        size = given[self.size]
        lengths = {len(each) for each in lists}
        # One number of arrays in all lists; 0 for `size` is no statement.
        if len(lengths) != 1 or lengths == {0} or (size and lengths != {size}):
            wanted = f"{size} arrays, as {self.size} says" if size else "one number of arrays, at least one"
            raise ArgumentError(
                f"contrib.{self.name}: the lists of arrays must hold {wanted}; got "
                f"{', '.join(str(len(each)) for each in lists)}"
            )
        return [array for group in zip(*lists, strict=True) for array in group]

    def settings(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return the parameters of the operator, with lists of numbers as it takes them.

        Examples
        --------
        >>> given = {"weights": ["w0"], "step_count": [1], "lrs": [0.5], "wds": [0], "num_tensors": 0}
        >>> FRONT_ENDS["multi_lamb_update"].settings(given)
        {'step_count': (1,), 'learning_rates': (0.5,), 'wds': (0.0,), 'num_tensors': 1}
        """
        found = {}
        for name in self.parameters:
            if name in (self.size, "rescale_grad", "out", "name"):
                continue
            value = given[name]
            if self.number:
                number = int if name == "step_count" else float
                value = tuple(number(each) for each in cast("Sequence[float]", value))
            found[self.renamed.get(name, name)] = value
        if self.number:
            found[self.number] = len(cast("Sequence[object]", given[self.arrays[0]]))
        return found


@dataclass(frozen=True)
class Call(Generic[A]):
    """A call of a front end, read: what to apply the operator to.

    Attributes
    ----------
    arrays
        The operator's arrays, without the factor.
    factor
        The factor of gradients as it was given; None where the operator takes none.
    settings
        The operator's parameters.
    out, name
        As they were given.
    """

    front: FrontEnd
    arrays: list[A]
    factor: A | float | None
    settings: dict[str, object]
    out: object
    name: str | None


def front_end(
    front: FrontEnd, kind: type[A], apply: Callable[[Call[A]], A | list[A]]
) -> Callable[..., A | list[A]]:
    """Return the function on arrays, or on symbols, that reads its arguments and lets `apply` do the rest."""
    signature = front.signature(kind)

    def function(*args: object, **kwargs: object) -> A | list[A]:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            # Python's own message lacks the name of the function.
            raise TypeError(f"contrib.{front.name}() {error}") from None
        bound.apply_defaults()
        given = bound.arguments
        arrays = cast(
            "list[A]",
            front.interleaved(given) if front.number else [given[name] for name in front.arrays],
        )
        # Further parameters pass as they are: the operator names those that it does not have.
        settings = {**front.settings(given), **given["kwargs"]}
        factor = given["rescale_grad"] if front.takes_factor else None
        return apply(Call(front, arrays, factor, settings, given["out"], given.get("name")))

    function.__name__ = function.__qualname__ = front.name
    function.__doc__ = front.documentation()
    function.__signature__ = signature  # type: ignore[attr-defined]  # it is a function's
    return function


_NONE = inspect.Parameter.empty
_ADAMW = {
    "rescale_grad": _NONE, "lr": _NONE, "eta": _NONE, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "wd": 0,
    "clip_gradient": -1, "out": None, "name": None,
}  # fmt: skip
_MULTI_ADAMW = {
    "rescale_grad": _NONE, "lrs": _NONE, "wds": _NONE, "etas": _NONE, "out": None, "name": None, "size": 0,
}  # fmt: skip
_MULTI_LAMB = {"step_count": _NONE, "lrs": _NONE, "wds": _NONE, "out": None, "num_tensors": 0}
_ONE = ("weight", "grad", "mean", "var")
_MANY = ("weights", "grads", "mean", "var")


def _pair(
    name: str,
    summary: str,
    arrays: tuple[str, ...],
    master: str,
    parameters: Mapping[str, object],
    **more: str,
) -> list[FrontEnd]:
    """Return a function without and with master copies."""
    renamed = {"lrs": "learning_rates"} if more.get("number") == "num_tensors" else {}
    mixed = name.replace("multi_", "multi_mp_") if name.startswith("multi_") else f"mp_{name}"
    return [
        FrontEnd(each, f"_{each}", summary, names, parameters, renamed, **more)
        for each, names in ((name, arrays), (mixed, (*arrays, master)))
    ]


#: By name: those for one weight are functions on symbols too.
FRONT_ENDS: dict[str, FrontEnd] = {
    front.name: front
    for front in (
        *_pair("adamw_update", "Update a weight by AdamW.", _ONE, "weight32", _ADAMW),
        *_pair(
            "multi_adamw_update", "Update several weights by AdamW.", _MANY, "weights32", _MULTI_ADAMW,
            number="num_weights", size="size",
        ),
        *_pair(
            "multi_lamb_update", "Update several weights by LAMB.", _MANY, "weights32", _MULTI_LAMB,
            number="num_tensors", size="num_tensors",
        ),
    )
}  # fmt: skip
