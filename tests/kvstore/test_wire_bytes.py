"""Compressed gradients take 16 times, or 32 times, fewer bytes at the socket."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.kvstore.wire_bytes import PUSHES, SIZE

NAMESPACE = ["unshare", "--map-root-user", "--net"]


def may_make_namespaces():
    return (
        bool(shutil.which("unshare"))
        and not subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode
    )


@pytest.mark.skipif(not may_make_namespaces(), reason="this process may not make a network namespace")
def test_the_bytes_of_a_push():
    done = subprocess.run(
        [*NAMESPACE, sys.executable, "-m", "tests.kvstore.wire_bytes"],
        capture_output=True,
        text=True,
        timeout=200,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    # Each of the two sends the other half of its gradients, and half of the weights.
    half = SIZE * 4 // 2 * PUSHES
    for kind, ratio in {"2bit": 16, "1bit": 32}.items():
        for on_interface, of_arrays in found[kind]:
            assert of_arrays == half // ratio + half
            # What travels besides the weights, with all headers and signs of life: a difference of large numbers, in
            # which half a percent of the weights' headers is a sixth of the 1-bit push.
            without, _ = found["none"][0]
            assert 0.8 * ratio < (without / 2) / (on_interface - without / 2) < 1.3 * ratio
