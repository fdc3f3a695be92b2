"""Methods that old programs call on arrays; what MXNet 1.9.1 gives is in the table."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

import rebind as mx
from rebind.errors import MXNetError


def rows() -> mx.nd.NDArray:
    return mx.nd.array([[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (lambda a: a._at(1), [4, 5, 6]),
        (lambda a: a._at(-1), [4, 5, 6]),
        (lambda a: a._slice(0, 1), [[1, 2, 3]]),
        (lambda a: a._slice(1, 5), [[4, 5, 6]]),
        (lambda a: a._full(7), [[7, 7, 7], [7, 7, 7]]),
    ],
)
def test_values(use: Callable[[mx.nd.NDArray], mx.nd.NDArray], expected: object) -> None:
    assert use(rows()).tolist() == expected


@pytest.mark.parametrize("part", [lambda a: a._at(0), lambda a: a._slice(0, 1)])
def test_rows_share_memory(part: Callable[[mx.nd.NDArray], mx.nd.NDArray]) -> None:
    a = rows()
    part(a)[:] = 9
    assert a.tolist() == [[9, 9, 9], [4, 5, 6]]


def test_copying_from_numpy() -> None:
    a = rows()
    a._sync_copyfrom(np.arange(6).reshape(2, 3))
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    ("use", "error", "says"),
    [
        (lambda a: a._at(5), IndexError, "index 5 must be within the first axis, of size 2"),
        (lambda a: a._sync_copyfrom(np.arange(6)), ValueError, r"shape \(2, 3\); got \(6,\)"),
    ],
)
def test_errors(use: Callable[[mx.nd.NDArray], object], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        use(rows())
    assert isinstance(caught.value, MXNetError)


@pytest.mark.parametrize(
    "made", [rows, lambda: mx.sym.var("x"), lambda: mx.nd.CachedOp(mx.sym.var("x"))], ids=["nd", "sym", "op"]
)
def test_handle_tells_objects_apart(made: Callable[[], mx.nd.NDArray]) -> None:
    one, other = made(), made()
    assert isinstance(one.handle, ctypes.c_void_p)
    assert one.handle.value == one.handle.value != other.handle.value
