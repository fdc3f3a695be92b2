"""From a network in real numbers to one in 8 bits: graphs, with MXNet's names of nodes and parameters."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from ...graph import Application, Entry, Graph, Node, Variable, rewrite
from ...graph.fused_layers import is_fused_layer
from ...ops import find
from .fusing import level_inputs, quantized_layer
from .operators import OPERATORS, QuantizedForm

__all__ = ["calibrated_entries", "quantized_graph", "with_ranges"]

#: Operators whose outputs MXNet knows by name. Those of the others are numbers in the names of the nodes that quantize
#: them: ``flatten_0_quantize``.
_NAMED = """
    Activation BatchNorm BatchNorm_v1 BilinearSampler Concat Convolution Convolution_v1 Correlation Crop Custom
    Deconvolution Dropout FullyConnected GridGenerator GroupNorm IdentityAttachKLSparseReg InstanceNorm L2Normalization
    LRN LayerNorm LeakyReLU MakeLoss Pad Pooling Pooling_v1 RNN ROIPooling SVMOutput SequenceLast SequenceMask
    SequenceReverse SliceChannel SoftmaxActivation SoftmaxOutput SpatialTransformer SwapAxis UpSampling
    _contrib_BatchNormWithReLU _contrib_DeformableConvolution _contrib_DeformablePSROIPooling
    _contrib_ModulatedDeformableConvolution _contrib_MultiBoxDetection _contrib_MultiBoxPrior _contrib_MultiBoxTarget
    _contrib_MultiProposal _contrib_PSROIPooling _contrib_Proposal _contrib_ROIAlign _contrib_RROIAlign
    _contrib_SyncBatchNorm _contrib_calibrate_entropy _contrib_count_sketch _contrib_fft _contrib_hawkesll
    _contrib_ifft _contrib_index_array _contrib_interleaved_matmul_encdec_qk
    _contrib_interleaved_matmul_encdec_valatt _contrib_interleaved_matmul_selfatt_qk
    _contrib_interleaved_matmul_selfatt_valatt _contrib_quantize_asym _rnn_param_concat
    _sg_mkldnn_conv _sg_mkldnn_fully_connected col2im elemwise_add elemwise_mul
    im2col make_loss softmax softmin
"""

_QUANTIZERS = ("_contrib_quantize_v2", "_contrib_quantize_asym")
#: Operators in 8 bits whose results are real numbers.
_GIVE_REAL = frozenset(form.operator for form in OPERATORS.values() if not form.gives_levels)
#: Nodes whose range is that of the node that they were made for, and what their name begins with.
_PREFIXES = {"_contrib_requantize": "requantize_", "_contrib_quantized_batch_norm": "quantized_"}


class _Levels(NamedTuple):
    """An array in 8 bits and its range."""

    data: Entry
    low: Entry
    high: Entry

    @classmethod
    def of(cls, node: Application) -> _Levels:
        return cls(*(Entry(node, i) for i in range(3)))


def quantized_graph(
    graph: Graph,
    chosen: Collection[Node],
    offline: Collection[str],
    out_type: str = "int8",
    channel_wise: bool = False,
) -> Graph:
    """Return a network with some nodes in 8 bits.

    Parameters
    ----------
    graph
        The network in real numbers.
    chosen
        The nodes, all of operators that are in `OPERATORS`.
    offline
        Names of parameters whose levels are computed beforehand: the new graph has variables for them and for the two
        ends of their ranges, ``fc_weight_quantize``, ``fc_weight_quantize_min`` and ``fc_weight_quantize_max``.
    out_type
        The type of the levels: ``'int8'``, ``'uint8'`` or ``'auto'``, by range.
    channel_wise
        Whether weights of fused dense layers have a range for each row.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.Flatten(mx.sym.var("data"), name="flat")
    >>> graph = quantized_graph(net.graph, net.graph.nodes[1:], ())
    >>> [node.name for node in graph.nodes]
    ['data', 'data_quantize', 'quantized_flat', 'flat_dequantize']
    """
    rewriting = _Rewriting(offline, out_type, channel_wise)
    for node in graph.nodes:
        if isinstance(node, Application) and node in chosen:
            rewriting.quantize(node, OPERATORS[node.operator.name])
        else:
            rewriting.leave(node)
    return Graph(rewriting.real(entry) for entry in graph.outputs)


class _Rewriting:
    """The new entries for those of the old graph, in real numbers and as levels."""

    def __init__(self, offline: Collection[str], out_type: str, channel_wise: bool) -> None:
        self._offline, self._out_type, self._channel_wise = offline, out_type, channel_wise
        self._real: dict[Entry, Entry] = {}
        self._levels: dict[tuple[Entry, str], _Levels] = {}

    def leave(self, node: Node) -> None:
        """Take a node over in real numbers."""
        inputs = tuple(self.real(entry) for entry in node.inputs)
        same = node if inputs == tuple(node.inputs) else node.with_inputs(inputs)
        self._real |= {Entry(node, i): Entry(same, i) for i in range(len(node.output_names))}

    def quantize(self, node: Application, form: QuantizedForm) -> None:
        """Put a node's form in 8 bits in its place."""
        wanted = self._level_inputs(node, form)
        levels = {
            i: self.levels(node.inputs[i], form.quantizer, is_data=self._is_data(node, i)) for i in wanted
        }
        inputs = [levels[i].data if i in levels else self.real(entry) for i, entry in enumerate(node.inputs)]
        ends = [end for i in wanted for end in levels[i][1:]]
        made = self._made(node, form, [*inputs, *ends])
        if not form.gives_levels:
            self._real |= {Entry(node, i): Entry(made, i) for i in range(len(node.output_names))}
            return
        if form.gives_sums:
            made = _node(
                "_contrib_requantize",
                f"requantize_{node.name}",
                _Levels.of(made),
                {"out_type": self._out_type},
            )
        self._levels[Entry(node), "_contrib_quantize_v2"] = _Levels.of(made)

    def _level_inputs(self, node: Application, form: QuantizedForm) -> list[int]:
        """Return which inputs are levels, in the order of their ranges."""
        if is_fused_layer(node.operator):
            return level_inputs(node, self._channel_wise)
        names = node.input_names
        return [i for i, name in enumerate(names) if form.inputs is None or name in form.inputs]

    @staticmethod
    def _is_data(node: Application, i: int) -> bool:
        """Whether an input is data rather than a weight, whose levels are always int8."""
        if is_fused_layer(node.operator):
            return i in level_inputs(node, channel_wise=True)
        return node.input_names[i] not in ("weight", "bias")

    def _made(self, node: Application, form: QuantizedForm, inputs: list[Entry]) -> Application:
        name, further = f"quantized_{node.name}", form.further or {}
        if not is_fused_layer(node.operator):
            return _node(form.operator, name, inputs, {**node.given, **further}, node.attributes)
        if self._channel_wise and node.operator.name == "_sg_mkldnn_fully_connected":
            further = {**further, "channel_wise_quantize": "True"}
        return quantized_layer(node, name, inputs, further)

    def real(self, entry: Entry) -> Entry:
        """Return an entry in real numbers."""
        if entry not in self._real:
            levels = self._levels[entry, "_contrib_quantize_v2"]
            made = _node("_contrib_dequantize", f"{entry.node.name}_dequantize", levels, {})
            self._real[entry] = Entry(made)
        return self._real[entry]

    def levels(self, entry: Entry, quantizer: str, is_data: bool) -> _Levels:
        """Return an entry as levels; weights are always int8."""
        key = entry, quantizer
        if key not in self._levels:
            name = f"{_output_name(entry)}_quantize"
            if entry.node.is_variable and entry.node.name in self._offline:
                self._levels[key] = _Levels(
                    *(Entry(Variable(f"{name}{end}")) for end in ("", "_min", "_max"))
                )
            else:
                texts = {"out_type": self._out_type if is_data else "int8"}
                texts = texts if quantizer == "_contrib_quantize_v2" else {}
                self._levels[key] = _Levels.of(_node(quantizer, name, [self.real(entry)], texts))
        return self._levels[key]


