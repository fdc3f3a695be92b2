"""The perceptron with hidden layers."""

from __future__ import annotations

from collections.abc import Sequence

from .. import symbol as sym
from ..checks import LIST, check_kind
from ..symbol import Symbol
from .layers import relu

__all__ = ["mlp"]


def mlp(num_classes: int = 10, hidden: Sequence[int] = (128, 64)) -> Symbol:
    """Multilayer perceptron with rectified linear units: ``fc1``, ``fc2``, ...

    Examples
    --------
    >>> mlp(hidden=[32]).list_arguments()
    ['data', 'fc1_weight', 'fc1_bias', 'fc2_weight', 'fc2_bias', 'softmax_label']
    """
    check_kind("mlp", LIST, hidden=hidden)
    data = sym.Flatten(sym.var("data"), name="flatten")
    for layer, units in enumerate(hidden, start=1):
        data = relu(sym.FullyConnected(data, num_hidden=units, name=f"fc{layer}"), f"relu{layer}")
    data = sym.FullyConnected(data, num_hidden=num_classes, name=f"fc{len(hidden) + 1}")
    return sym.SoftmaxOutput(data, name="softmax")
