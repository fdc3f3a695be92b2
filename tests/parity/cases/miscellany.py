"""Operators that belong to no family."""

from __future__ import annotations

from collections.abc import Iterable

from .case import Case, between, case, fixed, integers, normal, values, variadic


def counts() -> Iterable[Case]:
    """Histograms: bounds given, or computed from a range."""
    data = {"data": fixed(between(-1, 5, 4, 9))}
    yield case("_histogram", data, bin_cnt=5, range=(0, 4))
    yield case("_histogram", data, bin_cnt=1, range=(2, 2))
    yield case("_histogram", {**data, "bins": values(0.0, 1.5, 2.0, 4.5)})
    whole = {"data": integers(0, 6, 20)}
    yield case("_histogram", whole, bin_cnt=4, range=(0, 4))
    yield case("_histogram", {**whole, "bins": values(1, 2, 4)})
    for dtype in ("int32", "float64"):
        yield case("_histogram", {"data": integers(0, 8, 20, dtype=dtype)}, bin_cnt=3, range=(0, 7))
        yield case(
            "_histogram",
            {"data": integers(0, 8, 20, dtype=dtype), "bins": values(0, 3, 7, dtype=dtype)},
        )


def types() -> Iterable[Case]:
    """Casts between types and kinds of storage; oneDNN knows no half precision, at which MXNet fails on the CPU."""
    yield variadic("amp_multicast", [normal(2, 3), normal(4)], num_outputs=2)
    yield variadic("amp_multicast", [normal(2, 3), normal(4), normal(1)], num_outputs=3, cast_narrow=True)
    yield case("cast_storage", {"data": normal(2, 3)}, stype="default")


def rows() -> Iterable[Case]:
    """Elements of rows chosen by index. MXNet's gradient of SparseEmbedding is a row_sparse array."""
    weight = fixed(normal(4, 5))
    for data in (integers(0, 4, 2, 3), values(-1, 7, 2), integers(0, 4, 3, dtype="int32")):
        yield case("contrib.SparseEmbedding", {"data": data, "weight": weight}, input_dim=4, output_dim=5)


def processes() -> Iterable[Case]:
    """Hawkes processes: rows of all lengths, an end before the last event, one process, one event."""
    for rows_, kinds, length in ((3, 3, 7), (2, 1, 4), (2, 2, 1)):
        for end in (30.0, 1.0):
            yield case(
                "contrib.hawkesll",
                {
                    "lda": between(0.5, 1.5, rows_, kinds),
                    "alpha": between(0.1, 0.6, kinds),
                    "beta": between(0.5, 3, kinds),
                    "state": fixed(between(0, 1, rows_, kinds)),
                    "lags": fixed(between(0.05, 1, rows_, length)),
                    "marks": integers(0, kinds, rows_, length, dtype="int32"),
                    "valid_length": integers(0, length + 1, rows_),
                    "max_time": fixed(between(end, end + 1, rows_)),
                },
            )


FAMILIES = (counts, types, rows, processes)
