"""Parts that do not fit: an error says which and where, when the array is made, checked or used; nothing crashes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind.errors import MXNetError, NotSupportedForSparseNDArray
from rebind.ndarray.sparse import csr_matrix, row_sparse_array

# Made, as in MXNet: what is wrong shows in the check.
FOUND_LATER = {
    "falls": (
        lambda: csr_matrix(([1, 2, 3], [0, 2, 1], [0, 3, 2]), shape=(2, 3)),
        "indptr must not decrease; got 3 and then 2, at row 1",
    ),
    "begins late": (
        lambda: csr_matrix(([1, 2, 3], [0, 1, 2], [1, 2, 3]), shape=(2, 3)),
        "indptr must begin with 0",
    ),
    "ends too far": (
        lambda: csr_matrix(([1, 2, 3], [0, 1, 0], [0, 2, 4]), shape=(2, 3)),
        "end with 3, the number of elements; got 0 and 4",
    ),
    "another number of rows": (
        lambda: csr_matrix(([1, 2, 3], [1, 0, 2], [0, 1, 2, 2, 3]), shape=(5, 3)),
        "indptr must have 6 elements for 5 rows; got shape (5,)",
    ),
    "a column beyond the matrix": (
        lambda: csr_matrix(([1, 2, 3], [0, 7, 1], [0, 2, 3]), shape=(2, 3)),
        "indices must be from 0 to 2; got 7 at position 1",
    ),
    "a negative column": (
        lambda: csr_matrix(([1, 2, 3], [0, 2, -1], [0, 2, 3]), shape=(2, 3)),
        "indices must be from 0 to 2; got -1 at position 2",
    ),
    "a row beyond the array": (
        lambda: row_sparse_array(([[1, 2], [3, 4]], [1, 9]), shape=(6, 2)),
        "indices must be from 0 to 5; got 9 at position 1",
    ),
    "a negative row": (
        lambda: row_sparse_array(([[1, 2], [3, 4]], [-1, 2]), shape=(6, 2)),
        "indices must be from 0 to 5; got -1 at position 0",
    ),
}
# Right arrays to rebind, which MXNet's check refuses.
OUT_OF_ORDER = {
    "columns": (
        lambda: csr_matrix(([1, 2, 3], [2, 0, 1], [0, 2, 3]), shape=(2, 3)),
        "indices must ascend in each row, each column once; got 2 and then 0 in row 0",
    ),
    "a column twice": (
        lambda: csr_matrix(([1, 2, 3], [0, 1, 1], [0, 1, 3]), shape=(2, 3)),
        "got 1 and then 1 in row 1",
    ),
    "rows": (
        lambda: row_sparse_array(([[1, 2], [3, 4]], [4, 1]), shape=(6, 2)),
        "indices must ascend, each row once; got 4 and then 1 at position 1",
    ),
}
USES: dict[str, Callable[[Any, Path], object]] = {
    "values": lambda x, _: x.asnumpy(),
    "dense": lambda x, _: x.tostype("default"),
    "copy": lambda x, _: x.copy(),
    "type": lambda x, _: x.astype("float64"),
    "into another": lambda x, _: x.copyto(nd.zeros(x.shape)),
    "from another": lambda x, _: x.__setitem__(slice(None), nd.ones(x.shape)),
    "multiple": lambda x, _: x * 2,
    "comparison": lambda x, _: x > 0,
    "sum": lambda x, _: x + x,
    "in place": lambda x, _: x.__iadd__(x),
    "dense sum": lambda x, _: nd.ones(x.shape) + x,
    "product": lambda x, _: nd.dot(x, nd.ones((x.shape[1], 1))),
    "fallback": lambda x, _: nd.exp(x),
    "gradient": lambda x, _: x.attach_grad(),
    "file": lambda x, path: nd.save(str(path / "a.params"), [x]),
}


@pytest.mark.parametrize(("make", "says"), FOUND_LATER.values(), ids=FOUND_LATER)
def test_what_check_format_says(make: Callable[[], Any], says: str) -> None:
    x = make()
    with pytest.raises(MXNetError, match=re.escape(says)):
        x.check_format()
    assert type(x).__name__ in repr(x) and x.dtype is np.float32 and x.data.shape[0] == x.indices.shape[0]


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize(("make", "says"), FOUND_LATER.values(), ids=FOUND_LATER)
def test_every_use_says_it(
    make: Callable[[], Any],
    says: str,
    use: Callable[[Any, Path], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")
    with pytest.raises(MXNetError, match=re.escape(says)):
        use(make(), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("make", "says"), OUT_OF_ORDER.values(), ids=OUT_OF_ORDER)
def test_order_is_wanted_by_the_full_check_alone(make: Callable[[], Any], says: str) -> None:
    x = make()
    with pytest.raises(MXNetError, match=re.escape(says)):
        x.check_format()
    x.check_format(False)
    np.testing.assert_array_equal((x * 2).asnumpy(), 2 * x.asnumpy())


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: csr_matrix(([1, 2, 3], [2, 1], [0, 2, 3])),
            "equal numbers of elements; got shapes (3,) and (2,)",
        ),
        (lambda: csr_matrix(([[1, 2]], [[0, 1]], [0, 2])), "must have one axis"),
        (lambda: csr_matrix(([1], ([0, 1], [0, 1]))), "got shapes (1,), (2,) and (2,)"),
        (lambda: csr_matrix(([1], ([0], [0], [0]))), "must be (data, (row, col)); got 3 arrays beside data"),
        (lambda: csr_matrix(([1], ([0], [9])), shape=(2, 3)), "col must be from 0 to 2; got 9 at position 0"),
        (lambda: csr_matrix(([], [], [0, 0])), "csr_matrix: shape must be given, since there are no indices"),
        (lambda: csr_matrix((2, 3), shape=(3, 2)), "shape must be that of the values, (2, 3); got (3, 2)"),
        (lambda: csr_matrix((2, 3, 4)), "must have two axes; got shape (2, 3, 4)"),
        (lambda: csr_matrix("a"), "must be numbers"),
        (lambda: csr_matrix(nd.ones((2, 2)).tostype("row_sparse")), "must be made dense first"),
        (
            lambda: row_sparse_array(([[1, 2]], [0, 1])),
            "must have shape (2, 2), a row of an array of shape (2, 2)",
        ),
        (lambda: row_sparse_array(csr_matrix((2, 2))), "must be made dense first"),
        (lambda: nd.sparse.array(nd.ones((2, 2))), "must be a sparse array or a sparse matrix of SciPy"),
        (lambda: csr_matrix((2, 2)).tostype("row_sparse"), "can be made dense, not row_sparse"),
        (lambda: csr_matrix((2, 2))[2], "a row index must be in [-2, 2); got 2"),
        (
            lambda: csr_matrix((2, 2))[0, 1],
            "a key must be a row or a slice of rows with step 1; got (0, 1)",
        ),
        (lambda: csr_matrix((2, 2)).__setitem__(0, 1), "only all of it can be written"),
        (
            lambda: csr_matrix((2, 2)).__setitem__(slice(None), 1),
            "a number cannot be written into a csr array; got 1",
        ),
        (lambda: row_sparse_array((2, 2))[0], "only x[:] can be read; got the key 0"),
        (lambda: csr_matrix((2, 2)) + csr_matrix((2, 2), dtype="float64"), "must be of the type of lhs"),
        (
            lambda: nd.elemwise_add(csr_matrix((2, 2)), csr_matrix((2, 3))),
            "must have the shape of lhs, (2, 2)",
        ),
        (lambda: csr_matrix((2, 2)) * nd.ones((3,)), "must broadcast; got (2, 2) and (3,)"),
    ],
)
def test_what_is_refused_at_once(make: Callable[[], object], says: str) -> None:
    with pytest.raises(MXNetError, match=re.escape(says)):
        make()


@pytest.mark.parametrize("method", ["reshape", "_at", "_slice", "_sync_copyfrom"])
def test_methods_of_dense_arrays(method: str) -> None:
    arguments = (0, 1) if method == "_slice" else (0,)
    with pytest.raises(NotSupportedForSparseNDArray, match=f"{method} is for dense arrays"):
        getattr(mx.nd.zeros((2, 2), stype="csr"), method)(*arguments)
