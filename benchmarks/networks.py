"""The rows of the benchmark: seven pieces of work, as MXNet symbols.

Every network is a function of the module `mx`, so that the real MXNet and rebind build the same graph from
the same lines. This file imports neither of them, nor torch: it also runs in MXNet's own environment.

All names are explicit. They are the names of `peers_torch` with dots replaced by underscores, which is how
parameters are matched between the two.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

# Shared with peers_torch, so that both sides do the same work.
BATCH_NORM_EPSILON = 1e-5
BATCH_NORM_MOMENTUM = 0.9  # the share that the old statistics keep; PyTorch counts the other share, 0.1
LEARNING_RATE = 0.01
MOMENTUM = 0.9

IMAGE_CLASSES = 1000  # ResNet-50
VOCABULARY = 10_000
HIDDEN = 200
LSTM_LAYERS = 2
LSTM_STEPS = 32


@dataclass(frozen=True)
class Row:
    """One line of the table: a network, the shapes of one batch, and whether it trains."""

    name: str
    title: str
    network: Callable[[Any], Any]
    data_shape: tuple[int, ...]
    classes: int
    training: bool = True
    label_shape: tuple[int, ...] = ()
    tokens: bool = False  # data are word numbers below `classes`, not real values
    convolutional: bool = False  # channels_last says something here

    @property
    def batch_size(self) -> int:
        return self.data_shape[0]

    @property
    def predictions(self) -> int:
        """Number of labels in one batch, over which the loss is the mean."""
        return math.prod(self.label_shape)


def make_batch(row: Row) -> tuple[np.ndarray, np.ndarray]:
    """One batch for `row`: data and labels, both float32 as MXNet takes them, equal in every process."""
    random = np.random.RandomState(20)
    label = random.randint(0, row.classes, row.label_shape).astype(np.float32)
    if row.tokens:
        return random.randint(0, row.classes, row.data_shape).astype(np.float32), label
    return random.standard_normal(row.data_shape).astype(np.float32), label


def initial_value(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The value that parameter or statistic `name` starts from; it depends on the name and the shape only.

    Weights keep the size of signals about constant. Scales, shifts and statistics are near, but not at, the
    usual ones and zeros, so that a mix-up shows when results are compared.
    """
    random = np.random.RandomState(zlib.crc32(name.encode()))
    noise = random.standard_normal(shape)
    if name.endswith(("_gamma", "_moving_var")):
        value = 1.0 + 0.1 * np.clip(noise, -3, 3)
    elif name.endswith(("_bias", "_beta", "_moving_mean")):
        value = 0.1 * noise
    elif name.startswith("embedding"):
        value = noise
    else:
        value = noise / math.sqrt(math.prod(shape[1:]))
    return value.astype(np.float32)


# --------------------------------------------------------------------------- fully connected and LeNet


def mlp(mx: Any) -> Any:
    """784-128-64-10 with rectified linear units."""
    sym = mx.sym
    data = sym.Variable("data")
    for index, width in enumerate((128, 64), start=1):
        data = sym.FullyConnected(data, num_hidden=width, name=f"fc{index}")
        data = sym.Activation(data, act_type="relu", name=f"relu{index}")
    data = sym.FullyConnected(data, num_hidden=10, name="fc3")
    return sym.SoftmaxOutput(data, name="softmax")


def wide_mlp(mx: Any) -> Any:
    """784-4096-4096-4096-4096-10: 54 million parameters and little arithmetic, so that workers wait for each other."""
    sym = mx.sym
    data = sym.Variable("data")
    for index in range(1, 5):
        data = sym.FullyConnected(data, num_hidden=4096, name=f"fc{index}")
        data = sym.Activation(data, act_type="relu", name=f"relu{index}")
    data = sym.FullyConnected(data, num_hidden=10, name="fc5")
    return sym.SoftmaxOutput(data, name="softmax")


