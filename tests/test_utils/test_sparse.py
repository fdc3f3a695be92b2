"""Checks with sparse arrays; ``parity/snippets/sparse_test_arrays.py`` compares the random ones with MXNet's."""

import numpy as np
import pytest
import torch

import rebind as mx
import rebind.test_utils as tu
from rebind.errors import ArgumentError, ParameterError, ShapeError


@pytest.fixture(autouse=True)
def _no_warnings_of_dense_copies(monkeypatch):
    """What is checked here is the check: how the operator computes has tests of its own."""
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_arrays_without_elements(shape, stype):
    array = tu.rand_ndarray(shape, stype)
    assert (array.shape, array.stype) == (shape, stype)
    assert array.asnumpy().shape == shape


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_types_and_devices(stype):
    array = tu.rand_ndarray(
        (4, 3), stype, density=1.0, dtype="int32", ctx=mx.cpu(1), modifier_func=lambda x: x + 3
    )
    assert (array.dtype, array.context) == (np.int32, mx.cpu(1))
    assert array.asnumpy().tolist() == [[3] * 3] * 4
    assert tu.rand_ndarray((4, 3), stype, dtype="bfloat16").storage.dtype is torch.bfloat16


def test_counts_that_double_take_a_number_for_all():
    array = tu.rand_sparse_ndarray((4, 6), "csr", 0.5, distribution="powerlaw", data_init=7)[0]
    assert array.data.asnumpy().tolist() == [7] * 12


def test_columns_of_scipy_are_shuffled():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(np.ones((2, 30)))
    tu.shuffle_csr_column_indices(matrix)
    rows = matrix.indices.reshape(2, 30)
    assert np.sort(rows).tolist() == [list(range(30))] * 2
    assert not (np.sort(rows) == rows).all()


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: tu.rand_sparse_ndarray((2, 3), "default"),
            ParameterError,
            "stype must be 'row_sparse' or 'csr'",
        ),
        (lambda: tu.rand_ndarray((2,), "csr"), ShapeError, r"shape must have two axes for csr; got \(2,\)"),
        (
            lambda: tu.rand_ndarray((2, 3), "csr", density=2),
            ParameterError,
            "density must be between 0 and 1; got 2",
        ),
        (
            lambda: tu.rand_ndarray((2, 3), "csr", distribution="normal"),
            ParameterError,
            "distribution must be 'uniform' or 'powerlaw' for csr; got 'normal'",
        ),
        (
            lambda: tu.rand_ndarray((2, 3), "row_sparse", distribution="powerlaw"),
            ParameterError,
            "distribution must be 'uniform' for row_sparse; got 'powerlaw'",
        ),
        (
            lambda: tu.rand_ndarray((10, 4), "csr", density=0.3, distribution="powerlaw"),
            ParameterError,
            "density must give two elements for each row with 'powerlaw'; got 0.3",
        ),
        (
            lambda: tu.rand_ndarray((5, 100), "csr", density=0.5, distribution="powerlaw"),
            ParameterError,
            "which leaves 188 elements over",
        ),
        (
            lambda: tu.create_sparse_array((2, 3), "row_sparse", rsp_indices=[5]),
            ParameterError,
            "indices must be from 0 to 1; got 5",
        ),
        (
            lambda: tu.shuffle_csr_column_indices(tu.rand_ndarray((2, 3), "csr")),
            ArgumentError,
            "csr must be a csr matrix of SciPy; got CSRNDArray",
        ),
    ],
)
def test_wrong_calls_say_so(call, error, says):
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_sparse_arrays_are_compared(stype):
    array = tu.rand_ndarray((4, 3), stype, density=0.5, modifier_func=lambda x: x + 1)
    dense = array.asnumpy()
    for one, other in ((array, dense), (dense, array), (array, array.copy())):
        assert tu.same(one, other)
        assert tu.almost_equal(one, other)
        tu.assert_almost_equal(one, other)
        assert not tu.same(one, 2 * dense + 1)
        with pytest.raises(AssertionError, match="12 of 12 elements"):
            tu.assert_almost_equal(one, 2 * dense + 1)
    tu.compare_ndarray_tuple((array, None), (array.copy(), None))
    assert tu.same_array(array, array)
    assert not tu.same_array(array, array.copy())
    assert not tu.same_array(array, mx.nd.array(dense))


