"""VGG with 11 to 19 layers."""

from __future__ import annotations

from .. import symbol as sym
from ..symbol import Symbol
from .alexnet import hidden_units
from .layers import batch_norm, convolution, max_pool, relu
from .sizes import sizes_of

__all__ = ["convolutions", "vgg"]

#: Convolutions in each of the five stages.
_STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
_FILTERS = (64, 128, 256, 512, 512)


def vgg(num_classes: int = 1000, num_layers: int = 16, batch_norm: bool = False) -> Symbol:
    """VGG (Simonyan, 2014): ``conv1_1`` to ``conv5_4``, ``fc6`` to ``fc8``; for 224x224.

    Parameters
    ----------
    num_classes
        Number of scores.
    num_layers
        11, 13, 16 or 19.
    batch_norm
        Whether each convolution is followed by a BatchNorm: ``bn1_1``, ...
    """
    data = sym.var("data")
    for stage in range(1, 6):
        data = convolutions(data, stage, sizes_of("vgg", _STAGES, num_layers)[stage - 1], norm=batch_norm)
        data = max_pool(data, f"pool{stage}", 2, 2)
    data = hidden_units(sym.Flatten(data, name="flatten"))
    data = sym.FullyConnected(data, num_hidden=num_classes, name="fc8")
    return sym.SoftmaxOutput(data, name="softmax")


def convolutions(data: Symbol, stage: int, count: int, norm: bool = False) -> Symbol:
    """`count` convolutions of a stage, counted from 1, with rectified linear units."""
    for index in range(1, count + 1):
        at = f"{stage}_{index}"
        data = convolution(data, f"conv{at}", _FILTERS[stage - 1], 3, pad=1, bias=True)
        if norm:
            data = batch_norm(data, f"bn{at}", eps=1e-5)
        data = relu(data, f"relu{at}")
    return data
