"""Data for tests: random NumPy arrays and shapes, small patterns, an endless iterator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..dtypes import DTypeLike
from ..errors import ParameterError, ShapeError
from ..io import DataBatch, DataIter
from ..ndarray import NDArray, array

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "DummyIter",
    "assign_each",
    "assign_each2",
    "collapse_sum_like",
    "create_2d_tensor",
    "create_vector",
    "np_reduce",
    "rand_coord_2d",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
]

T = TypeVar("T")
Summable = TypeVar("Summable", np.ndarray, NDArray)


def random_arrays(*shapes: tuple[int, ...]) -> np.ndarray | list[np.ndarray]:
    """Return a float32 array of normal numbers for each shape; a single array for a single shape.

    >>> [values.shape for values in random_arrays((2, 3), (4,))]
    [(2, 3), (4,)]
    """
    # np.asarray(), since NumPy returns a float for the shape ().
    made = [np.asarray(np.random.normal(size=shape), np.float32) for shape in shapes]
    return made[0] if len(made) == 1 else made


def random_uniform_arrays(
    *shapes: tuple[int, ...], low: float = 0.0, high: float = 1.0, dtype: npt.DTypeLike = np.float32
) -> list[np.ndarray]:
    """Return an array of numbers from [low, high) for each shape, always in a list.

    >>> [values] = random_uniform_arrays((2, 3), low=5, high=6)
    >>> values.shape, values.dtype, bool((values >= 5).all())
    ((2, 3), dtype('float32'), True)
    """
    return [np.asarray(np.random.uniform(low, high, shape), dtype) for shape in shapes]


def random_sample(population: Sequence[T], k: int) -> list[T]:
    """Return `k` different members of `population`, in random order.

    >>> sorted(random_sample("abc", 3))
    ['a', 'b', 'c']
    """
    if not 0 <= k <= len(population):
        raise ParameterError(f"random_sample: k must be in 0..{len(population)}; got {k}")
    return [population[i] for i in np.random.permutation(len(population))[:k]]


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Return a random shape with two axes, of at most `dim0` and `dim1`.

    >>> rand_shape_2d(1, 1)
    (1, 1)
    """
    return _rand_shape((dim0, dim1), allow_zero_size)


