"""What a call of an operator takes at least: multiply-adds, and bytes that are read and written."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..graph import Node
from .recording import Array

__all__ = ["bytes_moved", "multiply_adds"]


#: Operators that compute nothing, and are declared by the same rules as those that do.
_COPIES = frozenset(
    (
        "_channels_last", "_contiguous", "_copy", "BlockGrad", "Concat", "Flatten", "Pad", "Reshape", "SwapAxis",
        "expand_dims", "repeat", "reverse", "slice", "slice_axis", "squeeze", "stack", "tile", "transpose",
    )
)  # fmt: skip


def multiply_adds(
    node: Node | None, inputs: Sequence[Array | None], outputs: Sequence[Array | None]
) -> int | None:
    """Return how many multiply-adds forward takes; None where the operator does not say, or only copies.

    Products count as the operator declares; of operators that compute little, each element of a result counts as one.

    >>> import torch, rebind as mx
    >>> node = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=10).graph.outputs[0].node
    >>> arrays = [Array(shape, torch.float32) for shape in ((8, 100), (10, 100), (10,), (8, 10))]
    >>> multiply_adds(node, arrays[:3], arrays[3:])
    8080
    """
    if node is None or node.operator is None or node.operator.name in _COPIES:
        return None
    inference = node.operator.inference
    if inference.products_rule is None and not inference.computes_little:
        return None
    elements = sum(prod(each.shape) for each in outputs[: len(node.output_names)] if each is not None)
    if inference.products_rule is None:
        return elements
    present = [each.shape for each in inputs if each is not None]
    return elements + inference.products_rule(dict(zip(node.input_names, present, strict=False)), node.params)


def bytes_moved(inputs: Sequence[Array | None], outputs: Sequence[Array | None]) -> int:
    """Return how many bytes forward reads and writes, if each array goes over the memory's wires once.

    >>> import torch
    >>> bytes_moved([Array((2, 3), torch.float32), None], [Array((2,), torch.float32)])
    32
    """
    return sum(each.nbytes for each in (*inputs, *outputs) if each is not None)
