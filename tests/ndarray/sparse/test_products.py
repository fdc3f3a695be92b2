"""Products with sparse matrices, and rows taken from weights, against their dense forms; and their gradients."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import rebind as mx
from rebind import nd
from rebind.errors import DTypeError, ShapeError
from rebind.ndarray.base import wrap
from rebind.ndarray.sparse import CSRNDArray
from rebind.ndarray.sparse.csr import CSRStorage

Values = NDArray[Any]
BOTH = (False, True)


def numbers(*shape: int, seed: int = 0) -> Values:
    """Small whole numbers, a third of them 0, so that sums are exact in any order; the first row is 0."""
    values = np.random.default_rng(seed).integers(-3, 4, shape).astype("float32")
    values[np.abs(values) == 1] = 0
    values[0] = 0
    return values


def csr(values: Values) -> CSRNDArray:
    """Return a matrix whose columns are not in order, and with an element stored in two parts."""
    storage = CSRStorage.from_dense(torch.from_numpy(values))
    data = torch.stack([storage.data + 1, -torch.ones_like(storage.data)], 1).flatten()
    indices = storage.indices.repeat_interleave(2)
    return wrap(CSRStorage(data, storage.indptr * 2, indices, storage.shape), mx.cpu())


def array(values: Values, stype: str) -> Any:
    return csr(values) if stype == "csr" else nd.array(values, dtype=values.dtype).tostype(stype)


#: The storage type of a product that MXNet gives.
PRODUCTS = {
    ("csr", "default", False, False): "default",
    ("csr", "default", False, True): "default",
    ("csr", "default", True, False): "row_sparse",
    ("csr", "default", True, True): "default",
    ("csr", "row_sparse", False, False): "default",
    ("csr", "row_sparse", False, True): "default",
    ("csr", "row_sparse", True, False): "row_sparse",
    ("csr", "row_sparse", True, True): "default",
    ("default", "csr", False, False): "csr",
    ("default", "csr", False, True): "csr",
    ("default", "csr", True, False): "default",
    ("default", "csr", True, True): "default",
}


def factors(transpose_a: bool, transpose_b: bool) -> tuple[Values, Values, Values]:
    left, right = numbers(4, 5), numbers(5, 3, seed=1)
    product = left @ right
    return (
        np.ascontiguousarray(left.T) if transpose_a else left,
        np.ascontiguousarray(right.T) if transpose_b else right,
        product,
    )


@pytest.mark.parametrize("forward_stype", [None, "default", "row_sparse", "csr"])
@pytest.mark.parametrize("form", PRODUCTS)
def test_a_product_is_that_of_the_dense_arrays(
    form: tuple[str, str, bool, bool], forward_stype: str | None
) -> None:
    lhs_stype, rhs_stype, transpose_a, transpose_b = form
    left, right, wanted = factors(transpose_a, transpose_b)
    found = nd.dot(
        array(left, lhs_stype),
        array(right, rhs_stype),
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        forward_stype=forward_stype,
    )
    assert found.stype == (forward_stype or PRODUCTS[form])
    np.testing.assert_array_equal(found.asnumpy(), wanted)


@pytest.mark.parametrize("form", PRODUCTS)
def test_gradients_of_both_factors_are_those_of_the_dense_product(form: tuple[str, str, bool, bool]) -> None:
    lhs_stype, rhs_stype, transpose_a, transpose_b = form
    left, right, product = factors(transpose_a, transpose_b)
    symbol = mx.sym.dot(
        mx.sym.var("a", stype=lhs_stype),
        mx.sym.var("b", stype=rhs_stype),
        transpose_a=transpose_a,
        transpose_b=transpose_b,
    )
    head = numbers(*product.shape, seed=2)
    arrays = {"a": (left, lhs_stype), "b": (right, rhs_stype)}
    found = {}
    for stypes in ({}, arrays):
        args = {
            name: array(values, stype if stypes else "default") for name, (values, stype) in arrays.items()
        }
        dense = symbol if stypes else mx.sym.dot(mx.sym.var("a"), mx.sym.var("b"), **symbol.list_attr())
        executor = dense.simple_bind(mx.cpu(), a=left.shape, b=right.shape)
        executor.copy_params_from(args)
        out = executor.forward(is_train=True)[0]
        executor.backward(nd.array(head).tostype(out.stype))
        found[bool(stypes)] = executor.grad_dict
    for name in ("a", "b"):
        np.testing.assert_array_equal(found[True][name].asnumpy(), found[False][name].asnumpy())
    touches_rows = lhs_stype == "csr" and not (transpose_a or transpose_b)
    if rhs_stype == "default":
        assert found[True]["b"].stype == ("row_sparse" if touches_rows else "default")


def test_the_gradient_of_a_weight_has_the_columns_that_are_stored_and_is_added_to() -> None:
    values = numbers(4, 6)
    values[:, [0, 3]] = 0
    symbol = mx.sym.dot(mx.sym.var("x", stype="csr"), mx.sym.var("w"))
    for request, times in (("write", 1), ("add", 2)):
        executor = symbol.simple_bind(mx.cpu(), x=(4, 6), w=(6, 2), grad_req={"x": "null", "w": request})
        csr(values).copyto(executor.arg_dict["x"])
        for _ in range(2):
            executor.forward(is_train=True)
            executor.backward(nd.ones((4, 2)))
        gradient = executor.grad_dict["w"]
        assert gradient.stype == "row_sparse"
        assert gradient.indices.asnumpy().tolist() == sorted(set(values.nonzero()[1]))
        np.testing.assert_array_equal(gradient.asnumpy(), times * values.T @ np.ones((4, 2)))


def test_products_with_vectors_and_with_more_axes() -> None:
    values = numbers(4, 5)
    vector, short, cube = numbers(6)[1:], numbers(5, seed=1)[1:], numbers(5, 2, 3, seed=2)
    np.testing.assert_array_equal(nd.dot(csr(values), nd.array(vector)).asnumpy(), values @ vector)
    rows = nd.dot(csr(values), nd.array(short), transpose_a=True)
    assert rows.stype == "row_sparse" and rows.shape == (5,)
    np.testing.assert_array_equal(rows.asnumpy(), values.T @ short)
    np.testing.assert_array_equal(
        nd.dot(csr(values), nd.array(cube)).asnumpy(), np.tensordot(values, cube, 1)
    )


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32"])
@pytest.mark.parametrize("transpose_a", BOTH)
def test_all_types_are_multiplied(dtype: str, transpose_a: bool) -> None:
    left, right, product = factors(transpose_a, False)
    found = nd.dot(csr(left.astype(dtype)), nd.array(right, dtype=dtype), transpose_a=transpose_a)
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found.asnumpy(), product.astype(dtype))


def test_rows_that_are_not_stored_are_zero_and_give_none() -> None:
    values = numbers(4, 5)
    weight = numbers(5, 2, seed=1)
    weight[[0, 2]] = 0
    rows = nd.array(weight).tostype("row_sparse")
    np.testing.assert_array_equal(nd.dot(csr(values), rows).asnumpy(), values @ weight)
    few = np.zeros((4, 2), "float32")
    few[2] = 1
    product = nd.dot(csr(values), nd.array(few).tostype("row_sparse"), transpose_a=True)
    assert product.indices.asnumpy().tolist() == values[2].nonzero()[0].tolist()


def test_what_is_not_stored_is_not_multiplied() -> None:
    weight = np.full((3, 2), np.nan, "float32")
    weight[1] = 2
    found = nd.dot(csr(np.array([[0, 5, 0], [0, 0, 0]], "float32")), nd.array(weight))
    np.testing.assert_array_equal(found.asnumpy(), [[10, 10], [0, 0]])


@pytest.mark.parametrize("stype", ["default", "csr"])
def test_a_dense_matrix_times_csr_has_all_elements_of_the_stored_columns(stype: str) -> None:
    values = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 4]], "float32")
    found = nd.dot(nd.ones((2, 3)), csr(values), forward_stype=stype)
    np.testing.assert_array_equal(found.asnumpy(), [[3, 1, 0, 6]] * 2)
    if stype == "csr":
        assert found.indices.asnumpy().tolist() == [0, 1, 3] * 2
        transposed = nd.dot(nd.ones((2, 4)), csr(values), transpose_b=True)
        assert transposed.indices.asnumpy().tolist() == [0, 2] * 2


def test_a_dense_matrix_times_the_transpose_of_csr_has_what_is_not_zero() -> None:
    # MXNet 1.9.1: a sum that cancels, and a row of zeros, leave nothing stored.
    left = nd.array([[1, 1, 0], [0, 0, 0], [0, 2, 5]])
    found = nd.dot(left, csr(np.array([[1, -1, 0], [2, 0, 0], [0, 0, 0]], "float32")), transpose_b=True)
    assert found.data.asnumpy().tolist() == [2, -2]
    assert (found.indices.asnumpy().tolist(), found.indptr.asnumpy().tolist()) == ([1, 0], [0, 1, 1, 2])


def test_empty_matrices() -> None:
    empty = nd.zeros((2, 4), stype="csr")
    assert not nd.dot(empty, nd.ones((4, 3))).asnumpy().any()
    assert nd.dot(empty, nd.ones((2, 3)), transpose_a=True).indices.shape == (0,)
    assert nd.dot(nd.ones((3, 2)), empty).asnumpy().shape == (3, 4)
    assert nd.dot(nd.ones((3, 4)), empty, transpose_b=True).asnumpy().shape == (3, 2)


def test_sums_have_the_same_bits_each_time() -> None:
    generator = np.random.default_rng(0)
    values = generator.standard_normal((64, 40)).astype("float32")
    values[generator.random(values.shape) < 0.5] = 0
    dense = nd.array(generator.standard_normal((64, 8)))
    first, *others = [nd.dot(csr(values), dense, transpose_a=True).asnumpy() for _ in range(5)]
    assert all(np.array_equal(first, other) for other in others)


def test_what_does_not_fit_is_said() -> None:
    matrix = csr(numbers(4, 5))
    with pytest.raises(ShapeError, match=r"dot: the axes .* of one size; got 5 and 4, of lhs and rhs"):
        nd.dot(matrix, nd.ones((4, 2)))
    with pytest.raises(ShapeError, match=r"dot: lhs must be a matrix where rhs is csr; got shape \(4,\)"):
        nd.dot(nd.ones((4,)), matrix)
    with pytest.raises(DTypeError, match="dot: rhs must be of the type of lhs"):
        nd.dot(matrix, nd.ones((5, 2), dtype="float64"))


# Rows of a weight.

TABLE = np.arange(10, dtype="float32").reshape(5, 2)


def weight(stype: str) -> Any:
    """Return the table; of a row_sparse one not all rows are stored."""
    return nd.array(TABLE).tostype(stype)


EMBEDDINGS = [("Embedding", {}), ("Embedding", {"sparse_grad": True}), ("_contrib_SparseEmbedding", {})]


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize(("name", "settings"), EMBEDDINGS)
@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_embeddings_give_rows_and_gradients_of_rows(
    name: str, settings: dict[str, Any], stype: str, grad_req: str
) -> None:
    make = mx.sym.contrib.SparseEmbedding if name.startswith("_") else mx.sym.Embedding
    symbol = make(mx.sym.var("i"), mx.sym.var("w", stype=stype), input_dim=5, output_dim=2, **settings)
    executor = symbol.simple_bind(mx.cpu(), i=(2, 2), grad_req={"i": "null", "w": grad_req})
    executor.copy_params_from({"i": nd.array([[3, 1], [3, 0]]), "w": weight(stype)})
    times = 2 if grad_req == "add" else 1
    for _ in range(times):
        out = executor.forward(is_train=True)[0]
        executor.backward(nd.ones((2, 2, 2)))
    np.testing.assert_array_equal(out.asnumpy(), TABLE[[[3, 1], [3, 0]]])
    gradient = executor.grad_dict["w"]
    np.testing.assert_array_equal(gradient.asnumpy(), times * np.repeat([[1, 1, 0, 2, 0]], 2, 0).T)
    if settings or name.startswith("_"):
        assert gradient.stype == "row_sparse" and gradient.indices.asnumpy().tolist() == [0, 1, 3]


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_a_gradient_that_a_program_attaches_has_the_storage_it_names(stype: str) -> None:
    for compute in (
        lambda w: nd.Embedding(nd.array([1, 3]), w, input_dim=5, output_dim=2, sparse_grad=True),
        lambda w: nd.dot(csr(np.eye(5, dtype="float32")[[1, 3]]), w),
    ):
        w = nd.array(TABLE)
        w.attach_grad(stype=stype)
        with mx.autograd.record():
            y = compute(w)
        y.backward()
        assert w.grad.stype == stype
        np.testing.assert_array_equal(w.grad.asnumpy(), np.repeat([[0, 1, 0, 1, 0]], 2, 0).T)


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_take_from_rows(mode: str) -> None:
    for rows in (weight("row_sparse"), nd.array(TABLE + 1).tostype("row_sparse")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = nd.take(rows, nd.array([[7, -2], [1, 0]]), mode=mode)
        assert found.stype == "default"
        wanted = np.take(rows.asnumpy(), [[7, -2], [1, 0]], axis=0, mode=mode)
        np.testing.assert_array_equal(found.asnumpy(), wanted)
    rows.attach_grad()
    with mx.autograd.record():
        y = nd.take(rows, nd.array([1, 1, 4]))
    y.backward()
    np.testing.assert_array_equal(rows.grad.asnumpy()[:, 0], [0, 2, 0, 0, 1])


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize(("name", "settings"), EMBEDDINGS)
def test_indices_outside_of_the_table_take_the_nearest_row_with_a_warning(
    name: str, settings: dict[str, Any], stype: str
) -> None:
    make = nd.contrib.SparseEmbedding if name.startswith("_") else nd.Embedding
    with pytest.warns(UserWarning, match="Embedding: data must hold indices from 0 to 4; got 7"):
        found = make(nd.array([7, 1]), weight(stype), input_dim=5, output_dim=2, **settings)
    np.testing.assert_array_equal(found.asnumpy(), TABLE[[4, 1]])


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_gradients_of_two_embeddings_of_one_weight_are_added_as_rows(stype: str) -> None:
    w = mx.sym.var("w", stype=stype)
    both = [
        mx.sym.Embedding(mx.sym.var(name), w, input_dim=5, output_dim=2, sparse_grad=True) for name in "ij"
    ]
    executor = (both[0] + both[1]).simple_bind(
        mx.cpu(), i=(2,), j=(2,), grad_req={"i": "null", "j": "null", "w": "write"}
    )
    executor.copy_params_from({"i": nd.array([3, 1]), "j": nd.array([0, 3]), "w": weight(stype)})
    executor.forward(is_train=True)
    executor.backward(nd.ones((2, 2)))
    gradient = executor.grad_dict["w"]
    assert gradient.indices.asnumpy().tolist() == [0, 1, 3]
    np.testing.assert_array_equal(gradient.asnumpy(), np.repeat([[1, 1, 0, 2, 0]], 2, 0).T)
