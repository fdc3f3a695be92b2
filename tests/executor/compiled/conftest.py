"""A compiler that counts."""

from __future__ import annotations

import pytest
from tests.executor.compiled.networks import (
    QUICK,
)
from torch._dynamo.testing import CompileCounterWithBackend

from rebind.graph.passes import DEFAULT, register_backend


@pytest.fixture
def counter() -> CompileCounterWithBackend:
    """The compiler of the backend ``'counted'``, which counts graphs."""
    found = CompileCounterWithBackend(QUICK)
    register_backend("counted", DEFAULT, compiler=found)
    return found
