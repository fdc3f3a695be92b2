"""How to fine-tune a checkpoint: replace its last layer, fix the others, and train on few samples.

A network learns the digits 0 to 4 from many samples. With its convolutions fixed it then learns 5 to 9 from four
samples of each, and is compared with one that starts from nothing. Run it with `python examples/fine_tuning.py
--picture FILE.png`; the picture shows both curves.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import rebind as mx

SAMPLES = 4  # of each new digit
BATCH, EPOCHS, NEW_EPOCHS = 20, 6, 20


def network():
    """Two convolutions, one layer of features, and five classes."""
    net = mx.sym.var("data")
    for i, filters in enumerate([16, 32], start=1):
        net = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{i}")
        net = mx.sym.BatchNorm(net, fix_gamma=False, name=f"bn{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
        net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{i}")
    net = mx.sym.Flatten(net, name="flatten")
    net = mx.sym.FullyConnected(net, num_hidden=5, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def digits():
    """Pictures and labels of the digits 0 to 4, and of 5 to 9, whose labels are 0 to 4 too."""
    pictures, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(labels))
    pictures, labels = pictures[order].reshape(-1, 1, 8, 8) / 16, labels[order]
    return [(pictures[which], labels[which] % 5) for which in (labels < 5, labels >= 5)]


def split(pictures, labels):
    """`SAMPLES` of each class to learn from, and the others."""
    learn = np.concatenate([np.flatnonzero(labels == label)[:SAMPLES] for label in range(5)])
    others = np.setdiff1d(np.arange(len(labels)), learn)
    return (
        mx.io.NDArrayIter(pictures[learn], labels[learn], BATCH, shuffle=True),
        mx.io.NDArrayIter(pictures[others], labels[others], BATCH),
    )


def fit(module, train, epochs, **settings):
    """Train with the settings that all three runs have in common; return the accuracies by epoch."""
    history = module.fit(
        train,
        eval_metric="accuracy",
        initializer=mx.init.Xavier(),
        optimizer_params={"learning_rate": 0.05, "momentum": 0.9},
        num_epoch=epochs,
        **settings,
    )
    return history["validation"]["accuracy"] if "eval_data" in settings else None


def fine_tune(prefix, train, test):
    """Load the checkpoint, replace its last layer and train that one."""
    net, arg_params, aux_params = mx.model.load_checkpoint(prefix, EPOCHS)
    features = net.get_internals()["flatten_output"]
    net = mx.sym.FullyConnected(features, num_hidden=5, name="fc_new")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    arg_params = {name: array for name, array in arg_params.items() if not name.startswith("fc_")}
    module = mx.mod.Module(net, fixed_param_names=list(arg_params))
    # allow_missing: the checkpoint has no `fc_new`, which the initializer sets.
    return fit(module, train, NEW_EPOCHS, eval_data=test, arg_params=arg_params, aux_params=aux_params,
               allow_missing=True)  # fmt: skip


def draw(path, curves):
    """Draw the accuracies."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 3.2), layout="constrained")
    ax = figure.subplots()
    for name, accuracies in curves.items():
        ax.plot(range(1, NEW_EPOCHS + 1), accuracies, marker="o", markersize=3, label=name)
    ax.set(xlabel="epoch", ylabel="held-out accuracy", ylim=(0, 1), xticks=range(0, NEW_EPOCHS + 1, 5))
    ax.set_title(f"The digits 5 to 9 from {SAMPLES} samples of each")
    ax.legend(loc="lower right")
    ax.grid(alpha=0.3)
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the accuracies into FILE")
    picture = parser.parse_args().picture
    mx.tune()
    np.random.seed(0)  # the order of the samples
    mx.random.seed(0)  # the first weights
    (pictures, labels), new = digits()
    train, test = split(*new)
    with tempfile.TemporaryDirectory() as folder:
        prefix = f"{folder}/digits"
        many = mx.io.NDArrayIter(pictures, labels, BATCH, shuffle=True, last_batch_handle="discard")
        fit(mx.mod.Module(network()), many, EPOCHS, epoch_end_callback=mx.callback.do_checkpoint(prefix))
        tuned = fine_tune(prefix, train, test)
    scratch = fit(mx.mod.Module(network()), train, NEW_EPOCHS, eval_data=test)
    print(f"Held-out accuracy from scratch: {scratch[-1]:.4f}")
    print(f"Held-out accuracy after fine-tuning: {tuned[-1]:.4f}")
    if picture:
        draw(picture, {"fine-tuned": tuned, "from scratch": scratch})
    return 0 if tuned[-1] > scratch[-1] else "fine_tuning.py: fine-tuning is to be the better way"


if __name__ == "__main__":
    sys.exit(main())
