"""What `benchmarks.sparse` times: each work for rebind and MXNet in one form, for PyTorch and SciPy in their own.

Nothing is imported before it is needed: MXNet's Python has neither torch nor SciPy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["WORKS", "Work", "make", "write_file"]

#: The matrix of the products: so many rows, columns and elements in each row.
ROWS, COLUMNS, ELEMENTS = 512, 1_000_000, 40
BATCH = 500


@dataclass(frozen=True)
class Work:
    """One row of the table.

    Attributes
    ----------
    name
        Its name there.
    kind
        The function that makes it, by the engine.
    settings
        What that is given.
    engines
        Who has it.
    is_step
        Whether it is a step of training: in a process of its own, so that its memory is known.
    """

    name: str
    kind: str
    settings: dict[str, Any]
    engines: Sequence[str] = ("rebind", "mxnet", "torch", "scipy")
    is_step: bool = False


def _products() -> list[Work]:
    works = []
    for kind, title in (("product", "X · dense"), ("transposed", "Xᵀ · dense to row_sparse")):
        for width in (1, 16, 64, 256):
            works.append(Work(f"{title}, {width} columns", kind, {"width": width}))
        for percent in (0.1, 1, 10):
            settings = {"width": 16, "columns": 10_000, "elements": round(100 * percent)}
            works.append(Work(f"{title}, 10,000 columns of X, {percent:g} %, 16 columns", kind, settings))
    return works


_OPTIMIZERS = {
    "sgd": {"momentum": 0.9},
    "adam": {},
    "adagrad": {},
    "ftrl": {},
    "groupadagrad": {},
}


def _steps() -> list[Work]:
    both = ("rebind", "mxnet")
    works = [
        Work(
            f"update of 4,096 of 1M × 32 rows, {name}",
            "update",
            {"name": name, "options": options},
            (*both, "torch") if name == "adam" else both,
            True,
        )
        for name, options in _OPTIMIZERS.items()
    ]
    for rows, text in ((1_000_000, "1M"), (10_000_000, "10M")):
        title = f"embedding of {text} × 16, 1,000 rows, SGD with momentum"
        works.append(Work(title, "embedding", {"rows": rows}, both, True))
    works.append(Work("linear classifier, a batch of a file", "linear", {}, both, True))
    works.append(Work("factorization machine, a batch of a file, Adam", "machine", {}, both, True))
    return works


WORKS = {work.name: work for work in [*_products(), *_steps()]}


def _matrix(columns: int, elements: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return data, columns and the ends of the rows of the same matrix for all engines."""
    random = np.random.RandomState(0)
    indices = np.sort(random.randint(0, columns, (ROWS, elements)), axis=1).ravel()
    data = random.rand(indices.size).astype(np.float32)
    return data, indices, np.arange(0, indices.size + 1, elements)


def write_file(path: str, batches: int = 40) -> None:
    """Write a LibSVM file of batches with a million features, which the last works read."""
    random = np.random.RandomState(0)
    with open(path, "w") as file:
        for _ in range(batches * BATCH):
            features = np.sort(random.randint(COLUMNS, size=ELEMENTS))
            values = " ".join(
                f"{feature}:{value:.4f}" for feature, value in zip(features, random.rand(ELEMENTS))
            )
            file.write(f"{random.randint(2)} {values}\n")


def make(engine: str, kind: str, settings: dict[str, Any], folder: str) -> Callable[[], object]:
    """Return what does a work once."""
    if engine in ("torch", "scipy"):
        return globals()[f"_{engine}_{kind}"](**settings)
    import importlib

    return globals()[f"_{kind}"](importlib.import_module(engine), **settings, **_file(kind, folder))


def _file(kind: str, folder: str) -> dict[str, str]:
    return {"file": os.path.join(folder, "batches.libsvm")} if kind in ("linear", "machine") else {}


# rebind and MXNet.


def _product(
    mx: Any, width: int, columns: int = COLUMNS, elements: int = ELEMENTS, transposed: bool = False
) -> Callable[[], object]:
    matrix = mx.nd.sparse.csr_matrix(_matrix(columns, elements), shape=(ROWS, columns))
    dense = mx.nd.array(np.random.RandomState(1).rand(ROWS if transposed else columns, width))
    return lambda: mx.nd.sparse.dot(matrix, dense, transpose_a=transposed)


def _transposed(mx: Any, **settings: Any) -> Callable[[], object]:
    return _product(mx, transposed=True, **settings)


def _update(mx: Any, name: str, options: dict[str, Any]) -> Callable[[], object]:
    optimizer = mx.optimizer.create(name, learning_rate=0.1, wd=0.0, **options)
    weight = mx.nd.ones((1_000_000, 32))
    state = optimizer.create_state(0, weight)
    indices = np.sort(np.random.RandomState(0).choice(1_000_000, 4096, replace=False))
    grad = mx.nd.sparse.row_sparse_array((np.ones((4096, 32), np.float32), indices), shape=weight.shape)
    return lambda: optimizer.update(0, weight, grad, state)


#: The batches of an epoch, and some.
_FIRST_EPOCH = 50


