"""How to train by variance-reduced gradients: logistic regression by SVRG, and by SGD with the same rate.

The data are the tumours of scikit-learn's breast cancer set. Both get the same batches, and what counts is gradient
evaluations: a step of SGD takes one for each row, a step of SVRG two, a snapshot one for each row of the data. SGD
comes down to where the noise of its batches is as large as the slope; SVRG continues to the limits of the numbers. Run
it with `python examples/svrg.py --picture FILE.png`.
"""

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer

import rebind as mx
from rebind.contrib.svrg_optimization import SVRGModule

BATCH_SIZE = 8
L2 = 0.02
LEARNING_RATE = 0.3
UPDATE_FREQ = 2  # epochs from snapshot to snapshot
EVALUATIONS = 80  # gradient evaluations for each row of the data
COLORS = ["#c2571a", "#1f6f8b"]


def read_data():
    """Standardized measurements, and classes; without the last row, since 569 is a prime."""
    x, y = load_breast_cancer(return_X_y=True)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    rows = len(x) // BATCH_SIZE * BATCH_SIZE
    return x[:rows], y[:rows].astype("float64")


def objective(x, y, weight, bias):
    """Mean logistic loss, and half of L2 times the squared length of the weights."""
    scores = x @ weight + bias
    return float(np.mean(np.logaddexp(0, scores) - y * scores) + 0.5 * L2 * weight @ weight)


def optimum(x, y):
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


def train(method, evaluations=EVALUATIONS):
    """Train by ``'SGD'`` or ``'SVRG'`` from zero; return evaluations and gaps to the optimum by epoch."""
    x, y = read_data()
    lowest = objective(x, y, *optimum(x, y))
    data = mx.nd.array(x, dtype="float64"), mx.nd.array(y, dtype="float64")
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    net = mx.sym.LogisticRegressionOutput(net, name="logistic")
    if method == "SVRG":
        module: mx.mod.Module = SVRGModule(net, label_names=["logistic_label"], update_freq=UPDATE_FREQ)
    else:
        module = mx.mod.Module(net, label_names=["logistic_label"])
    curve = []

    def spent(epochs):
        return 2 * epochs + -(-epochs // UPDATE_FREQ) if method == "SVRG" else epochs

    def measure(epoch, symbol, args, aux):
        weight, bias = args["fc_weight"].asnumpy()[0], args["fc_bias"].asnumpy()[0]
        curve.append((spent(epoch + 1), objective(x, y, weight, bias) - lowest))

    np.random.seed(0)  # the order of the rows
    module.fit(
        mx.io.NDArrayIter(*data, BATCH_SIZE, shuffle=True, label_name="logistic_label"),
        eval_metric="mse",
        optimizer_params={"learning_rate": LEARNING_RATE, "wd": L2},
        initializer=mx.init.Zero(),
        num_epoch=max(epochs for epochs in range(evaluations + 1) if spent(epochs) <= evaluations),
        epoch_end_callback=measure,
        progress=False,
    )
    return curve


def draw(path, curves):
    """Draw the gaps."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for (name, curve), color in zip(curves.items(), COLORS):
        evaluations, gaps = zip(*curve)
        axes.semilogy(evaluations, gaps, marker="o", markersize=3, color=color)
        axes.text(EVALUATIONS + 1, gaps[-1], name, va="center", color=color, weight="bold")
    axes.set(xlabel="gradient evaluations for each row of the data", ylabel="objective − optimum")
    axes.set_title(f"Logistic regression, learning rate {LEARNING_RATE} for both")
    axes.set_xlim(0, EVALUATIONS * 1.1)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=64)


def main():
    """Train both, print the gaps, and draw them."""
    mx.tune()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw the curves into FILE")
    picture = parser.parse_args().picture
    curves = {method: train(method) for method in ("SGD", "SVRG")}
    print("evaluations  " + "".join(f"{name:>10}" for name in curves))
    for target in range(10, EVALUATIONS + 1, 10):
        last = [[gap for spent, gap in curve if spent <= target][-1] for curve in curves.values()]
        print(f"{target:>11}  " + "".join(f"{gap:>10.1e}" for gap in last))
    if picture:
        draw(picture, curves)


if __name__ == "__main__":
    main()
