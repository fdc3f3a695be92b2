"""Networks with all that MXNet fuses for oneDNN on the CPU: layers, norms, activations, sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

BATCH = 3


def _convolution(mx: Any, data: Any, name: str, filters: int = 4, width: int = 3, **given: Any) -> Any:
    return mx.sym.Convolution(
        data, kernel=(width, width), pad=(width // 2,) * 2, num_filter=filters, name=name, **given
    )


def _norm(mx: Any, data: Any, name: str) -> Any:
    return mx.sym.BatchNorm(data, fix_gamma=False, eps=2e-5, name=name)


def _relu(mx: Any, data: Any, name: str) -> Any:
    return mx.sym.Activation(data, act_type="relu", name=name)


def residual(mx: Any) -> Any:
    """Convolution, norm and rectifier; a block with a sum; pooling of both kinds; a dense layer."""
    net = _relu(mx, _norm(mx, _convolution(mx, mx.sym.var("data"), "conv0", no_bias=True), "bn0"), "relu0")
    inner = _relu(mx, _norm(mx, _convolution(mx, net, "conv1"), "bn1"), "relu1")
    inner = _norm(mx, _convolution(mx, inner, "conv2", no_bias=True), "bn2")
    net = _relu(mx, net + inner, "relu2")
    net = mx.sym.Pooling(net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max", name="pool1")
    net = mx.sym.Pooling(
        _convolution(mx, net, "conv3"), kernel=(1, 1), global_pool=True, pool_type="avg", name="pool2"
    )
    return mx.sym.FullyConnected(mx.sym.flatten(net, name="flatten"), num_hidden=3, name="fc")


def projection(mx: Any) -> Any:
    """A block whose sum has two convolutions: what is added is int8, and the result uint8."""
    net = _relu(mx, _convolution(mx, mx.sym.var("data"), "conv0"), "relu0")
    inner = _norm(mx, _convolution(mx, net, "conv1"), "bn1")
    net = _relu(mx, inner + _convolution(mx, net, "conv2", width=1), "relu1")
    return _convolution(mx, net, "conv3", 3, 1)


def grouped(mx: Any) -> Any:
    """Convolutions in two groups, and with a group for each channel."""
    net = _relu(mx, _convolution(mx, mx.sym.var("data"), "conv1", 6), "relu1")
    net = _relu(mx, _convolution(mx, net, "conv2", 6, num_group=6), "relu2")
    return _convolution(mx, _convolution(mx, net, "conv3", 4, num_group=2), "conv4", 3, 1)


def activations(mx: Any) -> Any:
    """Signed data; leaky, cut and plain rectifiers; a sum without one; a concatenation; a tanh between."""
    data = mx.sym.var("data")
    leaky = mx.sym.LeakyReLU(_convolution(mx, data, "conv1"), act_type="leaky", slope=0.2, name="leaky")
    cut = mx.sym.clip(_convolution(mx, data, "conv2"), 0, 6, name="cut")
    net = mx.sym.concat(leaky, _relu(mx, _convolution(mx, data, "conv3"), "relu"), cut, name="concat")
    net = _convolution(mx, net, "conv4", 6) + _convolution(mx, net, "conv5", 6, 1)
    net = mx.sym.Activation(net, act_type="tanh", name="tanh")
    return _convolution(mx, net, "conv6", 3, 1, no_bias=True)


def dense(mx: Any) -> Any:
    """Dense layers, with a rectifier after one of them, and with rows of several axes."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=7, name="fc1")
    net = mx.sym.FullyConnected(_relu(mx, net, "relu1"), num_hidden=5, no_bias=True, name="fc2")
    return mx.sym.FullyConnected(mx.sym.Activation(net, act_type="sigmoid"), num_hidden=3, name="fc3")


#: By name: the network, the shape of a sample, and the least number of one.
NETWORKS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], int]] = {
    "residual": (residual, (2, 9, 9), 0),
    "projection": (projection, (2, 6, 6), 0),
    "grouped": (grouped, (2, 6, 6), 0),
    "activations": (activations, (2, 5, 6), -1),
    "dense": (dense, (2, 3, 2), -1),
}


class Row(NamedTuple):
    """A network, and how it is calibrated: ``'float'`` is fused and not quantized."""

    network: str
    calibration: str
    granularity: str = "tensor-wise"

    @property
    def name(self) -> str:
        """What its files are called."""
        return f"{self.network}-{self.calibration}" + (
            "-channels" if self.granularity == "channel-wise" else ""
        )


ROWS = (
    *(Row("residual", calibration) for calibration in ("float", "none", "naive", "entropy")),
    Row("projection", "naive"),
    Row("grouped", "naive"),
    *(Row("activations", calibration) for calibration in ("float", "naive")),
    *(Row("dense", calibration) for calibration in ("float", "none", "naive")),
    Row("dense", "naive", "channel-wise"),
)
