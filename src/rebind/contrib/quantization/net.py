"""`quantize_net`: a block of gluon in real numbers in, a `SymbolBlock` in 8 bits out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from ...device import Device, cpu
from ...errors import ArgumentError, ParameterError, StateError
from ...gluon import HybridBlock, SymbolBlock
from ...io import DataBatch, DataDesc
from ...ndarray import NDArray, zeros
from ...protocols import ArrayDict, Logger
from ...symbol import Group, Symbol, var
from .calibration import collect
from .collectors import Collector
from .fusing import fused_layers, joined_conversions
from .model import calib_graph, quantize_graph, quantize_model

__all__ = ["quantize_net", "quantize_net_v2"]


def quantize_net_v2(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    exclude_layers: Collection[str] | None = None,
    exclude_layers_match: Collection[str] | None = None,
    exclude_operators: Collection[str] | None = None,
    calib_data: Any = None,
    data_shapes: Sequence[DataDesc] | None = None,
    calib_mode: str | None = "none",
    num_calib_examples: int | None = None,
    ctx: Device | None = None,
    LayerOutputCollector: Collector | None = None,
    logger: Logger | None = None,
) -> SymbolBlock:
    """Return a block in 8 bits, with fused layers as of `quantize_model_mkldnn`, for a block in real numbers.

    Parameters
    ----------
    network
        The block, after `initialize` or `load_parameters`.
    exclude_layers, exclude_operators
        Names of nodes (``'dense0_fwd'``) and of operators that stay in real numbers, with what they are fused with.
    exclude_layers_match
        Parts of names of nodes that stay in real numbers.
    calib_data
        A `DataIter`, or arrays: an iterable over arrays, or over lists of one array for each argument of the block and
        then labels, which have no effect.
    data_shapes
        A description of each argument of the block, a `DataDesc` or a shape; not needed with `calib_data`.
    LayerOutputCollector
        With ``calib_mode='customize'``: what is given the outputs; see `quantize_graph`.
    ctx
        Where the block runs; None for the CPU.
    quantized_dtype, quantize_mode, quantize_granularity, calib_mode, num_calib_examples, logger
        As for `quantize_model`.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.gluon.nn.Dense(1, in_units=2, use_bias=False, prefix="fc_")
    >>> net.initialize(mx.init.One())
    >>> data = mx.nd.array([[1.0, 0.5], [-2.0, 1.0]])
    >>> block = quantize_net_v2(net, calib_data=[data], calib_mode="naive")
    >>> block(data).asnumpy().round(1).tolist()
    [[1.5], [-1.0]]
    """
    who = "quantize_net"
    if not isinstance(network, HybridBlock):
        raise ArgumentError(f"{who}: network must be a HybridBlock; got {network!r}")
    batches = None if calib_data is None else _as_data_iter(calib_data)
    shapes = data_shapes or getattr(batches, "provide_data", None)
    if not shapes:
        raise ParameterError(f"{who}: data_shapes or calib_data must be given; got neither")
    descs = _descs(shapes)
    plain, args, aux = _traced(network, descs, ctx or cpu())
    symbol = plain.with_graph(fused_layers(plain.graph))
    matching = [*_matching(plain, exclude_layers_match or ()), *_matching(symbol, exclude_layers_match or ())]
    excluded = [*(exclude_layers or ()), *matching]
    names = [desc.name for desc in descs]
    if calib_mode == "customize":
        if LayerOutputCollector is None or batches is None:
            raise ParameterError(f"{who}: calib_mode='customize' needs a LayerOutputCollector and calib_data")
        quantized, _, _, collector = quantize_graph(
            symbol, args, aux, ctx, excluded, exclude_operators, calib_mode, quantized_dtype, quantize_mode,
            quantize_granularity, LayerOutputCollector, logger,
        )  # fmt: skip
        assert collector is not None
        watched = [entry.name for entry in symbol.graph.internals.outputs]
        collect(
            symbol, (args, aux), collector, watched, batches, data_names=names, label_names=(),
            device=ctx or cpu(), limit=num_calib_examples, logger=logger,
        )  # fmt: skip
        result = calib_graph(quantized, args, aux, collector, calib_mode, quantized_dtype, logger)
    else:
        result = quantize_model(
            symbol, args, aux, names, (), ctx, excluded, exclude_operators, calib_mode, batches,
            num_calib_examples, quantized_dtype, quantize_mode, quantize_granularity, logger,
        )  # fmt: skip
    quantized, args, aux = result
    return _as_block(
        quantized.with_graph(joined_conversions(quantized.graph)), args, aux, names, ctx or cpu()
    )


def quantize_net(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    exclude_layers: Collection[str] | None = None,
    exclude_layers_match: Collection[str] | None = None,
    exclude_operators: Collection[str] | None = None,
    calib_data: Any = None,
    data_shapes: Sequence[DataDesc] | None = None,
    calib_mode: str | None = "none",
    num_calib_examples: int | None = None,
    ctx: Device | None = None,
    logger: Logger | None = None,
) -> SymbolBlock:
    """Return a block in 8 bits: `quantize_net_v2` with one range for each weight.

    Parameters
    ----------
    network, quantized_dtype, quantize_mode, exclude_layers, exclude_layers_match, exclude_operators, calib_data, \
    data_shapes, calib_mode, num_calib_examples, ctx, logger
        As for `quantize_net_v2`.
    """
    return quantize_net_v2(
        network, quantized_dtype, quantize_mode, "tensor-wise", exclude_layers, exclude_layers_match,
        exclude_operators, calib_data, data_shapes, calib_mode, num_calib_examples, ctx, None, logger,
    )  # fmt: skip


class _ArrayBatches:
    """Arrays, or lists of arrays, as an iterator over batches."""

    def __init__(self, arrays: Iterable[Any]) -> None:
        first = self._batch(next(iter(arrays), None)).data
        names = ["data"] if len(first) == 1 else [f"data{i}" for i in range(len(first))]
        self._arrays = arrays
        self.provide_data = [
            DataDesc(name, array.shape, array.dtype) for name, array in zip(names, first, strict=True)
        ]
        self.provide_label: list[DataDesc] = []
        self.batch_size = first[0].shape[0]

    def __iter__(self) -> Iterator[DataBatch]:
        for item in self._arrays:
            yield self._batch(item)

    def reset(self) -> None:
        """Do nothing: each iteration begins again."""

    @staticmethod
    def _batch(item: Any) -> DataBatch:
        arrays = [item] if isinstance(item, NDArray) else item
        if not isinstance(arrays, (list, tuple)) or not all(isinstance(each, NDArray) for each in arrays):
            raise ArgumentError(
                "quantize_net: calib_data must be a DataIter, or an iterable over arrays or lists of them; "
                f"got {item!r}"
            )
        return DataBatch(list(arrays[:1] if len(arrays) <= 2 else arrays[:-1]))


def _as_data_iter(calib_data: Any) -> Any:
    return calib_data if hasattr(calib_data, "provide_data") else _ArrayBatches(calib_data)


def _descs(data_shapes: Sequence[Any]) -> list[DataDesc]:
    """Return descriptions with names, ``data`` or ``data0``, ``data1``, ..., where shapes have none."""
    found = []
    for i, each in enumerate(data_shapes):
        if isinstance(each, DataDesc):
            found.append(each)
        elif len(each) == 2 and isinstance(each[0], str):
            found.append(DataDesc(*each))
        else:
            found.append(DataDesc("data" if len(data_shapes) == 1 else f"data{i}", tuple(each)))
    return found


def _traced(
    network: HybridBlock, descs: Sequence[DataDesc], device: Device
) -> tuple[Symbol, ArrayDict, ArrayDict]:
    """Return a block's symbol, the arrays of its parameters and its states."""
    network(
        *(zeros(desc.shape, device, desc.dtype) for desc in descs)
    )  # shapes that follow from data are found
    outputs: Any = network(*(var(desc.name) for desc in descs))
    symbol = outputs if isinstance(outputs, Symbol) else Group(list(outputs))
    params = network.collect_params()
    inputs = {desc.name for desc in descs}
    missing = [name for name in symbol.list_inputs() if name not in params and name not in inputs]
    if missing:
        raise StateError(f"quantize_net: the block has no parameter {', '.join(missing)}")
    args, aux = (
        {name: params[name].data(device) for name in names if name not in inputs}
        for names in (symbol.list_arguments(), symbol.list_auxiliary_states())
    )
    return symbol, args, aux


def _matching(symbol: Symbol, parts: Collection[str]) -> list[str]:
    names = [node.name for node in symbol.graph.nodes if not node.is_variable]
    return [name for name in names if any(part in name for part in parts)]


def _as_block(
    symbol: Symbol, args: ArrayDict, aux: ArrayDict, inputs: Sequence[str], device: Device
) -> SymbolBlock:
    block = SymbolBlock(symbol, [var(name) for name in inputs])
    block.collect_params().load_dict({**args, **aux}, device, cast_dtype=True, dtype_source="saved")
    return block
