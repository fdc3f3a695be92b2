"""Eigenvectors in ONNX, of matrices that leave a choice or that are far from 1."""

from __future__ import annotations

import numpy as np
import pytest
from tests.onnx.running import run_in_onnxruntime

import rebind as mx


def drawn(size: int, scale: float = 1.0) -> np.ndarray:
    matrix = np.random.default_rng(size).standard_normal((size, size))
    return (matrix + matrix.T) * scale


def spread(size: int) -> np.ndarray:
    vectors, _ = np.linalg.qr(drawn(size))
    return vectors @ np.diag(np.logspace(0, -12, size)) @ vectors.T


MATRICES = {
    "one number": np.array([[-3.0]]),
    "zeros": np.zeros((4, 4)),
    "equal eigenvalues": np.eye(5),
    "rank one": np.ones((6, 6)),
    "blocks": np.kron(np.eye(3), np.ones((3, 3))),
    "almost equal eigenvalues": np.diag([1, 1 + 1e-9, 1]) + 1e-12,
    "badly conditioned": 1 / (np.arange(12)[:, None] + np.arange(12) + 1.0),
    "eigenvalues over many powers of ten": spread(30),
    "an odd size": drawn(9),
    "larger": drawn(40),
    "very small numbers": drawn(6, 1e-200),
    "very large numbers": drawn(6, 1e200),
}


@pytest.mark.parametrize("name", MATRICES)
def test_they_are_orthonormal_and_give_the_matrix(name: str) -> None:
    matrix = MATRICES[name]
    symbol = mx.sym.linalg.syevd(mx.sym.var("a"))
    vectors, values = run_in_onnxruntime(symbol, {}, {"a": matrix}, free=False)
    largest = np.abs(matrix).max(initial=1e-300)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(len(matrix)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(vectors.T @ np.diag(values) @ vectors, matrix, rtol=0, atol=1e-12 * largest)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), rtol=0, atol=1e-12 * largest)
    assert (vectors.max(1) >= np.abs(vectors).max(1) - 1e-12).all()
