"""Logistic regression by SVRG and by SGD, with the same constant learning rate: which of them arrives?

The data are the tumours of scikit-learn's breast cancer set. Both get the same batches, and what counts is gradient
evaluations: a step of SGD takes one for each row, a step of SVRG two, a snapshot one for each row of the data. SGD
comes down to where the noise of its batches is as large as the slope; SVRG continues to the limits of the numbers.

    python examples/svrg.py --out svrg.svg
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

try:
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    import rebind as mx
    from rebind.contrib.svrg_optimization import SVRGModule
except ImportError as error:
    sys.exit(f"svrg.py needs {error.name}. In rebind's folder: pip install '.[viz]' scikit-learn")

BATCH_SIZE = 8
L2 = 0.02
LEARNING_RATE = 0.3
UPDATE_FREQ = 2  # epochs from snapshot to snapshot
EVALUATIONS = 80  # gradient evaluations for each row of the data
COLORS = {"SGD": "#c2571a", "SVRG": "#1f6f8b"}

Curve = list[tuple[int, float]]  # gradient evaluations for each row of the data, gap to the optimum


def read_data() -> tuple[np.ndarray, np.ndarray]:
    """Standardized measurements, and classes; without the last row, since 569 is a prime."""
    x, y = load_breast_cancer(return_X_y=True)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    rows = len(x) // BATCH_SIZE * BATCH_SIZE
    return x[:rows], y[:rows].astype("float64")


def objective(x: np.ndarray, y: np.ndarray, weight: np.ndarray, bias: float) -> float:
    """Mean logistic loss, and half of L2 times the squared length of the weights."""
    scores = x @ weight + bias
    return float(np.mean(np.logaddexp(0, scores) - y * scores) + 0.5 * L2 * weight @ weight)


def optimum(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """The best weights and bias, by Newton's method."""
    data = np.column_stack([x, np.ones(len(x))])
    decay = np.append(np.full(x.shape[1], L2), 0.0)
    solution = np.zeros(data.shape[1])
    for _ in range(20):
        chance = 1 / (1 + np.exp(-data @ solution))
        slope = data.T @ (chance - y) / len(x) + decay * solution
        curvature = (data.T * (chance * (1 - chance))) @ data / len(x) + np.diag(decay)
        solution -= np.linalg.solve(curvature, slope)
    return solution[:-1], float(solution[-1])


def train(method: str, evaluations: int = EVALUATIONS) -> Curve:
    """Train by ``'SGD'`` or ``'SVRG'`` from zero; return the gap to the optimum after each epoch."""
    x, y = read_data()
    lowest = objective(x, y, *optimum(x, y))
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    net = mx.sym.LogisticRegressionOutput(net, name="logistic")
    if method == "SVRG":
        module: Any = SVRGModule(net, label_names=["logistic_label"], update_freq=UPDATE_FREQ)
    else:
        module = mx.mod.Module(net, label_names=["logistic_label"])
    curve: Curve = []

    def spent(epochs: int) -> int:
        return 2 * epochs + -(-epochs // UPDATE_FREQ) if method == "SVRG" else epochs

    def measure(epoch: int, symbol: Any, args: dict[str, mx.nd.NDArray], aux: Any) -> None:
        weight, bias = args["fc_weight"].asnumpy()[0], args["fc_bias"].asnumpy()[0]
        curve.append((spent(epoch + 1), objective(x, y, weight, bias) - lowest))

    np.random.seed(0)  # the order of the rows
    module.fit(
        mx.io.NDArrayIter(
            mx.nd.array(x, dtype="float64"),
            mx.nd.array(y, dtype="float64"),
            BATCH_SIZE,
            shuffle=True,
            label_name="logistic_label",
        ),
        eval_metric="mse",
        optimizer_params={"learning_rate": LEARNING_RATE, "wd": L2},
        initializer=mx.init.Zero(),
        num_epoch=max(epochs for epochs in range(evaluations + 1) if spent(epochs) <= evaluations),
        epoch_end_callback=measure,
        progress=False,
    )
    return curve


def plot(curves: dict[str, Curve], path: Path) -> None:
    """Draw the gaps."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context({"svg.hashsalt": "svrg", "font.size": 10}):  # the same curves give the same file
        figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
        for name, curve in curves.items():
            spent, gaps = zip(*curve, strict=True)
            axes.semilogy(spent, gaps, marker="o", markersize=3, linewidth=1.5, color=COLORS[name])
            axes.annotate(
                name,
                (spent[-1], gaps[-1]),
                xytext=(8, 0),
                textcoords="offset points",
                va="center",
                color=COLORS[name],
                weight="bold",
                annotation_clip=False,
            )
        axes.set(
            xlabel="gradient evaluations for each row of the data",
            ylabel="objective − optimum",
            title=f"Logistic regression, learning rate {LEARNING_RATE} for both",
        )
        axes.set_xlim(0, EVALUATIONS * 1.1)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        pyplot.close(figure)


def main() -> None:
    """Train both, print the gaps, and draw them."""
    mx.tune()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="draw the curves into FILE (.svg or .png)")
    out = parser.parse_args().out
    curves = {method: train(method) for method in ("SGD", "SVRG")}
    print("evaluations  " + "".join(f"{name:>10}" for name in curves))
    for target in range(10, EVALUATIONS + 1, 10):
        last = [[gap for spent, gap in curve if spent <= target][-1] for curve in curves.values()]
        print(f"{target:>11}  " + "".join(f"{gap:>10.1e}" for gap in last))
    if out is not None:
        plot(curves, out)
        print(f"Drawn: {out}")


if __name__ == "__main__":
    main()
