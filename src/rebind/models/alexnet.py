"""AlexNet and Caffe's variant of it."""

from __future__ import annotations

from .. import symbol as sym
from ..symbol import Symbol
from .layers import convolution, max_pool, relu

__all__ = ["alexnet", "caffenet", "hidden_units"]

#: Of the five convolutions: filters, kernel, stride, padding, and the groups that two GPUs made of them.
_CONVOLUTIONS = (
    (96, 11, 4, 0, 1),
    (256, 5, 1, 2, 2),
    (384, 3, 1, 1, 1),
    (384, 3, 1, 1, 2),
    (256, 3, 1, 1, 2),
)


def alexnet(num_classes: int = 1000, grouped: bool = False) -> Symbol:
    """AlexNet (Krizhevsky, 2012): ``conv1`` to ``conv5``, ``fc6`` to ``fc8``; for 227x227.

    Parameters
    ----------
    num_classes
        Number of scores.
    grouped
        Whether the second, fourth and fifth convolutions have two groups, as on the two GPUs of the paper.
    """
    return _network(num_classes, grouped, norm_first=True)


def caffenet(num_classes: int = 1000) -> Symbol:
    """AlexNet as Caffe's reference model has it: pooling before normalization, two groups."""
    return _network(num_classes, grouped=True, norm_first=False)


def hidden_units(data: Symbol, first: int = 6) -> Symbol:
    """Two layers of 4096 units with dropout: ``fc6``, ``relu6``, ``drop6``, ``fc7``, ..."""
    for layer in (first, first + 1):
        data = sym.FullyConnected(data, num_hidden=4096, name=f"fc{layer}")
        data = sym.Dropout(relu(data, f"relu{layer}"), p=0.5, name=f"drop{layer}")
    return data


def _network(num_classes: int, grouped: bool, norm_first: bool) -> Symbol:
    data = sym.var("data")
    for layer, (filters, kernel, stride, pad, groups) in enumerate(_CONVOLUTIONS, start=1):
        groups = groups if grouped else 1
        data = convolution(data, f"conv{layer}", filters, kernel, stride, pad, groups=groups, bias=True)
        data = relu(data, f"relu{layer}")
        if layer <= 2 and norm_first:
            data = max_pool(_local_norm(data, layer), f"pool{layer}")
        elif layer <= 2:
            data = _local_norm(max_pool(data, f"pool{layer}"), layer)
    data = sym.Flatten(max_pool(data, "pool5"), name="flatten")
    data = sym.FullyConnected(hidden_units(data), num_hidden=num_classes, name="fc8")
    return sym.SoftmaxOutput(data, name="softmax")


def _local_norm(data: Symbol, layer: int) -> Symbol:
    return sym.LRN(data, alpha=1e-4, beta=0.75, knorm=2.0, nsize=5, name=f"norm{layer}")
