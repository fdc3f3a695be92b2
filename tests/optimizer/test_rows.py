"""Updates by gradients that have some rows only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import rebind as mx
from rebind.ndarray.base import wrap
from rebind.ndarray.sparse.row_sparse import RowSparseStorage
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


# Of arrays that are row_sparse.

LAZY = [
    ("sgd", {}),
    ("sgd", {"momentum": 0.9}),
    ("ccsgd", {"momentum": 0.9}),
    ("adam", {}),
    ("adagrad", {}),
    ("ftrl", {}),
    ("groupadagrad", {"wd": 0.0}),
    ("nag", {}),
    ("lbsgd", {"momentum": 0.9}),
]
#: The rows of three gradients.
STEPS = ([0, 2], [2, 3], [0, 3])


def row_sparse(values: np.ndarray, rows: list[int], dtype: str = "float32") -> Any:
    data = torch.tensor(values.astype(dtype))
    return wrap(RowSparseStorage(data[rows], torch.tensor(rows, dtype=torch.int64), data.shape))


def make(name: str, settings: dict[str, object]) -> Any:
    common = {"learning_rate": 0.1, "wd": 0.5, "clip_gradient": 0.8, "rescale_grad": 0.5}
    return mx.optimizer.create(name, param_idx2name={0: "w_weight"}, **{**common, **settings})


def gradients() -> list[np.ndarray]:
    random = np.random.RandomState(0)
    return [random.standard_normal((4, 2)).astype("float32") for _ in STEPS]


def members(state: Any) -> list[Any]:
    if state is None:
        return []
    return [each for part in state for each in members(part)] if isinstance(state, tuple) else [state]


def stored_only(rows: list[int] | None) -> np.ndarray:
    values = np.zeros_like(WEIGHT)
    values[rows or slice(None)] = WEIGHT[rows or slice(None)]
    return values


def expected_of(name: str, settings: dict[str, object], values: np.ndarray) -> list[np.ndarray]:
    """Dense updates, after each of which absent rows of weight and states get back what they had."""
    weight, updater = mx.nd.array(values), mx.optimizer.get_updater(make(name, settings))
    updater.states_of([0], [weight])
    arrays = [weight, *members(updater.states[0])]
    for grad, rows in zip(gradients(), STEPS, strict=True):
        before = [array.asnumpy() for array in arrays]
        updater(0, mx.nd.array(grad), weight)
        for array, old in zip(arrays, before, strict=True):
            old[rows] = array.asnumpy()[rows]
            array[:] = old
    return [array.asnumpy() for array in arrays]


@pytest.mark.parametrize(
    "order", [lambda rows: rows, lambda rows: rows[::-1]], ids=["ascending", "descending"]
)
@pytest.mark.parametrize("stored", [None, [0, 1, 2, 3], [3, 1, 0, 2], [1, 2]], ids=str)
@pytest.mark.parametrize(("name", "settings"), LAZY)
def test_only_present_rows_change(name, settings, stored, order):
    weight = mx.nd.array(WEIGHT) if stored is None else row_sparse(WEIGHT, stored)
    updater = mx.optimizer.get_updater(make(name, settings))
    for grad, rows in zip(gradients(), STEPS, strict=True):
        updater(0, row_sparse(grad, order(rows)), weight)
    found = [weight, *members(updater.states[0])]
    assert {array.stype for array in found} == {weight.stype}
    for array, wanted in zip(found, expected_of(name, settings, stored_only(stored)), strict=True):
        np.testing.assert_allclose(array.asnumpy(), wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("nag", {"momentum": 0.9}),
        ("lbsgd", {"batch_scale": 2}),
        ("lbsgd", {"warmup_strategy": "lars"}),
        *[
            (name, {})
            for name in ("rmsprop", "signum", "adadelta", "ftml", "nadam", "adamax", "lamb", "lars")
        ],
    ],
)
@pytest.mark.parametrize("stored", [None, [0, 1, 2, 3], [1, 2]], ids=str)
def test_other_optimizers_update_all_rows(name, stored, settings):
    dense = stored_only(stored)
    weight, same = mx.nd.array(dense), mx.nd.array(dense)
    if stored is not None:
        weight = row_sparse(dense, stored)
    updaters = [mx.optimizer.get_updater(make(name, settings)) for _ in range(2)]
    for grad, rows in zip(gradients(), STEPS, strict=True):
        sparse = row_sparse(grad, rows)
        updaters[0](0, sparse, weight)
        updaters[1](0, mx.nd.array(sparse.asnumpy()), same)
    np.testing.assert_allclose(weight.asnumpy(), same.asnumpy(), rtol=1e-6)
    assert not np.array_equal(weight.asnumpy()[1], dense[1])


@pytest.mark.parametrize(("name", "settings"), LAZY)
@pytest.mark.parametrize("stored", [None, [0, 1, 2, 3]], ids=str)
def test_a_gradient_without_rows_changes_nothing_but_the_count(name, settings, stored):
    weight = mx.nd.array(WEIGHT) if stored is None else row_sparse(WEIGHT, stored)
    optimizer = make(name, settings)
    mx.optimizer.get_updater(optimizer)(0, row_sparse(WEIGHT, []), weight)
    np.testing.assert_array_equal(weight.asnumpy(), WEIGHT)
    assert optimizer.num_update == 1


@pytest.mark.parametrize("stored", [None, [0, 1, 2, 3]], ids=str)
@pytest.mark.parametrize(("name", "settings"), LAZY)
def test_master_copies(name, settings, stored):
    settings = {**settings, "multi_precision": True}
    weight = mx.nd.array(WEIGHT, dtype="float16") if stored is None else row_sparse(WEIGHT, stored, "float16")
    updater = mx.optimizer.get_updater(make(name, settings))
    for grad, rows in zip(gradients(), STEPS, strict=True):
        updater(0, row_sparse(grad, rows, "float16"), weight)
    master = updater.optimizer.master_of(weight, updater.states[0])
    assert (master.dtype, master.stype, weight.dtype) == (np.float32, weight.stype, np.float16)
    np.testing.assert_array_equal(weight.asnumpy(), master.asnumpy().astype("float16"))
    np.testing.assert_array_equal(weight.asnumpy()[1], WEIGHT[1])
    half = [grad.astype("float16").astype("float32") for grad in gradients()]
    single = row_sparse(WEIGHT, [0, 1, 2, 3])
    reference = mx.optimizer.get_updater(make(name, {**settings, "multi_precision": False}))
    for grad, rows in zip(half, STEPS, strict=True):
        reference(0, row_sparse(grad, rows), single)
    np.testing.assert_allclose(master.asnumpy(), single.asnumpy(), rtol=1e-6)


def test_rows_that_come_twice_are_summed():
    grad = row_sparse(WEIGHT, [2, 0, 2])
    weight = mx.nd.zeros((4, 2))
    mx.optimizer.get_updater(mx.optimizer.create("sgd", learning_rate=1.0))(0, grad, weight)
    np.testing.assert_array_equal(weight.asnumpy(), -WEIGHT * [[1], [0], [2], [0]])


def test_dense_and_sparse_weights_in_one_call():
    weights = [mx.nd.array(WEIGHT), row_sparse(WEIGHT, [0, 1, 2, 3]), mx.nd.array(WEIGHT)]
    grads = [mx.nd.ones((4, 2)), row_sparse(np.ones((4, 2)), [1]), row_sparse(np.ones((4, 2)), [2])]
    updater = mx.optimizer.get_updater(mx.optimizer.create("adam", learning_rate=1.0, clip_global_norm=1.0))
    updater([0, 1, 2], grads, weights)
    for weight, rows in zip(weights, ([0, 1, 2, 3], [1], [2]), strict=True):
        changed = (weight.asnumpy() != WEIGHT).any(1).nonzero()[0]
        assert changed.tolist() == rows


def test_gradients_that_are_clipped_together_one_by_one_stay_row_sparse():
    class Own(mx.optimizer.SGD):  # MXNet's methods are called for each weight then
        def update(self, index, weight, grad, state):
            assert grad.stype == "row_sparse"
            super().update(index, weight, grad, state)

    made = Own(learning_rate=1.0, clip_global_norm=1.0, wd=0.5, param_idx2name={0: "w_weight", 1: "v_weight"})
    weights = [row_sparse(WEIGHT, [0, 1, 2, 3]), mx.nd.array(WEIGHT)]
    grads = [row_sparse(np.full((4, 2), 3.0), [1]), row_sparse(np.full((4, 2), 4.0), [2])]
    mx.optimizer.get_updater(made)([0, 1], grads, weights)
    for weight, row, size in zip(weights, (1, 2), (3, 4), strict=True):
        expected = WEIGHT.copy()
        expected[row] = WEIGHT[row] / 2 - size / np.sqrt(50)
        np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-6)


class Allocations(TorchDispatchMode):
    """Notes the largest result that is no part of a given tensor."""

    def __init__(self, tensors: list[Tensor]) -> None:
        super().__init__()
        self.known, self.largest = {each.untyped_storage().data_ptr() for each in tensors}, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for each in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(each, Tensor) and each.untyped_storage().data_ptr() not in self.known:
                self.largest = max(self.largest, each.nbytes)
        return result


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("settings", [{}, {"multi_precision": True}], ids=str)
@pytest.mark.parametrize(("name", "more"), LAZY)
def test_nothing_of_a_table_s_size_is_made_in_a_step(name, more, settings, stype):
    rows = 10_000
    dtype = "float16" if settings else "float32"
    table = mx.nd.ones((rows, 4), dtype=dtype)
    weight = table if stype == "default" else wrap(RowSparseStorage.with_all_rows(table.tensor))
    grad = row_sparse(np.ones((rows, 4)), [5, 77, 9_999], dtype)
    updater = mx.optimizer.get_updater(make(name, {**more, **settings}))
    updater(0, grad, weight)
    tensors = [t for each in (weight, *members(updater.states[0])) for t in each.storage.tensors.values()]
    with Allocations(tensors) as allocations:
        updater(0, grad, weight)
    assert 0 < allocations.largest < 1000


@pytest.mark.parametrize("stored", [None, [0, 1, 2, 3]], ids=str)
@pytest.mark.parametrize(("name", "settings"), LAZY)
def test_a_gradient_with_all_rows_updates_where_the_table_is(name, settings, stored):
    rows = 10_000
    table = mx.nd.ones((rows, 4))
    weight = table if stored is None else wrap(RowSparseStorage.with_all_rows(table.tensor))
    grad = wrap(RowSparseStorage.with_all_rows(torch.ones(rows, 4)))
    updater = mx.optimizer.get_updater(make(name, settings))
    updater(0, grad, weight)
    arrays = [weight, *members(updater.states[0])]
    before = [each.storage.to_dense() for each in arrays]
    with PickedRows() as picked:
        updater(0, grad, weight)
    assert picked.count == 0
    assert all(each.storage.to_dense() is old for each, old in zip(arrays, before, strict=True))


def test_gradients_that_are_clipped_together_have_the_rows_that_they_had():
    table = wrap(RowSparseStorage(torch.tensor([[3.0], [0.0]]), torch.tensor([7, 2]), (10**9, 1)))
    clip = mx.optimizer.create("sgd", clip_global_norm=2.5).clip_arrays_together
    rows, dense = clip([table, mx.nd.array([4])])
    assert (rows.stype, dense.stype) == ("row_sparse", "default")
    assert rows.indices.asnumpy().tolist() == [7, 2]
    assert rows.data.asnumpy().tolist() == [[1.5], [0]] and dense.asnumpy().tolist() == [2]


class PickedRows(TorchDispatchMode):
    """Counts how often rows of a tensor are copied."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func is torch.ops.aten.index_select.default
        return func(*args, **(kwargs or {}))
