"""How an update operator is declared: from one function that writes in place, both of its forms."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ...errors import ArgumentError, DTypeError, ShapeError
from ...grad_mode import grad_mode
from ...params import Params
from ...shapes import Shape, merge
from .._spec import Operator, Shapes, operator

__all__ = ["columns", "multi_update", "scalar_array", "select_good", "skipping", "update"]

MASTERS = {"weight": "T", "grad": "T", "output": "T", "*": torch.float32}


def update(
    name: str,
    *aliases: str,
    states: Sequence[str] = (),
    free: Sequence[str] = (),
    overwrites: bool = True,
    **declared: Any,
) -> Callable[[Callable[..., Tensor | None]], Operator]:
    """Make a function that updates one weight, and its states, in place an operator.

    The operator leaves the weight as it is and returns a new one; given ``out=weight`` it runs the function as it is.

    Parameters
    ----------
    name, aliases
        Its names.
    states
        The inputs that it writes: auxiliary states.
    free
        Inputs whose shape is not that of the weight.
    overwrites
        Whether it writes the weight. Otherwise the function returns its output.
    declared
        What else `operator` takes.
    """
    slots = declared.get("types", {})

    def make(function: Callable[..., Tensor | None]) -> Operator:
        @functools.wraps(function)
        def over(weight: Tensor, *others: Tensor, **settings: Any) -> Tensor:
            named = dict(zip(op.input_names, (weight, *others), strict=True))
            _check(op.name, "", named, free)
            _check_types(op.name, slots, named)
            with grad_mode(False):
                weight = weight.detach()
                result = function(weight, *(each.detach() for each in others), **settings)
            return weight if result is None else result

        @functools.wraps(function)
        def fresh(weight: Tensor, *others: Tensor, **settings: Any) -> Tensor:
            return over(weight.detach().clone(), *others, **settings)

        fresh.__name__ = over.__name__ = name
        form = fresh if overwrites else over
        op = operator(name, *aliases, aux=states, writes_aux=True, alike=not free, **declared)(form)
        if overwrites:
            op.in_place("weight")(over)
        if free:
            op.fill_shapes(functools.partial(_shapes_alike, free=free))
        return op

    return make


def _shapes_alike(shapes: Shapes, p: Params, *, free: Sequence[str]) -> Shapes:
    """Return the shape that all inputs but the free ones have."""
    together: Shape | None = None
    bound = [name for name in shapes if name not in free]
    for name in bound:
        with contextlib.suppress(ValueError):  # a contradiction is found, and named, where it is written down
            together = merge(together, shapes[name])
    return dict.fromkeys(bound, together)


def _check(who: str, number: str, named: Mapping[str, Tensor], free: Sequence[str]) -> None:
    """Raise an error for a type that is not floating, or a shape that is not the weight's."""
    weight = named["weight"]
    if not weight.dtype.is_floating_point:
        raise DTypeError(
            f"{who}: weight{number} must be of a floating type; got {_text(weight.dtype)}. Convert it with astype()."
        )
    for name, array in named.items():
        if array.shape != weight.shape and name not in free:
            raise ShapeError(
                f"{who}: {name}{number} must have the shape of weight{number}, {tuple(weight.shape)}; "
                f"got {tuple(array.shape)}"
            )


def _check_types(who: str, slots: Mapping[str, Any], named: Mapping[str, Tensor]) -> None:
    """Raise an error for an array that is not of the type that it always has."""
    for name, array in named.items():
        wanted = slots.get(name, slots.get("*"))
        if isinstance(wanted, torch.dtype) and array.dtype is not wanted:
            raise DTypeError(
                f"{who}: {name} must be of type {_text(wanted)}; got {_text(array.dtype)}. Convert it with astype()."
            )


