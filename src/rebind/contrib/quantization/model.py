"""`quantize_model` and its steps: a symbol with its parameters in real numbers in, the same network in 8 bits out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from ...checks import DICT, check_kind, warn_user
from ...device import Device, cpu
from ...errors import ArgumentError, ParameterError, near_names
from ...graph import Application, Graph
from ...ndarray import NDArray
from ...ndarray import contrib as operators
from ...protocols import ArrayDict, Logger
from ...symbol import Symbol, load
from .calibration import Calibration, collect, make_collector, names_to_calibrate
from .collectors import Collector, report
from .fusing import fused_layers, held_names, joined_conversions
from .operators import nodes_to_quantize
from .rewriting import quantized_graph, with_ranges

__all__ = ["calib_graph", "quantize_graph", "quantize_model", "quantize_model_mkldnn"]

#: The network, its arguments, its auxiliary states.
Network: TypeAlias = tuple[Symbol, ArrayDict, ArrayDict]
Params: TypeAlias = Mapping[str, NDArray]

_SUFFIX = "_quantize"


def quantize_model(
    sym: Symbol | str,
    arg_params: Params,
    aux_params: Params,
    data_names: Sequence[str] = ("data",),
    label_names: Sequence[str] | None = ("softmax_label",),
    ctx: Device | Sequence[Device] | None = None,
    excluded_sym_names: Collection[str] | None = None,
    excluded_op_names: Collection[str] | None = None,
    calib_mode: str | None = "entropy",
    calib_data: Any = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: Logger | None = None,
    *,
    percentile: float = 99.99,
) -> Network:
    """Return a network in 8 bits, and its parameters.

    Layers compute with whole numbers from -128 to 127, or from 0 to 255, each of which stands for a real number; nodes
    and parameters have MXNet's names. Convolutions and dense layers, and what is between them, are quantized; losses,
    and activations other than rectifiers, are not.

    Parameters
    ----------
    sym
        The network, or the path of its file.
    arg_params, aux_params
        Its parameters and auxiliary states. What of the first is not used after quantization is not returned.
    data_names, label_names
        The inputs that `calib_data` gives.
    ctx
        Where calibration runs the network; None for the CPU.
    excluded_sym_names, excluded_op_names
        Names of nodes and of operators (``'Pooling'``) that stay in real numbers. The first layer and the last one
        lose most.
    calib_mode
        How the ranges of outputs are found, which the levels are spread over: ``'naive'``, from the least to the
        greatest number; ``'entropy'``, where the distribution changes least (Kullback and Leibler); ``'percentile'``,
        for all but the greatest ones by absolute value (not in MXNet). With ``'none'`` each batch has its own, which
        takes time at every run.
    calib_data
        An iterator over data as in use, such as `io.NDArrayIter`; a few hundred samples are enough.
    num_calib_examples
        How many samples of it to use; None for all.
    quantized_dtype
        ``'int8'``, ``'uint8'``, or ``'auto'``: uint8 for what is never negative in calibration.
    quantize_mode
        ``'full'`` for all that can be in 8 bits, ``'smart'`` for what gets faster by it.
    quantize_granularity
        ``'tensor-wise'``: a weight has one range. ``'channel-wise'`` concerns fused layers; other networks have the
        former.
    logger
        A logger, or the module `logging`, that hears what happens.
    percentile
        How many of a hundred numbers a range holds.

    See Also
    --------
    quantize_graph, calib_graph : the two steps with a loop over data of your own.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")
    >>> data = mx.io.NDArrayIter(mx.nd.array([[1.0, 0.5], [-2.0, 1.0]]), batch_size=1)
    >>> sym, args, aux = quantize_model(
    ...     net, {"fc_weight": mx.nd.array([[0.5, -0.25]])}, {}, calib_mode="naive", calib_data=data
    ... )
    >>> sym.list_arguments()
    ['data', 'fc_weight_quantize', 'fc_weight_quantize_min', 'fc_weight_quantize_max']
    >>> args["fc_weight_quantize"].asnumpy().tolist()
    [[127, -64]]
    >>> round(sym.bind(mx.cpu(), {**args, "data": mx.nd.array([[1.0, 0.5]])}).forward()[0].item(), 2)
    0.37
    """
    who = "quantize_model"
    check_kind(who, DICT, arg_params=arg_params, aux_params=aux_params)
    calibration = Calibration(calib_mode or "none", quantized_dtype, percentile, logger).check(who)
    if calibration.mode == "customize":
        raise ParameterError(f"{who}: calib_mode='customize' is for quantize_graph, which takes a collector")
    report(logger, "info", "Quantizing symbol")
    symbol = _as_symbol(sym)
    graph = _quantized(
        who, symbol, arg_params, excluded_sym_names, excluded_op_names, quantized_dtype, quantize_mode,
        quantize_granularity,
    )  # fmt: skip
    if calibration.mode != "none":
        if calib_data is None:
            raise ParameterError(f"{who}: calib_data must be given for calib_mode={calib_mode!r}; got None")
        names = names_to_calibrate(graph)
        collector = make_collector(calibration, names)
        samples = collect(
            symbol, (arg_params, aux_params), collector, names, calib_data, data_names=data_names,
            label_names=label_names, device=ctx or cpu(), limit=num_calib_examples, logger=logger,
        )  # fmt: skip
        report(logger, "info", "Collected layer outputs from FP32 model using %d examples", samples)
        graph = with_ranges(graph, calibration.ranges(collector))
    return _finished(symbol.with_graph(graph), arg_params, aux_params, logger)


def quantize_model_mkldnn(
    sym: Symbol | str,
    arg_params: Params,
    aux_params: Params,
    data_names: Sequence[str] = ("data",),
    label_names: Sequence[str] | None = ("softmax_label",),
    ctx: Device | Sequence[Device] | None = None,
    excluded_sym_names: Collection[str] | None = None,
    excluded_op_names: Collection[str] | None = None,
    calib_mode: str | None = "entropy",
    calib_data: Any = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: Logger | None = None,
) -> Network:
    """Return a network in 8 bits with fused layers, as MXNet deploys them on the CPU, and its parameters.

    Convolutions and dense layers first become one node with the norm, the sum and the activation after them
    (``sg_mkldnn_conv_bn_act_0``): these need no ranges between them, lose less, and are the fastest here too.

    Parameters
    ----------
    sym, arg_params, aux_params, data_names, label_names, ctx, calib_mode, calib_data, num_calib_examples, \
    quantized_dtype, quantize_mode, logger
        As for `quantize_model`.
    excluded_sym_names, excluded_op_names
        As for `quantize_model`; a fused layer has its own name and those of the nodes that it stands for.
    quantize_granularity
        ``'channel-wise'``: each row of a dense layer's weight has a range of its own, as filters always have.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")
    >>> net = mx.sym.Activation(net, act_type="relu", name="relu")
    >>> data = mx.io.NDArrayIter(mx.nd.array([[1.0, 0.5], [-2.0, 1.0]]), batch_size=1)
    >>> sym, args, aux = quantize_model_mkldnn(
    ...     net, {"fc_weight": mx.nd.array([[0.5, -0.25]])}, {}, calib_mode="naive", calib_data=data
    ... )
    >>> [node.name for node in sym.graph.nodes if not node.is_variable]
    ['data_quantize', 'quantized_sg_mkldnn_fully_connected_eltwise_0']
    """
    symbol = _as_symbol(sym)
    quantized, args, aux = quantize_model(
        symbol.with_graph(fused_layers(symbol.graph)), arg_params, aux_params, data_names, label_names, ctx,
        excluded_sym_names, excluded_op_names, calib_mode, calib_data, num_calib_examples, quantized_dtype,
        quantize_mode, quantize_granularity, logger,
    )  # fmt: skip
    return quantized.with_graph(joined_conversions(quantized.graph)), args, aux


def quantize_graph(
    sym: Symbol | str,
    arg_params: Params,
    aux_params: Params,
    ctx: Device | None = None,
    excluded_sym_names: Collection[str] | None = None,
    excluded_op_names: Collection[str] | None = None,
    calib_mode: str | None = "entropy",
    quantized_dtype: str = "int8",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    LayerOutputCollector: Collector | None = None,
    logger: Logger | None = None,
) -> tuple[Symbol, ArrayDict, ArrayDict, Collector | None]:
    """Return a network in 8 bits without ranges, its parameters, and a collector for the outputs that need them.

    The collector is given the outputs of the network in real numbers, by
    ``executor.set_monitor_callback(collector.collect, monitor_all=True)``; then `calib_graph` takes both.

    Parameters
    ----------
    sym, arg_params, aux_params, excluded_sym_names, excluded_op_names, quantized_dtype, quantize_mode, \
    quantize_granularity, logger
        As for `quantize_model`.
    ctx
        No effect.
    calib_mode
        As for `quantize_model`; or ``'customize'`` with a collector of your own.
    LayerOutputCollector
        An object with a method ``collect(name, array)``, which fills its dict `min_max_dict` with ranges by the names
        of outputs.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")
    >>> args = {"fc_weight": mx.nd.array([[0.5, -0.25]])}
    >>> sym, quantized, aux, collector = quantize_graph(net, args, {}, calib_mode="naive")
    >>> exe = net.bind(mx.cpu(), {**args, "data": mx.nd.array([[1.0, 0.5]])})
    >>> exe.set_monitor_callback(collector.collect, monitor_all=True)
    >>> _ = exe.forward()
    >>> collector.min_max_dict
    {'data': (0.5, 1.0), 'fc_output': (0.375, 0.375)}
    >>> sym, quantized, aux = calib_graph(sym, args, {}, collector, calib_mode="naive")
    >>> sym.attr_dict()["requantize_fc"]["max_calib_range"]
    '0.375000'
    """
    who = "quantize_graph"
    check_kind(who, DICT, arg_params=arg_params, aux_params=aux_params)
    calibration = Calibration(calib_mode or "none", quantized_dtype, logger=logger).check(who)
    if calibration.mode == "customize" and LayerOutputCollector is None:
        raise ParameterError(f"{who}: calib_mode='customize' needs a LayerOutputCollector")
    report(logger, "info", "Quantizing graph")
    symbol = _as_symbol(sym)
    graph = _quantized(
        who, symbol, arg_params, excluded_sym_names, excluded_op_names, quantized_dtype, quantize_mode,
        quantize_granularity,
    )  # fmt: skip
    collector = LayerOutputCollector
    if calibration.mode not in ("none", "customize"):
        collector = make_collector(calibration, names_to_calibrate(graph))
        text = "Collector created, please use set_monitor_callback to collect calibration information."
        report(logger, "info", text)
    return *_finished(symbol.with_graph(graph), arg_params, aux_params, logger), collector


def calib_graph(
    qsym: Symbol | str,
    arg_params: Params,
    aux_params: Params,
    collector: Collector,
    calib_mode: str | None = "entropy",
    quantized_dtype: str = "int8",
    logger: Logger | None = None,
    *,
    percentile: float = 99.99,
) -> Network:
    """Return a network of `quantize_graph` with the ranges that a collector found, and its parameters.

    Parameters
    ----------
    qsym
        The network in 8 bits.
    arg_params, aux_params
        Parameters and states, in real numbers or as `quantize_graph` returned them.
    collector
        What `quantize_graph` returned, after it was given the outputs.
    calib_mode, quantized_dtype, percentile
        As for `quantize_graph`.
    logger
        As for `quantize_model`.

    See Also
    --------
    quantize_graph : has an example.
    """
    who = "calib_graph"
    calibration = Calibration(calib_mode or "none", quantized_dtype, percentile, logger).check(who)
    if calibration.mode == "none":
        raise ParameterError(
            f"{who}: calib_mode must be 'naive', 'entropy' or 'percentile'; got {calib_mode!r}"
        )
    if collector is None:
        raise ArgumentError(f"{who}: collector must be what quantize_graph returned; got None")
    symbol = _as_symbol(qsym)
    graph = with_ranges(symbol.graph, calibration.ranges(collector))
    return _finished(symbol.with_graph(graph), arg_params, aux_params, logger)


def _as_symbol(sym: Symbol | str) -> Symbol:
    if isinstance(sym, Symbol):
        return sym
    if isinstance(sym, str):
        return load(sym)
    raise ArgumentError(f"quantize_model: sym must be a Symbol or the path of its file; got {sym!r}")


def _quantized(
    who: str,
    symbol: Symbol,
    arg_params: Params,
    excluded_names: Collection[str] | None,
    excluded_operators: Collection[str] | None,
    quantized_dtype: str,
    mode: str,
    granularity: str,
) -> Graph:
    """Return the network in 8 bits, without ranges."""
    if mode not in ("full", "smart"):
        raise ParameterError(f"{who}: quantize_mode must be 'full' or 'smart'; got {mode!r}")
    if granularity not in ("tensor-wise", "channel-wise"):
        raise ParameterError(
            f"{who}: quantize_granularity must be 'tensor-wise' or 'channel-wise'; got {granularity!r}"
        )
    applications = [node for node in symbol.graph.nodes if isinstance(node, Application)]
    held = [pair for node in applications for pair in held_names(node)]
    names = _excluded(
        f"{who}: excluded_sym_names", "node", excluded_names,
        {*(node.name for node in applications), *(name for name, _ in held)},
    )  # fmt: skip
    operators = _excluded(
        f"{who}: excluded_op_names", "node of operator", excluded_operators,
        {kind for node in applications for kind in (node.operator.name, node.called_as)} | {kind for _, kind in held},
    )  # fmt: skip
    chosen = nodes_to_quantize(symbol.graph, mode, names, operators)
    return quantized_graph(
        symbol.graph, chosen, arg_params.keys(), quantized_dtype, channel_wise=granularity == "channel-wise"
    )


def _excluded(who: str, kind: str, names: Collection[str] | None, known: Collection[str]) -> Collection[str]:
    """Return the names that are not quantized; warn of those that the network does not have."""
    if isinstance(names, str) or not isinstance(names, Collection | None):
        raise ParameterError(f"{who} must be a list of the names that are not quantized; got {names!r}")
    for name in names or ():
        if name not in known:
            warn_user(f"{who}: no {kind} {name!r}{near_names(name, known)}")
    return names or ()


def _finished(qsym: Symbol, arg_params: Params, aux_params: Params, logger: Logger | None) -> Network:
    """Return a quantized network with the parameters that it has."""
    report(logger, "info", "Quantizing parameters")
    return qsym, quantized_params(qsym, arg_params), dict(aux_params)


def quantized_params(qsym: Symbol, params: Params) -> ArrayDict:
    """Return the parameters of a quantized network: those that it shares with the one in real numbers, and levels.

    >>> import rebind as mx
    >>> levels = quantized_params(mx.sym.var("w_quantize"), {"w": mx.nd.array([-1.0, 0.5])})
    >>> {name: value.asnumpy().tolist() for name, value in levels.items()}
    {'w_quantize': [-127, 64], 'w_quantize_min': [-1.0], 'w_quantize_max': [1.0]}
    """
    found: ArrayDict = {}
    for name in qsym.list_arguments():
        source = name.removesuffix(_SUFFIX)
        if name in params:
            found[name] = params[name]
        elif name.endswith(_SUFFIX) and source in params:
            value = params[source]
            results = operators.quantize(value, value.min(), value.max(), out_type="int8")
            found |= zip((name, f"{name}_min", f"{name}_max"), results, strict=True)
    return found
