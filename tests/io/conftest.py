"""What tests of iterators share."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from rebind import tuning


@pytest.fixture
def hand_over() -> Iterator[Callable[[float], object]]:
    """Sets what handing a batch over is said to take: below 0 a thread always reads ahead, at infinity never."""
    with ExitStack() as stack:
        yield lambda seconds: stack.enter_context(tuning.changed(hand_over_seconds=seconds))
