"""What PyTorch can do only from a version on: marks of tests."""

import pytest
import torch

#: Before, forward and backward (and update) are one call for the first sizes and settings only, and apart for others.
follows_gradients = pytest.mark.skipif(
    torch.__version__ < "2.12", reason="Dynamo follows gradients from PyTorch 2.12 on"
)
#: Before, its own decomposition gives the states of a compiled LSTM an axis too many.
decomposes_lstm = pytest.mark.skipif(torch.__version__ < "2.12", reason="PyTorch decomposes LSTMs wrongly")
