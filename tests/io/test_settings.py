import itertools
from pathlib import Path

import numpy as np
import pytest

from rebind.errors import ArgumentError, ParameterError
from rebind.io.partition import byte_bounds, check_part, sample_bounds
from rebind.io.settings import settings
from rebind.io.shuffling import shuffled_order


class Given:
    @settings
    def __init__(
        self,
        *,
        path: str,
        shape: tuple[int, ...] = (1,),
        size: int = 3,
        flag: bool = False,
        text: str | None = None,
    ) -> None:
        self.found = (path, shape, size, flag, text)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"path": "a"}, ("a", (1,), 3, False, None)),
        (
            {"path": Path("a"), "shape": "(2, 3)", "size": "4", "flag": "True", "text": "None"},
            ("a", (2, 3), 4, True, None),
        ),
        ({"path": "a", "shape": 2, "size": np.int64(4), "flag": 1, "text": "b"}, ("a", (2,), 4, True, "b")),
    ],
)
def test_values_and_their_texts(given, found):
    assert Given(**given).found == found


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (
            lambda: Given("a"),
            ArgumentError,
            r"parameters must be given by name; got 1 by position. Write Given\(path=",
        ),
        (lambda: Given(size=3), ArgumentError, "Given: path must be given; got size"),
        (lambda: Given(path="a", size="x"), ParameterError, "Given: size must be an int; got 'x'"),
        (lambda: check_part("X", 0, 0), ParameterError, "X: num_parts must be >= 1; got 0"),
        (
            lambda: check_part("X", 3, -1),
            ParameterError,
            r"X: part_index must be in 0..2, for num_parts=3; got -1",
        ),
    ],
)
def test_bad_input(make, error, says):
    with pytest.raises(error, match=says):
        make()


def test_an_unknown_parameter_warns_at_the_users_line():
    with pytest.warns(
        UserWarning, match="Given: no parameter 'sise', so it has no effect; did you mean 'size'"
    ) as caught:
        Given(path="a", sise=4)
    assert caught[0].filename == __file__


# What MXNet 1.9.1 gives for these seeds.
@pytest.mark.parametrize(
    ("count", "seed", "order"),
    [
        (1, 0, [0]),
        (2, 1, [1, 0]),
        (8, 3, [6, 5, 3, 0, 7, 1, 2, 4]),
        (11, 0, [0, 2, 3, 5, 9, 1, 10, 8, 4, 7, 6]),
        (11, 7, [2, 4, 5, 10, 8, 7, 6, 1, 0, 9, 3]),
    ],
)
def test_shuffled_order(count, seed, order):
    assert shuffled_order(count, seed).tolist() == order


# Long enough for draws that are thrown away: the first ten of the order that MXNet 1.9.1 gives.
@pytest.mark.parametrize(
    ("seed", "first"),
    [
        (0, [168682, 145077, 21904, 153361, 110523, 262487, 221500, 245250, 134260, 267282]),
        (-3, [236710, 56741, 60377, 282721, 51397, 86888, 228043, 96342, 318, 293203]),
    ],
)
def test_shuffled_order_of_many(seed, first):
    order = shuffled_order(300_000, seed)
    assert order[:10].tolist() == first
    assert np.array_equal(np.sort(order), np.arange(300_000))


@pytest.mark.parametrize("bounds", [sample_bounds, byte_bounds])
@pytest.mark.parametrize("total", [0, 1, 7, 100])
@pytest.mark.parametrize("parts", [1, 3, 9])
def test_parts_are_the_whole(bounds, total, parts):
    found = [bounds(total, parts, part) for part in range(parts)]
    assert (found[0][0], found[-1][1]) == (0, total)
    assert all(one[1] == other[0] for one, other in itertools.pairwise(found))
