"""Inference of quantized layers from levels to levels: one call of oneDNN in whole numbers, with packed filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from ...ops import Operator
from ...ops.nn.misread_windows import misread_axes
from ...ops.quantization.inference_layers import (
    FILTER_LEVELS,
    HOLD_ON_LEVELS,
    INT8_ACTIVATIONS,
    INT8_CONVOLUTION,
    INT8_DENSE,
    KNOWN_BIAS,
    KNOWN_LEVELS,
    PACK_DENSE_LEVELS,
    PACK_LEVELS,
    bias_factor,
    can_compute_levels,
    level_unit,
)
from ...shapes import Shape, is_known
from ..facts import Facts, Target
from ..graph import Application, Entry, Graph
from .calls import NO_ACTIVATION, FusedActivation, Users, activation_after, is_prepared
from .level_ranges import known_ends, range_between, range_of
from .substitution import substitute

__all__ = ["fuse_levels"]

_SUMS = ("elemwise_add", "_grad_add")  # of arrays of one shape


@dataclass(frozen=True)
class _Levels:
    """An array of levels, their type, and the real number that one of them is worth."""

    entry: Entry
    dtype: torch.dtype
    unit: float


@dataclass(frozen=True)
class _Layer:
    """What one call computes."""

    node: Application
    data: _Levels
    weight: Application  # gives the levels of the filters, what they are worth, and their level of 0
    bias: tuple[Entry, ...]
    result: Entry
    addend: _Levels | None = None
    activation: FusedActivation = NO_ACTIVATION
    dtype: torch.dtype = torch.float32
    unit: float = 1.0

    @property
    def is_dense(self) -> bool:
        return self.node.operator.name in ("FullyConnected", "_contrib_quantized_fully_connected")


def fuse_levels(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Compute a layer between levels, whose ranges are known, in whole numbers; on the CPU, in inference.

    A layer of real numbers is one whose data come from levels (`_contrib_dequantize`) and whose weight is held to
    levels; the sum with another array of levels, a rectifier and the way to levels (`_contrib_quantize_v2`) are part of
    the call. So are `_contrib_requantize` and the rectifier after it for a layer of sums (`_contrib_quantized_conv`,
    `_contrib_quantized_fully_connected`). Results are those without this pass, but for what lies between two levels,
    which may be rounded to the other one.

    >>> import rebind as mx
    >>> graph = mx.sym.exp(mx.sym.var("x")).graph
    >>> fuse_levels(graph, Facts(), Target())[0] is graph
    True
    """
    if target.traced or target.spans_devices or target.device.type != "cpu" or not can_compute_levels():
        return graph, facts
    users = graph.single_users
    instead: dict[Entry, Entry] = {}
    for node in graph.nodes:
        if isinstance(node, Application):
            layer = _of_real_numbers(node, users, facts) or _of_sums(node, users, facts)
            if layer is not None and _fits(layer, facts):
                instead[layer.result] = _call(layer, facts)
                last = layer.result.node
                assert isinstance(last, Application)
                if (ends := range_of(last)) is not None:
                    instead |= known_ends(graph, last, ends)
    if not instead:
        return graph, facts
    graph, replaced = substitute(graph, instead)
    return graph, facts.after(replaced)


def _levels(entry: Entry, ends: tuple[Entry, ...], facts: Facts, of_sums: bool) -> _Levels | None:
    """Return an array of levels, where its type and its range are known."""
    dtype, found = facts.types.get(entry), range_between(ends)
    if dtype not in (torch.int8, torch.uint8) or found is None:
        return None
    unit = level_unit(*found, dtype, of_sums)
    return _Levels(entry, dtype, unit) if unit > 0 else None


def _real_levels(entry: Entry, facts: Facts) -> _Levels | None:
    """Return what real numbers come from, where they come from levels."""
    node = _dequantized(entry)
    return None if node is None else _levels(node.inputs[0], node.inputs[1:], facts, of_sums=False)


def _dequantized(entry: Entry) -> Application | None:
    """Return the node that takes levels to real numbers, if an entry is from one."""
    node = entry.node
    if isinstance(node, Application) and node.operator.name == "_contrib_dequantize":
        return node
    return None


def _of_real_numbers(node: Application, users: Users, facts: Facts) -> _Layer | None:
    """Return how far one call can go from a layer of real numbers between levels."""
    if node.operator.name not in ("Convolution", "FullyConnected"):
        return None
    data, (weight, *bias) = _real_levels(node.inputs[0], facts), node.inputs[1:]
    source = weight.node
    if data is None or not isinstance(source, Application) or not all(map(is_prepared, source.inputs)):
        return None
    if source.operator is HOLD_ON_LEVELS and not source.params.whole:
        levels = _prepared(FILTER_LEVELS, node, source.inputs)
    elif _dequantized(weight) is not None:
        levels = _prepared(KNOWN_LEVELS, node, source.inputs, of_sums=False)
    else:
        return None
    known = [_dequantized(entry) for entry in bias]
    if known and known[0] is not None and all(map(is_prepared, known[0].inputs)):
        bias = [Entry(_prepared(KNOWN_BIAS, node, known[0].inputs, times=1.0))]
    real = layer = _Layer(node, data, levels, tuple(bias), Entry(node))
    user, position = users.get(layer.result, (None, 0))
    if user is not None and user.operator.name in _SUMS and not layer.is_dense:
        addend = _real_levels(user.inputs[1 - position], facts)
        if addend is None:  # a sum of real numbers
            return real
        layer = replace(layer, result=Entry(user), addend=addend)
    end, activation = activation_after(layer.result, users, ("relu",) if layer.addend else INT8_ACTIVATIONS)
    layer = replace(layer, result=end, activation=activation)
    user, _ = users.get(layer.result, (None, 0))
    if user is not None and user.operator.name == "_contrib_quantize_v2":
        return _to_levels(layer, user, facts, of_sums=False) or real
    # oneDNN adds in the memory of the result, which real numbers do not fit in.
    return real if layer.addend else layer


