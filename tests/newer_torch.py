"""What PyTorch can do only from a version on: marks of tests."""

import pytest
import torch

_FOLLOWS_GRADIENTS = torch.__version__ >= "2.12"
#: Before, Dynamo compiles no forward with its backward: they, and an update, are one call for the first sizes and
#: settings on the CPU, and apart for others.
follows_gradients = pytest.mark.skipif(
    not _FOLLOWS_GRADIENTS, reason="Dynamo follows gradients from PyTorch 2.12 on"
)
#: For tests that hold of both.
may_be_apart = pytest.mark.filterwarnings(
    ("error" if _FOLLOWS_GRADIENTS else "ignore") + ":.* is compiled, but not forward:UserWarning"
)
