"""Random numbers, and numbers that are made of a few others."""

from __future__ import annotations

from typing import Any

import numpy as np

import onnx

from ....symbol import Symbol
from ..folding import fold
from ..node_reader import NodeReader
from ..readings import reading

__all__ = ["mel_weights", "random_numbers"]


def _bounds(reader: NodeReader) -> dict[str, float]:
    if "Uniform" in reader.node.op_type:
        return {"low": reader.attribute("low", 0.0), "high": reader.attribute("high", 1.0)}
    return {"loc": reader.attribute("mean", 0.0), "scale": reader.attribute("scale", 1.0)}


@reading("RandomUniform", "RandomNormal")
def random_numbers(reader: NodeReader) -> Symbol:
    """Random numbers of a shape; seeds are MXNet's (`mx.random.seed`)."""
    kind = "_random_uniform" if "Uniform" in reader.node.op_type else "_random_normal"
    dtype = reader.type_name(reader.attribute("dtype", 1))
    given: dict[str, Any] = _bounds(reader)
    return reader.op(kind, shape=tuple(reader.required("shape")), dtype=dtype, **given)


@reading("RandomUniformLike", "RandomNormalLike")
def random_numbers_like(reader: NodeReader) -> Symbol:
    """Random numbers of another array's shape."""
    kind = "_random_uniform_like" if "Uniform" in reader.node.op_type else "_random_normal_like"
    dtype = reader.attribute("dtype", None)
    data = reader.input(0)
    if dtype is not None:
        data = reader.cast(data, reader.type_name(dtype))
    given: dict[str, Any] = _bounds(reader)
    return reader.op(kind, data, **given)


@reading("Multinomial")
def multinomial(reader: NodeReader) -> Symbol:
    """Classes drawn by the logarithms of their chances."""
    chances = reader.op("softmax", reader.input(0))
    dtype = reader.type_name(reader.attribute("dtype", 6))
    return reader.op("_sample_multinomial", chances, shape=(reader.attribute("sample_size", 1),), dtype=dtype)


@reading("MelWeightMatrix")
def mel_weights(reader: NodeReader) -> np.ndarray:
    """Filters that sum the frequencies of a spectrum as ears do; all that says which must be known."""
    names = [each.name for each in onnx.defs.get_schema("MelWeightMatrix").inputs]
    found = fold(reader.node, [reader.numbers(i, name) for i, name in enumerate(names)], reader.opset)
    if found is None:
        raise reader.refuse("the matrix of filters is too large to be computed while the file is read")
    return found[0]
