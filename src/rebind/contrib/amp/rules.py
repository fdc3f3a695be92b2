"""The types in which a mixed-precision network computes its operators: the lists, and rules made from them."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import ModuleType
from typing import TypeAlias

import torch

from ... import dtypes
from ...dtypes import DTypeLike
from ...errors import ArgumentError, DTypeError, NameLookupError, near_names
from ...ops import OPERATORS, find
from ...precision import Rules
from . import lists

__all__ = [
    "Conditions",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "make_rules",
]

#: Operators that some values of a parameter make float32: (operator, parameter, values).
Conditions: TypeAlias = Sequence[tuple[str, str, Sequence[str]]]


def list_lp16_ops(target_dtype: DTypeLike) -> list[str]:
    """Return the operators that are computed in 16 bits.

    >>> list_lp16_ops("bfloat16")
    ['Convolution', 'Deconvolution', 'FullyConnected', 'RNN']
    """
    return list(_lists(target_dtype, "list_lp16_ops").LOW)


def list_fp32_ops(target_dtype: DTypeLike) -> list[str]:
    """Return the operators that are computed in float32.

    >>> "softmax" in list_fp32_ops("float16")
    True
    """
    return list(_lists(target_dtype, "list_fp32_ops").FP32_FUNCS)


def list_lp16_fp32_ops(target_dtype: DTypeLike) -> list[str]:
    """Return the operators that are computed in whatever type their inputs have.

    >>> "Flatten" in list_lp16_fp32_ops("float16")
    True
    """
    return list(_lists(target_dtype, "list_lp16_fp32_ops").ANY)


def list_conditional_fp32_ops(target_dtype: DTypeLike) -> list[tuple[str, str, list[str]]]:
    """Return the operators that some values of a parameter make float32: (name, parameter, values).

    >>> list_conditional_fp32_ops("float16")[0]
    ('Activation', 'act_type', ['softrelu'])
    """
    return list(_lists(target_dtype, "list_conditional_fp32_ops").CONDITIONAL_FP32_FUNCS)


def list_widest_type_cast(target_dtype: DTypeLike) -> list[str]:
    """Return the operators that are computed in the widest type of their inputs.

    >>> "Concat" in list_widest_type_cast("float16")
    True
    """
    return list(_lists(target_dtype, "list_widest_type_cast").WIDEST_TYPE_CASTS)


def list_loss_output_functions(target_dtype: DTypeLike) -> list[str]:
    """Return the losses whose gradient does not depend on head gradients.

    >>> "SoftmaxOutput" in list_loss_output_functions("float16")
    True
    """
    return list(_lists(target_dtype, "list_loss_output_functions").LOSS_OUTPUT_FUNCTIONS)


def list_lp16_use_fp32_params(target_dtype: DTypeLike) -> dict[str, list[str]] | None:
    """Return, for operators that take 16-bit data with parameters of float32, their inputs ('' for data).

    None for float16, as in MXNet; the parameters of `BatchNorm` are float32 in a converted network of either type.

    >>> list_lp16_use_fp32_params("bfloat16")["BatchNorm"]
    ['', 'gamma', 'beta', 'moving_mean', 'moving_var']
    """
    if _target(target_dtype, "list_lp16_use_fp32_params") is torch.float16:
        return None
    inputs = ["", "gamma", "beta", "moving_mean", "moving_var"]
    return {"BatchNormWithReLU": inputs, "BatchNorm": list(inputs)}


def _target(dtype: DTypeLike, who: str) -> torch.dtype:
    with contextlib.suppress(DTypeError):
        found = dtypes.torch_dtype(dtype)
        if found in (torch.float16, torch.bfloat16):
            return found
    raise DTypeError(f"amp.{who}: target_dtype must be 'float16' or 'bfloat16'; got {dtype!r}")


class _Lists:
    """The lists of a type, under names that do not depend on it."""

    # In MXNet's modules two of the lists have the type in their names, `FP16_FUNCS` and `BF16_FUNCS`.
    def __init__(self, module: ModuleType, kind: str) -> None:
        self.LOW = getattr(module, f"{kind}_FUNCS")
        self.ANY = getattr(module, f"{kind}_FP32_FUNCS")
        self.FP32_FUNCS = module.FP32_FUNCS
        self.CONDITIONAL_FP32_FUNCS = module.CONDITIONAL_FP32_FUNCS
        self.WIDEST_TYPE_CASTS = module.WIDEST_TYPE_CASTS
        self.LOSS_OUTPUT_FUNCTIONS = module.LOSS_OUTPUT_FUNCTIONS


def _lists(dtype: DTypeLike, who: str) -> _Lists:
    if _target(dtype, who) is torch.float16:
        return _Lists(lists.symbol_fp16, "FP16")
    return _Lists(lists.symbol_bf16, "BF16")


def make_rules(
    who: str,
    target_dtype: DTypeLike,
    low: Iterable[str] | None,
    full: Iterable[str] | None,
    conditional: Conditions | None,
) -> Rules:
    """Return rules from the default lists, or from those that the caller gives instead.

    >>> make_rules("convert_symbol", "bfloat16", None, None, None).target
    torch.bfloat16
    """
    default = _lists(target_dtype, who)
    given = {
        "target_dtype_ops": None if low is None else _names(who, "target_dtype_ops", low),
        "fp32_ops": None if full is None else _names(who, "fp32_ops", full),
        "conditional_fp32_ops": None
        if conditional is None
        else _names(who, "conditional_fp32_ops", _operators_of(who, conditional)),
    }
    chosen = _chosen(who, given)

    def operators(kind: str, usual: Iterable[str]) -> frozenset[str]:
        own = given.get(kind)
        if own is not None:
            return own
        # What the caller put into another list is removed from the default one.
        return frozenset(name for name in map(_first_name, usual) if name not in chosen)

    usual = default.CONDITIONAL_FP32_FUNCS
    conditions = _conditions(
        who,
        usual if conditional is None else conditional,
        operators("conditional_fp32_ops", _operators_of(who, usual)),
    )
    return Rules(
        _target(target_dtype, who),
        operators("target_dtype_ops", default.LOW),
        operators("fp32_ops", default.FP32_FUNCS),
        operators("widest", default.WIDEST_TYPE_CASTS),
        conditions,
    )


def _chosen(who: str, given: Mapping[str, frozenset[str] | None]) -> set[str]:
    """Return the operators that the caller's lists name; an error for one that is in two of them."""
    kinds: dict[str, str] = {}
    for kind, named in given.items():
        for name in named or ():
            if kinds.setdefault(name, kind) != kind:
                raise ArgumentError(
                    f"amp.{who}: {name!r} must be in one of {kinds[name]} and {kind}; it is in both"
                )
    return set(kinds)


