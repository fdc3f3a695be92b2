"""Settings of all tests."""

import gc
import os
import sys
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings
from tests.sampling import covering

# Before PyTorch is loaded: tests run beside each other, see docs/faster.md.
os.environ.setdefault("GOMP_SPINCOUNT", "2000")

from rebind import config as options
from rebind.graph.passes import BACKENDS

# Each pass is followed by a check that the graph is well-formed.
os.environ["REBIND_CHECK_GRAPHS"] = "1"


def pytest_configure(config: pytest.Config) -> None:
    """Without private names of PyTorch a step is compiled in two parts, and says so."""
    if not options.get("REBIND_PRIVATE_TORCH"):
        config.addinivalue_line("filterwarnings", "ignore:.* is compiled, but not forward:UserWarning")


# The suite tries the same cases in each run, so that a failure belongs to the change that it stands beside.
settings.register_profile("suite", derandomize=True, deadline=None)
settings.load_profile("suite")
# `make fuzz`: other cases in each run, and as many for each format of files.
settings.register_profile("fuzz", max_examples=100_000, derandomize=False, deadline=None, database=None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """``-n auto``: one more than there are processors, since tests of jobs and servers wait for much of their time."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)  # before slow tests are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test that is marked `sampled`, the rows beyond those that have each value of each parameter are slow."""
    tables: dict[str, list[pytest.Function]] = {}
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("slow"):
            assert isinstance(item, pytest.Function)
            tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for table in tables.values():
        values = [item.callspec.params.items() for item in table]
        quick = covering([frozenset((name, id(value)) for name, value in row) for row in values])
        for index, item in enumerate(table):
            if index not in quick:
                item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that is collected is garbage, so it is not searched for any: neither while it grows, nor after it."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


@pytest.fixture
def own_backends() -> Iterator[None]:
    """Backends that a test registers are its own, and so is the code that it compiles."""
    before = dict(BACKENDS)
    yield
    BACKENDS.clear()
    BACKENDS.update(before)
    if dynamo := sys.modules.get("torch._dynamo"):
        dynamo.reset()
