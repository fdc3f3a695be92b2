"""How to train with `FeedForward`, MXNet's first interface: NumPy arrays in, probabilities out.

It works as an estimator of scikit-learn does. Run it with `python examples/feedforward.py --picture FILE.png`; the
picture shows the digits that it reads least surely.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import rebind as mx

BATCH, EPOCHS = 32, 8
HELD_OUT = 360
GOAL = 0.95


def network():
    """A perceptron with one hidden layer."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=64, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def digits():
    """Digits as lines of 64 numbers, and their classes: to learn from, and held out."""
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(labels))
    pixels, labels = pixels[order].astype("float32") / 16, labels[order].astype("float32")
    return (pixels[HELD_OUT:], labels[HELD_OUT:]), (pixels[:HELD_OUT], labels[:HELD_OUT])


def train(pixels, labels, held_out):
    """Settings go into the constructor, with those of the optimizer; arrays go into `fit`."""
    model = mx.model.FeedForward(
        network(),
        ctx=mx.cpu(),
        num_epoch=EPOCHS,
        numpy_batch_size=BATCH,
        initializer=mx.init.Xavier(),
        optimizer="adam",
        learning_rate=0.005,
    )
    model.fit(pixels, labels, eval_data=held_out, eval_metric="accuracy")
    return model


def draw(path, pixels, labels, probabilities):
    """Draw the digits whose best class is the least sure; those that are read wrongly have a red title."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 2.6), layout="constrained")
    axes = figure.subplots(2, 6)
    for i, ax in zip(np.argsort(probabilities.max(axis=1)), axes.flat):
        best = probabilities[i].argmax()
        ax.imshow(pixels[i].reshape(8, 8), cmap="gray_r")
        color = "black" if best == labels[i] else "#c0392b"
        ax.set_title(f"{best}: {probabilities[i, best]:.0%}", color=color, fontsize=10)
        ax.axis("off")
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the least sure digits into FILE")
    picture = parser.parse_args().picture
    mx.tune()
    np.random.seed(0)  # the order of the samples
    mx.random.seed(0)  # the first weights
    learn, held_out = digits()
    model = train(learn[0], learn[1], held_out)
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/digits")  # digits-symbol.json and digits-0008.params, as `Module` writes them
        model = mx.model.FeedForward.load(f"{folder}/digits", EPOCHS)

    pixels, labels = held_out
    probabilities = np.asarray(model.predict(pixels))
    accuracy = (probabilities.argmax(axis=1) == labels).mean()
    print(f"Held-out accuracy: {accuracy:.4f} ({accuracy * HELD_OUT:.0f} of {HELD_OUT} digits)")
    if picture:
        draw(picture, pixels, labels, probabilities)
    return 0 if accuracy >= GOAL else f"feedforward.py: the accuracy is to be at least {GOAL}"


if __name__ == "__main__":
    sys.exit(main())
