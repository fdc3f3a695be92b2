from operator import attrgetter

import numpy as np
import pytest
from tests.installed import installed

from rebind.errors import ArgumentError
from rebind.legacy.io import init_data


# As recorded by hand from MXNet 1.9.1.
@pytest.mark.parametrize(
    ("data", "names"),
    [
        (np.zeros((4, 3)), ["data"]),
        ([np.zeros(4), np.ones(4)], ["_0_data", "_1_data"]),
        ({"b": np.zeros(4), "a": np.ones(4)}, ["a", "b"]),
        (None, []),
        ([], []),
    ],
)
def test_names(data, names):
    assert [name for name, _ in init_data(data, True, "data")] == names


@pytest.mark.parametrize("data", [None, [], {}])
def test_no_arrays(data):
    with pytest.raises(ArgumentError, match="must be an array, a list or a dict of arrays; got none"):
        init_data(data, False, "data")


@pytest.mark.parametrize("path", ["io", "io.io", "io.utils"])
def test_old_paths(path):
    with installed() as mx:
        assert attrgetter(path)(mx)._init_data is init_data