def _conditions(
    who: str, entries: Conditions, operators: Collection[str]
) -> dict[str, list[tuple[str, frozenset[str]]]]:
    """Return, for each operator, the parameters and values that make it float32."""
    conditions: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for name, parameter, values in entries:
        if (first := _first_name(name)) not in operators:
            continue
        if parameter not in find(name).signature.parameters:
            raise NameLookupError(
                f"amp.{who}: conditional_fp32_ops: {name} has no parameter {parameter!r}"
                f"{near_names(parameter, find(name).signature.parameters)}"
            )
        conditions.setdefault(first, []).append((parameter, frozenset(map(str, values))))
    return conditions


def _operators_of(who: str, conditions: Conditions) -> list[str]:
    for row in conditions:
        if not isinstance(row, (tuple, list)) or len(row) != 3 or isinstance(row[2], str):
            raise ArgumentError(
                f"amp.{who}: conditional_fp32_ops must hold (operator, parameter, list of values); got {row!r}"
            )
    return [row[0] for row in conditions]


def _names(who: str, what: str, names: Iterable[str]) -> frozenset[str]:
    """Return operators by their first names, from names of any kind that a user gives."""
    if isinstance(names, str):
        raise ArgumentError(f"amp.{who}: {what} must be a list of operators; got {names!r}")
    names = list(names)
    for name in names:
        if name not in OPERATORS:
            raise NameLookupError(
                f"amp.{who}: {what}: no operator {name!r}{near_names(str(name), OPERATORS)}"
            )
    return frozenset(map(_first_name, names))


def _first_name(name: str) -> str:
    return find(name).name