def rand_shape_3d(
    dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False
) -> tuple[int, ...]:
    """Return a random shape with three axes, of at most `dim0`, `dim1` and `dim2`.

    >>> rand_shape_3d(1, 1, 1)
    (1, 1, 1)
    """
    return _rand_shape((dim0, dim1, dim2), allow_zero_size)


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Return a random shape with `num_dim` axes, each from 1 (or 0, with `allow_zero_size`) to `dim`.

    >>> len(rand_shape_nd(4))
    4
    """
    return _rand_shape((dim,) * num_dim, allow_zero_size)


def _rand_shape(most: tuple[int, ...], allow_zero_size: bool) -> tuple[int, ...]:
    least = 0 if allow_zero_size else 1
    if any(size < least for size in most):
        raise ParameterError(f"rand_shape: the largest sizes must be >= {least}; got {most}")
    return tuple(int(np.random.randint(least, size + 1)) for size in most)


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """Return a random point of integers with ``x_low <= x < x_high`` and ``y_low <= y < y_high``.

    >>> rand_coord_2d(2, 3, 5, 6)
    (2, 5)
    """
    if x_low >= x_high or y_low >= y_high:
        raise ParameterError(
            f"rand_coord_2d: low must be < high; got x {x_low}..{x_high}, y {y_low}..{y_high}"
        )
    return int(np.random.randint(x_low, x_high)), int(np.random.randint(y_low, y_high))


def create_vector(size: int, dtype: DTypeLike = np.int64) -> NDArray:
    """Return ``[0, 1, ..., size - 1]``.

    >>> create_vector(3).asnumpy()
    array([0, 1, 2])
    """
    return array(np.arange(size), dtype=dtype)


def create_2d_tensor(rows: int, columns: int, dtype: DTypeLike = np.int64) -> NDArray:
    """Return an array whose every element is the number of its row.

    >>> create_2d_tensor(2, 3).asnumpy()
    array([[0, 0, 0],
           [1, 1, 1]])
    """
    return array(np.repeat(np.arange(rows)[:, None], columns, axis=1), dtype=dtype)


def np_reduce(
    dat: np.ndarray,
    axis: int | Sequence[int] | None,
    keepdims: bool,
    numpy_reduce_func: Callable[..., np.ndarray],
) -> np.ndarray:
    """Reduce over several axes with a NumPy function that takes one.

    >>> np_reduce(np.ones((2, 3, 4)), (0, 2), True, np.sum).tolist()
    [[[8.0], [8.0], [8.0]]]
    """
    axes = range(dat.ndim) if axis is None else (axis,) if isinstance(axis, (int, np.integer)) else axis
    # Negative axes and positive ones for the same axis are one.
    chosen = sorted({int(which) % dat.ndim for which in axes})
    found = dat
    for which in reversed(chosen):  # from the last one: removing an axis renumbers those after it
        found = numpy_reduce_func(found, axis=which)
    if keepdims:
        found = found.reshape([1 if i in chosen else size for i, size in enumerate(dat.shape)])
    return found


def collapse_sum_like(a: Summable, shape: Sequence[int]) -> Summable:
    """Sum `a` down to `shape`, which must broadcast to that of `a`: the gradient of broadcasting.

    >>> collapse_sum_like(np.ones((2, 3)), (1, 3))
    array([[2., 2., 2.]])
    """
    extra = len(a.shape) - len(shape)
    if extra < 0 or any(n not in (1, m) for n, m in zip(shape, a.shape[extra:], strict=True)):
        raise ShapeError(f"collapse_sum_like: shape must broadcast to {tuple(a.shape)}; got {tuple(shape)}")
    # Broadcasting adds axes in front and repeats those of size 1; the gradient sums over both.
    axes = [i for i, size in enumerate(a.shape) if i < extra or shape[i - extra] < size]
    summed = a.sum(axis=tuple(axes)) if axes else a
    return summed.reshape(tuple(shape))


def assign_each(the_input: np.ndarray, function: Callable[..., float] | None) -> np.ndarray:
    """Return an array of `function` of each element; a copy when `function` is None.

    >>> assign_each(np.array([1, -2]), abs)
    array([1, 2])
    """
    found = np.array(the_input)
    if function is not None:
        for index in np.ndindex(found.shape):
            found[index] = function(the_input[index])
    return found


def assign_each2(input1: np.ndarray, input2: np.ndarray, function: Callable[..., float] | None) -> np.ndarray:
    """Return an array of `function` of each pair of elements; a copy of `input1` when `function` is None.

    >>> assign_each2(np.array([1, 5]), np.array([3, 4]), max)
    array([3, 5])
    """
    if np.shape(input1) != np.shape(input2):
        raise ShapeError(f"assign_each2: input2 must have shape {np.shape(input1)}; got {np.shape(input2)}")
    found = np.array(input1)
    if function is not None:
        for index in np.ndindex(found.shape):
            found[index] = function(input1[index], input2[index])
    return found


class DummyIter(DataIter):
    """Yields the first batch of another iterator forever: for measuring without the time of loading.

    Parameters
    ----------
    real_iter
        The iterator whose first batch is taken.

    Examples
    --------
    >>> from rebind.io import NDArrayIter
    >>> same_one = DummyIter(NDArrayIter(np.zeros((4, 3)), batch_size=2))
    >>> same_one.next() is same_one.next()
    True
    """

    def __init__(self, real_iter: DataIter) -> None:
        super().__init__(real_iter.batch_size)
        self.real_iter = real_iter
        self.provide_data = real_iter.provide_data
        self.provide_label = real_iter.provide_label
        self.the_batch = next(iter(real_iter))

    def next(self) -> DataBatch:
        """Return the batch; it never raises StopIteration."""
        return self.the_batch
