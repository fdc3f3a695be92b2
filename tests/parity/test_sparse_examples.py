"""The programs in `examples/sparse` train as they do with MXNet 1.9.1 (``generate_sparse_examples.py``)."""

from __future__ import annotations

import pytest

import rebind as mx

from .golden import Pack, assert_close, read_manifest
from .sparse_examples import RECORD, RUNS, run, sample

MANIFEST = read_manifest(RECORD.with_suffix(".json"))["runs"]
PACK = Pack.read(RECORD.with_suffix(".npz"))


@pytest.mark.parametrize("name", RUNS)
def test_ten_steps(name, tmp_path):
    params, outputs = run(mx, name, tmp_path)
    recorded = MANIFEST[name]
    assert {key: value.stype for key, value in params.items()} == recorded["storage types"]
    for key, reference in recorded["parameters"].items():
        assert_close(sample(params[key].asnumpy()), PACK.get(reference), rtol=1e-4, what=f"{name}, {key}")
    for output, reference in zip(outputs, recorded["outputs"], strict=True):
        assert_close(output.asnumpy(), PACK.get(reference), rtol=1e-4, what=f"{name}, output")
