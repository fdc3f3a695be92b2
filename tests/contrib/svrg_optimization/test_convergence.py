"""SVRG does what it is for: with a constant learning rate it arrives at the optimum, where SGD does not."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.linear_model import LogisticRegression

SCRIPT = Path(__file__).parents[3] / "examples" / "svrg.py"
EVALUATIONS = 35


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("svrg_example", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_optimum_is_scikit_learns(example):
    x, y = example.read_data()
    weight, bias = example.optimum(x, y)
    model = LogisticRegression(C=1 / (example.L2 * len(x)), solver="newton-cholesky", tol=1e-13).fit(x, y)
    np.testing.assert_allclose(model.coef_[0], weight, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, bias, rtol=1e-9)


def test_the_gap_falls_geometrically_and_far_below_that_of_sgd(example, tmp_path):
    curves = {method: example.train(method, EVALUATIONS) for method in ("SVRG", "SGD")}
    svrg, sgd = map(np.array, curves.values())
    assert svrg[-1, 0] == sgd[-1, 0] == EVALUATIONS
    # The best of SGD's last ten epochs is still far above.
    assert svrg[-1, 1] < 1e-7
    assert svrg[-1, 1] < sgd[-10:, 1].min() / 100
    # The logarithm of the gap lies on a falling line.
    evaluations, logs = svrg[:, 0], np.log10(svrg[:, 1])
    slope, start = np.polyfit(evaluations, logs, 1)
    assert slope < -0.15
    assert np.abs(slope * evaluations + start - logs).max() < 1

    pytest.importorskip("matplotlib")
    example.draw(tmp_path / "svrg.svg", curves)
    assert "<svg" in (tmp_path / "svrg.svg").read_text()
