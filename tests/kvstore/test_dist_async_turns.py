"""What workers pull from a store ``'dist_async'`` when they push in turns, beside MXNet 1.9.1."""

from __future__ import annotations

import numpy as np
import pytest
from tests.distributed.workers import run_job
from tests.parity.dist_async import CASES, WORKERS, push_in_turns
from tests.parity.golden import DATA, read_manifest

import rebind as mx

RECORDED = read_manifest(DATA / "dist_async.json")["runs"]


def push_all() -> dict[str, list[list[float]]]:
    return {name: push_in_turns(mx, case)[1] for name, case in CASES.items()}


@pytest.mark.parametrize("servers", [0, 2])
def test_pulled_values_are_those_of_mxnet(servers):
    for rank, found in enumerate(run_job(push_all, WORKERS, servers=servers)):
        for name, pulled in found.items():
            np.testing.assert_allclose(pulled, RECORDED[name][rank], rtol=1e-5, atol=1e-6, err_msg=name)
