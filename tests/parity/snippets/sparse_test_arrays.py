"""The random sparse arrays of `test_utils`: positions, order and numbers for a seed, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Snippet = Callable[[Any], object]


def _parts(array: Any) -> list[object]:
    names = ["data", "indices", "indptr"] if array.stype == "csr" else ["data", "indices"]
    return [array.stype, list(array.shape), *(getattr(array, name).asnumpy() for name in names)]


def _made(function: str, *shape: int, **given: Any) -> Snippet:
    def run(mx: Any) -> object:
        np.random.seed(7)
        return _parts(getattr(mx.test_utils, function)(shape, **given))

    return run


def _counted(*shape: int, density: float) -> Snippet:
    """Return how many elements each row has with the distribution of doubling counts."""

    def run(mx: Any) -> object:
        np.random.seed(7)
        array = mx.test_utils.rand_ndarray(shape, "csr", density=density, distribution="powerlaw")
        values = array.data.asnumpy()
        return [
            np.diff(array.indptr.asnumpy()),
            array.indices.asnumpy(),
            bool((values > 1).all() and (values < 3).all()),
        ]

    return run


def _with_parts(*shape: int, **given: Any) -> Snippet:
    def run(mx: Any) -> object:
        np.random.seed(7)
        array, parts = mx.test_utils.rand_sparse_ndarray(shape, **given)
        return [_parts(array), list(parts)]

    return run


SNIPPETS: dict[str, Snippet] = {
    "rows": _made("rand_ndarray", 5, 3, stype="row_sparse"),
    "rows_of_a_density": _made("rand_ndarray", 5, 3, stype="row_sparse", density=0.5, dtype="float64"),
    "rows_of_three_axes": _made("rand_ndarray", 5, 3, 2, stype="row_sparse", density=0.5),
    "rows_of_one_axis": _made("rand_ndarray", 5, stype="row_sparse", density=0.5),
    "no_rows": _made("rand_ndarray", 5, 3, stype="row_sparse", density=0),
    "rows_modified": _made(
        "rand_ndarray", 5, 3, stype="row_sparse", density=0.5, modifier_func=lambda x: 2 * x
    ),
    "rows_of_doubling_counts": _made("rand_ndarray", 5, 3, stype="row_sparse", distribution="powerlaw"),
    "csr": _made("rand_ndarray", 4, 6, stype="csr"),
    "csr_of_a_density": _made("rand_ndarray", 4, 6, stype="csr", density=0.3, dtype="float64"),
    "csr_out_of_order": _made("rand_ndarray", 4, 6, stype="csr", density=0.7, shuffle_csr_indices=True),
    "csr_full": _made("rand_ndarray", 2, 3, stype="csr", density=1.0),
    "csr_empty": _made("rand_ndarray", 2, 3, stype="csr", density=0.0),
    "csr_of_too_high_a_density": _made("rand_ndarray", 2, 3, stype="csr", density=1.5),
    "csr_of_another_distribution": _made("rand_ndarray", 2, 3, stype="csr", distribution="normal"),
    "csr_of_one_axis": _made("rand_ndarray", 6, stype="csr", density=0.5),
    **{
        f"csr_of_doubling_counts_{'_'.join(map(str, shape))}_{percent}": _counted(
            *shape, density=percent / 100
        )
        for shape, percent in (((4, 6), 50), ((10, 40), 10), ((20, 8), 90), ((5, 100), 50), ((10, 4), 30))
    },
    "parts_of_rows": _with_parts(5, 3, stype="row_sparse", density=0.5, data_init=2.0),
    "parts_of_csr": _with_parts(5, 3, stype="csr", density=0.5, data_init=2.0),
    "parts_of_chosen_rows": _with_parts(5, 3, stype="row_sparse", rsp_indices=np.array([3, 1])),
    "create_rows": _made("create_sparse_array", 5, 3, stype="row_sparse", density=0.5),
    "create_chosen_rows": _made(
        "create_sparse_array", 5, 3, stype="row_sparse", rsp_indices=[3, 1], data_init=2.0
    ),
    "create_csr": _made("create_sparse_array", 5, 3, stype="csr", density=0.4, data_init=2.0),
    "create_zd_rows": _made("create_sparse_array_zd", 5, 3, stype="row_sparse", density=0.5),
    "create_zd_chosen_rows": _made(
        "create_sparse_array_zd", 5, 3, stype="row_sparse", density=0.5, rsp_indices=[1]
    ),
    "create_zd_csr": _made("create_sparse_array_zd", 5, 3, stype="csr", density=0.4),
    "create_dense": _made("create_sparse_array", 5, 3, stype="default"),
}
