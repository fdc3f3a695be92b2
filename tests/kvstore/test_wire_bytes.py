"""Compressed gradients take 16 times, or 32 times, fewer bytes at the socket."""

import sys

import pytest
from tests.distributed.workers import run_job
from tests.kvstore.wire_bytes import PUSHES, SIZE, push


@pytest.mark.skipif(sys.platform != "linux", reason="a socket's count of bytes is read as Linux gives it")
@pytest.mark.parametrize(("kind", "ratio"), [("none", 1), ("2bit", 16), ("1bit", 32)])
def test_the_bytes_of_a_push(kind, ratio):
    # Each of the two sends the other half of its gradients, and half of the weights.
    half = SIZE * 4 // 2 * PUSHES
    for at_sockets, of_arrays in run_job(push, 2, kind):
        assert of_arrays == half // ratio + half
        # Besides, there are signs of life, heads of messages and the barriers, of which some bytes may not have been
        # confirmed before and after.
        assert abs(at_sockets - of_arrays) < half // 32 // 20
