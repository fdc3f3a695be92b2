"""`register`: from a `CustomOpProp` to ``Custom(..., op_type=name)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from ..errors import ArgumentError
from ..ops import Inference, Input, Kernels, Operator, Record, Signature
from ..ops.custom import CUSTOM_OPERATORS
from ..params import Parameter, format_value
from .custom_op import CustomOpProp
from .description import Description, as_custom, user_code
from .kernel import CustomKernel, once

__all__ = ["register"]

Prop = TypeVar("Prop", bound=type[CustomOpProp])


def register(reg_name: str) -> Callable[[Prop], Prop]:
    """Register a `CustomOpProp` under a name, for ``Custom(..., op_type=reg_name)``; a decorator.

    A name that is registered again is the newer class's from then on; symbols that exist stay as they are.

    >>> import rebind as mx
    >>> @mx.operator.register("nothing")
    ... class NothingProp(mx.operator.CustomOpProp):
    ...     pass
    >>> mx.sym.Custom(mx.sym.var("x"), op_type="nothing", name="n").list_outputs()
    ['n_output']
    """

    def add(prop_class: Prop) -> Prop:
        if not (isinstance(prop_class, type) and issubclass(prop_class, CustomOpProp)):
            raise ArgumentError(
                f"operator.register: must decorate a subclass of CustomOpProp; got {prop_class!r}"
            )
        CUSTOM_OPERATORS[reg_name] = lambda given: _operator(prop_class, given)
        return prop_class

    return add


def _operator(prop_class: Callable[..., CustomOpProp], given: Mapping[str, object]) -> Operator:
    """Return the operator of one call, as its `CustomOpProp` describes it."""
    # As text, which is how parameters come back from a symbol's JSON: a class that reads text reads both.
    texts = {key: format_value(value) for key, value in given.items()}
    name = texts.pop("op_type")
    with user_code(name, "the constructor of its CustomOpProp"):
        prop = prop_class(**texts)
        described = Description.of(name, prop)
    described.declare_dependency()
    arguments, states = described.arguments, described.states
    return Operator(
        "Custom",
        Signature(
            tuple(Input(entry, auxiliary=entry in states) for entry in (*arguments, *states)),
            # What the user's class takes is its own to say: any value, as text.
            {key: Parameter(key, "", "a value", format_value) for key in given},
            frozenset({"training", "device", "context"}),
        ),
        Kernels(
            once(described),
            head_gradient=prop.need_top_grad_,
            make=lambda locate: CustomKernel(described, locate or as_custom),
            writes_aux=True,
            runs_users_code=True,
        ),
        Inference(
            described.fill_shapes,
            types=dict.fromkeys((*arguments, *described.outputs, *states), "any"),
            types_rule=described.fill_types,
            storage_rule=described.storage_types,
        ),
        Record(described.outputs),
    )
