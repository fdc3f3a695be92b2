"""Random csr matrices, with empty rows, duplicate and unsorted columns, as SciPy has them; random rows as NumPy."""

from __future__ import annotations

import contextlib
import operator
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from rebind import nd
from rebind.errors import MXNetError


@pytest.fixture(autouse=True, scope="module")
def no_warning_of_fallbacks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")
        yield


SHAPES = st.tuples(st.integers(0, 5), st.integers(0, 5))
# Sums of them are exact.
VALUES = st.integers(-3, 3)


@st.composite
def matrices(draw: st.DrawFn, shape: tuple[int, int] | None = None) -> scipy.sparse.csr_matrix:
    """Return a matrix of SciPy's as it was put together: neither in order nor without duplicates and zeros."""
    rows, columns = draw(SHAPES) if shape is None else shape
    counts = draw(st.lists(st.integers(0, 4 if columns else 0), min_size=rows, max_size=rows))
    stored = sum(counts)
    indices = draw(st.lists(st.integers(0, max(columns - 1, 0)), min_size=stored, max_size=stored))
    data = np.array(draw(st.lists(VALUES, min_size=stored, max_size=stored)), "float32")
    index_type = draw(st.sampled_from(["int32", "int64"]))
    parts = (data, np.array(indices, index_type), np.cumsum([0, *counts]).astype(index_type))
    return scipy.sparse.csr_matrix(parts, shape=(rows, columns))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[scipy.sparse.csr_matrix, scipy.sparse.csr_matrix]:
    shape = draw(SHAPES)
    return draw(matrices(shape)), draw(matrices(shape))


@st.composite
def rows(draw: st.DrawFn, shape: tuple[int, int] | None = None) -> np.ndarray:
    count, columns = draw(SHAPES) if shape is None else shape
    one = st.one_of(st.just([0] * columns), st.lists(VALUES, min_size=columns, max_size=columns))
    return np.array(draw(st.lists(one, min_size=count, max_size=count)), "float32").reshape(count, columns)


@st.composite
def pairs_of_rows(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    shape = draw(SHAPES)
    return draw(rows(shape)), draw(rows(shape))


def is_matrix(array: Any, matrix: Any, stype: str = "csr") -> None:
    assert array.stype == stype
    array.check_format()
    np.testing.assert_array_equal(array.asnumpy(), matrix)


@settings(deadline=None)
@given(matrices())
def test_a_matrix_there_and_back(matrix: scipy.sparse.csr_matrix) -> None:
    dense = matrix.toarray()
    for array in (
        nd.array(matrix),
        nd.sparse.csr_matrix(matrix),
        nd.sparse.array(scipy.sparse.csr_array(matrix)),
    ):
        np.testing.assert_array_equal(array.asnumpy(), dense)
        np.testing.assert_array_equal(array.asscipy().toarray(), dense)
        np.testing.assert_array_equal(array.tostype("default").asnumpy(), dense)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(array)).asnumpy(), dense)
        parts = (matrix.data, matrix.indices, matrix.indptr)
        for part, wanted in zip((array.data, array.indices, array.indptr), parts, strict=True):
            np.testing.assert_array_equal(part.asnumpy(), wanted)
    is_matrix(nd.sparse.csr_matrix(nd.array(dense)), dense)


@pytest.mark.parametrize("form", ["coo", "csc", "lil", "bsr", "dok"])
@settings(deadline=None)
@given(matrices())
def test_other_forms_of_scipy(form: str, matrix: scipy.sparse.csr_matrix) -> None:
    dense = matrix.toarray()
    if not (form == "bsr" and 0 in matrix.shape):  # SciPy makes none without elements
        np.testing.assert_array_equal(nd.array(matrix.asformat(form)).asnumpy(), dense)
    coordinates = matrix.tocoo()
    found = nd.sparse.csr_matrix((coordinates.data, (coordinates.row, coordinates.col)), shape=matrix.shape)
    is_matrix(found, dense)


@settings(deadline=None)
@given(pairs())
def test_sums_and_products(pair: tuple[scipy.sparse.csr_matrix, scipy.sparse.csr_matrix]) -> None:
    one, two = map(nd.array, pair)
    first, second = (matrix.toarray() for matrix in pair)
    is_matrix(one + two, first + second)
    is_matrix(one - two, first - second)
    is_matrix(one * two, first * second)
    is_matrix(nd._internal._maximum(one, two), np.maximum(first, second))
    assert (one - one).data.size == 0
    total = one.copy()
    total += two
    is_matrix(total, first + second)
    with_dense = one * nd.array(second)
    assert with_dense.stype == "csr"
    np.testing.assert_array_equal(with_dense.asnumpy(), first * second)
    np.testing.assert_array_equal((one + nd.array(second)).asnumpy(), first + second)


