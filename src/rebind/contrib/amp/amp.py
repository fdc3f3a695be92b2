"""Networks in mixed precision, and their training."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from ... import dtypes
from ...errors import ArgumentError, DTypeError, NameLookupError, StateError, near_names
from ...graph.passes import mixed_precision
from ...module import BucketingModule, Module
from ...module.base_module import BaseModule
from ...ndarray import NDArray
from ...ops import OPERATORS, find
from ...optimizer import Optimizer, Updater
from ...precision import Rules, active_rules, set_active_rules
from ...symbol import Symbol
from . import lists
from .loss_scaler import LossScaler

__all__ = [
    "convert_bucketing_module",
    "convert_model",
    "convert_symbol",
    "init",
    "init_trainer",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "scale_loss",
    "unscale",
]

Params = Mapping[str, NDArray]
Conditions = Sequence[tuple[str, str, Sequence[str]]]


# ---- lists ---------------------------------------------------------------------------------------------------


def list_lp16_ops(target_dtype: Any) -> list[str]:
    """Return the operators that are computed in 16 bits.

    >>> list_lp16_ops("bfloat16")
    ['Convolution', 'Deconvolution', 'FullyConnected', 'RNN']
    """
    return list(_lists(target_dtype, "list_lp16_ops").LOW)


def list_fp32_ops(target_dtype: Any) -> list[str]:
    """Return the operators that are computed in float32."""
    return list(_lists(target_dtype, "list_fp32_ops").FP32_FUNCS)


def list_lp16_fp32_ops(target_dtype: Any) -> list[str]:
    """Return the operators that are computed in whatever type their inputs have."""
    return list(_lists(target_dtype, "list_lp16_fp32_ops").ANY)


def list_conditional_fp32_ops(target_dtype: Any) -> list[tuple[str, str, list[str]]]:
    """Return the operators that some values of a parameter make float32: (name, parameter, values)."""
    return list(_lists(target_dtype, "list_conditional_fp32_ops").CONDITIONAL_FP32_FUNCS)


def list_widest_type_cast(target_dtype: Any) -> list[str]:
    """Return the operators that are computed in the widest type of their inputs."""
    return list(_lists(target_dtype, "list_widest_type_cast").WIDEST_TYPE_CASTS)


def list_loss_output_functions(target_dtype: Any) -> list[str]:
    """Return the losses whose gradient does not depend on what stands behind them."""
    return list(_lists(target_dtype, "list_loss_output_functions").LOSS_OUTPUT_FUNCTIONS)


def list_lp16_use_fp32_params(target_dtype: Any) -> dict[str, list[str]] | None:
    """Return, for operators that take 16-bit data with parameters of float32, their inputs ('' for data).

    None for float16, as in MXNet: a converted network keeps the parameters of `BatchNorm` in float32 in both types.
    """
    if _target(target_dtype, "list_lp16_use_fp32_params") is torch.float16:
        return None
    inputs = ["", "gamma", "beta", "moving_mean", "moving_var"]
    return {"BatchNormWithReLU": inputs, "BatchNorm": list(inputs)}


def _target(dtype: Any, who: str) -> torch.dtype:
    with contextlib.suppress(DTypeError):
        found = dtypes.torch_dtype(dtype)
        if found in (torch.float16, torch.bfloat16):
            return found
    raise DTypeError(f"amp.{who}: target_dtype must be 'float16' or 'bfloat16'; got {dtype!r}")


class _Lists:
    """The lists of a type, under names that do not depend on it."""

    def __init__(self, module: Any, kind: str) -> None:
        self.LOW = getattr(module, f"{kind}_FUNCS")
        self.ANY = getattr(module, f"{kind}_FP32_FUNCS")
        self.FP32_FUNCS = module.FP32_FUNCS
        self.CONDITIONAL_FP32_FUNCS = module.CONDITIONAL_FP32_FUNCS
        self.WIDEST_TYPE_CASTS = module.WIDEST_TYPE_CASTS
        self.LOSS_OUTPUT_FUNCTIONS = module.LOSS_OUTPUT_FUNCTIONS


def _lists(dtype: Any, who: str) -> _Lists:
    if _target(dtype, who) is torch.float16:
        return _Lists(lists.symbol_fp16, "FP16")
    return _Lists(lists.symbol_bf16, "BF16")


def _rules(
    who: str,
    target_dtype: Any,
    low: Iterable[str] | None,
    full: Iterable[str] | None,
    conditional: Conditions | None,
) -> Rules:
    """Return rules from the lists, and from those that the caller gives in their place."""
    default = _lists(target_dtype, who)
    given = {
        "target_dtype_ops": None if low is None else _names(who, "target_dtype_ops", low),
        "fp32_ops": None if full is None else _names(who, "fp32_ops", full),
        "conditional_fp32_ops": None
        if conditional is None
        else _names(who, "conditional_fp32_ops", _operators_of(who, conditional)),
    }
    chosen: dict[str, str] = {}
    for kind, named in given.items():
        for name in named or ():
            if chosen.setdefault(name, kind) != kind:
                raise ArgumentError(
                    f"amp.{who}: {name!r} can be in {chosen[name]} or in {kind}; it is in both"
                )

    def operators(kind: str, usual: Iterable[str]) -> frozenset[str]:
        own = given.get(kind)
        if own is not None:
            return own
        # What the caller put into another list is taken out of the usual one.
        return frozenset(name for name in map(_first_name, usual) if name not in chosen)

    conditions: dict[str, list[tuple[str, frozenset[str]]]] = {}
    kept = operators("conditional_fp32_ops", _operators_of(who, default.CONDITIONAL_FP32_FUNCS))
    for name, parameter, values in default.CONDITIONAL_FP32_FUNCS if conditional is None else conditional:
        if (first := _first_name(name)) in kept:
            if parameter not in find(name).signature.parameters:
                raise NameLookupError(
                    f"amp.{who}: conditional_fp32_ops: {name} has no parameter {parameter!r}"
                    f"{near_names(parameter, find(name).signature.parameters)}"
                )
            conditions.setdefault(first, []).append((parameter, frozenset(map(str, values))))
    return Rules(
        _target(target_dtype, who),
        operators("target_dtype_ops", default.LOW),
        operators("fp32_ops", default.FP32_FUNCS),
        operators("widest", default.WIDEST_TYPE_CASTS),
        conditions,
    )


def _operators_of(who: str, conditions: Conditions) -> list[str]:
    for row in conditions:
        if not isinstance(row, (tuple, list)) or len(row) != 3 or isinstance(row[2], str):
            raise ArgumentError(
                f"amp.{who}: conditional_fp32_ops must hold (operator, parameter, list of values); got {row!r}"
            )
    return [row[0] for row in conditions]


def _names(who: str, what: str, names: Iterable[str]) -> frozenset[str]:
    """Return the first names of operators that a user names."""
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


# ---- converting ----------------------------------------------------------------------------------------------


def convert_symbol(
    sym: Symbol,
    target_dtype: Any = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Collection[str] | None = None,
    data_names: Collection[str] | None = None,
    cast_optional_params: bool = False,
) -> Symbol:
    """Return a network of float32 as one of mixed precision: the same, with casts.

    It is trained as any other: parameters are float32, gradients too, and `BatchNorm` keeps its statistics in float32.

    Parameters
    ----------
    sym
        The network. Its outputs keep their types.
    target_dtype
        ``'float16'`` or ``'bfloat16'``.
    target_dtype_ops, fp32_ops, conditional_fp32_ops
        Lists that take the place of `list_lp16_ops`, `list_fp32_ops` and `list_conditional_fp32_ops`. An operator that
        stands in one of them is taken out of the other, usual lists.
    excluded_sym_names
        Names of operators' nodes that stay as they are.
    data_names
        The inputs and labels. The other arguments are parameters, whose type becomes an attribute. None: none are.
    cast_optional_params
        Give parameters that are used in 16 bits only that type, instead of a cast. It needs `data_names`.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> convert_symbol(net, "bfloat16").get_internals().list_outputs()
    ['data', 'data_amp_cast_bfloat16_output', 'fc_weight', 'fc_weight_amp_cast_bfloat16_output', 'fc_output',
    'fc_output_amp_cast_float32_output']
    """
    if not isinstance(sym, Symbol):
        raise ArgumentError(f"amp.convert_symbol: sym must be a Symbol; got {sym!r}")
    rules = _rules("convert_symbol", target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops)
    if isinstance(data_names, str) or isinstance(excluded_sym_names, str):
        raise ArgumentError("amp.convert_symbol: data_names and excluded_sym_names must be lists of names")
    inputs = sym.list_inputs()
    for name in data_names or ():
        if name not in inputs:
            raise NameLookupError(
                f"amp.convert_symbol: data_names: no argument {name!r}{near_names(name, inputs)} "
                f"Arguments: {', '.join(inputs)}."
            )
    nodes = {node.name for node in sym._graph.nodes}
    for name in excluded_sym_names or ():
        if name not in nodes:
            warnings.warn(
                f"amp.convert_symbol: excluded_sym_names: no node {name!r}{near_names(name, nodes)}",
                stacklevel=2,
            )
    try:
        graph = mixed_precision(sym._graph, rules, data_names, excluded_sym_names or (), cast_optional_params)
    except DTypeError as error:
        raise DTypeError(f"amp.convert_symbol: {error}") from None
    return Symbol._of(graph)


def convert_model(
    sym: Symbol,
    arg_params: Params,
    aux_params: Params,
    target_dtype: Any = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Collection[str] | None = None,
    cast_optional_params: bool = False,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Return a network and its parameters in mixed precision; see `convert_symbol`.

    Parameters
    ----------
    sym, arg_params, aux_params
        The network, its parameters and auxiliary states. Arguments that are not among `arg_params` are inputs.
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params
        As for `convert_symbol`. With `cast_optional_params`, parameters that are used in 16 bits only are returned in
        that type.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> weights = {"fc_weight": mx.nd.ones((2, 3))}
    >>> net, weights, _ = convert_model(net, weights, {}, cast_optional_params=True)
    >>> weights["fc_weight"].dtype.__name__, net.list_arguments()
    ('float16', ['data', 'fc_weight'])
    """
    if not isinstance(sym, Symbol):
        raise ArgumentError(f"amp.convert_model: sym must be a Symbol; got {sym!r}")
    for what, params in (("arg_params", arg_params), ("aux_params", aux_params)):
        if not isinstance(params, Mapping) or not all(isinstance(each, NDArray) for each in params.values()):
            raise ArgumentError(
                f"amp.convert_model: {what} must be a dict from name to NDArray; got {params!r}"
            )
    converted = convert_symbol(
        sym,
        target_dtype,
        target_dtype_ops,
        fp32_ops,
        conditional_fp32_ops,
        excluded_sym_names,
        [name for name in sym.list_arguments() if name not in arg_params],
        cast_optional_params,
    )
    return converted, _in_types_of(converted, arg_params), _in_types_of(converted, aux_params)


