"""How to chain modules with `SequentialModule`: features, then a classifier.

Each module can be used by itself afterwards. Run it with `python examples/sequential.py --picture FILE.png`; the
picture shows the digits by their two features.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import rebind as mx

BATCH, EPOCHS, FEATURES = 40, 20, 2
HELD_OUT = 360
GOAL = 0.9


def features():
    """Two features of a picture: narrow, so that they can be drawn."""
    net = mx.sym.var("data")
    for i, hidden in enumerate([64, 32], start=1):
        net = mx.sym.FullyConnected(net, num_hidden=hidden, name=f"fc{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
    return mx.sym.FullyConnected(net, num_hidden=FEATURES, name="features")


def classifier():
    """Ten classes from the features; `data` is what the module before it gives."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=32, name="fc3")
    net = mx.sym.Activation(net, act_type="relu", name="relu3")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc4")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def digits():
    """Batches to learn from, and held out."""
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(labels))
    pixels, labels = pixels[order].astype("float32") / 16, labels[order].astype("float32")
    return (
        mx.io.NDArrayIter(
            pixels[HELD_OUT:], labels[HELD_OUT:], BATCH, shuffle=True, last_batch_handle="discard"
        ),
        mx.io.NDArrayIter(pixels[:HELD_OUT], labels[:HELD_OUT], BATCH),
    )


def draw(path, points, labels):
    """Draw a point for each digit, in the colour of its class, whose name is at its median."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4), layout="constrained")
    ax = figure.subplots()
    ax.scatter(points[:, 0], points[:, 1], c=labels, cmap="tab10", s=8)
    for digit in range(10):
        x, y = np.median(points[labels == digit], axis=0)
        ax.text(x, y, str(digit), fontsize=14, weight="bold", ha="center", va="center",
                bbox={"facecolor": "white", "alpha": 0.7, "pad": 1, "linewidth": 0})  # fmt: skip
    ax.set(xlabel="feature 1", ylabel="feature 2", title="360 digits that were held out")
    figure.savefig(path, dpi=60)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the features into FILE")
    picture = parser.parse_args().picture
    mx.tune()
    np.random.seed(0)  # the order of the samples
    mx.random.seed(0)  # the first weights
    learn, held_out = digits()

    first = mx.mod.Module(features(), label_names=None)
    second = mx.mod.Module(classifier())
    chain = mx.mod.SequentialModule()
    # auto_wiring renames what the first gives to what the second takes; the labels go to the second only.
    chain.add(first).add(second, take_labels=True, auto_wiring=True)
    chain.fit(
        learn,
        eval_metric="accuracy",
        initializer=mx.init.Xavier(),
        optimizer="adam",
        optimizer_params={"learning_rate": 0.005},
        num_epoch=EPOCHS,
    )
    [(_, accuracy)] = chain.score(held_out, "accuracy")
    print(f"Held-out accuracy from {FEATURES} features: {accuracy:.4f}")

    points = first.predict(held_out).asnumpy()
    labels = held_out.label[0][1].asnumpy()
    if picture:
        draw(picture, points, labels)
    return 0 if accuracy >= GOAL else f"sequential.py: the accuracy is to be at least {GOAL}"


if __name__ == "__main__":
    sys.exit(main())
