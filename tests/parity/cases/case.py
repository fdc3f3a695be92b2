"""What a case is: one call of one operator, and how its inputs are drawn.

A case names an operator, its parameters and the inputs that are given; inputs that are left out (weights,
gammas) become variables of their own with inferred shapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Input:
    """An input array: how its values are drawn, its type, and whether a gradient for it is asked."""

    kind: str
    shape: tuple[int, ...]
    low: float = 0.0
    high: float = 0.0
    dtype: str = "float32"
    gradient: bool = True
    values: tuple[float, ...] = ()

    def draw(self, random: np.random.RandomState) -> Array:
        """Draw the values."""
        if self.kind == "values":
            drawn = np.array(self.values).reshape(self.shape)
        elif self.kind == "normal":
            drawn = random.standard_normal(self.shape)
        elif self.kind == "integers":
            drawn = random.randint(int(self.low), int(self.high), self.shape)
        elif self.kind == "distinct":
            size = int(np.prod(self.shape))
            drawn = (random.permutation(size).reshape(self.shape) - size / 2) / 4 + 0.1
        else:
            drawn = random.uniform(self.low, self.high, self.shape)
        return np.asarray(drawn).astype(self.dtype)


def normal(*shape: int, dtype: str = "float32") -> Input:
    """Values of the standard normal distribution."""
    return Input("normal", shape, dtype=dtype)


def between(low: float, high: float, *shape: int) -> Input:
    """Evenly distributed values, for functions that are not defined everywhere."""
    return Input("uniform", shape, low, high)


def distinct(*shape: int, dtype: str = "float32") -> Input:
    """Values that keep a distance from each other and from zero: a maximum or an order is never in doubt."""
    return Input("distinct", shape, dtype=dtype)


def integers(low: int, high: int, *shape: int, dtype: str = "float32") -> Input:
    """Whole numbers from ``low`` up to, without, ``high``; no gradient."""
    return Input("integers", shape, low, high, dtype, gradient=False)


def values(*numbers: float, shape: tuple[int, ...] | None = None, dtype: str = "float32") -> Input:
    """The numbers given; no gradient."""
    return Input("values", shape or (len(numbers),), dtype=dtype, gradient=False, values=numbers)


def fixed(spec: Input) -> Input:
    """The same input without a gradient, where MXNet has none for it."""
    return replace(spec, gradient=False)


@dataclass(frozen=True)
class Case:
    """One call of one operator."""

    operator: str
    inputs: Mapping[str, Input]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: Inputs are given by position: the operator takes any number of them.
    variadic: bool = False
    #: ``backward`` gets no head gradient: the operator is a loss and has its own.
    loss: bool = False

    @property
    def name(self) -> str:
        """The call as text; cases with the same text are told apart by their position in the table."""
        return f"{self.operator}({', '.join(f'{k}={v}' for k, v in self.parameters.items())})"

    @property
    def description(self) -> str:
        """All that the recorded numbers depend on, to notice data that is older than the table."""
        return f"{self.name} {dict(self.inputs)} variadic={self.variadic} loss={self.loss}"

    def symbol(self, mx: Any) -> Any:
        """Build the call with the module ``mx``; the node's name is ``op``."""
        function = find(mx, self.operator)
        variables = {name: mx.sym.var(name) for name in self.inputs}
        if self.variadic:
            return function(*variables.values(), name="op", **self.parameters)
        return function(**variables, name="op", **self.parameters)


def find(mx: Any, operator: str) -> Any:
    """Look an operator up where MXNet keeps it: ``sym``, one of its parts, or ``sym._internal``."""
    place = mx.sym._internal if operator.startswith("_") else mx.sym
    for part in operator.split("."):
        place = getattr(place, part)
    return place


def case(operator: str, inputs: Mapping[str, Input] | None = None, /, **parameters: Any) -> Case:
    """Make a row; parameters are written as in a call."""
    return Case(operator, inputs or {}, parameters)


def variadic(operator: str, inputs: Sequence[Input], /, **parameters: Any) -> Case:
    """Make a row of an operator that takes any number of inputs."""
    return Case(operator, {f"x{index}": spec for index, spec in enumerate(inputs)}, parameters, variadic=True)


def loss(operator: str, inputs: Mapping[str, Input], /, **parameters: Any) -> list[Case]:
    """Make two rows: ``backward`` without a head gradient, and with one (which no loss looks at)."""
    row = Case(operator, inputs, parameters)
    return [replace(row, loss=True), row]