def _text(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def multi_update(
    name: str,
    *,
    arrays: Sequence[str],
    states: Sequence[str] = (),
    closes: Sequence[str] = (),
    number: str = "num_weights",
    each: Sequence[str] = (),
    masters: bool = False,
) -> Callable[[Callable[..., None]], Operator]:
    """Make a function that updates several weights, and their states, in place an operator.

    Parameters
    ----------
    name
        Its name.
    arrays
        What is given for each weight, in this order: ``weight``, ``grad`` and so on.
    states
        Those of `arrays` that it writes: auxiliary states.
    closes
        The arrays that come after those of the last weight.
    number
        The parameter that holds how many weights there are.
    each
        The parameters that hold a number for each weight.
    masters
        Whether the states are of float32, and only weights and gradients of the type of the output.
    """

    def names(p: Params) -> tuple[str, ...]:
        return (*(f"{array}_{i}" for i in range(p[number]) for array in arrays), *closes)

    def outputs(p: Params) -> tuple[str, ...]:
        return ("output",) if p[number] == 1 else tuple(f"output{i}" for i in range(p[number]))

    def types(p: Params) -> dict[str, Any]:
        slots: dict[str, Any] = dict.fromkeys(closes, torch.float32)
        if masters:
            slots["*"] = torch.float32
            slots |= {f"{array}_{i}": "T" for i in range(p[number]) for array in ("weight", "grad")}
        return slots

    def make(function: Callable[..., None]) -> Operator:
        @functools.wraps(function)
        def over(*data: Tensor, **settings: Any) -> Any:
            weights = list(data[: len(data) - len(closes) : len(arrays)])
            _check_several(op.name, data, settings[number])
            with grad_mode(False):
                function(*(array.detach() for array in data), **settings)
            return tuple(weights) if len(weights) > 1 else weights[0]

        @functools.wraps(function)
        def fresh(*data: Tensor, **settings: Any) -> Any:
            copies = list(data)
            for i in range(0, len(data) - len(closes), len(arrays)):
                copies[i] = data[i].detach().clone()
            return over(*copies, **settings)

        def _check_several(who: str, data: Sequence[Tensor], count: int) -> None:
            if len(data) != count * len(arrays) + len(closes):
                more = f", then {', '.join(closes)}" if closes else ""
                needed = count * len(arrays) + len(closes)
                raise ArgumentError(
                    f"{who}: {number}={count} needs {needed} arrays ({', '.join(arrays)} for each weight{more}); "
                    f"got {len(data)}"
                )
            slots = {"*": torch.float32, "weight": "T", "grad": "T"} if masters else {}
            for i in range(count):
                named = dict(zip(arrays, data[i * len(arrays) :], strict=False))
                _check(who, f"_{i}", named, ())
                _check_types(who, slots, named)
            _check_types(
                who,
                dict.fromkeys(closes, torch.float32),
                dict(zip(closes, data[len(data) - len(closes) :], strict=True)),
            )

        fresh.__name__ = over.__name__ = name
        op = operator(name, aux=states, writes_aux=True, names=names, outputs=outputs, types=types)(fresh)
        op.in_place_all("weight")(over)

        @op.check
        def _(p: Params) -> str | None:
            if p[number] < 1:
                return f"{number} must be an int >= 1; got {p[number]}"
            for list_name in each:
                if len(p[list_name]) != p[number]:
                    return f"{list_name} must hold {p[number]} numbers, as {number} says; got {p[list_name]}"
            return None

        @op.fill_shapes
        def _(shapes: Shapes, p: Params) -> Shapes:
            found: dict[str, Shape | None] = {}
            for i in range(p[number]):
                group = {f"{array}_{i}": shapes.get(f"{array}_{i}") for array in arrays}
                found |= _shapes_alike(group, p, free=())
            if closes == ("lrs", "wds"):
                found |= dict.fromkeys(closes, (p[number],))
            return found

        return op

    return make


def columns(data: Sequence[Tensor], count: int, closes: int = 0) -> list[list[Tensor]]:
    """Return weights, gradients, ... each as a list, from arrays that are given weight by weight."""
    items = data[: len(data) - closes]
    return [list(items[start::count]) for start in range(count)]


def scalar_array(who: str, name: str, array: Tensor) -> Tensor:
    """Return the only element of an array as a tensor without axes."""
    if array.numel() != 1:
        raise ShapeError(f"{who}: {name} must hold one number; got shape {tuple(array.shape)}")
    return array.reshape(())


def skipping(
    who: str,
    rule: Callable[..., None],
    rescale_grad: Tensor,
    weights: Sequence[Tensor],
    grads: Sequence[Tensor],
    *others: Sequence[Tensor],
    **settings: Any,
) -> None:
    """Apply a rule with the factor in an array; change nothing where that is not finite, or 0.

    A factor on a GPU stays there.
    """
    if rescale_grad.numel() == 0:
        raise ShapeError(f"{who}: rescale_grad must hold a number; got shape {tuple(rescale_grad.shape)}")
    factor = rescale_grad.reshape(-1)[0]
    if not factor.is_cpu:
        select_good(rule, factor, weights, grads, *others, **settings)
        return
    number = float(factor)
    if math.isfinite(number) and number != 0:
        rule(weights, grads, *others, rescale_grad=number, **settings)


def select_good(
    rule: Callable[..., None],
    factor: Tensor,
    weights: Sequence[Tensor],
    grads: Sequence[Tensor],
    *others: Sequence[Tensor],
    **settings: Any,
) -> None:
    """Do as `skipping` without a look at the factor: apply the rule, then put back what was if it is not good."""
    good = torch.isfinite(factor) & (factor != 0)
    targets = [tensor for group in (weights, *others) for tensor in group]
    before = [tensor.clone() for tensor in targets]
    rule(weights, [grad * factor for grad in grads], *others, **settings)
    for target, old in zip(targets, before, strict=True):
        target.copy_(torch.where(good, target, old))
