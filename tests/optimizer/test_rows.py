"""Updates by gradients that have some rows only."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

import rebind as mx
from rebind.ndarray.storage import Storage

ROWS, WEIGHT = [0, 2], np.arange(8, dtype="float32").reshape(4, 2) + 1


class SomeRows(Storage):
    """A few rows of a matrix whose other rows are zero."""

    stype, number = "some_rows", 94
    members = ("data", "indices")

    def __init__(self, count: int, data: Tensor, indices: Tensor) -> None:
        super().__init__()
        self.count, self.data, self.indices = count, data, indices

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.count, *self.data.shape[1:])

    @property
    def row_indices(self) -> Tensor:
        return self.indices

    @classmethod
    def from_dense(cls, tensor: Tensor) -> SomeRows:
        indices = tensor.flatten(1).any(1).nonzero().flatten()
        return cls(len(tensor), tensor[indices], indices)

    def to_dense(self) -> Tensor:
        return self.data.new_zeros(self.shape).index_copy_(0, self.indices, self.data)


def gradient() -> mx.nd.NDArray:
    return mx.nd.NDArray(SomeRows(4, torch.ones(2, 2), torch.tensor(ROWS)))


@pytest.mark.parametrize(
    ("optimizer", "settings", "is_lazy"),
    [
        ("sgd", {"momentum": 0.9}, True),
        ("sgd", {"momentum": 0.9, "lazy_update": False}, False),
        ("adam", {}, True),
        ("adam", {"lazy_update": False}, False),
        ("rmsprop", {}, False),
        ("lars", {}, False),
    ],
)
def test_which_rows_change(optimizer: str, settings: dict[str, object], is_lazy: bool) -> None:
    weight, dense = mx.nd.array(WEIGHT), mx.nd.array(WEIGHT)
    for array, grad in ((weight, gradient()), (dense, mx.nd.array(gradient().asnumpy()))):
        made = mx.optimizer.create(
            optimizer, learning_rate=0.1, wd=0.5, param_idx2name={0: "w_weight"}, **settings
        )
        updater = mx.optimizer.get_updater(made)
        for _ in range(3):
            updater(0, grad, array)
    found, expected = weight.asnumpy(), dense.asnumpy()
    np.testing.assert_allclose(found[ROWS], expected[ROWS], rtol=1e-6)
    others = [1, 3]
    np.testing.assert_allclose(found[others], (WEIGHT if is_lazy else expected)[others], rtol=1e-6)
    assert not np.allclose(expected[others], WEIGHT[others])
