"""LeNet, for digits."""

from __future__ import annotations

from .. import symbol as sym
from ..symbol import Symbol
from .layers import classifier, convolution, max_pool

__all__ = ["lenet"]


def lenet(num_classes: int = 10) -> Symbol:
    """LeNet as MXNet's tutorials have it: two convolutions with tanh and pooling, 500 hidden units; for 28x28.

    Examples
    --------
    >>> lenet().infer_shape(data=(1, 1, 28, 28))[1]
    [(1, 10)]
    """
    data = sym.var("data")
    for layer, filters in enumerate((20, 50), start=1):
        data = convolution(data, f"conv{layer}", filters, 5, bias=True)
        data = sym.Activation(data, act_type="tanh", name=f"tanh{layer}")
        data = max_pool(data, f"pool{layer}", 2, 2)
    data = sym.FullyConnected(sym.Flatten(data, name="flatten"), num_hidden=500, name="fc1")
    return classifier(sym.Activation(data, act_type="tanh", name="tanh3"), num_classes, "fc2", "flatten2")
