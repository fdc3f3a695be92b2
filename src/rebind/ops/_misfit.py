"""Why inputs do not fit each other, said by the rules that the operator declares for their shapes."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import ShapeError
from ..params import Params
from ..shapes import Shape, merge
from ._spec import Operator

__all__ = ["misfit"]


def misfit(op: Operator, who: str, shapes: Mapping[str, Shape], p: Params) -> ShapeError | None:
    """Return the error that names the first input whose shape contradicts the others, or None if none does.

    Meant for the path where the operator has failed already: it turns what torch says into what the user must know.

    Parameters
    ----------
    op, p
        The operator and its parsed parameters.
    who
        What the message begins with: the operator's name, or that and the node's.
    shapes
        Those of the inputs, by name.

    Examples
    --------
    >>> from rebind.ops import find
    >>> from rebind.ops.nn import linear
    >>> op = find("FullyConnected")
    >>> shapes = {"data": (8, 3, 4), "weight": (64, 11), "bias": (64,)}
    >>> print(misfit(op, "FullyConnected", shapes, op.parse({"num_hidden": 64})))
    FullyConnected: weight must have shape (64, 12) to match data (8, 3, 4); got (64, 11)
    """
    try:
        wanted = op.filled_shapes(shapes, p)
    except ShapeError as error:
        return ShapeError(str(error).replace(op.name, who, 1))
    for name, shape in wanted.items():
        have = shapes.get(name)
        if have is None or shape is None:
            continue
        try:
            merge(shape, have)
        except ValueError:
            others = ", ".join(f"{other} {shapes[other]}" for other in shapes if other not in wanted)
            match = f" to match {others}" if others else ""
            return ShapeError(f"{who}: {name} must have shape {shape}{match}; got {have}")
    return None
