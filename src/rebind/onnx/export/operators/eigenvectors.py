"""Eigenvectors of symmetric matrices, which ONNX has not, by Jacobi's rotations in a Loop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir
import torch

from ..body_writer import BodyWriter
from ..expressions import Expression, numbers, where
from ..node_writer import NodeWriter
from ..operator_writer import OperatorWriter
from ..translations import translation
from .matrices import order, triangle

__all__ = ["syevd"]

#: Most matrices need 6 to 10 sweeps. A hundred eigenvalues over 12 powers of ten need 17.
_SWEEPS = 30
#: Elements beside the diagonal below this, relative to the largest of the matrix, change no digit.
_ZERO = 1e-17


@translation("_linalg_syevd")
def syevd(writer: NodeWriter, a: ir.Value) -> Sequence[ir.Value]:
    """Write eigenvectors as rows, their largest numbers positive, and ascending eigenvalues of the lower triangle."""
    rank, dtype = writer.rank(), writer.dtype()
    eye = _eye(writer, order(writer))
    lower = Expression(writer, triangle(writer, a, lower=True), dtype).to(torch.float64)
    data = lower + _swapped(lower, rank) * (1.0 - eye)
    # The loop computes squares, for which very large and very small numbers have no room.
    scale = data.apply("Abs").amax(-2, -1, keepdim=True)
    scale = where(scale > 0.0, scale, 1.0)
    diagonal, columns = _diagonalized(writer, data / scale)
    negative = (diagonal * eye).sum(-1).apply("Neg")
    negative, index = negative.topk(numbers(writer, [order(writer)], torch.int64), -1)
    rows = _swapped(columns, rank).gather(rank - 2, index.unsqueeze(-1).expand_as(columns))
    largest = rows.gather(rank - 1, rows.apply("Abs").argmax(rank - 1, keepdim=True))
    values = negative.apply("Neg") * scale.squeeze(-1)
    return (rows * largest.apply("Sign")).to(dtype).value, values.to(dtype).value


def _diagonalized(writer: NodeWriter, data: Expression) -> tuple[Expression, Expression]:
    """Return symmetric matrices after rotations that make them diagonal, and the product of the rotations.

    A step rotates all pairs of a round: each index has one partner, and the pairs of a sweep are those of a tournament.
    """
    size, rank, rounds = order(writer), writer.rank(), _tournament(order(writer))
    inner = BodyWriter(writer, "body")
    step = Expression(inner, inner.input("step", torch.int64, ()), torch.int64)
    inner.input("condition", torch.bool, ())
    before, product = (
        Expression(inner, inner.input(name, torch.float64, writer.shape()), torch.float64)
        for name in ("data", "product")
    )
    partner = numbers(inner, rounds, torch.int64).take(step.apply("Mod", inner.ints(len(rounds))))
    rotation = _rotation(before, partner, size)
    after = _swapped(rotation, rank).matmul(before).matmul(rotation)
    # Two elements that differ by rounding errors would turn a pair by two angles: that is no rotation.
    after = (after + _swapped(after, rank)) * 0.5
    beside = (after * numbers(inner, 1 - np.eye(size), torch.float64)).apply("Abs")
    outputs = writer.op_of_many(
        "Loop",
        2,
        *(writer.ints(_SWEEPS * len(rounds)), writer.constant(True, torch.bool)),
        *(data.value, _eye(writer, size).expand_as(data).value),
        body=inner.finish([
            (beside.amax(*range(rank)) > _ZERO).value, after.value, product.matmul(rotation).value
        ]),
    )  # fmt: skip
    found, columns = (Expression(writer, value, torch.float64) for value in outputs)
    return found, columns


def _rotation(data: Expression, partner: Expression, size: int) -> Expression:
    """Return the rotation that makes the elements of pairs zero, by the smaller of two angles."""
    number = numbers(data.writer, np.arange(size), torch.int64)
    exchange = partner.unsqueeze(-1).equals(number).to(torch.float64)
    eye = _eye(data.writer, size)
    own = (data * eye).sum(-1, keepdim=True)
    difference = exchange.matmul(own) - own
    twice = (data * exchange).sum(-1, keepdim=True) * 2.0
    # Both of a pair turn by the same angle, one of them backwards; who is its own partner turns by 0.
    side = (partner - number).apply("Sign").to(torch.float64).unsqueeze(-1)
    sign = where(difference.equals(0.0), side, difference.apply("Sign"))
    length = difference.apply("Abs") + (difference * difference + twice * twice).apply("Sqrt")
    tangent = sign * twice / where(length > 0.0, length, 1.0)
    cosine = 1.0 / (tangent * tangent + 1.0).apply("Sqrt")
    return eye * cosine + exchange * (tangent * cosine)


def _tournament(size: int) -> np.ndarray:
    """Return the partner of each index in each round, so that all pairs meet once; the odd one out is its own.

    >>> _tournament(4)
    array([[3, 2, 1, 0],
           [1, 0, 3, 2],
           [2, 3, 0, 1]])
    """
    rounds = size - 1 + size % 2  # all but the last one sit at a round table of so many
    seat, turn = np.arange(rounds), np.arange(rounds)[:, None]
    partner = (turn - seat) % rounds
    if size % 2:
        return partner
    alone = partner == seat
    return np.concatenate([np.where(alone, rounds, partner), alone.argmax(1)[:, None]], 1)


def _eye(writer: OperatorWriter, size: int) -> Expression:
    return numbers(writer, np.eye(size), torch.float64)


def _swapped(data: Expression, rank: int) -> Expression:
    return data.permute(*range(rank - 2), rank - 1, rank - 2)
