"""A storage type that is made up: rows in another order than the array's. With its kernels, and a network of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

import rebind as mx
from rebind.ndarray.storage import Storage, register_storage
from rebind.ops.storage_types import storage_kernel

__all__ = ["Rotated", "module", "samples"]


@register_storage
class Rotated(Storage):
    """Row `i` of `data` is row ``order[i]`` of the array; `turned_dense` counts its dense copies."""

    stype, number = "rotated", 93
    members = ("data", "order")
    turned_dense = 0

    def __init__(self, data: Tensor, order: Tensor) -> None:
        super().__init__()
        self.data, self.order = data, order

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.data.shape)

    @classmethod
    def from_dense(cls, tensor: Tensor) -> Rotated:
        order = torch.arange(len(tensor), device=tensor.device).roll(1)
        return cls(tensor[order], order)

    def to_dense(self) -> Tensor:
        Rotated.turned_dense += 1
        return self.data[self.order.argsort()]

    def rows(self, indices: Tensor) -> Tensor:
        return self.data[self.order.argsort()[indices]]

    def write_rows(self, indices: Tensor, values: Tensor) -> None:
        self.data[self.order.argsort()[indices]] = values

    def accumulate(self, source: Storage) -> None:
        self.data += source.rows(self.order).to(self.data.device)


@storage_kernel(
    "FullyConnected",
    ["default", "rotated"],
    ("default",),
    gradient=lambda p, inputs, outputs, heads: gradients(inputs, heads),
    gradients=("default", "rotated"),
)
def fully_connected(data: Storage, weight: Rotated, bias: None = None, **_: object) -> Storage:
    product = data.to_dense() @ weight.data.T
    return mx.ndarray.storage.DenseStorage(torch.empty_like(product).index_copy_(1, weight.order, product))


def gradients(inputs: Sequence[Storage], heads: Sequence[Storage]) -> list[Storage]:
    data, weight, head = inputs[0], inputs[1], heads[0].to_dense()[:, inputs[1].order]
    of_data = mx.ndarray.storage.DenseStorage(head @ weight.data)
    return [of_data, Rotated(head.T @ data.to_dense(), weight.order.clone())]


def samples() -> tuple[np.ndarray, np.ndarray]:
    """Return samples of three classes, and their labels."""
    values = np.random.RandomState(0).randn(24, 4).astype("float32")
    return values, (values[:, :3].argmax(1)).astype("float32")


def module(stype: str = "rotated", devices: int = 1) -> mx.mod.Module:
    """Return a module whose first weight is of a storage type."""
    weight = mx.sym.var("w", stype=stype)
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), weight, no_bias=True, num_hidden=6)
    output = mx.sym.FullyConnected(mx.sym.Activation(hidden, act_type="tanh"), num_hidden=3, name="fc")
    net = mx.sym.SoftmaxOutput(output, name="softmax")
    return mx.mod.Module(net, context=[mx.cpu(i) for i in range(devices)])


def first_values() -> dict[str, mx.nd.NDArray]:
    """Return the weights that all begin with."""
    draws = np.random.RandomState(1)
    shapes = {"w": (6, 4), "fc_weight": (3, 6), "fc_bias": (3,)}
    return {name: mx.nd.array(draws.randn(*shape) / 4) for name, shape in shapes.items()}


def train(
    of: mx.mod.Module,
    kvstore: str | None,
    rank: int = 0,
    workers: int = 1,
    epochs: int = 2,
    begin: int = 0,
    arguments: dict[str, mx.nd.NDArray] | None = None,
    optimizer: str = "sgd",
    **given: object,
) -> None:
    """Train on this worker's samples of each batch of eight."""
    values, labels = samples()
    own = [i for i in range(24) if i % 8 // (8 // workers) == rank]
    data = mx.io.NDArrayIter(values[own], labels[own], 8 // workers, label_name="softmax_label")
    settings = {"learning_rate": 0.2, "wd": 0.01, **({"momentum": 0.9} if optimizer == "sgd" else {})}
    of.fit(
        data,
        kvstore=kvstore,
        optimizer=optimizer,
        optimizer_params=settings,
        arg_params=first_values() if arguments is None else arguments or None,
        begin_epoch=begin,
        num_epoch=epochs,
        **given,
    )
