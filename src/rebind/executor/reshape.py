"""The arrays of an executor for other shapes of its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..errors import NameLookupError, ShapeError, near_names
from ..graph import Facts, infer_shapes
from ..ndarray import NDArray
from ..shapes import Shape, size
from .arguments import in_shape
from .bound import BoundArrays

__all__ = ["reshaped"]


def reshaped(
    arrays: BoundArrays,
    facts: Facts,
    wanted: Mapping[str, Shape],
    partial_shaping: bool,
    allow_up_sizing: bool,
) -> tuple[BoundArrays, Facts]:
    """Return the arrays for other shapes of inputs, and what follows; as `Executor.reshape`.

    What has the same shape is shared. Types are the same, and `facts` of the arrays before hold for them.

    >>> import rebind as mx
    >>> args = {"x": mx.nd.zeros((4,))}
    >>> arrays = BoundArrays(mx.sym.var("x").graph, mx.cpu(), args, {}, {"x": "null"}, {})
    >>> new, facts = reshaped(
    ...     arrays, arrays.infer(), {"x": (2,)}, partial_shaping=False, allow_up_sizing=False
    ... )
    >>> new.slots["x"].array.shape
    (2,)
    """
    graph = arrays.graph
    for name in wanted:
        if name not in arrays.slots:
            raise NameLookupError(
                f"Executor.reshape: no argument {name!r}{near_names(name, arrays.slots)} "
                f"Arguments: {', '.join(arrays.slots)}."
            )
    inferred = infer_shapes(graph, wanted, facts.types)
    args: dict[str, NDArray] = {}
    grads: dict[str, NDArray | None] = {}
    for node, shape in zip(graph.arguments, inferred.arguments, strict=True):
        slot = arrays.slots[node.name]
        assert slot.array is not None
        if shape is None or 0 in shape:
            raise ShapeError(f"Executor.reshape: cannot infer the shape of {node.name!r} from {dict(wanted)}")
        if slot.array.shape != shape:
            may_change = node.name in wanted or partial_shaping
            _check_new_shape(node.name, slot.array, shape, may_change, allow_up_sizing)
        args[node.name] = in_shape(slot.array, shape)
        if slot.bound_grad is not None:
            grads[node.name] = in_shape(slot.bound_grad, shape)
    aux = {name: value for name, value in arrays.aux.items() if value is not None}
    new = BoundArrays(graph, arrays.device, args, grads, arrays.requests, aux)
    return new, replace(facts, shapes=inferred.entries)


def _check_new_shape(name: str, old: NDArray, shape: Shape, may_change: bool, may_grow: bool) -> None:
    if not may_change:
        raise ShapeError(
            f"Executor.reshape: the shape of {name!r} would change from {old.shape} to {shape}; "
            "set partial_shaping=True to allow that"
        )
    if size(shape) > old.size and not may_grow:
        raise ShapeError(
            f"Executor.reshape: {name!r} would grow from {old.shape} to {shape}; "
            "set allow_up_sizing=True to allow that"
        )
