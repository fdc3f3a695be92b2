"""Zeros for many arrays at once."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import MXNetError
from rebind.ops import OPERATORS


def test_arrays_are_written():
    arrays = [mx.nd.ones((2,)), mx.nd.ones((3, 1), dtype="int32"), mx.nd.ones((0, 2))]
    arrays[0].attach_grad()
    with mx.autograd.record():
        assert mx.nd.reset_arrays(*arrays, num_arrays=3) == []
    assert [array.shape for array in arrays] == [(2,), (3, 1), (0, 2)]
    assert not any(np.any(array.asnumpy()) for array in arrays)


def test_it_is_no_part_of_a_symbol():
    with pytest.raises(MXNetError, match="reset_arrays: it writes into arrays and has no output"):
        OPERATORS["reset_arrays"](torch.ones(2, device="meta"))
