"""Small networks, written once and built with MXNet and with rebind alike.

Every builder takes the module to build with (``mxnet`` or ``rebind``) and returns a ``Symbol``. Layers have
explicit names, and :func:`build` opens a fresh ``NameManager`` around the builder, so that the names of the
element-wise operators between them do not depend on what was built before.

Nothing here is random (no dropout): the same parameters and inputs must give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

BATCH = 4

Kind = Literal["normal", "zeros", "unit", "binary", "integers"]


@dataclass(frozen=True)
class Input:
    """An array that a batch brings: its shape and how its values are drawn."""

    shape: tuple[int, ...]
    kind: Kind = "normal"
    high: int = 0  # the exclusive upper bound of "integers"

    def draw(self, random: np.random.RandomState) -> np.ndarray:
        """Draw one batch of values as float32 (MXNet's labels and token numbers are floats, too)."""
        values: np.ndarray[Any, Any]
        if self.kind == "normal":
            values = random.standard_normal(self.shape)
        elif self.kind == "zeros":
            values = np.zeros(self.shape)
        elif self.kind == "unit":
            values = random.uniform(size=self.shape)
        elif self.kind == "binary":
            values = random.randint(0, 2, self.shape)
        else:
            values = random.randint(0, self.high, self.shape)
        return values.astype(np.float32)


@dataclass(frozen=True)
class Network:
    """A builder together with the inputs and labels that it is run on."""

    name: str
    builder: Callable[[Any], Any]
    data: Mapping[str, Input]
    labels: Mapping[str, Input] = field(default_factory=dict)

    @property
    def inputs(self) -> dict[str, Input]:
        """Data and labels together, in the order in which a Module takes them."""
        return {**self.data, **self.labels}

    @property
    def input_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes to bind with."""
        return {name: spec.shape for name, spec in self.inputs.items()}


def build(mx: Any, network: Network) -> Any:
    """Build ``network`` with the module ``mx``; automatic names count from zero."""
    with mx.name.NameManager():
        return network.builder(mx)


def mlp(mx: Any) -> Any:
    """Two hidden layers with different activations."""
    net = mx.sym.var("data")
    net = mx.sym.FullyConnected(net, num_hidden=16, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    net = mx.sym.FullyConnected(net, num_hidden=12, name="fc2")
    net = mx.sym.Activation(net, act_type="softrelu", name="softrelu2")
    net = mx.sym.FullyConnected(net, num_hidden=5, name="fc3")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def lenet(mx: Any) -> Any:
    """LeNet-5's layers in order, with few channels."""
    net = mx.sym.var("data")
    net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=4, name="conv1")
    net = mx.sym.Activation(net, act_type="tanh", name="tanh1")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool1")
    net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=6, name="conv2")
    net = mx.sym.Activation(net, act_type="tanh", name="tanh2")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool2")
    net = mx.sym.Flatten(net, name="flatten")
    net = mx.sym.FullyConnected(net, num_hidden=20, name="fc1")
    net = mx.sym.Activation(net, act_type="tanh", name="tanh3")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _residual_unit(mx: Any, data: Any, name: str, *, filters: int, stride: int, project: bool) -> Any:
    """A pre-activation unit: (norm, relu, conv) twice, added to the input or to its projection."""

    def norm_relu(net: Any, index: int) -> Any:
        net = mx.sym.BatchNorm(net, fix_gamma=False, eps=2e-5, momentum=0.9, name=f"{name}_bn{index}")
        return mx.sym.Activation(net, act_type="relu", name=f"{name}_relu{index}")

    first = norm_relu(data, 1)
    net = mx.sym.Convolution(
        first,
        kernel=(3, 3),
        stride=(stride, stride),
        pad=(1, 1),
        num_filter=filters,
        no_bias=True,
        name=f"{name}_conv1",
    )
    net = mx.sym.Convolution(
        norm_relu(net, 2), kernel=(3, 3), pad=(1, 1), num_filter=filters, no_bias=True, name=f"{name}_conv2"
    )
    shortcut = data
    if project:
        shortcut = mx.sym.Convolution(
            first, kernel=(1, 1), stride=(stride, stride), num_filter=filters, no_bias=True, name=f"{name}_sc"
        )
    return net + shortcut