X, W = mx.sym.var("x", stype="csr"), mx.sym.var("w")
DOT = mx.sym.dot(X, W, name="dot")


@pytest.fixture
def location():
    return [tu.rand_ndarray((3, 4), "csr", density=0.6), np.random.rand(4, 2)]


def test_check_symbolic_forward(location):
    x, w = location
    [output] = tu.check_symbolic_forward(DOT, location, [x.asnumpy() @ w], 1e-4, 1e-5)
    assert output.shape == (3, 2)
    with pytest.raises(AssertionError, match="EXPECTED_dot_output"):
        tu.check_symbolic_forward(DOT, location, [x.asnumpy() @ w + 1])
    cast = mx.sym.cast_storage(mx.sym.var("x"), stype="csr", name="cast")
    [sparse] = tu.check_symbolic_forward(cast, [x], [x], dtype="float64")
    assert (sparse.stype, sparse.dtype) == ("csr", np.float64)


@pytest.mark.parametrize(
    ("stype", "grad_req"),
    [(stype, grad_req) for stype in ("default", "row_sparse") for grad_req in ("write", "add", "null")]
    + [("csr", "write")],
)
def test_check_symbolic_backward(stype, grad_req, location):
    x, _ = location
    ones = np.ones((3, 2))

    def check(expected):
        return tu.check_symbolic_backward(
            DOT, location, [ones], {"w": expected}, 1e-4, 1e-5,
            grad_req={"w": grad_req}, grad_stypes={"w": stype},
        )  # fmt: skip

    right = x.asnumpy().T @ ones
    assert check(right)["w"].stype == stype
    if grad_req != "null":
        with pytest.raises(AssertionError, match="EXPECTED_w and BACKWARD_w"):
            check(right + 1)


def test_head_gradients_stay_sparse(monkeypatch):
    square = mx.sym.square(mx.sym.var("r", stype="row_sparse"))
    rows = tu.rand_ndarray((3, 4), "row_sparse", density=0.9)
    received = []
    backward = mx.executor.Executor.backward

    def noted(self, out_grads=None, *others, **named):
        received.extend(grad.stype for grad in out_grads)
        return backward(self, out_grads, *others, **named)

    monkeypatch.setattr(mx.executor.Executor, "backward", noted)
    tu.check_symbolic_backward(
        square, [rows], [rows], [2 * rows.asnumpy() ** 2], 1e-4, 1e-5, grad_stypes={"r": "row_sparse"}
    )
    assert received == ["row_sparse"]


@pytest.mark.parametrize("stypes", [None, {"w": "row_sparse"}, {"x": "csr", "w": "row_sparse"}])
def test_check_numeric_gradient(stypes, location):
    tu.check_numeric_gradient(DOT, location, grad_stype_dict=stypes, rtol=1e-3, atol=1e-4)
    with pytest.raises(AssertionError, match="NUMERICAL_w and BACKWARD_w"):
        tu.check_numeric_gradient(mx.sym.dot(X, mx.sym.BlockGrad(W)), location, grad_stype_dict=stypes)


def test_storage_types_of_unknown_arguments_say_so(location):
    for check in (
        lambda stypes: tu.check_numeric_gradient(DOT, location, grad_stype_dict=stypes),
        lambda stypes: tu.check_symbolic_backward(DOT, location, None, {"w": W}, grad_stypes=stypes),
    ):
        with pytest.raises(ValueError, match="storage types of gradients: no 'ww'; did you mean 'w'"):
            check({"ww": "row_sparse"})


@pytest.mark.parametrize("w_stype", ["default", "row_sparse"])
@pytest.mark.parametrize("g_stype", ["default", "row_sparse"])
@pytest.mark.parametrize(("shape", "count"), [((2, 3), 1), ([(2, 3), (4, 1)], 2)])
def test_compare_optimizer(w_stype, g_stype, shape, count):
    def sgd(rate):
        return mx.optimizer.SGD(learning_rate=rate, momentum=0.9)

    given = {"w_stype": w_stype, "g_stype": g_stype, "ntensors": count}
    tu.compare_optimizer(sgd(0.1), sgd(0.1), shape, "float32", **given)
    with pytest.raises(AssertionError):
        for _ in range(20):  # a random gradient may have no rows
            tu.compare_optimizer(sgd(0.1), sgd(0.2), shape, "float32", **given)
