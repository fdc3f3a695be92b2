"""SqueezeNet."""

from __future__ import annotations

from .. import symbol as sym
from ..errors import ArgumentError
from ..symbol import Symbol
from .layers import convolution, global_pool, max_pool, relu

__all__ = ["squeezenet"]

#: Of each version: filters and kernel of the first convolution, and the blocks that follow a pooling.
_VERSIONS = {"1.0": (96, 7, (2, 5, 9)), "1.1": (64, 3, (2, 4, 6))}
#: Filters of the 1x1 convolution before the others, which have four times as many.
_SQUEEZED = {2: 16, 3: 16, 4: 32, 5: 32, 6: 48, 7: 48, 8: 64, 9: 64}


def squeezenet(num_classes: int = 1000, version: str = "1.1") -> Symbol:
    """SqueezeNet (Iandola, 2016), with the names of MXNet's ``squeezenet_v1.1-0000.params``; for 224x224.

    Parameters
    ----------
    num_classes
        Number of scores.
    version
        ``'1.0'`` or ``'1.1'``.
    """
    if version not in _VERSIONS:
        raise ArgumentError(f"squeezenet: version must be '1.0' or '1.1'; got {version!r}")
    filters, kernel, pooled = _VERSIONS[version]
    data = relu(convolution(sym.var("data"), "conv1", filters, kernel, 2, bias=True), "relu_conv1")
    for block, squeezed in _SQUEEZED.items():
        if block in pooled:
            data = max_pool(data, f"pool{block - 1}", full=True)
        data = _fire(data, f"fire{block}", squeezed)
    data = sym.Dropout(data, p=0.5, name="drop9")
    data = relu(convolution(data, "conv10", num_classes, bias=True), "relu_conv10")
    return sym.SoftmaxOutput(sym.Flatten(global_pool(data, "pool10"), name="flatten"), name="softmax")


def _fire(data: Symbol, name: str, squeezed: int) -> Symbol:
    data = _conv(data, f"{name}_squeeze1x1", squeezed)
    narrow = _conv(data, f"{name}_expand1x1", 4 * squeezed)
    return sym.Concat(narrow, _conv(data, f"{name}_expand3x3", 4 * squeezed, 3, 1), name=f"{name}_concat")


def _conv(data: Symbol, name: str, filters: int, kernel: int = 1, pad: int = 0) -> Symbol:
    at = name.replace("_", "_relu_")
    return relu(convolution(data, name, filters, kernel, pad=pad, bias=True), at)
