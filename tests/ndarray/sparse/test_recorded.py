"""Sparse arrays in what `autograd` records beside single operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rebind as mx

VALUES = np.array([[0, 0.5, 0], [0, 0, 0], [-0.25, 0, 0.75]], "float32")
STYPES = pytest.mark.parametrize("stype", ["csr", "row_sparse"])


@pytest.fixture(autouse=True)
def no_log_of_fallbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")


def sparse(stype: str, grad_req: str = "write") -> Any:
    x = mx.nd.array(VALUES).tostype(stype)
    x.attach_grad(grad_req)
    return x


@STYPES
def test_gradients_that_are_asked_for_are_dense(stype: str) -> None:
    x = sparse(stype)
    with mx.autograd.record():
        y = mx.nd.square(x)
    [found] = mx.autograd.grad(y, [x])
    assert found.stype == "default"
    np.testing.assert_array_equal(found.asnumpy(), 2 * VALUES)


@STYPES
@pytest.mark.parametrize(("grad_req", "factor"), [("write", 1), ("add", 3)])
def test_several_operators(stype: str, grad_req: str, factor: int) -> None:
    x = sparse(stype, grad_req)
    for _ in range(3):
        with mx.autograd.record():
            y = mx.nd.sum(mx.nd.square(mx.nd.sin(x)), axis=0)
        y.backward()
    assert x.grad.stype == stype
    np.testing.assert_allclose(x.grad.asnumpy(), factor * np.sin(2 * VALUES), rtol=1e-5)


@STYPES
def test_functions_of_a_users_own(stype: str) -> None:
    class Square(mx.autograd.Function):
        def forward(self, x: Any) -> Any:
            self.save_for_backward(x)
            return mx.nd.square(x)

        def backward(self, head: Any) -> Any:
            [x] = self.saved_tensors
            return 2 * x.tostype("default") * head.tostype("default")

    x = sparse(stype)
    with mx.autograd.record():
        y = Square()(x)
    y.backward()
    assert y.stype == x.grad.stype == stype
    np.testing.assert_array_equal(y.asnumpy(), VALUES**2)
    np.testing.assert_array_equal(x.grad.asnumpy(), 2 * VALUES)


def test_monitors_and_metrics_take_sparse_arrays() -> None:
    net = mx.sym.sum(mx.sym.square(mx.sym.var("x", stype="csr"), name="s"), name="t")
    executor = net.simple_bind(mx.cpu(), x=VALUES.shape)
    executor.arg_dict["x"][:] = mx.nd.array(VALUES)
    monitor = mx.mon.Monitor(1, stat_func=lambda value: value.sum(), pattern="[st]_output")
    monitor.install(executor)
    monitor.tic()
    executor.forward()
    assert [(name, float(value)) for _, name, value in monitor.toc()] == [
        ("s_output", 0.875),
        ("t_output", 0.875),
    ]
    metric = mx.metric.MSE()
    metric.update([mx.nd.array(VALUES).tostype("csr")], [mx.nd.array(VALUES + 1).tostype("row_sparse")])
    assert metric.get()[1] == 1


@pytest.mark.parametrize("ids", [[0, 1, 2, 3], [1, 3], [3, 1], [0, 2]], ids=str)
@pytest.mark.parametrize("has_sum", [False, True])
def test_the_gradient_of_a_square_has_all_stored_rows(ids: list[int], has_sum: bool) -> None:
    matrix = np.array([[0, 5, 0, 0], [0, 1, 2, 0]], "float32")  # columns 1 and 2 have elements
    values = np.arange(1, 2 * len(ids) + 1, dtype="float32").reshape(-1, 2)
    factors = mx.nd.sparse.row_sparse_array((values, ids), shape=(4, 2))
    factors.attach_grad(stype="row_sparse")
    with mx.autograd.record():
        data = mx.nd.array(matrix).tostype("csr")
        found = mx.nd.sparse.dot(data, mx.nd.sparse.square(factors))
        if has_sum:
            found = found + mx.nd.sparse.dot(data, factors)
    found.backward()
    of_matrix = matrix.sum(0)[:, None]
    rows = sorted({*ids, *([1, 2] if has_sum else [])})
    assert factors.grad.indices.asnumpy().tolist() == rows
    np.testing.assert_array_equal(
        factors.grad.asnumpy(), of_matrix * (2 * factors.asnumpy() + has_sum), strict=True
    )
