"""Checks of generators of random numbers against their distribution."""

import sys
from contextlib import nullcontext

import numpy as np
import pytest

from rebind import test_utils as tu

from .samples import normal


@pytest.mark.parametrize(
    ("settings", "outcome"),
    [
        ({}, nullcontext()),
        ({"loc": 0.1}, pytest.raises(AssertionError, match="does not follow the distribution: 0 of 5")),
        ({"scale": 1.1}, pytest.raises(AssertionError, match="does not follow the distribution: 0 of 5")),
    ],
)
def test_verify_generator_of_continuous_numbers(settings, outcome):
    stats = pytest.importorskip("scipy.stats")
    buckets, probs = tu.gen_buckets_probs_with_ppf(stats.norm.ppf, 5)
    with outcome:
        tu.verify_generator(normal(**settings), buckets, probs, nsamples=10000)


def test_chi_square_check_counts_each_sample():
    pytest.importorskip("scipy")
    p, seen, expected = tu.chi_square_check(lambda n: np.arange(n) % 3, [0, 1, 2], [1 / 3] * 3, 300)
    assert p == 1 and seen.tolist() == [100, 100, 100]
    np.testing.assert_allclose(expected, 100)


EDGES = [(-1.1, 0.0), (0.0, 1.1)]  # -1.1 in float32 lies below -1.1


@pytest.mark.parametrize(
    ("generator", "buckets", "probs", "count", "p"),
    [
        pytest.param(lambda n: np.arange(n) % 4, [0, 1, 2], [1 / 3] * 3, 300, 0, id="outside"),
        pytest.param(lambda n: np.arange(n) % 4, [0, 1, 2], [0.25] * 3, 400, 1, id="outside-is-expected"),
        pytest.param(
            lambda n: np.tile(np.float32([-1.1, 1.1]), n // 2), EDGES, [0.5] * 2, 10, 1, id="on-the-edges"
        ),
    ],
)
def test_chi_square_check_gives_the_probability(generator, buckets, probs, count, p):
    pytest.importorskip("scipy")
    assert tu.chi_square_check(generator, buckets, probs, count)[0] == p


@pytest.mark.parametrize(
    ("buckets", "probs", "says"),
    [
        (EDGES, [0.9, 0.9], "probs must be > 0 and sum to 1 at most"),
        ([(0, 1), (2, 3)], [0.5, 0.5], "intervals must follow each other"),
    ],
)
def test_chi_square_check_says_what_is_wrong(buckets, probs, says):
    pytest.importorskip("scipy")
    with pytest.raises(ValueError, match=says):
        tu.chi_square_check(normal(), buckets, probs, 10)


def test_scipy_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ImportError, match="chi_square_check needs scipy: pip install scipy"):
        tu.chi_square_check(normal(), [0, 1], [0.5, 0.5], 10)
