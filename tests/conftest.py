"""Settings of all tests."""

import os

# Each pass is followed by a check that the graph is well-formed.
os.environ["REBIND_CHECK_GRAPHS"] = "1"
