"""Ranges of a network's outputs: which ones are needed, how data give them, and how they become part of the network."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...checks import check_numbers
from ...device import Device
from ...errors import ArgumentError, NameLookupError, ParameterError, near_names
from ...graph import Entry, Graph
from ...module import Module
from ...ndarray import NDArray
from ...protocols import Logger
from ...symbol import Symbol
from .collectors import (
    Collector,
    LayerHistogramCollector,
    LayerOutputMinMaxCollector,
    Range,
    optimal_thresholds,
    percentile_ranges,
    report,
)
from .rewriting import calibrated_entries

__all__ = ["MODES", "Calibration", "collect", "make_collector", "names_to_calibrate"]

#: How ranges are found. With ``'customize'`` a collector of the caller's finds them.
MODES = ("none", "naive", "entropy", "percentile", "customize")


@dataclass(frozen=True)
class Calibration:
    """How ranges are found.

    Attributes
    ----------
    mode
        One of `MODES`.
    quantized_dtype
        The type of the levels: ``'int8'``, ``'uint8'`` or ``'auto'``.
    percentile
        For mode ``'percentile'``: how many of a hundred numbers are within a range.
    logger
        Where to write what happens.
    """

    mode: str
    quantized_dtype: str
    percentile: float = 99.99
    logger: Logger | None = None

    def check(self, who: str) -> Calibration:
        """Return it as it is; an error for values that mean nothing."""
        if self.mode not in MODES:
            raise ParameterError(
                f"{who}: calib_mode must be one of {', '.join(map(repr, MODES))}; got {self.mode!r}"
            )
        if self.quantized_dtype not in ("int8", "uint8", "auto"):
            raise ParameterError(
                f"{who}: quantized_dtype must be 'int8', 'uint8' or 'auto'; got {self.quantized_dtype!r}"
            )
        check_numbers(who, percentile=self.percentile)
        if not 0 < self.percentile <= 100:
            raise ParameterError(f"{who}: percentile must be within (0, 100]; got {self.percentile}")
        return self

    def ranges(self, collector: Any) -> Mapping[str, Range]:
        """Return the ranges that follow from what was collected, by the name of the output."""
        if self.mode == "entropy":
            return optimal_thresholds(collector.hist_dict, self.quantized_dtype, logger=self.logger)
        if self.mode == "percentile":
            return percentile_ranges(collector.hist_dict, self.quantized_dtype, self.percentile)
        found: Mapping[str, Range] = collector.min_max_dict
        return found


def names_to_calibrate(quantized: Graph) -> list[str]:
    """Return the names of the outputs whose ranges a quantized network takes.

    >>> import rebind as mx
    >>> net = mx.sym.contrib.quantize_v2(mx.sym.exp(mx.sym.var("x"), name="e"), name="q")
    >>> names_to_calibrate(net.graph)
    ['e_output']
    """
    return list(dict.fromkeys(name for _, name in calibrated_entries(quantized)))


def make_collector(calibration: Calibration, names: Collection[str]) -> Collector:
    """Return a collector of what a kind of calibration needs to know of some outputs.

    >>> make_collector(Calibration("naive", "int8"), ["fc_output"]).include_layer
    ['fc_output']
    """
    if calibration.mode == "naive":
        return LayerOutputMinMaxCollector(calibration.quantized_dtype, names, calibration.logger)
    return LayerHistogramCollector(include_layer=names, logger=calibration.logger)


def collect(
    symbol: Symbol,
    params: tuple[Mapping[str, NDArray], Mapping[str, NDArray]],
    collector: Collector,
    names: Collection[str],
    data: Any,
    *,
    data_names: Sequence[str],
    label_names: Sequence[str] | None,
    device: Device | Sequence[Device],
    limit: int | None = None,
    logger: Logger | None = None,
) -> int:
    """Run a network in real numbers on data, give a collector the named outputs; return the number of samples.

    Parameters
    ----------
    symbol, params
        The network, its arguments and its states.
    collector
        Its method `collect` is called with a name and an array, for each batch and each output.
    names
        Names of outputs of any node, and of inputs.
    data
        An iterator over batches with `provide_data`: an `io.DataIter`.
    data_names, label_names
        The inputs that the batches give; those that no named output needs are left out.
    device
        Where to run it.
    limit
        After how many samples to stop, with the batch that reaches it; None for all data.
    logger
        Where to write how many there were.
    """
    if not names:
        return 0
    arguments = symbol.list_arguments()
    for name in data_names:
        if name not in arguments:
            raise NameLookupError(
                f"quantize_model: data_names must be inputs of the network; got {name!r}{near_names(name, arguments)}"
            )
    watched = _outputs(symbol, names)
    needed = set(watched.list_arguments())
    module: Any = Module(
        watched,
        [name for name in data_names if name in needed],
        [name for name in label_names or () if name in needed],
        context=device,
    )
    _bind(module, data)
    module.set_params(*params, allow_missing=False, allow_extra=True)
    data.reset()
    batches = samples = 0
    for batch in data:
        module.forward(batch, is_train=False)
        for name, output in zip(names, module.get_outputs(), strict=True):
            collector.collect(name, output)
        batches, samples = batches + 1, samples + data.batch_size
        if limit is not None and samples >= limit:
            break
    text = "Collected statistics from %d batches with batch_size=%d"
    report(logger, "info", text, batches, data.batch_size)
    return samples


def _outputs(symbol: Symbol, names: Iterable[str]) -> Symbol:
    """Return a symbol of the named outputs, of any node."""
    known: dict[str, Entry] = {entry.name: entry for entry in symbol.graph.internals.outputs}
    return symbol.with_graph(Graph(known[name] for name in names))


def _bind(module: Any, data: Any) -> None:
    """Bind a module to the inputs that it has of those that an iterator gives."""
    if not hasattr(data, "provide_data") or not hasattr(data, "reset"):
        raise ArgumentError(f"quantize_model: calib_data must be of DataIter type; got {type(data).__name__}")
    given = [desc[0] for desc in data.provide_data]
    for name in module.data_names:
        if name not in given:
            raise NameLookupError(
                f"quantize_model: calib_data must give the input {name!r}; got {', '.join(map(repr, given))}. Name it "
                f"in the iterator: NDArrayIter(..., data_name={name!r})."
            )
    wanted = {*module.data_names, *module.label_names}
    labels = [desc for desc in data.provide_label or () if desc[0] in wanted]
    module.bind([desc for desc in data.provide_data if desc[0] in wanted], labels or None, for_training=False)
