"""Checking generators of random numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..errors import ParameterError
from .defaults import ArrayLike, as_numpy

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = ["chi_square_check", "gen_buckets_probs_with_ppf", "mean_check", "var_check", "verify_generator"]

#: Draws as many samples as it is called with.
Generator: TypeAlias = Callable[[int], ArrayLike]
#: Intervals ``(low, high)``, or single values.
Buckets: TypeAlias = "Sequence[tuple[float, float]] | Sequence[float]"


def gen_buckets_probs_with_ppf(
    ppf: Callable[[float], float], nbuckets: int
) -> tuple[list[tuple[float, float]], list[float]]:
    """Return intervals of equal probability, and their probabilities.

    Parameters
    ----------
    ppf
        The inverse of the distribution function, such as ``scipy.stats.norm(0, 1).ppf``.
    nbuckets
        How many intervals.

    Examples
    --------
    >>> gen_buckets_probs_with_ppf(lambda q: 10 * q, 2)
    ([(0.0, 5.0), (5.0, 10.0)], [0.5, 0.5])
    """
    if nbuckets < 1:
        raise ParameterError(f"gen_buckets_probs_with_ppf: nbuckets must be >= 1; got {nbuckets}")
    edges = [float(ppf(i / nbuckets)) for i in range(nbuckets + 1)]
    return list(itertools.pairwise(edges)), [1 / nbuckets] * nbuckets


def chi_square_check(
    generator: Generator, buckets: Buckets, probs: Sequence[float], nsamples: int = 1000000
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the p-value of a generator's samples, by the chi-square test.

    Where the buckets have all of the probability, a sample outside of them makes the p-value 0; otherwise what is
    outside is one more bucket. Needs scipy.

    Parameters
    ----------
    generator
        Returns as many samples as it is called with.
    buckets
        Intervals ``(low, high)`` without gaps and in order, for continuous distributions; or values.
    probs
        The probability of each bucket.
    nsamples
        How many samples are drawn.

    Returns
    -------
    tuple
        The p-value, and for each bucket the number of samples and the expected number.

    Examples
    --------
    >>> p, counts, expected = chi_square_check(lambda n: np.arange(n) % 2, [0, 1], [0.5, 0.5], nsamples=100)
    >>> p, counts.tolist(), expected.tolist()
    (1.0, [50, 50], [50.0, 50.0])
    """
    if len(buckets) != len(probs) or not buckets:
        raise ParameterError(
            f"chi_square_check: needs a probability for each bucket; got {len(buckets)} and {len(probs)}"
        )
    chances = np.asarray(probs, np.float64)
    # What the buckets leave out is a bucket of its own, unless it is rounding.
    rest = 1.0 - chances.sum()
    if (chances <= 0).any() or rest < -1e-6:
        raise ParameterError(f"chi_square_check: probs must be > 0 and sum to 1 at most; got {list(probs)}")
    # Before anything is drawn: a missing package should not cost a million samples first.
    stats = _scipy_stats("chi_square_check")
    samples = as_numpy(generator(nsamples)).reshape(-1)
    if samples.size != nsamples:
        raise ParameterError(
            f"chi_square_check: generator must return {nsamples} samples; got {samples.size}"
        )
    seen = _count(samples, buckets)
    expected = chances * nsamples
    outside = nsamples - int(seen.sum())
    # A sample where none can be: no chance at all.
    if rest < 1e-6 and outside:
        return 0.0, seen, expected
    observed, wanted = seen.astype(np.float64), expected
    if rest >= 1e-6:
        observed, wanted = np.append(observed, outside), np.append(wanted, rest * nsamples)
    if len(wanted) < 2:
        raise ParameterError(
            "chi_square_check: there must be two buckets or more; got one with all of the probability"
        )
    # Pearson's statistic, with one degree of freedom less than there are buckets.
    statistic = float(((observed - wanted) ** 2 / wanted).sum())
    return float(stats.chi2.sf(statistic, len(wanted) - 1)), seen, expected


def _count(samples: np.ndarray, buckets: Buckets) -> np.ndarray:
    if not _are_intervals(buckets):
        # Samples outside of all buckets are counted by the caller.
        return np.array([int((samples == value).sum()) for value in buckets])
    if any(this[1] != after[0] for this, after in itertools.pairwise(buckets)):
        raise ParameterError(f"chi_square_check: intervals must follow each other; got {list(buckets)}")
    # In the samples' own type: an edge that rounds must round as the samples did.
    kind = samples.dtype if np.issubdtype(samples.dtype, np.floating) else np.float64
    edges = np.array([buckets[0][0], *(high for _, high in buckets)], kind)
    return np.histogram(samples[(samples >= edges[0]) & (samples <= edges[-1])], _finite(edges, samples))[0]


def _are_intervals(buckets: Buckets) -> TypeIs[Sequence[tuple[float, float]]]:
    return isinstance(buckets[0], (tuple, list))


def _finite(edges: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Return the edges with infinite ones replaced by finite ones just outside the samples, for `np.histogram`."""
    found = edges.copy()
    inner = np.concatenate([edges[np.isfinite(edges)], samples[np.isfinite(samples)]])
    found[np.isneginf(edges)] = inner.min() - 1
    found[np.isposinf(edges)] = inner.max() + 1
    return found


def _scipy_stats(who: str) -> ModuleType:
    try:
        from scipy import stats
    except ImportError:
        raise ImportError(f"{who} needs scipy: pip install scipy") from None
    return stats


def verify_generator(
    generator: Generator,
    buckets: Buckets,
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """Check a generator by repeated chi-square tests, and return their p-values. Needs scipy.

    Parameters
    ----------
    generator, buckets, probs, nsamples
        As in `chi_square_check`.
    nrepeat
        How many tests.
    success_rate
        The share of them that must pass.
    alpha
        A test passes with a p-value above it.

    Raises
    ------
    AssertionError
        The message has the p-values and the counts of the last test.

    Examples
    --------
    >>> verify_generator(lambda n: np.arange(n) % 2, [0, 1], [0.5, 0.5], nsamples=100, nrepeat=2)
    [1.0, 1.0]
    """
    tests = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    values = [p for p, _, _ in tests]
    passed = sum(p > alpha for p in values)
    if passed < nrepeat * success_rate:
        _, seen, expected = tests[-1]
        raise AssertionError(
            f"the generator does not follow the distribution: {passed} of {nrepeat} chi-square tests have p > {alpha}, "
            f"{success_rate:.0%} must; p = {values}, last counts {seen.tolist()}, expected {expected.tolist()}, "
            f"buckets {list(buckets)}"
        )
    return values


def mean_check(generator: Generator, mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """Return whether the mean of a generator's samples is within three standard errors of `mu`.

    >>> bool(mean_check(lambda n: np.tile([0.0, 2.0], n // 2), mu=1, sigma=1, nsamples=100))
    True
    """
    samples = as_numpy(generator(nsamples)).astype(np.float64)
    return bool(abs(samples.mean() - mu) < 3 * sigma / np.sqrt(nsamples))


def var_check(generator: Generator, sigma: float, nsamples: int = 1000000) -> bool:
    """Return whether the variance of normal samples is within three standard errors of ``sigma ** 2``.

    >>> var_check(lambda n: np.random.normal(scale=2, size=n), sigma=5, nsamples=1000)
    False
    """
    samples = as_numpy(generator(nsamples)).astype(np.float64)
    # The standard error of the variance of normal samples; other distributions have another one.
    error = sigma**2 * np.sqrt(2 / (nsamples - 1))
    return bool(abs(samples.var(ddof=1) - sigma**2) < 3 * error)
