"""How to train with a loss that is written in NumPy: `PythonLossModule` takes a function that returns its gradient.

The loss is the hinge loss of Crammer and Singer, that of a support vector machine with several classes: the score of
the right class is to exceed all others by 1. Run it with `python examples/python_loss.py --picture FILE.png`; the
picture shows the weights of each class.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import rebind as mx

BATCH, EPOCHS = 40, 12
HELD_OUT = 360
GOAL = 0.94


def hinge_gradient(scores, labels):
    """The gradient of max(0, 1 + best wrong score - right score), summed over a batch."""
    scores, right = scores.asnumpy(), labels.asnumpy().astype(int)
    samples = np.arange(len(right))
    margins = 1 + scores - scores[samples, right][:, None]
    margins[samples, right] = 0
    worst = margins.argmax(axis=1)
    gradient = np.zeros_like(scores)
    gradient[samples, worst] += 1
    gradient[samples, right] -= 1  # where no margin is violated, `worst` is `right`, and both cancel
    return gradient


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


def draw(path, weights):
    """Draw the weights of each class as a picture: blue pixels speak for it, red ones against it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 2.8), layout="constrained")
    axes = figure.subplots(2, 5)
    limit = abs(weights).max()
    for digit, ax in enumerate(axes.flat):
        ax.imshow(weights[digit].reshape(8, 8), cmap="RdBu", vmin=-limit, vmax=limit)
        ax.set_title(str(digit))
        ax.axis("off")
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the weights into FILE")
    picture = parser.parse_args().picture
    mx.tune()
    np.random.seed(0)  # the order of the samples
    mx.random.seed(0)  # the first weights
    learn, held_out = digits()

    scores = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=10, name="scores")
    linear = mx.mod.Module(scores, label_names=None)
    loss = mx.mod.PythonLossModule(grad_func=hinge_gradient)
    machine = mx.mod.SequentialModule()
    machine.add(linear).add(loss, take_labels=True, auto_wiring=True)
    machine.fit(
        learn,
        eval_metric="accuracy",  # of the scores, which a loss in Python gives on unchanged
        initializer=mx.init.Zero(),
        optimizer_params={"learning_rate": 0.05, "wd": 1e-3},
        num_epoch=EPOCHS,
    )
    [(_, accuracy)] = machine.score(held_out, "accuracy")
    print(f"Held-out accuracy: {accuracy:.4f} ({accuracy * HELD_OUT:.0f} of {HELD_OUT} digits)")
    if picture:
        draw(picture, linear.get_params()[0]["scores_weight"].asnumpy())
    return 0 if accuracy >= GOAL else f"python_loss.py: the accuracy is to be at least {GOAL}"


if __name__ == "__main__":
    sys.exit(main())
