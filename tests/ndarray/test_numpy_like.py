"""What arrays have as NumPy's do: operators, rounding, statistics, formats, and NumPy's own functions on them."""

from __future__ import annotations

import numpy as np
import pytest

import rebind as mx
from rebind import nd

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(3, 4)).astype("float32")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
        ((5, 2, 3), (5, 3, 4)), ((6, 1, 2, 3), (5, 3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)),
    ],
)  # fmt: skip
def test_matrix_product(left, right) -> None:
    x, y = RNG.normal(size=left).astype("float32"), RNG.normal(size=right).astype("float32")
    wanted = np.atleast_1d(x @ y)
    for found in (nd.array(x) @ nd.array(y), x @ nd.array(y), nd.array(x) @ y):
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-4, atol=1e-5)
        assert found.shape == wanted.shape


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_floor_division(dtype) -> None:
    x, y = np.array([7, -7, 5, -5, 6], dtype), np.array([2, 2, -3, -3, 4], dtype)
    a, b = nd.array(x, dtype=dtype), nd.array(y, dtype=dtype)
    for found, wanted in ((a // b, x // y), (a // 3, x // 3), (17 // b, 17 // y)):
        assert found.dtype == np.dtype(dtype) and found.asnumpy().tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("compute", "wanted"),
    [
        pytest.param(lambda x: round(x), lambda x: np.round(x), id="round"),
        pytest.param(lambda x: round(x, 2), lambda x: np.round(x, 2), id="round to decimals"),
        pytest.param(lambda x: x.std(), lambda x: [x.std()], id="std"),
        pytest.param(lambda x: x.var(axis=0), lambda x: x.var(axis=0), id="var"),
        pytest.param(
            lambda x: x.std(axis=1, ddof=1, keepdims=True),
            lambda x: x.std(axis=1, ddof=1, keepdims=True),
            id="std of samples",
        ),
        *(
            pytest.param(function, function, id=name)
            for name, function in {
                "mean": lambda x: np.mean(x, axis=1),
                "argsort": np.argsort,
                "transpose": np.transpose,
                "concatenate": lambda x: np.concatenate([x, x]),
                "where": lambda x: np.where(x > 0, x, 0),
                "norm": np.linalg.norm,
                "exp": np.exp,
                "max": np.max,
            }.items()
        ),
    ],
)
def test_as_numpy(compute, wanted) -> None:
    np.testing.assert_allclose(np.asarray(compute(nd.array(MATRIX))), wanted(MATRIX), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (lambda: f"{nd.array([2.5]):.2f}", "2.50"),
        (lambda: f"{nd.array([1, 2.5]):.1f}", "[1.0 2.5]"),
        (lambda: f"{nd.array([3], dtype='int32'):03d}", "003"),
        (lambda: str(nd.array([[1, 2]], dtype="int32").tolist()), "[[1, 2]]"),
        (lambda: f"{nd.array([2])}", "\n[2.]\n<NDArray 1 @cpu(0)>"),
    ],
)
def test_texts(text, wanted) -> None:
    assert text() == wanted


def test_gradients() -> None:
    x = nd.array([[1.0, 2], [3, 5]])
    x.attach_grad()
    with mx.autograd.record():
        y = (x @ x).sum() + x.var() + (x // 2).sum() + round(x).sum()
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [[6.125, 11.625], [10.125, 16.125]])


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: nd.ones((2, 2)) @ nd.ones((3,)), ValueError, "must have size 3"),
        (lambda: nd.ones((2, 3, 2)) @ nd.ones((3, 2, 2)), ValueError, "must broadcast"),
        (lambda: nd.ones((2,)) @ "a", TypeError, "unsupported operand"),
        (lambda: nd.ones((2,)) // "a", TypeError, "unsupported operand"),
        (lambda: nd.zeros(nd.array([2, 3])), TypeError, "sequence of ints"),
        (lambda: nd.ones((2, 3)).reshape(nd.array([3, 2])), TypeError, "shape must be ints"),
        (lambda: nd.reshape(nd.ones((2, 3)), shape=nd.array([3, 2])), TypeError, "must be a tuple"),
        (lambda: nd.gather_nd(nd.ones((2,)), nd.array([[5]])), IndexError, "must be in"),
    ],
)
def test_mistakes(call, kind, says) -> None:
    with pytest.raises(kind, match=says):
        call()
