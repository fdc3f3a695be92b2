"""Inference with oneDNN's convolutions: packed filters, and the sum and the activation that follow in the same call."""

from __future__ import annotations

from functools import partial

import torch

from ...ops.nn.convolution import fitted_padding
from ...ops.nn.inference_layers import (
    FUSED_CONVOLUTION,
    FUSED_DECONVOLUTION,
    PACK_FILTERS,
    PACK_TRANSPOSED_FILTERS,
    TINY_CONVOLUTION,
    can_fuse,
)
from ...ops.nn.misread_windows import misread_axes
from ...shapes import is_known
from ...tuning import Tuning
from ..facts import Facts, Target
from ..graph import Application, Entry, Graph
from .calls import FusedActivation, Users, activation_after, fuse_layers, is_prepared, sum_after, windows
from .channels_last import CONVOLUTIONS, LAYOUTS, TRANSPOSED

__all__ = ["fuse_convolutions"]

#: Of how many axes the kernels may be.
_AXES = (2, 3)


def fuse_convolutions(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Make a convolution, the sum with another array and the activation after it one call; on the CPU, in inference.

    Deconvolutions have no sum. Only those in two dimensions or three, of float32 or bfloat16, whose weights follow from
    variables alone: those are packed once. Tiny convolutions of images are computed without oneDNN, and what follows
    them by itself.
    The relu of what is not a number is 0 here, as in MXNet, whose convolutions are oneDNN's too.

    >>> import rebind as mx
    >>> from rebind.graph import infer_shapes, infer_types
    >>> layer = mx.sym.Convolution(mx.sym.var("x"), kernel=(1, 1), num_filter=2, name="conv")
    >>> graph = mx.sym.relu(layer).graph
    >>> facts = Facts.of(infer_shapes(graph, {"x": (8, 3, 64, 64)}), infer_types(graph, {"x": "float32"}))
    >>> fused, _ = fuse_convolutions(graph, facts, Target())
    >>> [node.operator.name for node in fused.nodes if node.operator]
    ['_pack_filters', '_fused_convolution']
    """
    if target.training or target.spans_devices or target.device.type != "cpu":
        return graph, facts
    return fuse_layers(graph, facts, partial(_fused, target.tuning))


def _fits(node: Application, facts: Facts) -> bool:
    if node.operator.name not in (*CONVOLUTIONS, TRANSPOSED) or len(node.params.kernel) not in _AXES:
        return False
    data, *weights = node.inputs
    shape, dtype = facts.shapes.get(data), facts.types.get(data)
    return (
        node.params.layout in LAYOUTS
        and can_fuse(dtype)
        and facts.types.get(Entry(node)) is dtype
        and shape is not None
        and is_known(shape)
        and all(is_prepared(entry) for entry in weights)
        and not _is_misread(node, facts)
    )


def _is_misread(node: Application, facts: Facts) -> bool:
    # A deconvolution is as the convolution that it transposes, whose data are its result.
    of = Entry(node) if node.operator.name == TRANSPOSED else node.inputs[0]
    shape, dtype, p = facts.shapes[of], facts.types[of], node.params
    return (
        shape is None
        or dtype is None
        or bool(misread_axes(shape, dtype, p.kernel, p.stride, p.pad, p.dilate))
    )


def _is_tiny(node: Application, facts: Facts, most: int) -> bool:
    p, data = node.params, facts.shapes[node.inputs[0]]
    if data is None or len(p.kernel) != 2 or node.operator.name == TRANSPOSED:
        return False
    if p.num_group > 1 or max(p.dilate, default=1) > 1:
        return False
    shapes = {"data": data, "weight": (p.num_filter, data[1], *p.kernel)}
    products = node.operator.inference.products_rule
    return (
        products is not None and products(shapes, p) <= most and facts.types[node.inputs[0]] is torch.float32
    )


def _tiny(node: Application) -> Application:
    p, op = node.params, TINY_CONVOLUTION
    given = {**windows(p), "kernel": p.kernel, "no_bias": p.no_bias}
    return Application(op, node.name, node.inputs, op.parse(given), {}, node.attributes)


def _fused(
    tuning: Tuning, node: Application, facts: Facts, users: Users, added: set[Entry]
) -> tuple[Entry, Application] | None:
    """Return the last entry that one call can compute from a convolution on, and the node that does; note its sum."""
    if not _fits(node, facts):
        return None
    if _is_tiny(node, facts, tuning.tiny_convolution_products):
        return Entry(node), _tiny(node)
    end, addend = sum_after(node, facts, users, added) if _can_add(node, facts) else (Entry(node), None)
    if addend is not None:
        added.add(end)
    # After a sum oneDNN has no other in PyTorch.
    end, activation = activation_after(end, users, among=None if addend is None else ("relu",))
    return end, _call(node, facts, addend, activation)


def _can_add(node: Application, facts: Facts) -> bool:
    # Those of groups in bfloat16 PyTorch adds, and rectifies, by a kernel that has no such type.
    in_one_kernel = node.params.num_group == 1 or facts.types.get(Entry(node)) is torch.float32
    return node.operator.name != TRANSPOSED and in_one_kernel


def _call(node: Application, facts: Facts, addend: Entry | None, activation: FusedActivation) -> Application:
    p, (data, weight, *bias) = node.params, node.inputs
    shape = facts.shapes[data]
    assert shape is not None  # it fits
    pack, op, further = PACK_FILTERS, FUSED_CONVOLUTION, {"adds": addend is not None}
    where = {**windows(p), "dilate": p.dilate or (1,) * len(p.kernel), "num_group": p.num_group}
    if node.operator.name == TRANSPOSED:
        pack, op, further = PACK_TRANSPOSED_FILTERS, FUSED_DECONVOLUTION, {}
        where["adj"] = p.adj or (0,) * len(p.kernel)
        if any(p.target_shape):
            where["pad"], where["adj"] = fitted_padding(
                shape[2:], p.kernel, p.stride, p.dilate, p.target_shape
            )
    packed = Application(pack, f"{node.name} packed", (weight,), pack.parse({**where, "data_shape": shape}))
    given = {**where, **further, "no_bias": not bias, **activation.parameters}
    inputs = (data, Entry(packed), *bias, *([] if addend is None else [addend]))
    return Application(op, node.name, inputs, op.parse(given), {}, node.attributes)
