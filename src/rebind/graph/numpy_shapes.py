"""Inference under NumPy's rule of shapes (`mx.util.np_shape`): 0 is a size, -1 an unknown one.

The rules of operators have one word for both, 0, which is unknown to them. So that a size of 0 differs from it,
large sizes take its place, several in turn; what an answer is for 0 follows from what it is for these. The answer is
exact where a size is a polynomial of degree 2 in them: the sums and products of which shapes are made. Operators whose
inputs' shapes are known then run on arrays without elements.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import prod

from ..errors import MXNetError
from ..shapes import Shape
from .graph import Entry, Graph
from .inference import Inferred, declared_shape, infer_shapes, infer_types, meta_shapes

__all__ = ["infer_numpy_shapes"]

# Divisible by small numbers, so that splits go through, and others than those that inference puts for unknown sizes.
_STAND_INS = (2520 * 3, 2520 * 5, 2520 * 7)


def infer_numpy_shapes(graph: Graph, given: Mapping[str, Shape]) -> Inferred[Shape]:
    """Return the shapes that follow from `given` and from ``var(shape=)``; sizes are -1 where unknown.

    >>> import rebind as mx
    >>> both = mx.sym.concat(mx.sym.var("x"), mx.sym.var("y"), dim=0)
    >>> infer_numpy_shapes(both.graph, {"x": (0, 3), "y": (2, -1)}).outputs
    ((2, 3),)
    >>> infer_numpy_shapes(both.graph, {"x": (0, 3), "y": (-1, 3)}).outputs
    ((-1, 3),)
    """
    wanted = ((node.name, declared_shape(node, None)) for node in graph.variables)
    known: dict[str, Shape] = {name: shape for name, shape in wanted if shape is not None}
    # What is given wins over what was declared, size by size where it leaves one open.
    for name, shape in given.items():
        declared = known.get(name)
        if declared is not None and len(declared) == len(shape):
            shape = tuple(other if size < 0 else size for size, other in zip(shape, declared, strict=True))
        known[name] = shape
    if not any(0 in shape for shape in known.values()):
        return _with_empty_arrays(graph, _as_numpy([_infer(graph, known, 0)], ()))
    answers: list[Inferred[Shape]] = []
    errors: list[MXNetError] = []
    for size in _STAND_INS:
        try:
            answers.append(_infer(graph, known, size))
        except MXNetError as error:
            errors.append(error)
    if errors:
        raise _with_users_sizes(errors)
    return _with_empty_arrays(graph, _as_numpy(answers, _STAND_INS))


def _with_users_sizes(errors: Sequence[MXNetError]) -> MXNetError:
    """Return an error whose texts have the user's sizes: each number as it follows for a size of 0.

    >>> print(_with_users_sizes([MXNetError(f"got ({size + 1}, 3)") for size in _STAND_INS]))
    got (1, 3)
    """
    first = errors[0]

    def text(of: Callable[[MXNetError], str]) -> str:
        parts = [re.split(r"(\d+)", of(error)) for error in errors]
        if len(errors) < len(_STAND_INS) or len({tuple(each[::2]) for each in parts}) > 1:
            # It is of one of the sizes, or different for each.
            return re.sub("|".join(map(str, _STAND_INS)), "0", of(first))
        together = list(parts[0])
        together[1::2] = [
            str(_size([*map(int, each)], _STAND_INS)) if len(set(each)) > 1 else each[0]
            for each in zip(*(part[1::2] for part in parts), strict=True)
        ]
        return "".join(together)

    found = type(first)(text(lambda error: error.message), argument=first.argument)
    if first.operator is not None:
        inputs = [text(lambda error, i=i: error.inputs[i]) for i in range(len(first.inputs))]  # type: ignore[misc]
        found.locate(first.operator, called_as=first.called_as, node=first.node, inputs=inputs)
    return found


def _with_empty_arrays(graph: Graph, found: Inferred[Shape]) -> Inferred[Shape]:
    """Return the shapes with what operators make of arrays of no elements, where all axes of their inputs are known.

    It is no polynomial where an operator looks at a size, as `slice` does: ``x[0:2]`` of no rows has none. A size of an
    input that is unknown may be any: an output's size counts that is the same for two of them.
    """
    entries, types = dict(found.entries), infer_types(graph, {})
    for node in graph.nodes:
        if node.is_variable:
            continue
        inputs = [entries.get(entry) for entry in node.inputs]
        shapes = [shape for shape in inputs if shape is not None]
        if node.inputs and (len(shapes) < len(inputs) or not any(0 in shape for shape in shapes)):
            continue
        if node.operator.has_open_size(node.params):
            continue
        with contextlib.suppress(Exception):  # an operator that refuses them says so where it runs
            used = [types.of(entry) for entry in node.inputs]
            filled = [meta_shapes(node.operator, node.params, each, used) for each in _filled(shapes)]
            for i, sizes in enumerate(zip(*filled, strict=True)):
                made, entry = _as_one(sizes), Entry(node, i)
                # With an unknown size, only what was known but for the 0: `x[0:2]` of it may be shorter.
                if made is not None and (len(filled) == 1 or entry in entries):
                    entries[entry] = _still_unknown(made, entries.get(entry)) if node.inputs else made
    outputs = tuple(entries.get(entry) for entry in graph.outputs)
    return Inferred(found.arguments, outputs, found.auxiliary, entries)


def _filled(shapes: Sequence[Shape]) -> list[list[Shape]]:
    """Return the shapes with sizes for the unknown ones; twice, with different ones, where there are any.

    >>> _filled([(0, 3)]), _filled([(0, -1)])
    ([[(0, 3)]], [[(0, 7560)], [(0, 12600)]])
    """
    fills = _STAND_INS[:2] if any(-1 in shape for shape in shapes) else _STAND_INS[:1]
    return [[tuple(fill if size < 0 else size for size in shape) for shape in shapes] for fill in fills]


def _as_one(shapes: Sequence[Shape | None]) -> Shape | None:
    """Return what several answers have in common, -1 where they differ; None where one is, or has other axes."""
    found = [shape for shape in shapes if shape is not None]
    if len(found) < len(shapes) or len({len(shape) for shape in found}) > 1:
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else -1 for sizes in zip(*found, strict=True))


def _still_unknown(made: Shape, before: Shape | None) -> Shape:
    """Return `made`, with -1 where that was the answer before: what a slice leaves of an unknown size is unknown."""
    if before is None or len(before) != len(made):
        return made
    return tuple(-1 if old < 0 else size for size, old in zip(made, before, strict=True))


def _infer(graph: Graph, known: Mapping[str, Shape], stand_in: int) -> Inferred[Shape]:
    """Infer with `stand_in` for sizes of 0, and with 0 for those that are unknown."""
    return infer_shapes(
        graph,
        {name: tuple(0 if size < 0 else size or stand_in for size in shape) for name, shape in known.items()},
        declared=False,
    )


def _as_numpy(answers: Sequence[Inferred[Shape]], stand_ins: Sequence[int]) -> Inferred[Shape]:
    """Return what the answers for several stand-ins say of a size of 0."""

    def shape_of(found: Sequence[Shape | None]) -> Shape | None:
        first = found[0]
        if first is None or any(shape is None or len(shape) != len(first) for shape in found):
            return None
        sizes = zip(*(shape for shape in found if shape is not None), strict=True)
        return tuple(_size(each, stand_ins) for each in sizes)

    def of(parts: Sequence[Sequence[Shape | None]]) -> tuple[Shape | None, ...]:
        return tuple(shape_of(found) for found in zip(*parts, strict=True))

    entries: dict[Entry, Shape] = {}
    for entry in answers[0].entries:
        shape = shape_of([answer.entries.get(entry) for answer in answers])
        if shape is not None:
            entries[entry] = shape
    return Inferred(
        of([answer.arguments for answer in answers]),
        of([answer.outputs for answer in answers]),
        of([answer.auxiliary for answer in answers]),
        entries,
    )


def _size(sizes: Sequence[int], stand_ins: Sequence[int]) -> int:
    """Return a size for 0, from those for `stand_ins`; -1 where one of them is unknown.

    >>> _size((7560 + 3, 12600 + 3, 17640 + 3), _STAND_INS), _size((2, 2, 2), _STAND_INS)
    (3, 2)
    """
    if 0 in sizes:
        return -1
    if len(set(sizes)) == 1:
        return sizes[0]
    # The value at 0 of the polynomial through these points (Lagrange).
    terms = (
        size * prod(Fraction(other, other - here) for other in stand_ins if other != here)
        for here, size in zip(stand_ins, sizes, strict=True)
    )
    return max(int(sum(terms)), 0)
