"""Conversion of networks to mixed precision. Loss scaling is in `training`, the lists of operators in `rules`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from ... import dtypes
from ...checks import warn_user
from ...dtypes import DTypeLike
from ...errors import ArgumentError, DTypeError, NameLookupError, StateError, near_names
from ...graph.passes import mixed_precision
from ...logs import log
from ...module import BucketingModule
from ...ndarray import NDArray
from ...precision import active_rules, set_active_rules
from ...symbol import Symbol
from .rules import (
    Conditions,
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_lp16_use_fp32_params,
    list_widest_type_cast,
    make_rules,
)
from .training import init_trainer, loss_scaler_of, scale_loss, unscale

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
    "loss_scaler_of",
    "scale_loss",
    "unscale",
]

Params: TypeAlias = Mapping[str, NDArray]


def convert_symbol(
    sym: Symbol,
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Collection[str] | None = None,
    data_names: Collection[str] | None = None,
    cast_optional_params: bool = False,
) -> Symbol:
    """Return a float32 network in mixed precision: the same network with casts.

    It is trained as any other: parameters, gradients and the statistics of `BatchNorm` are still float32.

    Parameters
    ----------
    sym
        The network. The types of its outputs do not change.
    target_dtype
        ``'float16'`` or ``'bfloat16'``.
    target_dtype_ops, fp32_ops, conditional_fp32_ops
        Lists to use instead of `list_lp16_ops`, `list_fp32_ops` and `list_conditional_fp32_ops`. An operator that
        is in one of them is removed from the other, default lists.
    excluded_sym_names
        Names of operators' nodes to leave as they are.
    data_names
        The inputs and labels. The other arguments are parameters, whose type becomes an attribute. With None there are
        no parameters.
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
    rules = make_rules("convert_symbol", target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops)
    if isinstance(data_names, str) or isinstance(excluded_sym_names, str):
        raise ArgumentError(
            "amp.convert_symbol: data_names and excluded_sym_names must be lists of names; got "
            f"{data_names!r} and {excluded_sym_names!r}"
        )
    inputs = sym.list_inputs()
    for name in data_names or ():
        if name not in inputs:
            raise NameLookupError(
                f"amp.convert_symbol: data_names: no argument {name!r}{near_names(name, inputs)} "
                f"Arguments: {', '.join(inputs)}."
            )
    nodes = _node_names(sym)
    for name in excluded_sym_names or ():
        if name not in nodes:
            warn_user(f"amp.convert_symbol: excluded_sym_names: no node {name!r}{near_names(name, nodes)}")
    try:
        return sym.with_graph(
            mixed_precision(sym.graph, rules, data_names, excluded_sym_names or (), cast_optional_params)
        )
    except DTypeError as error:  # the pass does not know which function called it
        raise DTypeError(f"amp.convert_symbol: {error}") from None


def _node_names(symbol: Symbol) -> set[str]:
    return {node.name for node in symbol.graph.nodes}


def convert_model(
    sym: Symbol,
    arg_params: Params,
    aux_params: Params,
    target_dtype: DTypeLike = "float16",
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
        # What has no value here is an input.
        [name for name in sym.list_arguments() if name not in arg_params],
        cast_optional_params,
    )
    return converted, _in_types_of(converted, arg_params), _in_types_of(converted, aux_params)


def _in_types_of(symbol: Symbol, params: Params) -> dict[str, NDArray]:
    """Return copies of parameters in the types that the symbol's variables declare."""
    attributes = symbol.attr_dict()
    # MXNet's number of the type, as a string: what a variable's attribute has in JSON.
    types = {name: attributes.get(name, {}).get("__dtype__") for name in params}
    return {
        name: value.astype(dtypes.name(dtypes.by_flag(int(text)))) if (text := types[name]) else value.copy()
        for name, value in params.items()
    }


def convert_bucketing_module(
    bucketing_mod: BucketingModule,
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Collection[str] | None = None,
    cast_optional_params: bool = False,
) -> BucketingModule:
    """Return a `BucketingModule` with the networks of another in mixed precision; it is not bound yet.

    Parameters
    ----------
    bucketing_mod
        A module with parameters, which the new one starts from.
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params
        As for `convert_symbol`.

    Examples
    --------
    >>> import rebind as mx
    >>> def network(key):
    ...     net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, flatten=False, name="fc")
    ...     return net, ["data"], None
    >>> module = mx.mod.BucketingModule(network, default_bucket_key=5)
    >>> module.bind([("data", (4, 5, 3))], for_training=False)
    >>> module.init_params()
    >>> converted = convert_bucketing_module(module, "bfloat16")
    >>> "fc_weight_amp_cast_bfloat16_output" in converted.symbol.get_internals().list_outputs()
    True
    """
    if not isinstance(bucketing_mod, BucketingModule):
        raise ArgumentError(
            f"amp.convert_bucketing_module: bucketing_mod must be a BucketingModule; got {bucketing_mod!r}"
        )
    if not (bucketing_mod.binded and bucketing_mod.params_initialized):
        raise StateError("amp.convert_bucketing_module: bucketing_mod needs bind() and init_params() first")
    settings = (target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops)

    def converted(network: Symbol, inputs: list[str]) -> Symbol:
        nodes = _node_names(network)  # a node that is excluded need not be in every bucket
        excluded = [name for name in excluded_sym_names or () if name in nodes]
        return convert_symbol(network, *settings, excluded, inputs, cast_optional_params)

    module = bucketing_mod.with_networks(converted)
    args, aux = (_in_types_of(module.symbol, params) for params in bucketing_mod.get_params())
    module.parameters.hold(args, aux)
    return module


def init(
    target_dtype: DTypeLike = "float16",
    target_precision_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    fp32_ops: Iterable[str] | None = None,
) -> None:
    """Use mixed precision in every network that is composed from now on, and in every operator called on arrays.

    Symbols get their casts as they are composed: more of them than `convert_symbol` needs, which knows the types.
    A second call with other settings changes the rules from then on.

    Parameters
    ----------
    target_dtype
        ``'float16'`` or ``'bfloat16'``.
    target_precision_ops, conditional_fp32_ops, fp32_ops
        As `target_dtype_ops`, `conditional_fp32_ops` and `fp32_ops` of `convert_symbol`.

    Examples
    --------
    >>> import rebind as mx
    >>> init("bfloat16")
    >>> mx.nd.FullyConnected(mx.nd.ones((1, 3)), mx.nd.ones((2, 3)), mx.nd.ones((2,)), num_hidden=2).dtype
    torch.bfloat16
    >>> _ = set_active_rules(None)  # off again
    """
    rules = make_rules("init", target_dtype, target_precision_ops, fp32_ops, conditional_fp32_ops)
    if rules != active_rules():
        log().info("Using AMP: %s", dtypes.name(rules.target))
        set_active_rules(rules)
