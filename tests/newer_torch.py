"""What PyTorch can do only from a version on, or with names that it does not document: marks of tests."""

import pytest
import torch

from rebind import config

#: For tests of how something is done: how often it is called, what is fused, packed or shared.
uses_private_names = pytest.mark.skipif(
    not config.get("REBIND_PRIVATE_TORCH"), reason="PyTorch's documented functions do it in another way"
)
_FOLLOWS_GRADIENTS = torch.__version__ >= "2.12" and bool(config.get("REBIND_PRIVATE_TORCH"))
#: Before, Dynamo compiles no forward with its backward: they, and an update, are one call for the first sizes and
#: settings on the CPU, and apart for others.
follows_gradients = pytest.mark.skipif(
    not _FOLLOWS_GRADIENTS,
    reason="Dynamo follows gradients from PyTorch 2.12 on, as is set by a private name",
)
#: For tests that hold of both.
may_be_apart = pytest.mark.filterwarnings(
    ("error" if _FOLLOWS_GRADIENTS else "ignore") + ":.* is compiled, but not forward:UserWarning"
)
