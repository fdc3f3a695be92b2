"""Networks written by hand in MXNet's JSON, so that these tests need no operator."""

from __future__ import annotations

import json
from math import prod

import pytest


class HandMade:
    """Has the part of Symbol's interface that pictures and tables read; shapes are stated, not inferred."""

    def __init__(self) -> None:
        self.nodes: list[dict] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.auxiliary: list[str] = []

    def variable(self, name: str, shape: tuple[int, ...], *, auxiliary: bool = False) -> int:
        self.nodes.append({"op": "null", "name": name, "inputs": []})
        self.shapes[name] = shape
        if auxiliary:
            self.auxiliary.append(name)
        return len(self.nodes) - 1

    def op(
        self, op: str, name: str, inputs: list, shape: tuple[int, ...], outputs: int = 1, **attrs: object
    ) -> int:
        entries = [[*entry, 0] if isinstance(entry, tuple) else [entry, 0, 0] for entry in inputs]
        node = {"op": op, "name": name, "inputs": entries}
        if attrs:
            node["attrs"] = {key: str(value) for key, value in attrs.items()}
        self.nodes.append(node)
        names = [f"{name}_output{i}" for i in range(outputs)] if outputs > 1 else [f"{name}_output"]
        self.shapes.update(dict.fromkeys(names, shape))
        return len(self.nodes) - 1

    def convolution(
        self, name: str, data: int, filters: int, shape: tuple[int, ...], kernel: int, stride: int = 1
    ):
        weight = self.variable(f"{name}_weight", (filters, self.shape_of(data)[1], kernel, kernel))
        attrs = {
            "kernel": (kernel, kernel),
            "stride": (stride, stride),
            "num_filter": filters,
            "no_bias": True,
        }
        return self.op("Convolution", name, [data, weight], (shape[0], filters, *shape[2:]), **attrs)

    def batch_norm(self, name: str, data: int) -> int:
        shape = self.shape_of(data)
        inputs = [self.variable(f"{name}_{part}", (shape[1],)) for part in ("gamma", "beta")]
        inputs += [
            self.variable(f"{name}_{part}", (shape[1],), auxiliary=True)
            for part in ("moving_mean", "moving_var")
        ]
        return self.op("BatchNorm", name, [data, *inputs], shape)

    def activation(self, name: str, data: int, act_type: str = "relu") -> int:
        return self.op("Activation", name, [data], self.shape_of(data), act_type=act_type)

    def dense(self, name: str, data: int, hidden: int) -> int:
        shape = self.shape_of(data)
        weight = self.variable(f"{name}_weight", (hidden, prod(shape[1:])))
        bias = self.variable(f"{name}_bias", (hidden,))
        return self.op("FullyConnected", name, [data, weight, bias], (shape[0], hidden), num_hidden=hidden)

    def softmax(self, data: int) -> int:
        label = self.variable("softmax_label", (self.shape_of(data)[0],))
        return self.op("SoftmaxOutput", "softmax", [data, label], self.shape_of(data))

    def shape_of(self, node: int) -> tuple[int, ...]:
        name = self.nodes[node]["name"]
        return self.shapes[name] if name in self.shapes else self.shapes[f"{name}_output"]

    # what Symbol offers

    def tojson(self) -> str:
        return json.dumps({"nodes": self.nodes, "heads": [[len(self.nodes) - 1, 0, 0]], "arg_nodes": []})

    def get_internals(self) -> HandMade:
        return self

    def list_outputs(self) -> list[str]:
        return list(self.shapes)

    def list_auxiliary_states(self) -> list[str]:
        return self.auxiliary

    def infer_shape(self, **known: tuple[int, ...]):
        return (None, list(self.shapes.values()), None) if "data" in known else (None, None, None)

    def infer_type(self, **known: str):
        return None, [known["data"]] * len(self.shapes), None


@pytest.fixture
def lenet() -> HandMade:
    net = HandMade()
    x = net.variable("data", (64, 1, 28, 28))
    x = net.convolution("conv1", x, 20, (64, 0, 24, 24), kernel=5)
    x = net.activation("tanh1", x, "tanh")
    x = net.op("Pooling", "pool1", [x], (64, 20, 12, 12), kernel=(2, 2), stride=(2, 2), pool_type="max")
    x = net.convolution("conv2", x, 50, (64, 0, 8, 8), kernel=5)
    x = net.activation("tanh2", x, "tanh")
    x = net.op("Pooling", "pool2", [x], (64, 50, 4, 4), kernel=(2, 2), stride=(2, 2), pool_type="max")
    x = net.op("Flatten", "flatten", [x], (64, 800))
    x = net.activation("tanh3", net.dense("fc1", x, 500), "tanh")
    net.softmax(net.dense("fc2", x, 10))
    return net


@pytest.fixture
def resnet() -> HandMade:
    """ResNet-18 with pre-activation, for 224×224 pictures."""
    net = HandMade()
    x = net.variable("data", (32, 3, 224, 224))
    x = net.convolution("conv0", x, 64, (32, 0, 112, 112), kernel=7, stride=2)
    x = net.activation("relu0", net.batch_norm("bn0", x))
    pooling = {"kernel": (3, 3), "stride": (2, 2), "pool_type": "max"}
    x = net.op("Pooling", "pool0", [x], (32, 64, 56, 56), **pooling)
    for stage, filters in enumerate((64, 128, 256, 512), start=1):
        size = 112 >> stage
        shape = (32, 0, size, size)
        for unit in (1, 2):
            name = f"stage{stage}_unit{unit}"
            first = unit == 1 and stage > 1
            shortcut = x
            x = act = net.activation(f"{name}_relu1", net.batch_norm(f"{name}_bn1", x))
            x = net.convolution(f"{name}_conv1", x, filters, shape, kernel=3, stride=1 + first)
            x = net.activation(f"{name}_relu2", net.batch_norm(f"{name}_bn2", x))
            x = net.convolution(f"{name}_conv2", x, filters, shape, kernel=3)
            if first:
                shortcut = net.convolution(f"{name}_sc", act, filters, shape, kernel=1, stride=2)
            x = net.op("elemwise_add", f"{name}_plus", [x, shortcut], net.shape_of(x))
    x = net.activation("relu1", net.batch_norm("bn1", x))
    x = net.op("Pooling", "pool1", [x], (32, 512, 1, 1), global_pool=True, pool_type="avg", kernel=(7, 7))
    x = net.op("Flatten", "flatten", [x], (32, 512))
    net.softmax(net.dense("fc1", x, 1000))
    return net


@pytest.fixture
def hand_made() -> HandMade:
    return HandMade()
