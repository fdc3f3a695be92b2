"""What training is put together from computes what MXNet 1.9.1 computes (``generate_training.py``)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rebind import initializer, lr_scheduler, metric, optimizer
from rebind import random as rebind_random
from rebind.io import NDArrayIter
from rebind.ndarray import NDArray, array

DATA = Path(__file__).resolve().parent / "data" / "training"
TABLES: dict[str, Any] = json.loads((DATA / "tables.json").read_text())


def rows(table: Any) -> Any:
    return pytest.mark.parametrize(
        "row",
        [
            pytest.param(row, id=f"{number}-{row.get('name', '')}{row.get('last_batch_handle', '')}")
            for number, row in enumerate(table)
        ],
    )


def assert_state(found: Any, expected: Any, tolerance: float) -> None:
    if expected is None:
        assert found is None
    elif isinstance(found, NDArray):
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=tolerance, atol=tolerance)
    else:
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_state(one, other, tolerance)


@rows(TABLES["optimizers"]["rows"])
def test_optimizer_moves_weights_as_mxnet(row):
    updater = optimizer.get_updater(optimizer.create(row["name"], **row["settings"]))
    weight = array(np.array(TABLES["optimizers"]["weight"]), dtype=row["dtype"])
    tolerance = 1e-6 if row["dtype"] == "float32" else 1e-3
    for grad, expected in zip(TABLES["optimizers"]["grads"], row["weights"], strict=True):
        updater(0, array(np.array(grad), dtype=row["dtype"]), weight)
        np.testing.assert_allclose(weight.asnumpy(), expected, rtol=tolerance, atol=tolerance)
    assert_state(updater.states[0], row["state"], 2e-6 if row["dtype"] == "float32" else 1e-3)


@pytest.mark.parametrize("number", range(len(TABLES["optimizers"]["rows"])))
def test_states_of_mxnet_load(number):
    row = TABLES["optimizers"]["rows"][number]
    updater = optimizer.get_updater(optimizer.create(row["name"], **row["settings"]))
    updater.set_states((DATA / f"optimizer-{number}.states").read_bytes())
    assert_state(updater.states[0], row["state"], 0)
    weight = array(np.array(row["weights"][-1]), dtype=row["dtype"])
    updater(0, array(np.ones((2, 3)), dtype=row["dtype"]), weight)


def test_a_dumped_optimizer_goes_on_where_mxnet_stopped():
    updater = optimizer.get_updater(optimizer.create("sgd"))
    updater.set_states((DATA / "dumped.states").read_bytes())
    assert isinstance(updater.optimizer, optimizer.Adam)
    weights = [array(np.array(each)) for each in TABLES["dumped"]["before"]]
    for _ in range(3):
        updater([0, 1], [array(np.ones((2, 2))), array(np.ones(2))], weights)
    for weight, expected in zip(weights, TABLES["dumped"]["after"], strict=True):
        np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-6)


@rows(TABLES["schedulers"])
def test_schedule(row):
    schedule = getattr(lr_scheduler, row["name"])(**row["settings"])
    assert [schedule(n) for n in TABLES["updates"]] == pytest.approx(row["rates"], rel=1e-12, abs=1e-15)


@rows(TABLES["metrics"]["rows"])
def test_metric(row):
    measured = metric.create(row["name"], **row["settings"])
    assert {**measured.get_config(), **row["config"]} == measured.get_config()
    for (label, pred), (local, whole) in zip(
        TABLES["metrics"]["batches"][row["data"]], row["values"], strict=True
    ):
        measured.reset_local()
        measured.update([array(np.array(label))], [array(np.array(pred))])
        for found, expected in ((measured.get(), local), (measured.get_global(), whole)):
            assert found[0] == expected[0]
            assert found[1] == pytest.approx(expected[1], rel=1e-6)


@rows(TABLES["iterators"])
def test_iterator_gives_mxnets_samples_in_its_order(row):
    np.random.seed(11)
    count = row["rows"]
    batches = NDArrayIter(
        np.arange(count),
        np.arange(count) * 10,
        batch_size=row["batch_size"],
        shuffle=row["shuffle"],
        last_batch_handle=row["last_batch_handle"],
    )
    epochs = []
    for _ in range(3):
        epoch = []
        for batch in batches:
            samples = batch.data[0].asnumpy()
            np.testing.assert_array_equal(batch.label[0].asnumpy(), samples * 10)
            epoch.append([samples.astype(int).tolist(), batch.pad])
            if len(epoch) == row["stop_after"]:
                break
        epochs.append(epoch)
        batches.reset()
    assert epochs == row["epochs"]


@rows(TABLES["initializers"])
def test_initializer(row):
    rebind_random.seed(1)
    made = initializer.create(row["name"], **row["settings"])
    assert made.dumps() == row["dumps"]
    weight = array(np.zeros(row["shape"]))
    made(initializer.InitDesc("fc_weight"), weight)
    values = weight.asnumpy().astype("float64")
    if "values" in row:
        np.testing.assert_allclose(values, row["values"], rtol=1e-6)
        return
    assert values.std() == pytest.approx(row["std"], rel=0.02)
    assert abs(values.mean()) < 5 * row["std"] / np.sqrt(values.size)
    # The bound of uniform numbers is sharp; of normal ones it is the largest of many, which varies.
    assert np.abs(values).max() == pytest.approx(row["bound"], rel=0.3)
    if row["settings"].get("rnd_type", "uniform") == "uniform" and row["name"] in ("uniform", "xavier"):
        assert np.abs(values).max() == pytest.approx(row["bound"], rel=1e-3)
