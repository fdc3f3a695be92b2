"""What follows for a graph from the shapes and types of some of its arguments, as symbols answer it."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch

from ..graph import Graph, Inferred, infer_numpy_shapes, infer_shapes, open_nodes
from ..mode import mode
from ..shapes import Shape, as_shape, is_known
from .names import named_values

__all__ = [
    "ShapeLike", "Three", "ThreeOrNone", "TypeFound", "as_three", "inferred_shapes", "shapes_or_none",
    "warn_of_unknown",
]  # fmt: skip

T = TypeVar("T")
R = TypeVar("R")
#: A shape as callers write it; None and () where nothing is known of it.
ShapeLike: TypeAlias = "int | Sequence[int] | None"
#: How a type is given in an answer: NumPy's, but torch's of bfloat16, which NumPy lacks.
TypeFound: TypeAlias = "type[np.generic] | torch.dtype"
#: Of arguments, outputs and auxiliary states.
Three: TypeAlias = tuple[list[T], list[T], list[T]]
#: Three times None where something does not follow; written as Any, since programs that give all shapes do not ask.
ThreeOrNone: TypeAlias = tuple[list[T] | Any, list[T] | Any, list[T] | Any]


def shapes_or_none(
    graph: Graph, args: Sequence[ShapeLike], kwargs: Mapping[str, ShapeLike]
) -> ThreeOrNone[Shape]:
    """Return the shapes of arguments, outputs and states; three times None, with a warning, where some do not follow.

    >>> import rebind as mx
    >>> shapes_or_none(mx.sym.exp(mx.sym.var("x")).graph, [(2, 3)], {})
    ([(2, 3)], [(2, 3)], [])
    """
    found, show = inferred_shapes(graph, args, kwargs)
    result = as_three(found, show)
    # An output without axes, which is shown as (), is known nevertheless.
    judged = result if mode.numpy_shapes else as_three(found, lambda shape: shape)
    known = _known_as_numpy if mode.numpy_shapes else is_known
    inside = [node.name for node in open_nodes(graph, found, known)]
    if warn_of_unknown(graph, "infer_shape", "shapes", judged, known, inside):
        return None, None, None
    return result


def inferred_shapes(
    graph: Graph, args: Sequence[ShapeLike], kwargs: Mapping[str, ShapeLike]
) -> tuple[Inferred[Shape], Callable[[Shape | None], Shape | None]]:
    """Return what follows, and how its shapes are shown under the rule of shapes that is on."""
    numpy_shapes = mode.numpy_shapes
    given = {
        # () is an unknown shape in MXNet, but a shape without axes under `np_shape`.
        name: as_shape(shape, f"Symbol.infer_shape: {name}", least=-1 if numpy_shapes else 0)
        for name, shape in named_values(graph, "infer_shape", args, kwargs).items()
        if shape is not None and (numpy_shapes or shape != ())
    }
    if numpy_shapes:
        return infer_numpy_shapes(graph, given), lambda shape: shape
    return infer_shapes(graph, given), lambda shape: shape or ()


def warn_of_unknown(
    graph: Graph, who: str, what: str, found: Three[T], known: Callable[[T], bool], inside: Sequence[str] = ()
) -> bool:
    """Warn of arguments, outputs, states and nodes of which nothing is known; return whether there are any."""
    arguments, states = ([node.name for node in nodes] for nodes in (graph.arguments, graph.auxiliary))
    names = (*arguments, *graph.output_names, *states)
    values = itertools.chain.from_iterable(found)
    unknown = [*(name for name, value in zip(names, values, strict=True) if not known(value)), *inside]
    if unknown:
        more = f" and {len(unknown) - 8} more" if len(unknown) > 8 else ""
        logging.getLogger(__name__).warning(
            "Symbol.%s: cannot infer the %s of %s%s. Give those of more arguments.",
            who,
            what,
            ", ".join(unknown[:8]),
            more,
        )
    return bool(unknown)


def as_three(found: Inferred[T], convert: Callable[[T | None], R]) -> Three[R]:
    """Return what is known of arguments, outputs and auxiliary states, each converted."""
    arguments, outputs, states = (
        [convert(value) for value in values] for values in (found.arguments, found.outputs, found.auxiliary)
    )
    return arguments, outputs, states


def _known_as_numpy(shape: Shape | None) -> bool:
    return shape is not None and min(shape, default=0) >= 0
