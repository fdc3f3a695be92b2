"""Optimizers take row_sparse gradients as MXNet 1.9.1 does (``generate_sparse_optimizers.py``)."""

from __future__ import annotations

from typing import Any

import pytest

import rebind as mx

from .golden import DATA, Pack, assert_close, read_manifest
from .optimizers import MIDDLE, STEPS
from .sparse_optimizers import RUNS, SparseRun

MANIFEST: dict[str, Any] = read_manifest(DATA / "sparse_optimizers.json")["runs"]
PACK = Pack.read(DATA / "sparse_optimizers.npz")


def train_on(run: SparseRun, updater: Any, weights: list[Any], steps: range) -> None:
    """Make some steps, and compare what is recorded."""
    grads = run.gradients(mx)
    for step in steps:
        updater(list(range(len(weights))), grads[step - 1], weights)
        for k, reference in enumerate(MANIFEST[run.name]["weights"].get(str(step), ())):
            what = f"{run.name}: weight {k} after step {step}"
            assert_close(weights[k].asnumpy(), PACK.get(reference), rtol=run.rtol, what=what)


def assert_state(run: SparseRun, found: Any, expected: Any) -> None:
    if expected is None:
        assert found is None
    elif isinstance(expected, dict):
        assert isinstance(found, tuple)
        for one, other in zip(found, expected["parts"], strict=True):
            assert_state(run, one, other)
    else:
        wanted = PACK.get(expected)
        assert (found.shape, found.asnumpy().dtype) == (wanted.shape, wanted.dtype)
        assert_close(found.asnumpy(), wanted, rtol=5 * run.rtol, what=f"{run.name}: state")


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_ten_steps(run):
    weights, updater = run.weights(mx), mx.optimizer.get_updater(run.create(mx))
    train_on(run, updater, weights, range(1, STEPS + 1))
    assert {weight.stype for weight in weights} == {run.stype}
    for i, expected in enumerate(MANIFEST[run.name]["after"]):
        assert_state(run, updater.states[i], expected)


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_dumped_optimizer_resumes_where_mxnet_stopped(run):
    entry = MANIFEST[run.name]
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd"))
    updater.set_states(PACK.get(entry["dumped"]).tobytes())
    weights = [mx.nd.array(PACK.get(each)).tostype(run.stype) for each in entry["weights"][str(MIDDLE)]]
    train_on(run, updater, weights, range(MIDDLE + 1, STEPS + 1))


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_resuming_is_exact(run):
    weights, grads = run.weights(mx), run.gradients(mx)
    updater = mx.optimizer.get_updater(run.create(mx))
    index = list(range(len(weights)))
    for step in grads[:MIDDLE]:
        updater(index, step, weights)
    others, other = [each.copy() for each in weights], mx.optimizer.get_updater(mx.optimizer.create("sgd"))
    other.set_states(updater.get_states(dump_optimizer=True))
    for step in grads[MIDDLE:]:
        updater(index, step, weights)
        other(index, step, others)
    for one, two in zip(weights, others, strict=True):
        assert one.asnumpy().tobytes() == two.asnumpy().tobytes()
    assert updater.get_states() == other.get_states()
