"""Update operators with row_sparse gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import ShapeError, StateError
from rebind.ndarray.base import wrap
from rebind.ndarray.sparse.row_sparse import RowSparseStorage

WEIGHT = np.arange(8, dtype="float32").reshape(4, 2) + 1
GRAD = np.array([[0, 0], [1, 1], [0, 0], [2, 2]], "float32")
ROWS, ABSENT = [1, 3], [0, 2]

#: The name of each operator, its states and parameters.
UPDATES: list[tuple[str, int, dict[str, float]]] = [
    ("sparse.sgd_update", 0, {"wd": 0.5}),
    ("sparse.sgd_mom_update", 1, {"wd": 0.5, "momentum": 0.9}),
    ("sparse.adam_update", 2, {"wd": 0.5, "clip_gradient": 0.7}),
    ("sparse.ftrl_update", 2, {"wd": 0.5, "rescale_grad": 0.5}),
    ("sparse.adagrad_update", 1, {}),
    ("contrib.group_adagrad_update", 1, {}),
]
LAZY = UPDATES[:3]


@pytest.fixture(autouse=True)
def no_warning_of_fallbacks(monkeypatch):
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")


def function(name: str, space: Any = mx.nd) -> Any:
    for part in name.split("."):
        space = getattr(space, part)
    return space


def array(values: np.ndarray, stype: str) -> Any:
    tensor = torch.tensor(values)
    return wrap(RowSparseStorage.with_all_rows(tensor)) if stype == "row_sparse" else mx.nd.NDArray(tensor)


def gradient() -> Any:
    return mx.nd.array(GRAD).tostype("row_sparse")


def states(name: str, count: int, stype: str) -> list[Any]:
    return [array(np.ones((4, 1 if "group" in name else 2), "float32"), stype) for _ in range(count)]


def dense_update(name: str, count: int, p: dict[str, float]) -> list[np.ndarray]:
    weight, dense = array(WEIGHT, "default"), states(name, count, "default")
    function(name)(weight, mx.nd.array(GRAD), *dense, lr=0.1, out=weight, **p)
    return [each.asnumpy() for each in (weight, *dense)]


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize(("name", "count", "p"), UPDATES)
def test_only_present_rows_change(name, count, p, stype):
    weight, own = array(WEIGHT, stype), states(name, count, stype)
    memory = weight.storage.to_dense()
    assert function(name)(weight, gradient(), *own, lr=0.1, out=weight, **p) is weight
    assert weight.storage.to_dense() is memory
    before = [WEIGHT, *(each.asnumpy() for each in states(name, count, stype))]
    for found, old, wanted in zip((weight, *own), before, dense_update(name, count, p), strict=True):
        assert found.stype == stype
        np.testing.assert_allclose(found.asnumpy()[ROWS], wanted[ROWS], rtol=1e-6)
        np.testing.assert_array_equal(found.asnumpy()[ABSENT], old[ABSENT])


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize(("name", "count", "p"), UPDATES)
def test_without_out_the_weight_stays(name, count, p, stype):
    weight, other = array(WEIGHT, stype), array(WEIGHT, stype)
    own, same = states(name, count, stype), states(name, count, stype)
    new = function(name)(weight, gradient(), *own, lr=0.1, **p)
    function(name)(other, gradient(), *same, lr=0.1, out=other, **p)
    np.testing.assert_array_equal(weight.asnumpy(), WEIGHT)
    assert new.stype == stype
    for found, wanted in zip((new, *own), (other, *same), strict=True):
        np.testing.assert_array_equal(found.asnumpy(), wanted.asnumpy())


@pytest.mark.parametrize(
    "stypes", [("default", "default"), ("row_sparse", "row_sparse"), ("default", "row_sparse")]
)
@pytest.mark.parametrize(("name", "count", "p"), LAZY)
def test_all_rows_change_without_lazy_update_or_with_states_of_another_storage(name, count, p, stypes):
    weight, own = array(WEIGHT, stypes[0]), states(name, count, stypes[1])
    lazy = stypes[0] != stypes[1] and count > 0
    function(name)(weight, gradient(), *own, lr=0.1, out=weight, lazy_update=lazy, **p)
    for found, wanted in zip((weight, *own), dense_update(name, count, p), strict=True):
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6)
    assert weight.stype == stypes[0] and {each.stype for each in own} <= {stypes[1]}


@pytest.mark.parametrize(("name", "count", "p"), [row for row in UPDATES if row[1]])
def test_states_without_rows_get_all_of_them(name, count, p):
    weight, zeros = array(WEIGHT, "row_sparse"), states(name, count, "default")
    own = [mx.nd.zeros(each.shape, stype="row_sparse") for each in zeros]
    for each in zeros:
        each[:] = 0
    other = array(WEIGHT, "default")
    for _ in range(2):
        function(name)(weight, gradient(), *own, lr=0.1, out=weight, **p)
        function(name)(other, gradient(), *zeros, lr=0.1, out=other, **p)
    np.testing.assert_allclose(weight.asnumpy(), other.asnumpy(), rtol=1e-6)
    for found, wanted in zip(own, zeros, strict=True):
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-6)
        assert found.storage.is_whole


@pytest.mark.parametrize(("name", "count", "p"), UPDATES)
def test_in_a_graph(name, count, p):
    expected, same = array(WEIGHT, "row_sparse"), states(name, count, "row_sparse")
    function(name)(expected, gradient(), *same, lr=0.1, out=expected, **p)
    names = ["weight", "grad", *[f"state{i}" for i in range(count)]]
    inputs = [mx.sym.var(each, stype="row_sparse") for each in names]
    symbol = function(name, mx.sym)(*inputs, lr=0.1, **p)
    own = states(name, count, "row_sparse")
    executor = symbol.bind(
        mx.cpu(),
        {"weight": array(WEIGHT, "row_sparse"), "grad": gradient()},
        aux_states=dict(zip(names[2:], own, strict=True)),
    )
    (new,) = executor.forward()
    for found, wanted in zip((new, *own), (expected, *same), strict=True):
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-6)


def test_a_gradient_of_another_shape():
    weight = mx.nd.ones((3, 2))
    with pytest.raises(ShapeError, match="grad must have the shape of weight, \\(3, 2\\); got \\(4, 2\\)"):
        mx.nd.sparse.sgd_update(weight, gradient(), lr=0.1, out=weight)


def test_a_recorded_weight_is_not_written():
    weight = array(WEIGHT, "row_sparse")
    weight.attach_grad()
    with mx.autograd.record(), pytest.raises(StateError, match="would lose gradients"):
        mx.nd.sparse.sgd_update(weight, gradient(), lr=0.1, out=weight)
