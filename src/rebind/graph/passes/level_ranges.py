"""Which real numbers the levels of an array represent, where that is known without computing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import torch

from ...ops import Operator
from ...ops.quantization.conversion import calibrated_range, chosen_type
from ...ops.quantization.inference_layers import RANGE_END
from ..graph import Application, Entry, Graph
from .substitution import application

__all__ = ["Range", "gives_range", "known_ends", "range_between", "range_of"]

#: The two ends of a range.
Range: TypeAlias = tuple[float, float]


def gives_range(op: Operator) -> bool:
    """Whether an operator's outputs are levels, and then the two ends of their range.

    >>> from rebind.ops import find
    >>> gives_range(find("_contrib_requantize")), gives_range(find("_contrib_dequantize"))
    (True, False)
    """
    return op.name in _RULES


def range_of(node: Application) -> Range | None:
    """Return the range that a node gives in its last two outputs, where that is known.

    >>> import rebind as mx
    >>> levels = mx.sym.contrib.quantize_v2(mx.sym.var("x"), min_calib_range=-1.0, max_calib_range=2.0)
    >>> range_of(levels.graph.nodes[-1])
    (-2.0, 2.0)
    """
    rule = _RULES.get(node.operator.name)
    return None if rule is None else rule(node)


def range_between(ends: Sequence[Entry]) -> Range | None:
    """Return the range that two entries are the ends of, where both are known.

    >>> import rebind as mx
    >>> range_between(mx.sym.Group([mx.sym.var("low"), mx.sym.var("high")]).graph.outputs)
    """
    low, high = map(_number, ends)
    return None if low is None or high is None else (low, high)


def known_ends(graph: Graph, node: Application, ends: Range) -> dict[Entry, Entry]:
    """Return what stands for the last two outputs of a node, the ends of a range that is known.

    They are made once, except for those that the caller gets, who may write into them.

    >>> import rebind as mx
    >>> graph = mx.sym.contrib.quantize_v2(mx.sym.var("x"), name="q")[1].graph
    >>> [new.node for new in known_ends(graph, graph.nodes[-1], (-1.0, 1.0)).values()]
    [<_full 'q end1'>, <_range_end 'q end2'>]
    """
    found = {}
    for i, end in enumerate(ends, start=1):
        entry, name, attributes = Entry(node, i), f"{node.name} end{i}", dict(node.attributes)
        if entry in graph.outputs:
            made = application("_full", name, (), attributes, shape=(1,), value=end)
        else:
            made = Application(RANGE_END, name, (), RANGE_END.parse({"value": end}), attributes=attributes)
        found[entry] = Entry(made)
    return found


def _number(entry: Entry) -> float | None:
    node = entry.node
    if not isinstance(node, Application):
        return None
    if node.operator is RANGE_END or node.operator.name == "_full":
        return float(node.params.value)
    found = range_of(node)
    return None if found is None or not entry.index else found[entry.index - 1]


def _quantized(node: Application) -> Range | None:
    found = calibrated_range(node.params)
    if found is None or chosen_type(node.params.out_type, found[0]) is torch.uint8:
        return found
    largest = max(map(abs, found))
    return -largest, largest


def _requantized(node: Application) -> Range | None:
    found = calibrated_range(node.params)
    if found is None:
        return None
    largest = max(map(abs, found))
    return 0.0 if chosen_type(node.params.out_type, found[0]) is torch.uint8 else -largest, largest


def _same(node: Application) -> Range | None:
    return range_between(node.inputs[1:3])


def _joined(node: Application) -> Range | None:
    ends = [_number(entry) for entry in node.inputs[node.params.num_args :]]
    known = [end for end in ends if end is not None]
    return (min(known[::2]), max(known[1::2])) if len(known) == len(ends) else None


#: By operator.
_RULES: Mapping[str, Callable[[Application], Range | None]] = {
    "_contrib_quantize_v2": _quantized,
    "_contrib_quantized_act": _same,
    "_contrib_quantized_batch_norm": lambda node: calibrated_range(node.params),
    "_contrib_quantized_concat": _joined,
    "_contrib_quantized_flatten": _same,
    "_contrib_quantized_pooling": _same,
    "_contrib_requantize": _requantized,
}
