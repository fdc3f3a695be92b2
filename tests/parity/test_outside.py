"""Labels that are no class give the numbers of MXNet 1.9.1, and a warning where it says nothing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.errors import MXNetError

from .golden import DATA, Pack, assert_close, read_manifest
from .outside import LABELLED, METRICS, OPERATORS, ROWS, RUNS, computed, measured, rows, trained

MANIFEST: dict[str, Any] = read_manifest(DATA / "outside.json")
PACK = Pack.read(DATA / "outside.npz")


@pytest.mark.parametrize("name", [*OPERATORS, *ROWS])
@pytest.mark.filterwarnings("ignore:Embedding. data must hold indices")
def test_operators(name: str) -> None:
    recorded = PACK.get_all(MANIFEST["operators"][name])
    found = computed(mx, name) if name in OPERATORS else rows(mx, name)
    assert set(found) == set(recorded)
    for key, expected in recorded.items():
        assert_close(found[key], expected, rtol=1e-5, what=f"{name}: {key}")


@pytest.mark.parametrize("labels", LABELLED)
@pytest.mark.parametrize("name", METRICS)
def test_metrics(name: str, labels: str) -> None:
    expected = MANIFEST["metrics"][f"{name}: {labels}"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = measured(mx, name, labels)
    assert found == expected if isinstance(expected, str) else found == pytest.approx(expected, rel=1e-5)
    counts_from_end = name in ("ce", "nll") and "-1" in labels
    assert [each.category for each in caught] == [UserWarning] * counts_from_end


@pytest.mark.parametrize("name", RUNS)
def test_runs(name: str) -> None:
    _, settings, labels, _ = RUNS[name]
    recorded = MANIFEST["runs"][name]
    figures: list[float] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = trained(mx, name, figures.append)
    assert figures == pytest.approx(recorded["figures"], rel=1e-4)
    for key, expected in PACK.get_all(recorded["params"]).items():
        assert_close(found[key], expected, rtol=1e-4, what=f"{name}: {key}")
    of_loss = [str(each.message) for each in caught if "labels of 'softmax'" in str(each.message)]
    outside = [i for i, label in enumerate(labels) if label not in (0, 1, 2, settings.get("ignore_label"))]
    assert len(of_loss) == 1
    first, count = outside[0], len(outside)
    assert f"got {labels[first]} at index {first} of 'softmax_label' ({count} of 8 labels" in of_loss[0]


def test_the_metric_warns_once_with_the_count_and_the_first() -> None:
    metric = mx.metric.create("ce")
    text = r"got -1 at sample 1 of the batch \(2 of 3 labels are outside\). Negative ones count from the end"
    with pytest.warns(UserWarning, match=text):
        metric.update([mx.nd.array([0, -1, -2])], [mx.nd.array([[0.2, 0.8]] * 3)])
    metric.update([mx.nd.array([-1])], [mx.nd.array([[0.2, 0.8]])])  # warnings are errors here


def test_the_value_that_is_at_fault_is_named() -> None:
    """A label that is only warned of comes first; the error names the other one."""
    for metric, labels, text in (
        ("ce", [-1, 0, 50], "got 50 at sample 2 of the batch (1 of 3 labels are outside)"),
        ("ce", [-1, 0, -3], "got -3 at sample 2 of the batch (1 of 3 labels are outside)"),
    ):
        with pytest.raises(MXNetError) as caught:
            mx.metric.create(metric).update([mx.nd.array(labels)], [mx.nd.array([[0.2, 0.8]] * 3)])
        assert text in str(caught.value)
    loss = mx.sym.softmax_cross_entropy(
        mx.sym.var("data") * mx.sym.var("w_weight"), mx.sym.var("softmax_label")
    )
    module = mx.mod.Module(mx.sym.MakeLoss(loss, name="ce"))
    labels = np.array([-1, 0, 50, 1], "float32")
    with pytest.raises(
        MXNetError, match=r"got 50 at index 2 of 'softmax_label' \(1 of 4 labels are outside\)"
    ):
        module.fit(mx.io.NDArrayIter(np.ones((4, 2)), labels, 4), eval_metric="loss", num_epoch=1)
