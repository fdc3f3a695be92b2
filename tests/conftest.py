"""Settings of all tests."""

import os

from hypothesis import settings

import rebind  # noqa: F401  # before any test imports torch: tests run beside each other, see docs/performance.md

# Each pass is followed by a check that the graph is well-formed.
os.environ["REBIND_CHECK_GRAPHS"] = "1"

# `make fuzz`: as many cases for each format of files.
settings.register_profile("fuzz", max_examples=100_000, deadline=None, database=None)
