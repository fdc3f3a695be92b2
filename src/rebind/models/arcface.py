"""Faces to vectors: ResNet-IR and the head that trains it."""

from __future__ import annotations

from .. import symbol as sym
from ..symbol import Symbol
from .layers import add, batch_norm, convolution, prelu
from .sizes import sizes_of

__all__ = ["arcface_head", "arcface_resnet", "normalized_pixels"]

_UNITS = {34: (3, 4, 6, 3), 50: (3, 4, 14, 3), 100: (3, 13, 30, 3)}


def arcface_resnet(embedding_size: int = 512, num_layers: int = 50) -> Symbol:
    """ResNet-IR, with the names of insightface's ``LResNet50E-IR``: 112x112 faces to vectors, ``fc1_output``.

    Parameters
    ----------
    embedding_size
        Length of the vectors.
    num_layers
        34, 50 or 100.
    """
    data = convolution(normalized_pixels(sym.var("data")), "conv0", 64, 3, pad=1)
    data, number = prelu(batch_norm(data, "bn0"), "relu0"), 0
    for stage, count in enumerate(sizes_of("arcface_resnet", _UNITS, num_layers), start=1):
        for index in range(1, count + 1):
            data = _unit(data, f"stage{stage}_unit{index}", f"_plus{number}", 32 * 2**stage, index == 1)
            number += 1
    data = sym.Dropout(batch_norm(data, "bn1"), p=0.4, name="dropout0")
    data = sym.FullyConnected(data, num_hidden=embedding_size, name="pre_fc1")
    return batch_norm(data, "fc1", fix_gamma=True)


def normalized_pixels(data: Symbol) -> Symbol:
    """Pixels from 0 to 255 as numbers from about -1 to 1."""
    data = sym._minus_scalar(sym.identity(data, name="id"), scalar=127.5, name="_minusscalar0")
    return sym._mul_scalar(data, scalar=0.0078125, name="_mulscalar0")


def _unit(data: Symbol, name: str, total: str, filters: int, first: bool) -> Symbol:
    stride = 2 if first else 1
    body = convolution(batch_norm(data, f"{name}_bn1"), f"{name}_conv1", filters, 3, pad=1)
    body = prelu(batch_norm(body, f"{name}_bn2"), f"{name}_relu1")
    body = batch_norm(convolution(body, f"{name}_conv2", filters, 3, stride, 1), f"{name}_bn3")
    if first:
        data = batch_norm(convolution(data, f"{name}_conv1sc", filters, 1, stride), f"{name}_sc")
    return add(body, data, total)


def arcface_head(
    embedding: Symbol, num_classes: int, embedding_size: int = 512, scale: float = 64.0, margin: float = 0.5
) -> Symbol:
    """Softmax over the angles between vectors and classes, where the label's angle is `margin` wider (Deng, 2018).

    Returns
    -------
    Symbol
        The vectors, without a gradient, and ``softmax``, whose label is ``softmax_label``.
    """
    label = sym.var("softmax_label")
    weight = sym.var("fc7_weight", shape=(num_classes, embedding_size), lr_mult=1.0)
    directions = sym.L2Normalization(weight, mode="instance", name="fc7_norm_weight")
    unit = sym.L2Normalization(embedding, mode="instance", name="fc1n")
    cosine = sym.FullyConnected(unit, directions, num_hidden=num_classes, no_bias=True, name="fc7")
    own = sym.pick(cosine, label, axis=1, name="own_cosine")
    wider = sym.cos(sym.arccos(own, name="own_angle") + margin, name="wider_cosine")
    change = sym.expand_dims(wider - own, axis=1, name="change")
    scores = cosine + sym.broadcast_mul(
        sym.one_hot(label, depth=num_classes, name="one_hot"), change, name="moved"
    )
    softmax = sym.SoftmaxOutput(scores * scale, label, normalization="valid", name="softmax")
    return sym.Group([sym.BlockGrad(embedding, name="embedding"), softmax])
