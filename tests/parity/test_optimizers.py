"""Optimizers update weights as MXNet 1.9.1 does, and resume from its ``.states`` files (``generate_optimizers.py``)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rebind as mx

from .golden import DATA, Pack, assert_close, read_manifest
from .optimizers import MIDDLE, RUNS, STEPS, Run

MANIFEST: dict[str, Any] = read_manifest(DATA / "optimizers.json")
PACK = Pack.read(DATA / "optimizers.npz")


def arrays(values: list[np.ndarray]) -> list[Any]:
    return [mx.nd.array(each, dtype=each.dtype) for each in values]


def train_on(run: Run, updater: Any, weights: list[Any], steps: range) -> None:
    """Make some steps, and compare what is recorded."""
    recorded = MANIFEST["runs"][run.name]["weights"]
    _, grads = run.draw()
    for step in steps:
        updater(list(range(len(weights))), arrays(grads[step - 1]), weights)
        for k, reference in enumerate(recorded.get(str(step), ())):
            # A float16 weight is a rounded master copy: at the border of two numbers it may be the next one.
            rtol = run.rtol if run.dtype == "float32" else 1e-3
            what = f"{run.name}: weight {run.names[k]} after step {step}"
            assert_close(weights[k].asnumpy(), PACK.get(reference), rtol=rtol, what=what)


def assert_state(run: Run, found: Any, expected: Any, rtol: float) -> None:
    """Compare the layout, the types and the numbers of a state."""
    if expected is None:
        assert found is None
    elif isinstance(expected, dict):
        assert isinstance(found, tuple)
        assert len(found) == len(expected["parts"])
        for one, other in zip(found, expected["parts"], strict=True):
            assert_state(run, one, other, rtol)
    else:
        wanted = PACK.get(expected)
        assert (found.shape, found.asnumpy().dtype) == (wanted.shape, wanted.dtype)
        assert_close(found.asnumpy(), wanted, rtol=rtol, what=f"{run.name}: state")


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_ten_steps(run):
    updater = mx.optimizer.get_updater(run.create(mx))
    weights = arrays(run.draw()[0])
    train_on(run, updater, weights, range(1, STEPS + 1))
    for i, expected in enumerate(MANIFEST["runs"][run.name]["after"]):
        assert_state(run, updater.states[i], expected, 5 * run.rtol)


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_states_of_mxnet_load(run):
    entry = MANIFEST["runs"][run.name]
    updater = mx.optimizer.get_updater(run.create(mx))
    updater.set_states(PACK.get(entry["states"]).tobytes())
    for i, expected in enumerate(entry["middle"]):
        assert_state(run, updater.states[i], expected, 0)


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_dumped_optimizer_resumes_where_mxnet_stopped(run):
    entry = MANIFEST["runs"][run.name]
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd"))
    updater.set_states(PACK.get(entry["dumped"]).tobytes())
    assert type(updater.optimizer) is type(run.create(mx))
    weights = arrays([PACK.get(each) for each in entry["weights"][str(MIDDLE)]])
    train_on(run, updater, weights, range(MIDDLE + 1, STEPS + 1))


def test_sgld_draws_as_mxnet():
    record = MANIFEST["sgld"]
    mx.random.seed(1)
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgld", **record["settings"]))
    weight = mx.nd.ones((record["samples"],))
    updater(0, 2 * mx.nd.ones(weight.shape), weight)
    values = weight.asnumpy().astype("float64")
    error = record["std"] / np.sqrt(record["samples"])
    assert abs(values.mean() - record["mean"]) < 6 * error
    assert values.std() == pytest.approx(record["std"], rel=0.01)
    assert ((values - values.mean()) ** 3).mean() == pytest.approx(0, abs=30 * error * record["std"] ** 2)
