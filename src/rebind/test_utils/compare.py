"""Comparing arrays, checking that a call raises, and retrying tests of random numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeAlias, TypeVar

import numpy as np

from ..checks import NUMBER, Kind, check_kind, or_none
from ..errors import ParameterError, ShapeError
from ..ndarray import NDArray
from .defaults import ArrayLike, as_numpy, get_etol, get_tols

__all__ = [
    "almost_equal",
    "almost_equal_ignore_nan",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "assert_exception",
    "compare_ndarray_tuple",
    "find_max_violation",
    "retry",
    "same",
    "same_array",
]

P = ParamSpec("P")
T = TypeVar("T")

#: An array or number, None, or nested tuples of them: the states of an optimizer.
NestedArrays: TypeAlias = "NDArray | np.ndarray | float | Sequence[NestedArrays] | None"


def same(a: ArrayLike, b: ArrayLike) -> bool:
    """Return whether two arrays have the same shape and elements.

    >>> same(np.array([1, 2]), [1, 2]), same(np.ones((1, 2)), np.ones(2))
    (True, False)
    """
    return np.array_equal(as_numpy(a), as_numpy(b))


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Return whether writing to one array writes to the other; both are left as they were.

    >>> import rebind as mx
    >>> x = mx.nd.zeros((3,))
    >>> same_array(x, x[0:3]), same_array(x, x.copy())
    (True, False)
    """
    if array1.storage is array2.storage:
        return True
    if array1.stype != "default" or array1.shape != array2.shape or array1.dtype != array2.dtype:
        return False  # arrays of another storage are never views
    first, second = array1.to_torch(), array2.to_torch()
    # Equal addresses alone would not do: another view may begin at the same element.
    return first.data_ptr() == second.data_ptr() and first.stride() == second.stride()


_ARRAY = Kind("an array or numbers", lambda value: value is not None and not isinstance(value, (str, bytes)))


