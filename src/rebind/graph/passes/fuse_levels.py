"""Inference of quantized layers from levels to levels: one call of oneDNN in whole numbers, with packed filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from ...ops import Operator
from ...ops.quantization.inference_layers import (
    FILTER_LEVELS,
    HOLD_ON_LEVELS,
    INT8_ACTIVATIONS,
    INT8_CONVOLUTION,
    KNOWN_BIAS,
    KNOWN_LEVELS,
    PACK_LEVELS,
    can_convolve_levels,
    level_unit,
)
from ...shapes import Shape, is_known
from ..facts import Facts, Target
from ..graph import Application, Entry, Graph
from .calls import ACTIVATIONS, NO_ACTIVATION, FusedActivation, Users, is_kept, single_users
from .level_ranges import range_between, range_of
from .substitution import application, substitute

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
    if target.traced or target.spans_devices or target.device.type != "cpu" or not can_convolve_levels():
        return graph, facts
    users = single_users(graph)
    instead: dict[Entry, Entry] = {}
    for node in graph.nodes:
        if isinstance(node, Application):
            layer = _of_real_numbers(node, users, facts) or _of_sums(node, users, facts)
            if layer is not None and _fits(layer, facts):
                instead |= _ends(layer.result, _call(layer, facts))
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
    node = entry.node
    if not isinstance(node, Application) or node.operator.name != "_contrib_dequantize":
        return None
    return _levels(node.inputs[0], node.inputs[1:], facts, of_sums=False)


def _of_real_numbers(node: Application, users: Users, facts: Facts) -> _Layer | None:
    """Return how far one call can go from a layer of real numbers between levels."""
    if node.operator.name not in ("Convolution", "FullyConnected"):
        return None
    data, (weight, *bias) = _real_levels(node.inputs[0], facts), node.inputs[1:]
    source = weight.node
    if data is None or not isinstance(source, Application) or not all(map(is_kept, source.inputs)):
        return None
    if source.operator is HOLD_ON_LEVELS and not source.params.whole:
        levels = _kept(FILTER_LEVELS, node, source.inputs)
    elif source.operator.name == "_contrib_dequantize":
        levels = _kept(KNOWN_LEVELS, node, source.inputs, of_sums=False)
    else:
        return None
    real = layer = _Layer(node, data, levels, tuple(bias), Entry(node))
    user, position = users.get(layer.result, (None, 0))
    if user is not None and user.operator.name in _SUMS:
        addend = _real_levels(user.inputs[1 - position], facts)
        if addend is None:  # a sum of real numbers
            return real
        layer = replace(layer, result=Entry(user), addend=addend)
        user, _ = users.get(layer.result, (None, 0))
    if user is not None and (rule := ACTIVATIONS.get(user.operator.name)) is not None:
        activation = rule(user.params)
        if activation is not None and activation.name in (("relu",) if layer.addend else INT8_ACTIVATIONS):
            layer = replace(layer, result=Entry(user), activation=activation)
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
    if not all(map(is_kept, (*weight, *bias))):
        return None
    levels = _kept(KNOWN_LEVELS, node, weight, of_sums=True)
    real = (Entry(_kept(KNOWN_BIAS, node, bias, data_type=str(data.dtype)[6:])),) if bias else ()
    layer = _to_levels(_Layer(node, data, levels, real, Entry(node)), user, facts, of_sums=True)
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


def _kept(operator: Operator, node: Application, inputs: Sequence[Entry], **given: object) -> Application:
    """Return a node that computes from parameters what the call needs."""
    name = f"{node.name} {operator.name.strip('_').replace('_', ' ')}"
    return Application(operator, name, tuple(inputs), operator.parse(given), attributes=node.attributes)


def _fits(layer: _Layer, facts: Facts) -> bool:
    shape, p = facts.shapes.get(layer.data.entry), layer.node.params
    if shape is None or not is_known(shape) or not all(shape):
        return False
    if layer.is_dense:
        return bool(p.flatten) or len(shape) == 2
    return len(p.kernel) == 2 and p.layout in (None, "NCHW")


def _ends(result: Entry, call: Entry) -> Mapping[Entry, Entry]:
    """Return what is put in the place of a result: the call, and the ends of the range as numbers."""
    node = result.node
    assert isinstance(node, Application)
    found = range_of(node)
    ends = () if found is None else found
    attributes = dict(node.attributes)
    numbers = [
        application("_full", f"{node.name} end{i}", (), attributes, shape=(1,), value=end)
        for i, end in enumerate(ends)
    ]
    return {result: call, **{Entry(node, i): Entry(number) for i, number in enumerate(numbers, start=1)}}


def _call(layer: _Layer, facts: Facts) -> Entry:
    """Return the result of the call."""
    node, data, addend = layer.node, layer.data, layer.addend
    p, attributes = node.params, dict(node.attributes)
    where = {"stride": (1, 1), "pad": (0, 0), "dilate": (1, 1), "num_group": 1}
    source, shape = data.entry, facts.shapes[data.entry]
    if layer.is_dense:
        source, shape = _as_windows(node, source, shape)
    else:
        given = {name: getattr(p, name) for name in where}
        where |= {name: value for name, value in given.items() if value}
    weight = layer.weight
    packed = Application(
        PACK_LEVELS,
        f"{node.name} packed",
        (Entry(weight), Entry(weight, 1)),
        PACK_LEVELS.parse({**where, "data_shape": shape, "signed": data.dtype is torch.int8}),
        attributes=attributes,
    )
    inputs = (source, Entry(packed), Entry(weight, 1), Entry(weight, 2), *layer.bias)
    params = {
        **where,
        "no_bias": not layer.bias,
        "adds": addend is not None,
        "data_unit": data.unit,
        "addend_unit": 1.0 if addend is None else addend.unit,
        "out_unit": layer.unit,
        "out_type": layer.dtype,
        "activation": layer.activation.name,
        "numbers": layer.activation.numbers,
    }
    call = Application(
        INT8_CONVOLUTION,
        node.name,
        inputs if addend is None else (*inputs, addend.entry),
        INT8_CONVOLUTION.parse(params),
        attributes=attributes,
    )
    if not layer.is_dense:
        return Entry(call)
    return Entry(application("Reshape", f"{node.name} rows", [Entry(call)], attributes, shape=(0, -1)))


def _as_windows(node: Application, source: Entry, shape: Shape) -> tuple[Entry, Shape]:
    """Return each row of a dense layer's data as an image of one point."""
    attributes = dict(node.attributes)
    windows = application("Reshape", f"{node.name} windows", [source], attributes, shape=(0, -1, 1, 1))
    return Entry(windows), (shape[0], torch.Size(shape[1:]).numel(), 1, 1)
