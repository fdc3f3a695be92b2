"""Record quantized networks: what MXNet's `quantize_model` makes of small ones, and all that its nodes compute.

ORACLE_PYTHON -m tests.parity.generate_quantized
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from typing import Any

import numpy as np

from .generate_operators import ONEDNN
from .golden import QUANTIZED, write_arrays
from .oracle import mx

BATCH = 4


def perceptron() -> Any:
    """Two layers with a rectifier."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    return mx.sym.FullyConnected(net, num_hidden=3, name="fc2")


def convolutional() -> Any:
    """Convolution, normalization, pooling of both kinds, concatenation."""
    net = mx.sym.Convolution(
        mx.sym.var("data"), kernel=(3, 3), num_filter=4, pad=(1, 1), no_bias=True, name="conv1"
    )
    net = mx.sym.BatchNorm(net, fix_gamma=False, eps=1e-5, name="bn1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    most = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool1")
    mean = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="avg", name="pool2")
    net = mx.sym.flatten(mx.sym.concat(most, mean, name="concat1"), name="flatten1")
    return mx.sym.FullyConnected(net, num_hidden=3, name="fc1")


NETWORKS = {"perceptron": (perceptron, (6,)), "convolutional": (convolutional, (2, 6, 6))}
#: Kinds of calibration, and the type of the levels. MXNet's convolution takes uint8 only, and its rectifier reads uint8
#: as int8: with both in a network, "auto" is left, which needs calibration.
ROWS = (
    ("perceptron", "none", "int8"),
    ("perceptron", "naive", "auto"),
    ("perceptron", "entropy", "int8"),
    ("convolutional", "naive", "auto"),
    ("convolutional", "entropy", "auto"),
)


def drawn(symbol: Any, shape: tuple[int, ...], random: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arguments and states by chance, for data of a shape."""
    shapes, _, state_shapes = symbol.infer_shape(data=shape)
    arguments = {
        key: mx.nd.array(random.uniform(-1, 1, size))
        for key, size in zip(symbol.list_arguments(), shapes)
        if key != "data"
    }
    states = {
        key: mx.nd.array(random.uniform(0.5, 1.5, size))
        for key, size in zip(symbol.list_auxiliary_states(), state_shapes)
    }
    return arguments, states


def record(name: str, mode: str, dtype: str) -> None:
    """Quantize one network, and save its symbol, its parameters and the outputs of all its nodes."""
    build, shape = NETWORKS[name]
    random = np.random.RandomState(7)
    symbol = build()
    arguments, states = drawn(symbol, (BATCH, *shape), random)
    data = random.uniform(0, 1, (4 * BATCH, *shape)).astype("float32")
    quantized, quantized_arguments, quantized_states = mx.contrib.quantization.quantize_model(
        symbol,
        arguments,
        states,
        ctx=mx.cpu(),
        calib_mode=mode,
        calib_data=mx.io.NDArrayIter(data, batch_size=BATCH),
        num_calib_examples=len(data),
        quantized_dtype=dtype,
        logger=logging.getLogger("quantize"),
    )
    batch = mx.nd.array(data[:BATCH])
    floats = symbol.bind(mx.cpu(), {**arguments, "data": batch}, aux_states=states).forward()[0].asnumpy()
    nodes = quantized.get_internals()
    executor = nodes.bind(mx.cpu(), {**quantized_arguments, "data": batch}, aux_states=quantized_states)
    outputs = {key: value.asnumpy() for key, value in zip(nodes.list_outputs(), executor.forward())}
    prefix = str(QUANTIZED / f"{name}-{mode}")
    mx.model.save_checkpoint(prefix, 0, quantized, quantized_arguments, quantized_states)
    write_arrays(QUANTIZED / f"{name}-{mode}.npz", {**outputs, "floats": floats})


def generate_quantized() -> None:
    """Record every network, in a process whose MXNet uses oneDNN: without it these operators do not run."""
    if not os.environ.get(ONEDNN):
        command = [sys.executable, "-m", "tests.parity.generate_quantized"]
        subprocess.run(command, check=True, env={**os.environ, ONEDNN: "1"})
        return
    QUANTIZED.mkdir(parents=True, exist_ok=True)
    for row in ROWS:
        record(*row)


if __name__ == "__main__":
    generate_quantized()