def lenet(mx: Any) -> Any:
    """MXNet's classic LeNet: two convolutions of 5x5 with tanh and max pooling, then 500 hidden units."""
    sym = mx.sym
    data = sym.Variable("data")
    for index, filters in enumerate((20, 50), start=1):
        data = sym.Convolution(data, kernel=(5, 5), num_filter=filters, name=f"conv{index}")
        data = sym.Activation(data, act_type="tanh", name=f"tanh{index}")
        data = sym.Pooling(data, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{index}")
    data = sym.Flatten(data, name="flatten")
    data = sym.FullyConnected(data, num_hidden=500, name="fc1")
    data = sym.Activation(data, act_type="tanh", name="tanh3")
    data = sym.FullyConnected(data, num_hidden=10, name="fc2")
    return sym.SoftmaxOutput(data, name="softmax")


# --------------------------------------------------------------------------- residual networks


def _convolution(mx: Any, data: Any, name: str, filters: int, kernel: int, stride: int = 1) -> Any:
    return mx.sym.Convolution(
        data,
        kernel=(kernel, kernel),
        stride=(stride, stride),
        pad=(kernel // 2, kernel // 2),
        num_filter=filters,
        no_bias=True,
        name=name,
    )


def _batch_norm(mx: Any, data: Any, name: str) -> Any:
    return mx.sym.BatchNorm(
        data, fix_gamma=False, eps=BATCH_NORM_EPSILON, momentum=BATCH_NORM_MOMENTUM, name=name
    )


def _relu(mx: Any, data: Any, name: str) -> Any:
    return mx.sym.Activation(data, act_type="relu", name=name)


def _downsample(mx: Any, data: Any, name: str, filters: int, stride: int) -> Any:
    data = _convolution(mx, data, f"{name}_downsample_conv", filters, 1, stride)
    return _batch_norm(mx, data, f"{name}_downsample_bn")


def _basic_block(mx: Any, data: Any, name: str, width: int, stride: int, project: bool) -> Any:
    """Two convolutions of 3x3 and a shortcut, activation after the sum."""
    shortcut = _downsample(mx, data, name, width, stride) if project else data
    data = _convolution(mx, data, f"{name}_conv1", width, 3, stride)
    data = _relu(mx, _batch_norm(mx, data, f"{name}_bn1"), f"{name}_relu1")
    data = _convolution(mx, data, f"{name}_conv2", width, 3)
    data = _batch_norm(mx, data, f"{name}_bn2")
    return _relu(mx, mx.sym.elemwise_add(data, shortcut, name=f"{name}_add"), f"{name}_relu")


def _bottleneck(mx: Any, data: Any, name: str, width: int, stride: int, project: bool) -> Any:
    """1x1, 3x3, 1x1 with four times the width at the end; the stride is in the 3x3."""
    shortcut = _downsample(mx, data, name, 4 * width, stride) if project else data
    data = _convolution(mx, data, f"{name}_conv1", width, 1)
    data = _relu(mx, _batch_norm(mx, data, f"{name}_bn1"), f"{name}_relu1")
    data = _convolution(mx, data, f"{name}_conv2", width, 3, stride)
    data = _relu(mx, _batch_norm(mx, data, f"{name}_bn2"), f"{name}_relu2")
    data = _convolution(mx, data, f"{name}_conv3", 4 * width, 1)
    data = _batch_norm(mx, data, f"{name}_bn3")
    return _relu(mx, mx.sym.elemwise_add(data, shortcut, name=f"{name}_add"), f"{name}_relu")


def _residual_stages(
    mx: Any, data: Any, block: Callable[..., Any], units: tuple[int, ...], expansion: int
) -> Any:
    channels = 64
    for stage, count in enumerate(units, start=1):
        width = 64 * 2 ** (stage - 1)
        for unit in range(count):
            stride = 2 if stage > 1 and unit == 0 else 1
            project = stride != 1 or channels != expansion * width
            data = block(mx, data, f"layer{stage}_{unit}", width, stride, project)
            channels = expansion * width
    return data


def _classifier(mx: Any, data: Any, classes: int) -> Any:
    sym = mx.sym
    data = sym.Pooling(data, pool_type="avg", global_pool=True, kernel=(1, 1), name="pool")
    data = sym.Flatten(data, name="flatten")
    data = sym.FullyConnected(data, num_hidden=classes, name="fc")
    return sym.SoftmaxOutput(data, name="softmax")


def resnet18(mx: Any) -> Any:
    """ResNet-18 for images of 32x32: a stem of one 3x3 convolution, no pooling before the first stage."""
    data = _convolution(mx, mx.sym.Variable("data"), "conv1", 64, 3)
    data = _relu(mx, _batch_norm(mx, data, "bn1"), "relu1")
    data = _residual_stages(mx, data, _basic_block, (2, 2, 2, 2), expansion=1)
    return _classifier(mx, data, 10)


def resnet50(mx: Any) -> Any:
    """ResNet-50 for images of 224x224."""
    data = _convolution(mx, mx.sym.Variable("data"), "conv1", 64, 7, 2)
    data = _relu(mx, _batch_norm(mx, data, "bn1"), "relu1")
    data = mx.sym.Pooling(data, pool_type="max", kernel=(3, 3), stride=(2, 2), pad=(1, 1), name="maxpool")
    data = _residual_stages(mx, data, _bottleneck, (3, 4, 6, 3), expansion=4)
    return _classifier(mx, data, IMAGE_CLASSES)


# --------------------------------------------------------------------------- recurrent network


def _lstm_layer(mx: Any, steps: list[Any], batch_size: int, name: str) -> list[Any]:
    """One layer of LSTM over a list of steps, each (batch, channels). Gates stand in the order i, f, g, o."""
    sym = mx.sym
    shared = {
        key: sym.Variable(f"{name}_{key}") for key in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")
    }
    hidden = sym.zeros(shape=(batch_size, HIDDEN), name=f"{name}_begin_h")
    cell = sym.zeros(shape=(batch_size, HIDDEN), name=f"{name}_begin_c")
    outputs = []
    for step, data in enumerate(steps):
        at = f"{name}_t{step}"
        i2h = sym.FullyConnected(
            data, shared["i2h_weight"], shared["i2h_bias"], num_hidden=4 * HIDDEN, name=f"{at}_i2h"
        )
        h2h = sym.FullyConnected(
            hidden, shared["h2h_weight"], shared["h2h_bias"], num_hidden=4 * HIDDEN, name=f"{at}_h2h"
        )
        gates = sym.SliceChannel(
            sym.elemwise_add(i2h, h2h, name=f"{at}_gates"), num_outputs=4, axis=1, name=f"{at}_slice"
        )
        in_gate = sym.Activation(gates[0], act_type="sigmoid", name=f"{at}_i")
        forget_gate = sym.Activation(gates[1], act_type="sigmoid", name=f"{at}_f")
        proposal = sym.Activation(gates[2], act_type="tanh", name=f"{at}_g")
        out_gate = sym.Activation(gates[3], act_type="sigmoid", name=f"{at}_o")
        cell = sym.elemwise_add(
            sym.elemwise_mul(forget_gate, cell, name=f"{at}_keep"),
            sym.elemwise_mul(in_gate, proposal, name=f"{at}_write"),
            name=f"{at}_c",
        )
        squashed = sym.Activation(cell, act_type="tanh", name=f"{at}_tanh_c")
        hidden = sym.elemwise_mul(out_gate, squashed, name=f"{at}_h")
        outputs.append(hidden)
    return outputs


def lstm_language_model(mx: Any, batch_size: int) -> Any:
    """Next-word model: embedding, two layers of LSTM unrolled by hand, a softmax over all words at each step.

    Predictions come out with the words of one sentence beside each other: (batch * steps, vocabulary).
    """
    sym = mx.sym
    embedded = sym.Embedding(sym.Variable("data"), input_dim=VOCABULARY, output_dim=HIDDEN, name="embedding")
    sliced = sym.SliceChannel(embedded, num_outputs=LSTM_STEPS, axis=1, squeeze_axis=True, name="words")
    steps = [sliced[step] for step in range(LSTM_STEPS)]
    for layer in range(LSTM_LAYERS):
        steps = _lstm_layer(mx, steps, batch_size, f"lstm_l{layer}")
    hidden = sym.Concat(*steps, dim=1, name="sentence")
    hidden = sym.Reshape(hidden, shape=(-1, HIDDEN), name="flat_words")
    scores = sym.FullyConnected(hidden, num_hidden=VOCABULARY, name="decoder")
    label = sym.Reshape(sym.Variable("softmax_label"), shape=(-1,), name="flat_label")
    return sym.SoftmaxOutput(scores, label, name="softmax")


# --------------------------------------------------------------------------- the table


def _lstm_row(name: str, batch: int) -> Row:
    return Row(
        name,
        f"LSTM 2x200, {LSTM_STEPS} steps, vocabulary 10,000, batch {batch}, training",
        partial(lstm_language_model, batch_size=batch),
        data_shape=(batch, LSTM_STEPS),
        label_shape=(batch, LSTM_STEPS),
        classes=VOCABULARY,
        tokens=True,
    )


def _image_row(name: str, title: str, network: Callable[[Any], Any], shape: tuple[int, ...], classes: int,
               training: bool = True) -> Row:  # fmt: skip
    return Row(name, title, network, shape, classes, training, label_shape=shape[:1], convolutional=True)


ROWS: dict[str, Row] = {
    row.name: row
    for row in (
        Row("mlp", "MLP 784-128-64-10, batch 64, training", mlp, (64, 784), 10, label_shape=(64,)),
        _image_row("lenet", "LeNet 28x28, batch 64, training", lenet, (64, 1, 28, 28), 10),
        _image_row("resnet18", "ResNet-18 32x32, batch 32, training", resnet18, (32, 3, 32, 32), 10),
        _image_row("resnet50", "ResNet-50 224x224, batch 8, training", resnet50, (8, 3, 224, 224),
                   IMAGE_CLASSES),
        _image_row("resnet50-infer1", "ResNet-50 224x224, batch 1, inference", resnet50, (1, 3, 224, 224),
                   IMAGE_CLASSES, training=False),
        _image_row("resnet50-infer16", "ResNet-50 224x224, batch 16, inference", resnet50, (16, 3, 224, 224),
                   IMAGE_CLASSES, training=False),
        _lstm_row("lstm", 32),
    )
}  # fmt: skip

#: The rows of the benchmark on a GPU: the same networks, with batches that fill it.
GPU_ROWS: dict[str, Row] = {
    row.name: row
    for row in (
        Row("mlp-4096", "MLP 784-128-64-10, batch 4096, training", mlp, (4096, 784), 10, label_shape=(4096,)),
        _image_row("lenet-2048", "LeNet 28x28, batch 2048, training", lenet, (2048, 1, 28, 28), 10),
        _image_row("resnet18-512", "ResNet-18 32x32, batch 512, training", resnet18, (512, 3, 32, 32), 10),
        _image_row("resnet50-128", "ResNet-50 224x224, batch 128, training", resnet50, (128, 3, 224, 224),
                   IMAGE_CLASSES),
        _image_row("resnet50-infer128", "ResNet-50 224x224, batch 128, inference", resnet50,
                   (128, 3, 224, 224), IMAGE_CLASSES, training=False),
        _lstm_row("lstm-256", 256),
    )
}  # fmt: skip


def row_named(name: str) -> Row:
    """A row of any of the two."""
    return ROWS[name] if name in ROWS else GPU_ROWS[name]


#: The rows of the benchmark over processes; the batch is that of one worker.
DISTRIBUTED: dict[str, Row] = {
    "resnet18": ROWS["resnet18"],
    "lstm": ROWS["lstm"],
    "wide": Row(
        "wide", "MLP of 54 million parameters, batch 16, training", wide_mlp, (16, 784), 10, label_shape=(16,)
    ),
}