class _Steps:
    """Steps of a module: the next batch each time, as in a program's loop."""

    def __init__(self, mx: Any, symbol: Any, batches: Any, optimizer: str, options: dict[str, Any]) -> None:
        names = [[each[0] for each in listed] for listed in (batches.provide_data, batches.provide_label)]
        self._module = mx.mod.Module(symbol, *names)
        self._module.bind(batches.provide_data, batches.provide_label)
        self._module.init_params(mx.init.Normal(0.01))
        self._module.init_optimizer(kvstore=None, optimizer=optimizer, optimizer_params=options)
        self._batches = batches
        for _ in range(
            _FIRST_EPOCH
        ):  # in which rebind reads the text, and saves the numbers; MXNet reads it each time
            self()

    def __call__(self) -> None:
        try:
            batch = self._batches.next()
        except StopIteration:
            self._batches.reset()
            batch = self._batches.next()
        self._module.forward_backward(batch)
        self._module.update()
        self._module.get_outputs()[0].wait_to_read()


def _embedding(mx: Any, rows: int) -> Callable[[], object]:
    found = mx.sym.Embedding(
        mx.sym.var("data"), mx.sym.var("linear_weight"), input_dim=rows, output_dim=16, sparse_grad=True
    )
    symbol = mx.sym.LinearRegressionOutput(mx.sym.sum(found, axis=1), mx.sym.var("label"))
    data = np.random.RandomState(0).randint(0, rows, 50_000)
    batches = mx.io.NDArrayIter(data, np.ones(len(data)), 1000, label_name="label")
    return _Steps(mx, symbol, batches, "sgd", {"learning_rate": 0.1, "momentum": 0.9})


def _linear(mx: Any, file: str) -> Callable[[], object]:
    weight = mx.sym.var("linear_weight", stype="row_sparse", shape=(COLUMNS, 2))
    product = mx.sym.sparse.dot(mx.sym.var("data", stype="csr"), weight)
    score = mx.sym.broadcast_add(product, mx.sym.var("linear_bias", shape=(2,)))
    return _Steps(mx, mx.sym.SoftmaxOutput(score, mx.sym.var("label")), _read(mx, file), "sgd", {})


def _machine(mx: Any, file: str) -> Callable[[], object]:
    """Return a step of a factorization machine with 16 factors: linear terms, and products of pairs."""
    data = mx.sym.var("data", stype="csr")
    factors = mx.sym.var("factors_weight", stype="row_sparse", shape=(COLUMNS, 16))
    weight = mx.sym.var("linear_weight", stype="row_sparse", shape=(COLUMNS, 1))
    linear = mx.sym.sparse.dot(data, weight)
    of_sums = mx.sym.sum(mx.sym.square(mx.sym.sparse.dot(data, factors)), axis=1, keepdims=True)
    squares = mx.sym.sparse.dot(mx.sym.sparse.square(data), mx.sym.sparse.square(factors))
    pairs = 0.5 * (of_sums - mx.sym.sum(squares, axis=1, keepdims=True))
    symbol = mx.sym.LogisticRegressionOutput(linear + pairs, mx.sym.var("label"))
    return _Steps(mx, symbol, _read(mx, file), "adam", {"learning_rate": 0.001})


def _read(mx: Any, file: str) -> Any:
    return mx.io.LibSVMIter(data_libsvm=file, data_shape=(COLUMNS,), batch_size=BATCH, label_name="label")


# PyTorch and SciPy.


def _torch_product(width: int, columns: int = COLUMNS, elements: int = ELEMENTS) -> Callable[[], object]:
    import torch

    data, indices, ends = map(torch.from_numpy, _matrix(columns, elements))
    matrix = torch.sparse_csr_tensor(ends, indices, data, (ROWS, columns))
    dense = torch.from_numpy(np.random.RandomState(1).rand(columns, width).astype(np.float32))
    return lambda: matrix @ dense


def _torch_transposed(width: int, columns: int = COLUMNS, elements: int = ELEMENTS) -> Callable[[], object]:
    """Return the product with the columns that have an element: the whole is a thousand times as large."""
    import torch

    data, indices, ends = map(torch.from_numpy, _matrix(columns, elements))
    dense = torch.from_numpy(np.random.RandomState(1).rand(ROWS, width).astype(np.float32))
    rows = torch.repeat_interleave(torch.arange(ROWS), ends.diff())

    def run() -> object:
        touched, which = indices.unique(return_inverse=True)
        product = torch.zeros(len(touched), width)
        return touched, product.index_add_(0, which, data.unsqueeze(1) * dense[rows])

    return run


def _torch_update(name: str, options: dict[str, Any]) -> Callable[[], object]:
    import torch

    weight = torch.nn.Parameter(torch.ones(1_000_000, 32))
    indices = np.sort(np.random.RandomState(0).choice(1_000_000, 4096, replace=False))
    weight.grad = torch.sparse_coo_tensor(
        indices[None], torch.ones(4096, 32), weight.shape, is_coalesced=True
    )
    return torch.optim.SparseAdam([weight], lr=0.1).step


def _scipy_product(width: int, columns: int = COLUMNS, elements: int = ELEMENTS) -> Callable[[], object]:
    from scipy import sparse

    matrix = sparse.csr_matrix(_matrix(columns, elements), shape=(ROWS, columns))
    dense = np.random.RandomState(1).rand(columns, width).astype(np.float32)
    return lambda: matrix @ dense


def _scipy_transposed(width: int, columns: int = COLUMNS, elements: int = ELEMENTS) -> Callable[[], object]:
    """Return the product with the columns that have an element, which SciPy is told by numbering them."""
    from scipy import sparse

    data, indices, ends = _matrix(columns, elements)
    dense = np.random.RandomState(1).rand(ROWS, width).astype(np.float32)

    def run() -> object:
        touched, which = np.unique(indices, return_inverse=True)
        return touched, sparse.csr_matrix((data, which, ends), shape=(ROWS, len(touched))).T @ dense

    return run