def _in_types_of(symbol: Symbol, params: Params) -> dict[str, NDArray]:
    """Return copies of parameters in the types that the symbol's variables declare."""
    said = symbol.attr_dict()
    types = {name: said.get(name, {}).get("__dtype__") for name in params}
    return {
        name: value.astype(dtypes.name(dtypes.by_flag(int(text)))) if (text := types[name]) else value.copy()
        for name, value in params.items()
    }


def convert_bucketing_module(
    bucketing_mod: Any,
    target_dtype: Any = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Collection[str] | None = None,
    cast_optional_params: bool = False,
) -> Any:
    """Return a `BucketingModule` whose networks are those of another in mixed precision; it is to be bound.

    Parameters
    ----------
    bucketing_mod
        A module with parameters, which the new one begins with.
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params
        As for `convert_symbol`.
    """
    if not isinstance(bucketing_mod, BucketingModule):
        raise ArgumentError(
            f"amp.convert_bucketing_module: bucketing_mod must be a BucketingModule; got {bucketing_mod!r}"
        )
    if not (bucketing_mod.binded and bucketing_mod.params_initialized):
        raise StateError("amp.convert_bucketing_module: bucketing_mod needs bind() and init_params() first")
    settings = (target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops)
    make = bucketing_mod._sym_gen

    def sym_gen(key: Any) -> tuple[Symbol, Any, Any]:
        symbol, data_names, label_names = make(key)
        if key in bucketing_mod._buckets:  # its network can come from a file
            symbol = bucketing_mod._buckets[key].symbol
        given = [*(data_names or ()), *(label_names or ()), *(bucketing_mod._settings["state_names"] or ())]
        inputs = [name for name in given if name in symbol.list_arguments()]
        # A node that is excluded need not be in every bucket.
        nodes = {node.name for node in symbol._graph.nodes}
        excluded = [name for name in excluded_sym_names or () if name in nodes]
        converted = convert_symbol(symbol, *settings, excluded, inputs, cast_optional_params)
        return converted, data_names, label_names

    module = BucketingModule(sym_gen, bucketing_mod._default_bucket_key, **bucketing_mod._settings)
    args, aux = bucketing_mod.get_params()
    first = module._default
    first._arg_params, first._aux_params = (_in_types_of(first.symbol, part) for part in (args, aux))
    first.params_initialized = True
    return module


