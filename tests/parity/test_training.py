"""What training is put together from computes what MXNet 1.9.1 computes (``generate_training.py``)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind
from rebind import initializer, lr_scheduler, metric, monitor
from rebind import random as rebind_random
from rebind import symbol as sym
from rebind.device import cpu
from rebind.io import NDArrayIter
from rebind.ndarray import array

from . import reports

DATA = Path(__file__).resolve().parent / "data" / "training"
TABLES: dict[str, Any] = json.loads((DATA / "tables.json").read_text())


def rows(table: Any) -> list[Any]:
    return [
        pytest.param(row, id=f"{number}-{row.get('name', '')}{row.get('last_batch_handle', '')}")
        for number, row in enumerate(table)
    ]


@pytest.mark.parametrize("row", rows(TABLES["schedulers"]))
def test_schedule(row):
    schedule = getattr(lr_scheduler, row["name"])(**row["settings"])
    assert [schedule(n) for n in TABLES["updates"]] == pytest.approx(row["rates"], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("row", rows(TABLES["metrics"]["rows"]))
def test_metric(row):
    measured = metric.create(row["name"], **row["settings"])
    assert {**measured.get_config(), **row["config"]} == measured.get_config()
    for (label, pred), (local, whole) in zip(
        TABLES["metrics"]["batches"][row["data"]], row["values"], strict=True
    ):
        if row["windows"]:
            measured.reset_local()
        measured.update([array(np.array(label))], [array(np.array(pred))])
        for found, expected in ((measured.get(), local), (measured.get_global(), whole)):
            assert found[0] == expected[0]
            assert found[1] == pytest.approx(expected[1], rel=1e-6, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("row", rows(TABLES["iterators"]))
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


@pytest.mark.parametrize("row", rows(TABLES["initializers"]))
def test_initializer(row):
    rebind_random.seed(1)
    made = initializer.create(row["name"], **row["settings"])
    assert made.dumps() == row["dumps"]
    weight = array(np.zeros(row["shape"]))
    made(initializer.InitDesc("fc_weight"), weight)
    values = weight.asnumpy().astype("float64")
    if "values" in row:
        np.testing.assert_array_equal(values, row["values"])
        return
    assert values.std() == pytest.approx(row["std"], rel=0.02)
    assert abs(values.mean()) < 5 * row["std"] / np.sqrt(values.size)
    # The bound of uniform numbers is sharp; of normal ones it is the largest of many, which varies.
    assert np.abs(values).max() == pytest.approx(row["bound"], rel=0.3)
    if row["settings"].get("rnd_type", "uniform") == "uniform" and row["name"] in ("uniform", "xavier"):
        assert np.abs(values).max() == pytest.approx(row["bound"], rel=1e-3)


@pytest.mark.parametrize("row", rows(TABLES["fused"]))
def test_parameters_of_rnn_are_filled_gate_by_gate(row):
    class Numbered(initializer.Initializer):
        def __init__(self):
            super().__init__()
            self.parts = []

        def _init_weight(self, name, arr):
            self.parts.append([name, list(arr.shape)])
            arr[:] = len(self.parts)

        _init_bias = _init_weight

    settings = (3, row["layers"], row["name"], row["both"], 0.5)
    assert initializer.FusedRNN(None, *settings).dumps() == row["dumps"]
    parts, values = Numbered(), array(np.zeros(len(row["values"])))
    initializer.FusedRNN(parts, *settings)._init_weight(initializer.InitDesc("p_weight"), values)
    assert parts.parts == row["parts"]
    np.testing.assert_array_equal(values.asnumpy(), row["values"])


@pytest.mark.parametrize("row", rows(TABLES["monitored"]))
def test_monitor(row):
    body = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")
    body = sym.Activation(sym.BatchNorm(body, name="bn"), act_type="tanh", name="act")
    body = sym.FullyConnected(body, num_hidden=2, no_bias=True, name="last")
    exe = sym.LogisticRegressionOutput(body, name="out").simple_bind(cpu(), data=(4, 5))
    for i, values in enumerate(exe.arg_arrays):
        values[:] = np.cos(np.arange(values.size) * (i + 1)).reshape(values.shape)
    watch = monitor.Monitor(2, **row["settings"])
    watch.install(exe)
    for expected in row["batches"]:
        watch.tic()
        exe.forward(is_train=True)
        exe.backward()
        found = watch.toc()
        # A gamma that does not count (`fix_gamma`) has no part in the computation.
        expected = [each for each in expected if each[1] != "bn_backward_output1"]
        assert [each[:2] for each in found] == [tuple(each[:2]) for each in expected]
        for (_, name, one), (_, _, text) in zip(found, expected, strict=True):
            if name == "bn_gamma":  # MXNet writes 1 into the gamma that `fix_gamma` tells to count as 1
                continue
            assert float(one) == pytest.approx(float(text), rel=1e-5, abs=1e-6)
            assert one[-1] == "\t"


def test_lines_of_callbacks():
    assert reports.lines_of_callbacks(rebind) == TABLES["callbacks"]


@pytest.fixture(scope="module")
def measured():
    found = reports.metrics_of_functions(rebind)
    assert len(found) == len(TABLES["functions"])
    return found


@pytest.mark.parametrize("number", range(len(TABLES["functions"])))
def test_metrics_of_functions_and_of_others(measured, number):
    row = TABLES["functions"][number]
    name, text, figures = measured[number]
    assert [name, text[:12]] == [row[0], row[1][:12]]
    for found, expected in zip(figures, row[2], strict=True):
        for pairs, recorded in zip(found, expected, strict=True):
            assert [each for each, _ in pairs] == [each for each, _ in recorded]
            assert [value for _, value in pairs] == pytest.approx([value for _, value in recorded], rel=1e-6)