COMPARISONS = [operator.eq, operator.ne, operator.gt, operator.ge, operator.lt, operator.le]


@settings(deadline=None)
@given(matrices(), VALUES)
def test_numbers(matrix: scipy.sparse.csr_matrix, number: int) -> None:
    array, dense = nd.array(matrix), matrix.toarray()
    assert (array * number).stype == "csr"
    np.testing.assert_array_equal((array * number).asnumpy(), dense * number)
    np.testing.assert_array_equal((array + number).asnumpy(), dense + number)
    for compare in COMPARISONS:
        found = compare(array, number)
        assert found.stype == ("default" if compare(0, number) else "csr")
        np.testing.assert_array_equal(found.asnumpy(), compare(dense, number))


@settings(deadline=None)
@given(matrices(), st.data())
def test_vectors(matrix: scipy.sparse.csr_matrix, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, 1))
    vector = np.array(
        data.draw(st.lists(VALUES, min_size=matrix.shape[axis], max_size=matrix.shape[axis])), "float32"
    )
    vector = vector.reshape((-1, 1) if axis == 0 else (1, -1))
    found = nd.broadcast_mul(nd.array(matrix), nd.array(vector))
    assert found.stype == "csr"
    np.testing.assert_array_equal(found.asnumpy(), matrix.toarray() * vector)


@settings(deadline=None)
@given(matrices(), st.integers(-6, 6), st.integers(-6, 6))
def test_rows_of_a_matrix(matrix: scipy.sparse.csr_matrix, begin: int, end: int) -> None:
    array, dense = nd.array(matrix), matrix.toarray()
    for key in (slice(begin, end), slice(begin, None), slice(None, end)):
        assert array[key].stype == "csr"
        np.testing.assert_array_equal(array[key].asnumpy(), dense[key])
    if -len(dense) <= begin < len(dense):
        np.testing.assert_array_equal(array[begin].asnumpy(), dense[[begin]])
    else:
        with pytest.raises(MXNetError):
            array[begin]


@settings(deadline=None)
@given(pairs_of_rows(), VALUES)
def test_rows(pair: tuple[np.ndarray, np.ndarray], number: int) -> None:
    one, two = (nd.sparse.row_sparse_array(values) for values in pair)
    first, second = pair
    is_matrix(one, first, "row_sparse")
    for compute in (operator.add, operator.sub, operator.mul):
        is_matrix(compute(one, two), compute(first, second), "row_sparse")
    is_matrix(nd.add_n(one, two, one), 2 * first + second, "row_sparse")
    is_matrix(one * number, first * number, "row_sparse")
    total = one.copy()
    total += two
    is_matrix(total, first + second, "row_sparse")


@settings(deadline=None)
@given(pairs_of_rows())
def test_rows_in_any_order(pair: tuple[np.ndarray, np.ndarray]) -> None:
    first, second = pair
    order = np.arange(len(first))[::-1].copy()
    one = nd.sparse.row_sparse_array((first[::-1].copy(), order), shape=first.shape)
    np.testing.assert_array_equal(one.asnumpy(), first)
    is_matrix(one + nd.sparse.row_sparse_array(second), first + second, "row_sparse")


@settings(deadline=None)
@given(st.data())
def test_parts_of_any_kind_are_an_array_or_an_error(data: st.DataObject) -> None:
    numbers = st.lists(st.integers(-2, 6), max_size=5)
    parts = tuple(data.draw(numbers) for _ in range(3))
    shape = data.draw(st.none() | SHAPES)
    try:
        array = nd.sparse.csr_matrix(parts, shape=shape)
        array.check_format()
    except MXNetError:
        return
    values, indices, indptr = (part.asnumpy() for part in (array.data, array.indices, array.indptr))
    wanted = scipy.sparse.csr_matrix((values, indices, indptr), shape=array.shape)
    np.testing.assert_array_equal(array.asnumpy(), wanted.toarray())


USES: list[Callable[[Any], object]] = [
    lambda x: x.asnumpy(), lambda x: x + x, lambda x: x * 2, lambda x: x[:1], lambda x: x > 0, lambda x: x * x,
]  # fmt: skip


@pytest.mark.parametrize("use", USES)
@settings(deadline=None)
@given(st.data())
def test_uses_of_parts_of_any_kind(use: Callable[[Any], object], data: st.DataObject) -> None:
    numbers = st.lists(st.integers(-2, 6), max_size=5)
    with contextlib.suppress(MXNetError):
        use(nd.sparse.csr_matrix(tuple(data.draw(numbers) for _ in range(3)), shape=data.draw(SHAPES)))
