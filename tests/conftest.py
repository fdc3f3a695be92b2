"""Settings of all tests."""

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

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


# `make fuzz`: as many cases for each format of files.
settings.register_profile("fuzz", max_examples=100_000, deadline=None, database=None)


@pytest.fixture
def own_backends() -> Iterator[None]:
    """Backends that a test registers are its own, and so is the code that it compiles."""
    before = dict(BACKENDS)
    yield
    BACKENDS.clear()
    BACKENDS.update(before)
    if dynamo := sys.modules.get("torch._dynamo"):
        dynamo.reset()