def resnet(mx: Any) -> Any:
    """A pre-activation ResNet of two stages; its first norm has a fixed gamma, the others learn theirs."""
    net = mx.sym.var("data")
    net = mx.sym.BatchNorm(net, fix_gamma=True, eps=2e-5, momentum=0.9, name="bn_data")
    net = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=6, no_bias=True, name="conv0")
    net = mx.sym.Pooling(net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max", name="pool0")
    net = _residual_unit(mx, net, "stage1_unit1", filters=6, stride=1, project=False)
    net = _residual_unit(mx, net, "stage2_unit1", filters=10, stride=2, project=True)
    net = _residual_unit(mx, net, "stage2_unit2", filters=10, stride=1, project=False)
    net = mx.sym.BatchNorm(net, fix_gamma=False, eps=2e-5, momentum=0.9, name="bn1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    net = mx.sym.Pooling(net, global_pool=True, kernel=(4, 4), pool_type="avg", name="pool1")
    net = mx.sym.Flatten(net, name="flatten")
    net = mx.sym.FullyConnected(net, num_hidden=7, name="fc1")
    return mx.sym.SoftmaxOutput(net, name="softmax")


LSTM_STEPS, LSTM_VOCABULARY, LSTM_EMBEDDING, LSTM_HIDDEN = 5, 20, 6, 8


def lstm_lm(mx: Any) -> Any:
    """A language model of two LSTM layers, unrolled by hand.

    The first layer's states come in as data; the second layer's start at ``zeros`` whose batch size is
    unknown until the operators that use it say so. One variable has its own learning rate, one its own
    weight decay.
    """
    data, label = mx.sym.var("data"), mx.sym.var("softmax_label")
    table = mx.sym.var("embed_weight", lr_mult=0.5)
    embedded = mx.sym.Embedding(
        data, weight=table, input_dim=LSTM_VOCABULARY, output_dim=LSTM_EMBEDDING, name="embed"
    )
    steps = mx.sym.SliceChannel(embedded, num_outputs=LSTM_STEPS, axis=1, squeeze_axis=True, name="steps")
    weights = [
        {
            part: mx.sym.var(f"l{layer}_{part}")
            for part in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")
        }
        for layer in range(2)
    ]
    states = [
        (mx.sym.var("l0_init_c"), mx.sym.var("l0_init_h")),
        (
            mx.sym.zeros(shape=(0, LSTM_HIDDEN), name="l1_init_c"),
            mx.sym.zeros(shape=(0, LSTM_HIDDEN), name="l1_init_h"),
        ),
    ]
    tops = []
    for step in range(LSTM_STEPS):
        net = steps[step]
        for layer in range(2):
            name = f"t{step}_l{layer}"
            states[layer] = _lstm_step(mx, net, states[layer], weights[layer], name)
            net = states[layer][1]
        tops.append(net)
    net = mx.sym.Concat(*tops, dim=1, name="tops")  # (batch, steps * hidden)
    net = mx.sym.Reshape(net, shape=(0, -4, LSTM_STEPS, -1), name="by_step")  # (batch, steps, hidden)
    net = mx.sym.Reshape(net, shape=(-3, 0), name="rows")  # (batch * steps, hidden)
    net = mx.sym.FullyConnected(
        net, bias=mx.sym.var("pred_bias", wd_mult=1.0), num_hidden=LSTM_VOCABULARY, name="pred"
    )
    label = mx.sym.Reshape(label, shape=(-1,), name="label_rows")
    return mx.sym.SoftmaxOutput(net, label=label, name="softmax")


def _lstm_step(
    mx: Any, data: Any, state: tuple[Any, Any], weights: Mapping[str, Any], name: str
) -> tuple[Any, Any]:
    """One step of one layer: ``(cell, hidden)`` from the step's input and the ``state`` before it."""
    cell, hidden = state
    gates = mx.sym.FullyConnected(
        data,
        weight=weights["i2h_weight"],
        bias=weights["i2h_bias"],
        num_hidden=4 * LSTM_HIDDEN,
        name=f"{name}_i2h",
    ) + mx.sym.FullyConnected(
        hidden,
        weight=weights["h2h_weight"],
        bias=weights["h2h_bias"],
        num_hidden=4 * LSTM_HIDDEN,
        name=f"{name}_h2h",
    )
    pieces = mx.sym.SliceChannel(gates, num_outputs=4, name=f"{name}_slice")
    entry = mx.sym.Activation(pieces[0], act_type="sigmoid", name=f"{name}_in")
    change = mx.sym.Activation(pieces[1], act_type="tanh", name=f"{name}_change")
    forget = mx.sym.Activation(pieces[2], act_type="sigmoid", name=f"{name}_forget")
    exit_ = mx.sym.Activation(pieces[3], act_type="sigmoid", name=f"{name}_out")
    cell = forget * cell + entry * change
    return cell, exit_ * mx.sym.Activation(cell, act_type="tanh", name=f"{name}_tanh")


def autoencoder(mx: Any) -> Any:
    """A convolutional autoencoder with heads of all kinds: two regressions, a penalty, values to look at.

    The operator with a learnt slope stands first: between other operators MXNet 1.9.1 writes the gradient of its
    input over the head gradient, from which it then computes a wrong gradient of the slope (finite differences
    show it).
    """
    net = mx.sym.LeakyReLU(mx.sym.var("data"), act_type="prelu", name="prelu0")
    net = mx.sym.Convolution(net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=4, name="enc1")
    net = mx.sym.LeakyReLU(net, act_type="leaky", slope=0.1, name="leaky1")
    net = mx.sym.Convolution(net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=6, name="enc2")
    net = mx.sym.LeakyReLU(net, act_type="gelu", name="gelu2")
    code = mx.sym.FullyConnected(net, num_hidden=8, name="code")
    net = mx.sym.LeakyReLU(code, act_type="elu", slope=0.3, name="elu3")
    net = mx.sym.FullyConnected(net, num_hidden=6 * 3 * 3, name="expand")
    net = mx.sym.Reshape(net, shape=(-1, 6, 3, 3), name="maps")
    net = mx.sym.Deconvolution(
        net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), adj=(1, 1), num_filter=4, no_bias=False, name="dec2"
    )
    net = mx.sym.LeakyReLU(net, act_type="leaky", name="leaky2")
    net = mx.sym.Deconvolution(net, kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=1, name="dec1")
    rebuilt = mx.sym.LinearRegressionOutput(net, grad_scale=0.5, name="rebuilt")
    judged = mx.sym.FullyConnected(code, num_hidden=2, name="judge")
    judged = mx.sym.LogisticRegressionOutput(judged, name="judged")
    penalty = mx.sym.MakeLoss(mx.sym.mean(mx.sym.square(code)), grad_scale=0.1, name="penalty")
    return mx.sym.Group([rebuilt, judged, penalty, mx.sym.BlockGrad(code, name="code_value")])


def attributed(mx: Any) -> Any:
    """Build a network with attributes of all kinds: on variables, from a scope, given to a layer."""
    data = mx.sym.var("data", shape=(0, 3, 8, 8), dtype="float32")
    weight = mx.sym.var("conv_weight", lr_mult=2.0, wd_mult=0.5, init=mx.init.Xavier(magnitude=2))
    with mx.AttrScope(ctx_group="dev1", __note__="first"):
        net = mx.sym.Convolution(data, weight=weight, kernel=(3, 3), num_filter=4, name="conv")
        net = mx.sym.BatchNorm(net, fix_gamma=False, eps=1e-3, name="bn")
    with mx.AttrScope(ctx_group="dev2"):
        net = mx.sym.FullyConnected(net, num_hidden=3, name="fc", attr={"force_mirroring": "True"})
        net = 2 * net / 3 - 1.5
    return mx.sym.SoftmaxOutput(net, name="softmax")


NETWORKS: tuple[Network, ...] = (
    Network(
        "mlp",
        mlp,
        data={"data": Input((BATCH, 10))},
        labels={"softmax_label": Input((BATCH,), "integers", 5)},
    ),
    Network(
        "lenet",
        lenet,
        data={"data": Input((BATCH, 1, 20, 20))},
        labels={"softmax_label": Input((BATCH,), "integers", 10)},
    ),
    Network(
        "resnet",
        resnet,
        data={"data": Input((BATCH, 3, 16, 16))},
        labels={"softmax_label": Input((BATCH,), "integers", 7)},
    ),
    Network(
        "lstm_lm",
        lstm_lm,
        data={
            "data": Input((BATCH, LSTM_STEPS), "integers", LSTM_VOCABULARY),
            "l0_init_c": Input((BATCH, LSTM_HIDDEN)),
            "l0_init_h": Input((BATCH, LSTM_HIDDEN)),
        },
        labels={"softmax_label": Input((BATCH, LSTM_STEPS), "integers", LSTM_VOCABULARY)},
    ),
    Network(
        "autoencoder",
        autoencoder,
        data={"data": Input((BATCH, 1, 12, 12))},
        labels={
            "rebuilt_label": Input((BATCH, 1, 12, 12), "unit"),
            "judged_label": Input((BATCH, 2), "binary"),
        },
    ),
)