# ---- for the whole program -----------------------------------------------------------------------------------


def init(
    target_dtype: Any = "float16",
    target_precision_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    fp32_ops: Iterable[str] | None = None,
) -> None:
    """Let every network that is made from now on be one of mixed precision, and every call of an operator on arrays.

    Symbols get their casts as they are composed: more of them than `convert_symbol` needs, which knows the types.
    A second call with other settings changes the rules from there on.

    Parameters
    ----------
    target_dtype
        ``'float16'`` or ``'bfloat16'``.
    target_precision_ops, conditional_fp32_ops, fp32_ops
        As `target_dtype_ops`, `conditional_fp32_ops` and `fp32_ops` of `convert_symbol`.
    """
    rules = _rules("init", target_dtype, target_precision_ops, fp32_ops, conditional_fp32_ops)
    if rules != active_rules():
        logging.info("Using AMP: %s", dtypes.name(rules.target))
        set_active_rules(rules)


# ---- loss scaling --------------------------------------------------------------------------------------------


def init_trainer(optimizer_or_trainer: Any, loss_scaler: LossScaler | None = None) -> None:
    """Scale the losses of a training run, so that small gradients are not lost in float16.

    The scale follows the gradients (`LossScaler`). bfloat16, with the range of float32, does not need it.

    Parameters
    ----------
    optimizer_or_trainer
        A `Module` or `BucketingModule`, before `bind`: `fit` and `update` do the rest. A batch whose gradients overflow
        changes no parameter and halves the scale. Between `backward` and `update`, gradients (those of inputs too) hold
        the scale; `unscale` takes it out. Or an `Optimizer` or `Updater`, for a loop of one's own with `scale_loss`.
    loss_scaler
        The scaler, for other settings than the usual.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(convert_symbol(mx.sym.SoftmaxOutput(net, name="softmax")))
    >>> init_trainer(module)  # then bind() and what follows, or fit()
    """
    scaler = LossScaler() if loss_scaler is None else loss_scaler
    if not isinstance(scaler, LossScaler):
        raise ArgumentError(f"amp.init_trainer: loss_scaler must be a LossScaler; got {loss_scaler!r}")
    target = optimizer_or_trainer
    if isinstance(target, Updater):
        target = target.optimizer
    if isinstance(target, Optimizer):
        target._amp_loss_scaler = scaler  # type: ignore[attr-defined]
        target._amp_original_scale = target.rescale_grad  # type: ignore[attr-defined]
    elif isinstance(target, (Module, BucketingModule)):
        if target.binded:
            raise StateError(
                "amp.init_trainer: a module must be given before bind(), which puts the scale in"
            )
        _owner(target)._loss_scaler = scaler
    else:
        raise ArgumentError(
            "amp.init_trainer: must be given a Module, an Optimizer or an Updater (gluon.Trainer is not part of "
            f"rebind); got {optimizer_or_trainer!r}"
        )


