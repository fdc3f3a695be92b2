"""The networks whose quantization by MXNet is recorded, built with either library."""

from __future__ import annotations

from typing import Any

import numpy as np

BATCH = 2


def perceptron(mx: Any) -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def lenet(mx: Any) -> Any:
    net = mx.sym.var("data")
    for layer in (1, 2):
        net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=4, name=f"conv{layer}")
        net = mx.sym.Activation(net, act_type="tanh", name=f"tanh{layer}")
        net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{layer}")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net, name="flatten"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def residual(mx: Any) -> Any:
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, pad=(1, 1), name="conv1")
    net = mx.sym.BatchNorm(net, fix_gamma=False, name="bn1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    branch = mx.sym.Convolution(net, kernel=(3, 3), num_filter=4, pad=(1, 1), no_bias=True, name="conv2")
    net = mx.sym.elemwise_add(branch, net, name="plus")
    net = mx.sym.Pooling(net, global_pool=True, kernel=(1, 1), pool_type="avg", name="pool")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net, name="flatten"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def joined(mx: Any) -> Any:
    data = mx.sym.var("data")
    branches = [
        mx.sym.Convolution(data, kernel=(1, 1), num_filter=2, name="conv1"),
        mx.sym.Convolution(data, kernel=(3, 3), num_filter=3, pad=(1, 1), name="conv2"),
    ]
    net = mx.sym.concat(*branches, name="concat")
    return mx.sym.FullyConnected(net, num_hidden=3, name="fc")


def shared(mx: Any) -> Any:
    weight = mx.sym.var("weight")
    net = mx.sym.FullyConnected(mx.sym.var("data"), weight, num_hidden=6, no_bias=True, name="fc1")
    return mx.sym.FullyConnected(net, weight, num_hidden=6, no_bias=True, name="fc2")


def two_outputs(mx: Any) -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc1")
    return mx.sym.Group([mx.sym.exp(net, name="exp"), mx.sym.FullyConnected(net, num_hidden=2, name="fc2")])


IMAGE, ROW = (2, 12, 12), (6,)
NETWORKS = {
    "perceptron": (perceptron, ROW),
    "lenet": (lenet, IMAGE),
    "residual": (residual, IMAGE),
    "joined": (joined, IMAGE),
    "shared": (shared, ROW),
    "two_outputs": (two_outputs, ROW),
}
MODES = [(mode, calibration) for mode in ("full", "smart") for calibration in ("none", "naive")]
#: The name of a row, its network, and keyword arguments of `quantize_model`.
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    f"{network}-{mode}-{calibration}": (
        network,
        {"quantize_mode": mode, "calib_mode": calibration, "quantized_dtype": "auto"},
    )
    for network in NETWORKS
    for mode, calibration in MODES
}
# The best thresholds take MXNet seconds for each layer: one network.
ROWS["perceptron-entropy"] = ("perceptron", {"calib_mode": "entropy", "quantized_dtype": "auto"})
ROWS["residual-int8"] = ("residual", {"calib_mode": "none", "quantized_dtype": "int8"})
ROWS["residual-uint8"] = ("residual", {"calib_mode": "none", "quantized_dtype": "uint8"})
ROWS["residual-without-conv1"] = ("residual", {"calib_mode": "none", "excluded_sym_names": ["conv1"]})
ROWS["residual-without-pooling"] = ("residual", {"calib_mode": "none", "excluded_op_names": ["Pooling"]})


def drawn(mx: Any, name: str) -> tuple[Any, dict[str, Any], dict[str, Any], np.ndarray]:
    """Return a network, arguments and states by chance, and data: the same in both libraries."""
    build, shape = NETWORKS[name]
    symbol = build(mx)
    random = np.random.RandomState(7)
    shapes, _, state_shapes = symbol.infer_shape(data=(BATCH, *shape))
    arguments = {
        key: mx.nd.array(random.uniform(-1, 1, size).astype("float32"))
        for key, size in zip(symbol.list_arguments(), shapes)
        if key not in ("data", "softmax_label")
    }
    states = {
        key: mx.nd.array(random.uniform(0.5, 1.5, size).astype("float32"))
        for key, size in zip(symbol.list_auxiliary_states(), state_shapes)
    }
    return symbol, arguments, states, random.uniform(-1, 1, (4 * BATCH, *shape)).astype("float32")
