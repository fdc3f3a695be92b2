"""Rows and columns matched by their scores, pair after pair."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
import torch

from ..body_writer import BodyWriter
from ..expressions import Expression, full, real, where
from ..node_writer import NodeWriter
from ..translations import translation
from .pieces import known_or_size, shape_from
from .suppression import numbered

__all__ = ["bipartite_matching"]

_NONE = float("-inf")


@translation("_contrib_bipartite_matching")
def bipartite_matching(writer: NodeWriter, data: ir.Value) -> Sequence[ir.Value]:
    """Write a Loop that takes the best pair of each image, and strikes out its row and its column."""
    p, sizes = writer.params, known_or_size(data, writer.shape())
    scores = real(writer, data)
    # What is not taken, such as what is not a number, is struck out from the start.
    scores = (
        where(scores < p.threshold, scores.apply("Neg"), _NONE)
        if p.is_ascend
        else where(scores > p.threshold, scores, _NONE)
    )
    scores = scores.apply("Reshape", shape_from(writer, [-1, *sizes[-2:]]))
    matched = [full(scores.amax(axis).shape(), -1, torch.int64) for axis in (2, 1)]
    most = scores.length(1).minimum(scores.length(2))
    if p.topk > 0:
        most = most.minimum(p.topk)
    inner = BodyWriter(writer, "body")
    inner.input("step", torch.int64, ())
    inner.input("condition", torch.bool, ())
    names, before = ("columns", "rows", "scores"), (*matched, scores)
    shapes = ((0, 0), (0, 0), (0, 0, 0))
    states = [
        Expression(inner, inner.input(name, state.dtype, shape), state.dtype)
        for name, state, shape in zip(names, before, shapes, strict=True)
    ]
    found = writer.op_of_many(
        "Loop",
        3,
        *(most.value, writer.constant(True, torch.bool), *(state.value for state in before)),
        body=inner.finish([each.value for each in _take_best(*states)]),
    )
    return [
        writer.cast(writer.reshape(value, shape_from(writer, [*sizes[:-2], sizes[axis]])), writer.dtype())
        for value, axis in zip(found, (-2, -1), strict=False)
    ]


def _take_best(columns: Expression, rows: Expression, scores: Expression) -> list[Expression]:
    """Return whether there was a pair to take, and the matches and the scores after it."""
    flat = scores.reshape(0, -1)
    is_there = flat.amax(1, keepdim=True) > _NONE
    best = flat.argmax(1, keepdim=True)  # of equal scores the first
    row = best / scores.length(2)
    column = best - row * scores.length(2)
    in_row, in_column = (
        (numbered(scores, axis).equals(own)) & is_there for axis, own in ((1, row), (2, column))
    )
    struck = in_row.unsqueeze(2) | in_column.unsqueeze(1)
    any_left = is_there.to(torch.int32).amax(0, 1).to(torch.bool)
    return [
        any_left,
        where(in_row, column, columns),
        where(in_column, row, rows),
        where(~struck, scores, _NONE),
    ]
