"""States by themselves, on two devices of unequal slices."""

import re

import pytest

from rebind import nd
from rebind.executor.group.split import Split
from rebind.executor.group.states import States


def states():
    return States(["h"], [[nd.zeros((1, 2)), nd.zeros((2, 2))]], Split((slice(0, 1), slice(1, 3))))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (dict(number=7), [[7, 7]] * 3),
        (dict(values=[nd.array([[1, 2], [3, 4], [5, 6]])]), [[1, 2], [3, 4], [5, 6]]),
        (dict(values=[[nd.array([[1, 2]]), nd.array([[3, 4], [5, 6]])]]), [[1, 2], [3, 4], [5, 6]]),
    ],
)
def test_values_in_and_out(given, expected):
    it = states()
    it.set(**given)
    assert it.get()[0].asnumpy().tolist() == expected
    assert it.get(merge=False) == it.arrays


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (dict(), "needs either states or value; got neither"),
        (dict(values=[], number=1), "needs either states or value; got both"),
        (dict(values=[]), "states must hold an array for each of ['h']; got 0"),
        (dict(values=[nd.ones((4, 2))]), "state 'h' must have 3 samples, on axis 0; got shape (4, 2)"),
        (dict(values=[[nd.ones((1, 2))]]), "state 'h' must have an array for each of 2 devices; got 1"),
    ],
)
def test_values_that_do_not_fit(given, says):
    it = states()
    with pytest.raises(ValueError, match=re.escape(f"set_states: {says}")):
        it.set(**given)
    assert not it.get()[0].asnumpy().any()
