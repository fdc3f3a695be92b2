"""Images and volumes with their channels last in memory, between the layers that are quicker so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from math import prod

import torch

from ...gpu_settings import rounds_to_tf32
from ...ops import find
from ...ops.nn.inference_layers import FILTERS_CHANNELS_LAST
from ..facts import Facts, Target
from ..graph import Application, Entry, Graph, Node, rewrite_with_map
from .calls import Users, is_prepared

__all__ = ["CHANNELS_LAST", "CONVOLUTIONS", "TRANSPOSED", "channels_last", "types_with_channels_last"]

#: The layout of filters with their channels last.
CHANNELS_LAST = "OHWI"

#: The operators that are.
CONVOLUTIONS = ("Convolution", "Convolution_v1")
TRANSPOSED = "Deconvolution"

#: Layouts in which the channels come first; and how many axes kernels have that are turned, by the kind of device.
LAYOUTS = (None, "NCHW", "NCDHW")
_AXES = {"cpu": (2, 3), "cuda": (2,)}

#: The types, by the kind of device, for which it is quicker. cuDNN's kernels for tensor cores take images so, and turn
#: others; those for float32 without TF32 are left to PyTorch's default.
_TYPES = {"cpu": (torch.float32, torch.bfloat16), "cuda": (torch.float16, torch.bfloat16)}


def channels_last(graph: Graph, facts: Facts, target: Target) -> tuple[Graph, Facts]:
    """Give convolutions in two dimensions, on the CPU in three, data and filters with their channels last in memory.

    Transposed ones are given data so. Their results are so, too, and those of what follows: pooling, normalizing and
    activating are several times as quick where the channels lie together. `keep_order` puts arrays in order where it
    must be. Where data are so already, nothing is copied. PyTorch would turn the filters itself, forward and again for
    the gradient of the data; here that is done once, or not at all: `Facts.layouts` says which variables are best given
    so. What only an `InstanceNorm` follows, which takes images in the order of their axes, is left as it is on the CPU:
    of such networks training takes 4/5 to 9/10 of the time that it takes with two copies for each norm.

    >>> import rebind as mx
    >>> from rebind.graph import infer_types
    >>> graph = mx.sym.Convolution(mx.sym.var("x"), kernel=(1, 1), num_filter=2).graph
    >>> facts = Facts.of(None, infer_types(graph, {"x": "float32"}))
    >>> [node.operator.name for node in channels_last(graph, facts, Target())[0].nodes if node.operator]
    ['_channels_last', 'Convolution']
    """
    if target.spans_devices:
        return graph, facts
    device = target.device.type
    in_inference = not (target.recorded or target.training)
    operators = (TRANSPOSED,) if in_inference and device == "cpu" else (*CONVOLUTIONS, TRANSPOSED)
    axes, types = _AXES.get(device, ()), types_with_channels_last(target.device)
    users = graph.single_users if device == "cpu" else {}
    made: dict[Entry, Entry] = {}
    filters: Counter[Entry] = Counter()

    def instead(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        if (
            not isinstance(node, Application)
            or node.operator.name not in operators
            or not _fits(node, facts, axes, types)
            or _goes_in_order(node, users, target.tuning.group_norm_channels)
        ):
            return None
        data, weight, *bias = inputs
        turned = [data]
        if node.operator.name in CONVOLUTIONS:  # oneDNN takes those of a transposed one in any order
            if not in_inference:
                filters[weight] += 1
            if prod(node.params.kernel) > 1:  # filters of one element have one order only
                turned.append(weight)
        for entry in turned:
            if entry not in made:
                keeps = in_inference and entry is weight and is_prepared(entry)
                turn = FILTERS_CHANNELS_LAST if keeps else find("_channels_last")
                made[entry] = Entry(Application(turn, f"{entry.name} channels last", (entry,)))
        return [Entry(node.with_inputs((made[data], made.get(weight, weight), *bias)))]

    changed, replaced = rewrite_with_map(graph, instead)
    known = facts.after(replaced)
    # Whatever else uses them may count on the order of their axes.
    alone = [
        entry for entry, count in filters.items() if entry.node.is_variable and graph.uses[entry] == count
    ]
    return changed, replace(known, layouts={**known.layouts, **dict.fromkeys(alone, CHANNELS_LAST)})


def types_with_channels_last(device: torch.device) -> Collection[torch.dtype]:
    """Return the types of convolutions that are given images with their channels last.

    >>> types_with_channels_last(torch.device("cpu"))
    (torch.float32, torch.bfloat16)
    """
    types = _TYPES.get(device.type, ())
    return (*types, torch.float32) if rounds_to_tf32(device) else types


def _fits(node: Application, facts: Facts, axes: Collection[int], types: Collection[torch.dtype]) -> bool:
    return (
        len(node.params.kernel) in axes
        and node.params.layout in LAYOUTS
        and facts.types.get(Entry(node)) in types
    )


def _goes_in_order(node: Application, users: Users, few: int) -> bool:
    """Whether a convolution's result goes to a norm alone that takes it in the order of its axes."""
    norm, _ = users.get(Entry(node), (None, 0))
    if norm is None or node.operator.name not in CONVOLUTIONS:
        return False
    if norm.operator.name == "GroupNorm":
        return bool(node.params.num_filter < few * norm.params.num_groups)
    return norm.operator.name == "InstanceNorm"
