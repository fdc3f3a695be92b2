"""How to train one network for two tasks: a group of two losses, a label for each, and a metric for each.

Digits are turned by a quarter, a half, three quarters, or not at all; the network says which digit it is, and how it
was turned. Run it with `python examples/multi_task.py --picture FILE.png`; the picture shows some of its answers.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import rebind as mx

BATCH, EPOCHS = 40, 12
HELD_OUT = 360
TASKS = {"digit": 10, "turn": 4}  # the classes of each
GOAL = 0.85  # of both tasks


def network():
    """Two convolutions that both tasks share, and a last layer for each."""
    net = mx.sym.var("data")
    for i, filters in enumerate([16, 32], start=1):
        net = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
        net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{i}")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=64, name="fc")
    net = mx.sym.Activation(net, act_type="relu", name="relu3")
    # The weights of the losses: grad_scale; a task that matters less would get a smaller one.
    return mx.sym.Group([
        mx.sym.SoftmaxOutput(
            mx.sym.FullyConnected(net, num_hidden=classes, name=f"{task}_scores"), name=task, grad_scale=1.0
        )
        for task, classes in TASKS.items()
    ])  # fmt: skip


def metrics():
    """The accuracy of each task: a metric finds its output and its label by their names."""
    both = mx.metric.CompositeEvalMetric()
    for task in TASKS:
        both.add(
            mx.metric.Accuracy(name=task, output_names=[f"{task}_output"], label_names=[f"{task}_label"])
        )
    return both


def turned_digits():
    """Turned pictures with two labels each: to learn from, and held out."""
    random = np.random.RandomState(0)
    pictures, labels = load_digits(return_X_y=True)
    order = random.permutation(len(labels))
    turns = random.randint(4, size=len(labels))
    pictures = np.stack(
        [np.rot90(picture, turn) for picture, turn in zip(pictures[order].reshape(-1, 8, 8), turns)]
    )
    data, labels = pictures[:, None] / 16, {"digit_label": labels[order], "turn_label": turns}

    def batches(which, shuffle):
        chosen = {name: values[which] for name, values in labels.items()}
        return mx.io.NDArrayIter(data[which], chosen, BATCH, shuffle=shuffle)

    return batches(slice(HELD_OUT, None), True), batches(slice(HELD_OUT), False)


def draw(path, pictures, digits, turns):
    """Draw pictures with what the network says of them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 2.6), layout="constrained")
    axes = figure.subplots(2, 6)
    for ax, picture, digit, turn in zip(axes.flat, pictures, digits, turns):
        ax.imshow(picture[0], cmap="gray_r")
        ax.set_title(f"{digit}, {90 * turn}°", fontsize=10)
        ax.axis("off")
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw some answers into FILE")
    picture = parser.parse_args().picture
    mx.tune()
    np.random.seed(0)  # the order of the samples
    mx.random.seed(0)  # the first weights
    learn, held_out = turned_digits()
    module = mx.mod.Module(network(), label_names=[f"{task}_label" for task in TASKS])
    module.fit(
        learn,
        eval_metric=metrics(),
        initializer=mx.init.Xavier(),
        optimizer="adam",
        optimizer_params={"learning_rate": 0.003},
        num_epoch=EPOCHS,
    )
    accuracies = dict(module.score(held_out, metrics()))
    print(
        "Held-out accuracy: " + ", ".join(f"{task} {accuracy:.4f}" for task, accuracy in accuracies.items())
    )
    if picture:
        held_out.reset()
        answers = [output.asnumpy().argmax(axis=1) for output in module.predict(held_out)]
        draw(picture, held_out.data[0][1].asnumpy(), *answers)
    return (
        0 if min(accuracies.values()) >= GOAL else f"multi_task.py: both accuracies are to be at least {GOAL}"
    )


if __name__ == "__main__":
    sys.exit(main())