def _node(
    operator: str,
    name: str,
    inputs: Collection[Entry],
    texts: Mapping[str, str],
    attributes: Mapping[str, str] | None = None,
) -> Application:
    op = find(operator)
    return Application(op, name, tuple(inputs), op.parse(texts), texts, dict(attributes or {}))


def _output_name(entry: Entry) -> str:
    """Return what MXNet calls an output where it quantizes it.

    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> [_output_name(y.graph.outputs[0]) for y in (mx.sym.exp(x, name="e"), mx.sym.softmax(x, name="s"))]
    ['e_0', 's_output']
    """
    node = entry.node
    if node.operator is None or node.operator.name in _NAMED.split():
        return entry.name
    return f"{node.name}_{entry.index}"


def calibrated_entries(graph: Graph) -> Iterator[tuple[Application, str]]:
    """Yield the nodes of a quantized network that take a calibrated range, and the output in real numbers it is of.

    >>> import rebind as mx
    >>> net = mx.sym.contrib.quantize_v2(mx.sym.exp(mx.sym.var("x"), name="e"), name="q")
    >>> [(node.name, name) for node, name in calibrated_entries(net.graph)]
    [('q', 'e_output')]
    """
    for node in graph.nodes:
        if not isinstance(node, Application):
            continue
        name = node.operator.name
        if name in _QUANTIZERS:
            source = node.inputs[0]
            is_quantized = source.node.operator is not None and source.node.operator.name in _GIVE_REAL
            yield node, source.name.removeprefix("quantized_") if is_quantized else source.name
        elif name in _PREFIXES:
            yield node, f"{node.name.removeprefix(_PREFIXES[name])}_output"


def with_ranges(graph: Graph, ranges: Mapping[str, tuple[float, float]]) -> Graph:
    """Return a quantized network with the ranges of calibration, as far as they are known.

    Parameters
    ----------
    graph
        The network, from `quantized_graph`.
    ranges
        The least and the greatest number of an output in real numbers, by its name.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.contrib.quantize_v2(mx.sym.var("x"), name="q")
    >>> with_ranges(net.graph, {"x": (-1.0, 2.0)}).nodes[-1].params.max_calib_range
    2.0
    """
    names = dict(calibrated_entries(graph))

    def replaced(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        if not isinstance(node, Application) or names.get(node) not in ranges:
            return None
        given = {**node.given, **_texts(*ranges[names[node]])}
        made = replace(node, inputs=inputs, given=given, params=node.operator.parse(given))
        return [Entry(made, i) for i in range(len(made.output_names))]

    return rewrite(graph, replaced)


def _texts(low: float, high: float) -> dict[str, str]:
    """Return a range as parameters: six decimals as in MXNet, and more where these leave nothing of it.

    >>> _texts(-1.0, 0.123456789), _texts(0.0, 1.23456789e-05)
    ({'min_calib_range': '-1.000000', 'max_calib_range': '0.123457'},
    {'min_calib_range': '0.0', 'max_calib_range': '1.23456789e-05'})
    """
    largest = max(abs(low), abs(high))
    small = 0 < largest < 1e-3
    return {
        f"{end}_calib_range": str(float(number)) if small else f"{number:.6f}"
        for end, number in (("min", low), ("max", high))
    }
