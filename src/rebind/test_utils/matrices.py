"""Matrices for tests of linear algebra: with real eigenvalues, orthonormal, symmetric."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..ndarray import NDArray, array

__all__ = [
    "get_identity_mat", "get_identity_mat_batch", "new_matrix_with_real_eigvals_2d", "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d", "new_sym_matrix_with_real_eigvals_2d", "new_sym_matrix_with_real_eigvals_nd",
]  # fmt: skip


def get_identity_mat(size: int) -> NDArray:
    """Return the identity matrix of float32.

    >>> get_identity_mat(2).asnumpy().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return array(np.eye(size))


def get_identity_mat_batch(size: int) -> NDArray:
    """Return two identity matrices, (2, size, size).

    >>> get_identity_mat_batch(3).shape
    (2, 3, 3)
    """
    return array(np.stack([np.eye(size)] * 2))


def new_orthonormal_matrix_2d(n: int) -> np.ndarray:
    """Return a random matrix (n, n) whose columns are orthogonal and of length 1.

    >>> q = new_orthonormal_matrix_2d(3)
    >>> bool(np.allclose(q.T @ q, np.eye(3)))
    True
    """
    return np.linalg.qr(np.random.randn(n, n))[0]


def new_sym_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """Return a random symmetric matrix (n, n) with eigenvalues between -1 and 1, away from each other.

    >>> a = new_sym_matrix_with_real_eigvals_2d(3)
    >>> bool(np.allclose(a, a.T) and (abs(np.linalg.eigvalsh(a)) <= 1).all())
    True
    """
    q = new_orthonormal_matrix_2d(n)
    return q @ np.diag(_eigenvalues(n)) @ q.T


def new_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """Return a random, well-conditioned matrix (n, n) with real eigenvalues between -1 and 1, away from each other.

    >>> values = np.linalg.eigvals(new_matrix_with_real_eigvals_2d(3))
    >>> bool(np.isreal(values).all())
    True
    """
    q = new_orthonormal_matrix_2d(n)
    upper = np.diag(_eigenvalues(n)) + np.triu(np.random.uniform(-0.2, 0.2, (n, n)), 1)
    return q @ upper @ q.T


def new_sym_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> np.ndarray:
    """Return matrices like that of `new_sym_matrix_with_real_eigvals_2d`; the last two axes are the matrix.

    >>> new_sym_matrix_with_real_eigvals_nd((5, 2, 3, 3)).shape
    (5, 2, 3, 3)
    """
    return _many(new_sym_matrix_with_real_eigvals_2d, shape)


def new_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> np.ndarray:
    """Return matrices like that of `new_matrix_with_real_eigvals_2d`; the last two axes are the matrix.

    >>> new_matrix_with_real_eigvals_nd((5, 2, 3, 3)).shape
    (5, 2, 3, 3)
    """
    return _many(new_matrix_with_real_eigvals_2d, shape)


def _eigenvalues(n: int) -> np.ndarray:
    # A grid, each value lowered by less than half of its step: neighbours are apart, so that decompositions are
    # well-conditioned.
    values = np.linspace(-1, 1, n + 1)[1:] - np.random.uniform(0, 0.5 / max(n, 1), n)
    return np.random.permutation(values)


def _many(make: Callable[[int], np.ndarray], shape: Sequence[int]) -> np.ndarray:
    count = int(np.prod(shape[:-2], dtype=int))
    return np.stack([make(shape[-1]) for _ in range(count)]).reshape(shape)