@contextlib.contextmanager
def scale_loss(loss: Any, optimizer_or_trainer: Any) -> Iterator[Any]:
    """Give a loss, or a list of losses, multiplied by the scale: for `autograd.backward`.

    The optimizer divides by it in the updates that follow, until the next `scale_loss`. Ask
    ``optimizer._amp_loss_scaler.has_overflow(gradients)`` before them, and leave them out when it says so.

    Parameters
    ----------
    loss
        An array, or a list of arrays.
    optimizer_or_trainer
        The `Optimizer` or `Updater` that `init_trainer` was given.
    """
    target = (
        optimizer_or_trainer.optimizer if isinstance(optimizer_or_trainer, Updater) else optimizer_or_trainer
    )
    if isinstance(target, BaseModule):
        raise ArgumentError(
            "amp.scale_loss: a module scales its losses by itself; call init_trainer(module) alone"
        )
    scaler = getattr(target, "_amp_loss_scaler", None)
    if scaler is None:
        raise StateError("amp.scale_loss: needs init_trainer() with this optimizer first")
    scale = scaler.loss_scale
    target.rescale_grad = target._amp_original_scale / scale  # type: ignore[union-attr]
    yield [each * scale for each in loss] if isinstance(loss, (list, tuple)) else loss * scale


def unscale(optimizer_or_trainer: Any) -> None:
    """Divide a module's gradients by the scale, to work on them between `backward` and `update`.

    Parameters
    ----------
    optimizer_or_trainer
        A `Module` or `BucketingModule` that `init_trainer` was given.
    """
    module = optimizer_or_trainer
    scaler = _owner(module)._loss_scaler if isinstance(module, (Module, BucketingModule)) else None
    if scaler is None:
        raise StateError("amp.unscale: needs a module that init_trainer() was given")
    current = module._curr_module if isinstance(module, BucketingModule) else module
    scaler.unscale(current._gradients())


def _owner(module: Module | BucketingModule) -> Module:
    """Return the module that holds the scaler: of several buckets, the one whose parameters they share."""
    return module._default if isinstance(module, BucketingModule) else module
