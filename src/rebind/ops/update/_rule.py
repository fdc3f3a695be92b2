"""From one rule to all operators that apply it: for one weight or several, through master copies or not.

A rule is a function that updates lists of weights in place, and its signature is the declaration::

    @rule("sgd_mom_update", forms=SEVERAL)
    def sgd_momentum(weights, grads, mom, *, lr: Rate, momentum: float = 0.0, wd: Rate = 0.0): ...

Positional arguments are the arrays: weights, gradients, states. Keywords are the parameters, in the order of the
operators; what is annotated as `Rate` or `Count` is one number for one weight, and a list of them for several. The
forms are prefixes of the operator's name:

``mp``
    The rule acts on copies of the weights in float32, ``weight32``, from which the weights are rounded.
``multi``, ``multi_mp``
    Several weights at once: the arrays of the first, then those of the second, and so on.
``preloaded_multi``, ``preloaded_multi_mp``
    These, with learning rates and weight decays in arrays after all others.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from ...errors import ArgumentError
from ...params import Params
from ...shapes import Shape
from ..declaration import Operator, Shapes, operator
from ._forms import PRELOADED, Declaration, Form, Result, common_shape
from .lists import Tensors

__all__ = ["SEVERAL", "rule"]

SEVERAL = ("", "mp", "multi", "multi_mp", "preloaded_multi", "preloaded_multi_mp")

Algorithm = TypeVar("Algorithm", bound=Callable[..., "Tensors | None"])


def rule(name: str, *aliases: str, **declared: typing.Any) -> Callable[[Algorithm], Algorithm]:
    """Make operators of a rule, and return it as it is; see `Declaration` for what can be declared."""
    declaration = Declaration(name, aliases, **declared)

    def declare(function: Algorithm) -> Algorithm:
        for form in declaration.forms:
            kind = SeveralWeights if "multi" in form else OneWeight
            kind(function, declaration, form).declare()
        return function

    return declare


# Both kinds of operators leave weights as they are and return new ones; given ``out=weight`` they run in place.


class OneWeight(Form):
    """An operator for one weight."""

    def declare(self) -> Operator:
        """Make the operator."""
        declaration, names, count = self.declaration, (*self.arrays, *self.trailing), len(self.arrays)
        # Of these it is seen at once that they fit; others are looked at one by one.
        can_be_plain = not (self.fixed or self.trailing or declaration.free or declaration.check_arrays)

        def over(*arrays: Tensor, **settings: object) -> Tensor:
            shape = arrays[0].shape
            is_plain = can_be_plain and arrays[0].dtype.is_floating_point
            if not is_plain or [array for array in arrays if array.shape != shape]:
                named = dict(zip(names, arrays, strict=True))
                self.check("", named)
                if declaration.check_arrays is not None:
                    declaration.check_arrays(named)
            # Written in place: torch forbids that on leaves that want a gradient, unless they are detached.
            detached = [array.detach() if array.requires_grad else array for array in arrays]
            result = self.apply([[array] for array in detached[:count]], detached[count:], settings)
            # None: the rule wrote over the weight itself.
            return detached[0] if result is None else result[0]

        def fresh(weight: Tensor, *others: Tensor, **settings: object) -> Tensor:
            return over(weight.detach().clone(), *others, **settings)

        inputs = [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Tensor)
            for name in names
        ]
        free = (*declaration.free, *self.trailing)
        types = self._types()
        op = operator(
            # The aliases are names of the plain form.
            self.name, *(() if self.masters else declaration.aliases),
            aux=self.states, writes_aux=True, same_shape=not free, types=types,
        )(self.with_signature(fresh if declaration.overwrites else over, inputs))  # fmt: skip
        if declaration.overwrites:
            # ``out=weight``: the rule acts on the weight itself.
            op.in_place("weight")(self.with_signature(over, inputs))
        # `same_shape` is off; the arrays that are not free still have one shape.
        if free:
            op.fill_shapes(
                lambda shapes, p: common_shape({n: shape for n, shape in shapes.items() if n not in free})
            )
        if declaration.check is not None:
            op.check(declaration.check)
        return op

    def _types(self) -> dict[str, str | torch.dtype] | None:
        if self.masters:
            shared: dict[str, str | torch.dtype] = {n: "T" for n in self.arrays if n not in self.fixed}
            return {
                **shared,
                "output": "T" if self.declaration.overwrites else torch.float32,
                "*": torch.float32,
            }
        return {"*": "T", **dict.fromkeys(self.trailing, torch.float32)} if self.trailing else None


class SeveralWeights(Form):
    """An operator for several weights."""

    def declare(self) -> Operator:
        """Make the operator."""
        arrays, trailing, number = self.arrays, self.trailing, self.declaration.number
        width = len(arrays)

        def over(*data: Tensor, **settings: int) -> Result:
            self.check_several(data, settings[number])
            detached = [array.detach() if array.requires_grad else array for array in data]
            end = len(data) - len(trailing)
            # Arrays are interleaved by weight; a rule takes a list of each kind, as torch's foreach kernels do.
            columns = [detached[start:end:width] for start in range(width)]
            self.apply(columns, detached[end:], settings)
            weights = columns[0]
            return tuple(weights) if len(weights) > 1 else weights[0]

        def fresh(*data: Tensor, **settings: int) -> Result:
            copies = list(data)
            # Weights alone: states are written in place in this form too.
            for i in range(0, len(data) - len(trailing), width):
                copies[i] = data[i].detach().clone()
            return over(*copies, **settings)

        def names(p: Params) -> tuple[str, ...]:
            return (*(f"{array}_{i}" for i in range(p[number]) for array in arrays), *trailing)

        def outputs(p: Params) -> tuple[str, ...]:
            return ("output",) if p[number] == 1 else tuple(f"output{i}" for i in range(p[number]))

        def types(p: Params) -> dict[str, str | torch.dtype]:
            slots: dict[str, str | torch.dtype] = dict.fromkeys(trailing, torch.float32)
            if self.masters:
                # The states and the master copy; weights and gradients share the type that is left.
                slots["*"] = torch.float32
                slots |= {f"{array}_{i}": "T" for i in range(p[number]) for array in ("weight", "grad")}
            return slots

        inputs = [inspect.Parameter("data", inspect.Parameter.VAR_POSITIONAL, annotation=Tensor)]
        op = operator(self.name, aux=self.states, writes_aux=True, names=names, outputs=outputs, types=types)(
            self.with_signature(fresh, inputs)
        )
        op.in_place_all("weight")(self.with_signature(over, inputs))
        op.check(self._check_numbers)
        op.fill_shapes(self._shapes)
        return op

    def check_several(self, data: Sequence[Tensor], count: int) -> None:
        """Raise an error for a number of arrays that is not right, or for arrays that do not fit."""
        arrays, trailing = self.arrays, self.trailing
        needed = count * len(arrays) + len(trailing)
        if len(data) != needed:
            more = f", then {', '.join(trailing)}" if trailing else ""
            raise ArgumentError(
                f"{self.declaration.number}={count} needs {needed} arrays "
                f"({', '.join(arrays)} for each weight{more}); got {len(data)}"
            )
        for i in range(count):
            self.check(f"_{i}", dict(zip(arrays, data[i * len(arrays) :], strict=False)))
        self.check_types(dict(zip(trailing, data[needed - len(trailing) :], strict=True)))

    def _check_numbers(self, p: Params) -> str | None:
        number = self.declaration.number
        if p[number] < 1:
            return f"{number} must be an int >= 1; got {p[number]}"
        for name in self.rates:
            if len(p[name]) != p[number]:
                return f"{name} must hold {p[number]} numbers, as {number} says; got {p[name]}"
        return None

    def _shapes(self, shapes: Shapes, p: Params) -> Shapes:
        count = p[self.declaration.number]
        found: dict[str, Shape | None] = {}
        for i in range(count):
            # Those of one weight have one shape; two weights have nothing to do with each other.
            group = [f"{array}_{i}" for array in self.arrays]
            found |= common_shape({name: shapes.get(name) for name in group})
        return {**found, **dict.fromkeys(PRELOADED, (count,))} if self.preloaded else found
