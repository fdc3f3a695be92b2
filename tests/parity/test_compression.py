"""Compressed gradients: what is pulled is what MXNet 1.9.1 gave (``generate_compression.py``), to the last bit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.distributed.workers import run_job
from tests.parity.compression import RUNS, push_all, push_here, workers_of  # by a name that workers find too

import rebind as mx

from .golden import DATA

RECORDED: dict[str, Any] = json.loads((DATA / "compression.json").read_text(encoding="utf-8"))["runs"]
JOBS = {count: [name for name in RUNS if workers_of(name) == count] for count in (1, 2, 3)}


@pytest.mark.parametrize("name", [name for name in RUNS if not workers_of(name)])
def test_stores_of_one_process(name):
    assert push_all(mx, name) == RECORDED[name]


@pytest.mark.parametrize("count", JOBS)
def test_jobs(count):
    for found in run_job(push_here, count, JOBS[count]):
        for name, pulled in found.items():
            assert pulled == RECORDED[name], name
