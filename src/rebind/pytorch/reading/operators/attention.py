"""Attention."""

from __future__ import annotations

import math
from typing import Any

import torch

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading
from ..sizes import is_free
from .matrices import product

__all__ = ["attention"]


@reading("scaled_dot_product_attention")
def attention(reader: NodeReader) -> Symbol:
    """Values weighted by the softmax of products of queries and keys."""
    if reader.argument("enable_gqa", False):
        raise reader.refuse(
            "enable_gqa must be False; got True. Repeat keys and values with repeat_interleave()."
        )
    query, key, value = (reader.shape(name) for name in ("query", "key", "value"))
    scale = reader.argument("scale") or 1 / math.sqrt(query[-1])
    scores = product(
        reader, reader.input("query"), reader.input("key"), query, key, transposed=True, factor=scale
    )
    shape = [*query[:-1], key[-2]]
    if reader.argument("is_causal", False):
        scores = _causal(reader, scores, shape)
    if reader.has("attn_mask"):
        scores = _masked(reader, scores, shape)
    weights = reader.op("softmax", scores, axis=-1)
    if rate := reader.argument("dropout_p", 0.0):
        weights = reader.op("Dropout", weights, p=float(rate))
    return product(reader, weights, reader.input("value"), shape, value)


def _causal(reader: NodeReader, scores: Symbol, shape: list[Any]) -> Symbol:
    """Leave out what is later than the query."""
    rows, columns = shape[-2:]
    if not is_free(rows) and not is_free(columns):
        later = torch.full((rows, columns), -math.inf).triu(1)
        return reader.op("broadcast_add", scores, reader.fixed(later, "mask"))
    row, column = reader.along(reader.counted(rows), 0, 2), reader.along(reader.counted(columns), 1, 2)
    return _where(reader, reader.op("broadcast_lesser_equal", column, row), scores, len(shape), 2)


def _masked(reader: NodeReader, scores: Symbol, shape: list[Any]) -> Symbol:
    """Add a mask of numbers, or leave out where one of booleans is false."""
    mask = reader.input("attn_mask")
    if reader.is_float("attn_mask"):
        return reader.op("broadcast_add", scores, mask)
    return _where(reader, reader.cast(mask, "float32"), scores, len(shape), reader.rank("attn_mask"))


def _where(reader: NodeReader, mask: Symbol, scores: Symbol, rank: int, rank_of_mask: int) -> Symbol:
    for _ in range(rank - rank_of_mask):
        mask = reader.op("expand_dims", mask, axis=0)
    nothing = reader.scaled(reader.op("ones_like", scores), -math.inf)
    return reader.op("where", reader.op("broadcast_like", mask, scores), scores, nothing)
