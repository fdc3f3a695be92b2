"""DenseNet with 121 to 201 layers."""

from __future__ import annotations

from .. import symbol as sym
from ..symbol import Symbol
from .layers import average_pool, batch_norm, classifier, convolution, global_pool, max_pool, relu
from .sizes import sizes_of

__all__ = ["densenet"]

#: Channels of the first convolution, channels that each unit adds, units of each block.
_SIZES = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}


def densenet(num_classes: int = 1000, num_layers: int = 121) -> Symbol:
    """DenseNet-BC (Huang, 2016); for 224x224.

    Parameters
    ----------
    num_classes
        Number of scores.
    num_layers
        121, 161, 169 or 201.
    """
    channels, growth, blocks = sizes_of("densenet", _SIZES, num_layers)
    data = convolution(sym.var("data"), "conv0", channels, 7, 2, 3)
    data = max_pool(relu(batch_norm(data, "bn0", eps=1e-5), "relu0"), "pool0", pad=1)
    for block, count in enumerate(blocks, start=1):
        for index in range(1, count + 1):
            data = _unit(data, f"DBstage{block}_unit{index}", growth)
        channels += growth * count
        if block < len(blocks):
            channels //= 2
            data = _transition(data, f"TBstage{block}", channels)
    data = relu(batch_norm(data, "bn1", eps=1e-5), "relu1")
    return classifier(global_pool(data, "pool1"), num_classes)


def _norm_conv(data: Symbol, name: str, index: int, filters: int, kernel: int) -> Symbol:
    data = relu(batch_norm(data, f"{name}_bn{index}", eps=1e-5), f"{name}_relu{index}")
    return convolution(data, f"{name}_conv{index}", filters, kernel, pad=kernel // 2)


def _unit(data: Symbol, name: str, growth: int) -> Symbol:
    new = _norm_conv(_norm_conv(data, name, 1, 4 * growth, 1), name, 2, growth, 3)
    return sym.Concat(data, new, name=f"{name}_concat")


def _transition(data: Symbol, name: str, channels: int) -> Symbol:
    return average_pool(_norm_conv(data, name, 1, channels, 1), f"{name}_pool1", 2, 2)