def _violations(
    a: np.ndarray, b: np.ndarray, rtol: float, atol: float, equal_nan: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return each difference as a multiple of the tolerance ``atol + rtol * |b|``, and whether it is too large.

    NaN counts as infinitely far off, unless it is on both sides and `equal_nan` is set.
    """
    wide = np.result_type(a, b, np.float64)
    # Integers are compared as such first: float64 cannot represent every int64.
    equal = a == b
    x, y = np.broadcast_arrays(a.astype(wide), b.astype(wide))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        off = np.abs(x - y)
        limit = atol + rtol * np.abs(y)
        ratio = np.where(off == 0, 1.0, off) / limit
        # `~(off <= limit)` is true for NaN, where `off > limit` is not. The last term is for large integers that
        # differ although their float64 values do not: without a tolerance they count as off.
        bad = ~(off <= limit) | ~np.isfinite(y) | ~np.isfinite(x) | ((off == 0) & (limit == 0))
    # NaN equals NaN on request only, and then has no ratio.
    right = equal | (equal_nan & np.isnan(x) & np.isnan(y))
    bad = bad & ~right
    ratio = np.where(right, 0.0, np.where(np.isnan(ratio), np.inf, ratio))
    return ratio, bad


def find_max_violation(
    a: ArrayLike, b: ArrayLike, rtol: float | None = None, atol: float | None = None
) -> tuple[tuple[int, ...], float]:
    """Return the position of the worst difference, and its ratio to the tolerance.

    >>> find_max_violation(np.array([1.0, 2.0]), np.array([1.0, 4.0]), rtol=0.25, atol=0)
    ((1,), 2.0)
    """
    x, y = as_numpy(a), as_numpy(b)
    _must_broadcast(x, y, ("a", "b"), True)
    ratio, _ = _violations(x, y, *get_tols(a, b, rtol, atol), False)
    if ratio.size == 0:
        raise ShapeError(f"find_max_violation: arrays must have elements; got shapes {x.shape} and {y.shape}")
    position = np.unravel_index(np.argmax(ratio), ratio.shape)
    return tuple(int(i) for i in position), float(ratio[position])


def _must_broadcast(a: np.ndarray, b: np.ndarray, names: Sequence[str], use_broadcast: bool) -> None:
    try:
        # Asked for its ValueError only, hence `or True`.
        fits = a.shape == b.shape or (use_broadcast and bool(np.broadcast_shapes(a.shape, b.shape) or True))
    except ValueError:
        fits = False
    if not fits:
        raise AssertionError(
            f"{names[0]} and {names[1]} differ in shape: {names[0]} has {a.shape}, {names[1]} has {b.shape}"
        )


def almost_equal(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Return whether ``|a - b| <= atol + rtol * |b|`` everywhere; tolerances default to those of the types.

    >>> almost_equal(np.array([1.0]), np.array([1.0 + 1e-7])), almost_equal(np.array([1.0]), np.array([1.1]))
    (True, False)
    """
    try:
        assert_almost_equal(a, b, rtol, atol, equal_nan=equal_nan, use_broadcast=use_broadcast)
    except AssertionError:
        return False
    return True


def assert_almost_equal(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | None = None,
    atol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Check that ``|a - b| <= atol + rtol * |b|`` everywhere.

    Parameters
    ----------
    a, b
        Arrays or numbers; `b` is the reference.
    rtol, atol
        Tolerances; those of the coarser of the two types if None.
    names
        What the message calls the two.
    equal_nan
        Whether NaN equals NaN.
    use_broadcast
        Whether shapes may differ as long as they broadcast to each other.
    mismatches
        How many of the worst positions the message shows. The second number, at which MXNet stops counting, has no
        effect here: all are counted.

    Raises
    ------
    AssertionError
        It lists the worst positions and their values.

    Examples
    --------
    >>> assert_almost_equal(np.array([1.0, 2.0]), np.array([1.0, 2.5]))
    Traceback (most recent call last):
        ...
    AssertionError: a and b differ: 1 of 2 elements (50%) are off by more than rtol=1e-05, atol=1e-20
      (1,): a = 2.0, b = 2.5, 2e+04 times the tolerance
    """
    _assert_close(a, b, rtol, atol, 0.0, names, equal_nan, use_broadcast, mismatches[0])


def assert_almost_equal_with_err(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | None = None,
    atol: float | None = None,
    etol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Check as `assert_almost_equal` does, but let a share `etol` of the elements be off.

    >>> assert_almost_equal_with_err(np.array([1.0, 2.0]), np.array([1.0, 3.0]), etol=0.5)
    """
    _assert_close(a, b, rtol, atol, get_etol(etol), names, equal_nan, True, mismatches[0])


def _assert_close(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | None,
    atol: float | None,
    etol: float,
    names: Sequence[str],
    equal_nan: bool,
    use_broadcast: bool,
    shown: int,
) -> None:
    check_kind("assert_almost_equal", _ARRAY, a=a, b=b)
    check_kind("assert_almost_equal", or_none(NUMBER), rtol=rtol, atol=atol)
    x, y = as_numpy(a), as_numpy(b)
    _must_broadcast(x, y, names, use_broadcast)
    rtol, atol = get_tols(a, b, rtol, atol)
    ratio, bad = _violations(x, y, rtol, atol, equal_nan)
    count = int(bad.sum())
    if count <= etol * bad.size:
        return
    lines = [
        f"{names[0]} and {names[1]} differ: {count} of {bad.size} elements ({100 * count / bad.size:.3g}%) are off "
        f"by more than rtol={rtol:g}, atol={atol:g}"
    ]
    x, y = np.broadcast_arrays(x, y)
    # Stable, so that of equally bad positions the first ones are shown; `count` keeps the good ones out.
    worst = np.argsort(-np.where(bad, ratio, -1.0), axis=None, kind="stable")[: min(shown, count)]
    for flat in worst:
        position = tuple(int(i) for i in np.unravel_index(flat, bad.shape))
        lines.append(
            f"  {position}: {names[0]} = {x[position]}, {names[1]} = {y[position]}, "
            f"{ratio[position]:.3g} times the tolerance"
        )
    if count > len(worst):
        lines.append(f"  and {count - len(worst)} more")
    raise AssertionError("\n".join(lines))


def almost_equal_ignore_nan(
    a: ArrayLike, b: ArrayLike, rtol: float | None = None, atol: float | None = None
) -> bool:
    """Return whether two arrays are almost equal wherever neither is NaN.

    >>> almost_equal_ignore_nan(np.array([1.0, np.nan]), np.array([1.0, 2.0]))
    True
    """
    return almost_equal(*_without_nan(a, b), *get_tols(a, b, rtol, atol))


def assert_almost_equal_ignore_nan(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | None = None,
    atol: float | None = None,
    names: Sequence[str] = ("a", "b"),
) -> None:
    """Check that two arrays are almost equal wherever neither is NaN.

    >>> assert_almost_equal_ignore_nan(np.array([1.0, np.nan]), np.array([1.0, 2.0]))
    """
    assert_almost_equal(*_without_nan(a, b), *get_tols(a, b, rtol, atol), names=names)


def _without_nan(a: ArrayLike, b: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    x, y = as_numpy(a), as_numpy(b)
    _must_broadcast(x, y, ("a", "b"), True)
    x, y = np.broadcast_arrays(x, y)
    missing = np.isnan(x) | np.isnan(y)
    # NaN in either is left out of the comparison, in both.
    return np.where(missing, 0, x), np.where(missing, 0, y)


def assert_allclose(
    a: ArrayLike, b: ArrayLike, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True
) -> None:
    """Check that two arrays are close, with NumPy's defaults instead of those of the types.

    >>> assert_allclose(np.array([1.0, np.nan]), np.array([1.0 + 1e-8, np.nan]))
    """
    assert_almost_equal(a, b, rtol, atol, equal_nan=equal_nan)


def compare_ndarray_tuple(
    t1: NestedArrays, t2: NestedArrays, rtol: float | None = None, atol: float | None = None
) -> None:
    """Check that two arrays, or nested tuples of arrays and None, are almost equal.

    >>> compare_ndarray_tuple((np.ones(2), None), (np.ones(2), None))
    >>> compare_ndarray_tuple((np.ones(2), None), (None, None))
    Traceback (most recent call last):
    AssertionError: one of the two is None: array([1., 1.]) and None
    """
    if t1 is None or t2 is None:
        if t1 is not t2:
            raise AssertionError(f"one of the two is None: {t1!r} and {t2!r}")
    elif isinstance(t1, Sequence) or isinstance(t2, Sequence):
        if not (isinstance(t1, Sequence) and isinstance(t2, Sequence)) or len(t1) != len(t2):
            raise AssertionError(f"the two are nested differently: {t1!r} and {t2!r}")
        for first, second in zip(t1, t2, strict=True):
            compare_ndarray_tuple(first, second, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol, atol)


def assert_exception(
    f: Callable[P, object], exception_type: type[BaseException], *args: P.args, **kwargs: P.kwargs
) -> None:
    """Check that ``f(*args, **kwargs)`` raises an `exception_type`; another error passes through.

    >>> assert_exception(int, ValueError, "ten")
    """
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(
        f"{getattr(f, '__name__', f)} must raise {exception_type.__name__}; it raised nothing"
    )


def retry(n: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Run a test up to `n` times until it passes: for tests of random numbers, which fail now and then.

    Only AssertionError is retried; that of the last attempt passes through.

    >>> @retry(3)
    ... def test():
    ...     assert np.random.rand() < 0.99999
    >>> test()
    """
    if n < 1:
        raise ParameterError(f"retry: n must be >= 1; got {n}")

    def decorate(test: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(test)
        def tried(*args: P.args, **kwargs: P.kwargs) -> T:
            for _ in range(n - 1):
                try:
                    return test(*args, **kwargs)
                except AssertionError:
                    pass
            # The last try is not caught: its failure is the test's.
            return test(*args, **kwargs)

        return tried

    return decorate