def _of_sums(node: Application, users: Users, facts: Facts) -> _Layer | None:
    """Return how far one call can go from a layer that gives sums, to the rectifier after `_contrib_requantize`."""
    if node.operator.name not in ("_contrib_quantized_conv", "_contrib_quantized_fully_connected"):
        return None
    given = dict(zip(node.input_names, node.inputs, strict=True))
    user, _ = users.get(Entry(node), (None, 0))
    data = _levels(given["data"], (given["min_data"], given["max_data"]), facts, of_sums=True)
    if data is None or user is None or user.operator.name != "_contrib_requantize":
        return None
    # Nobody else asks for the sums' range.
    if any(users.get(Entry(node, i), (None, 0))[0] is not user for i in (1, 2)):
        return None
    weight = [given[name] for name in ("weight", "min_weight", "max_weight")]
    bias = [given[name] for name in ("bias", "min_bias", "max_bias") if name in given]
    if not all(map(is_prepared, (*weight, *bias))):
        return None
    levels = _prepared(KNOWN_LEVELS, node, weight, of_sums=True)
    real = [Entry(_prepared(KNOWN_BIAS, node, bias, times=bias_factor(data.dtype)))] if bias else []
    layer = _to_levels(_Layer(node, data, levels, tuple(real), Entry(node)), user, facts, of_sums=True)
    if layer is None:
        return None
    after, _ = users.get(Entry(user), (None, 0))
    if (
        after is not None
        and after.operator.name == "_contrib_quantized_act"
        and all(users.get(Entry(user, i), (None, 0))[0] is after for i in (1, 2))
    ):
        return replace(layer, result=Entry(after), activation=FusedActivation("relu"))
    return layer


def _to_levels(layer: _Layer, user: Application, facts: Facts, of_sums: bool) -> _Layer | None:
    """Return a layer whose result is the levels that `user` makes of it, where their range is known."""
    result = Entry(user)
    found = _levels(result, (Entry(user, 1), Entry(user, 2)), facts, of_sums)
    if found is None:
        return None
    return replace(layer, result=result, dtype=found.dtype, unit=found.unit)


def _prepared(operator: Operator, node: Application, inputs: Sequence[Entry], **given: object) -> Application:
    """Return a node that computes from parameters what the call needs."""
    name = f"{node.name} {operator.name.strip('_').replace('_', ' ')}"
    return Application(operator, name, tuple(inputs), operator.parse(given), attributes=node.attributes)


def _fits(layer: _Layer, facts: Facts) -> bool:
    shape, p = facts.shapes.get(layer.data.entry), layer.node.params
    if shape is None or not is_known(shape) or not all(shape):
        return False
    if layer.is_dense:
        return True
    if len(p.kernel) != 2 or p.layout not in (None, "NCHW"):
        return False
    return not misread_axes(shape, layer.data.dtype, p.kernel, p.stride, p.pad, p.dilate)


def _call(layer: _Layer, facts: Facts) -> Entry:
    """Return the result of the call."""
    shape = facts.shapes[layer.data.entry]
    return _dense_call(layer, shape) if layer.is_dense else _convolution_call(layer, shape)


def _convolution_call(layer: _Layer, shape: Shape) -> Entry:
    node, data, addend = layer.node, layer.data, layer.addend
    where = {"stride": (1, 1), "pad": (0, 0), "dilate": (1, 1), "num_group": 1}
    where |= {name: value for name in where if (value := getattr(node.params, name))}
    signed = data.dtype is torch.int8
    packed = _prepared(
        PACK_LEVELS,
        node,
        (Entry(layer.weight), Entry(layer.weight, 1)),
        **where,
        data_shape=shape,
        signed=signed,
    )
    params = {
        **where,
        **_common(layer),
        "adds": addend is not None,
        "addend_unit": 1.0 if addend is None else addend.unit,
    }
    inputs = (*_inputs(layer, packed), *([] if addend is None else [addend.entry]))
    return Entry(
        Application(
            INT8_CONVOLUTION, node.name, inputs, INT8_CONVOLUTION.parse(params), attributes=node.attributes
        )
    )


def _dense_call(layer: _Layer, shape: Shape) -> Entry:
    node, flatten = layer.node, layer.node.params.flatten
    rows = shape[0] if flatten else torch.Size(shape[:-1]).numel()
    packed = _prepared(PACK_DENSE_LEVELS, node, (Entry(layer.weight),), rows=rows)
    params = INT8_DENSE.parse({**_common(layer), "flatten": flatten})
    inputs = _inputs(layer, packed)
    return Entry(Application(INT8_DENSE, node.name, inputs, params, attributes=node.attributes))


def _inputs(layer: _Layer, packed: Application) -> tuple[Entry, ...]:
    weight = layer.weight
    return layer.data.entry, Entry(packed), Entry(weight, 1), Entry(weight, 2), *layer.bias


def _common(layer: _Layer) -> dict[str, object]:
    return {
        "no_bias": not layer.bias,
        "data_unit": layer.data.unit,
        "out_unit": layer.unit,
        "out_type": layer.dtype,
        **layer.activation.parameters,
    }
