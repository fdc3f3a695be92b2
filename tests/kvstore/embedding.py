"""A network with an embedding whose gradient is of the rows that a batch has, for jobs of workers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

import rebind as mx
from rebind.ndarray.base import wrap
from rebind.ndarray.sparse.row_sparse import RowSparseStorage

__all__ = ["OPTIMIZERS", "row_sparse", "train", "weights"]

WORDS, WIDTH = 40, 3

OPTIMIZERS = {
    "sgd": {"learning_rate": 0.2, "momentum": 0.9, "wd": 0.01},
    "adam": {"learning_rate": 0.05},
    "rmsprop": {"learning_rate": 0.02},  # which updates all rows
    "nadam": {"learning_rate": 0.02},  # of which one worker updates all weights
    "sgd without momentum": {"learning_rate": 0.2},  # to which absent rows and rows of zeros are the same
}


def row_sparse(shape: tuple[int, ...], rows: dict[int, float]) -> mx.nd.NDArray:
    """Return an array with these rows, each of one number."""
    data = torch.tensor(list(rows.values())).reshape(-1, *[1] * (len(shape) - 1)).expand(-1, *shape[1:])
    indices = torch.tensor(list(rows), dtype=torch.int64)
    return wrap(RowSparseStorage(data.contiguous(), indices, shape), mx.cpu())


def network(stype: str, sparse_grad: bool = True) -> mx.sym.Symbol:
    """Return a network whose embedding's weight is of a storage type."""
    weight = mx.sym.var("embedding", stype=stype)
    embedded = mx.sym.Embedding(
        mx.sym.var("data"), weight, input_dim=WORDS, output_dim=WIDTH, sparse_grad=sparse_grad
    )
    output = mx.sym.FullyConnected(embedded, num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(output, name="softmax")


def train(
    kvstore: str | None,
    stype: str = "default",
    optimizer: str = "sgd",
    rank: int = 0,
    workers: int = 1,
    module_class: Callable[..., mx.mod.Module] = mx.mod.Module,
    sparse_grad: bool = True,
    **given: object,
) -> mx.mod.Module:
    """Train on this worker's samples of each batch of eight, which has some of the words."""
    draws = np.random.RandomState(0)
    values = draws.randint(0, WORDS, (24, 4)).astype("float32")
    labels = draws.randint(0, 2, 24).astype("float32")
    first = {
        name: mx.nd.array(draws.randn(*shape))
        for name, shape in {"embedding": (WORDS, WIDTH), "fc_weight": (2, 4 * WIDTH), "fc_bias": (2,)}.items()
    }
    own = [i for i in range(24) if i % 8 // (8 // workers) == rank]
    data = mx.io.NDArrayIter(values[own], labels[own], 8 // workers, label_name="softmax_label")
    module = module_class(network(stype, sparse_grad))
    settings = {"optimizer": optimizer.split()[0], "optimizer_params": OPTIMIZERS[optimizer], "num_epoch": 2}
    module.fit(data, kvstore=kvstore, arg_params=first, **{**settings, **given})
    return module


def weights(module: mx.mod.Module) -> dict[str, np.ndarray]:
    """Return the parameters."""
    return {name: array.asnumpy() for name, array in module.get_params()[0].items()}
