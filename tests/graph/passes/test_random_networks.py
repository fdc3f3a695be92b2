"""Networks that are drawn at random give by default, and compiled, what they give node by node."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from rebind import tuning

from .random_networks import RandomNetwork

#: Differences, times the largest number of their step of the same kind (outputs, gradients or auxiliary values).
TOLERANCE = 2e-4
#: Networks that a test runs.
SOME = 10


@pytest.fixture(params=["small", "large"])
def convolutions(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small convolutions are computed in their own way in inference; or as large ones are."""
    with tuning.changed(**{"tiny_convolution_products": 0} if request.param == "large" else {}):
        yield


def largest(values: dict[str, np.ndarray]) -> dict[str, float]:
    """The largest number of each kind in each step: what is 0 but for roundings is compared with that."""
    found: dict[str, float] = {}
    for name, value in values.items():
        size = float(np.abs(value).max(initial=1e-3))
        found[kind(name)] = max(found.get(kind(name), 0.0), size)
    return found


def kind(name: str) -> str:
    """All gradients of a step are of one kind."""
    return name.partition(" of ")[0]


def compare(seed: int, **backend: str) -> bool:
    """Compare a network's numbers; return whether they could be: infinite ones depend on the order of computing."""
    network = RandomNetwork(seed)
    expected, found = network.run(seed, backend="plain"), network.run(seed, **backend)
    assert found.keys() == expected.keys()
    if not all(np.isfinite(value).all() for value in expected.values()):
        return False
    sizes = largest(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(
            found[name], value, rtol=TOLERANCE, atol=TOLERANCE * sizes[kind(name)],
            err_msg=f"network {seed}, {name}",
        )  # fmt: skip
    return True


@pytest.mark.usefixtures("convolutions")
@pytest.mark.parametrize("first", range(0, 100, SOME))
def test_by_default(first: int) -> None:
    assert all([compare(seed) for seed in range(first, first + SOME)])


@pytest.mark.slow
@pytest.mark.usefixtures("convolutions")
@pytest.mark.parametrize("first", range(1000, 5000, 100))
def test_many_by_default(first: int) -> None:
    assert sum([compare(seed) for seed in range(first, first + 100)]) > 90


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inductor imports what torch itself deprecates
@pytest.mark.usefixtures("convolutions")
@pytest.mark.parametrize("seed", range(10))
def test_compiled(seed: int) -> None:
    assert compare(seed, backend="inductor")
