"""How to train with `Module`: a LeNet learns to read digits, and a second process loads and checks it.

Run it with `make demo`, or `python examples/digits.py --out FOLDER`; everything that it writes goes into that folder.
"""

import argparse
import json
import logging
import subprocess
import sys
from pathlib import Path

try:
    import matplotlib  # noqa: F401  (it draws the curves; if it is missing, better to hear so before training)
    import numpy as np
    from sklearn.datasets import load_digits

    import rebind as mx
except ImportError as error:
    sys.exit(f"digits.py needs {error.name}. In rebind's folder: pip install '.[viz]' scikit-learn")

BATCH, EPOCHS = 32, 10
HELD_OUT = 360  # digits that are not learned from,
GOAL = 0.98  # and the share of them that must be read right


def lenet():
    """The network: two convolutions, then two full layers."""
    net = mx.sym.var("data")
    for i, filters in enumerate([32, 64], start=1):
        net = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{i}")
        net = mx.sym.BatchNorm(net, fix_gamma=False, name=f"bn{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
        net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{i}")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=128, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu3")
    net = mx.sym.Dropout(net, p=0.5, name="dropout")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def digits():
    """The 1,797 digits of scikit-learn, 8x8 in 16 shades of grey: those to learn from, and those held out."""
    pictures, labels = load_digits(return_X_y=True)
    pictures = pictures.reshape(-1, 1, 8, 8) / 16
    order = np.random.RandomState(0).permutation(len(labels))
    held_out, learn = order[:HELD_OUT], order[HELD_OUT:]
    return (
        mx.io.NDArrayIter(pictures[learn], labels[learn], BATCH, shuffle=True, last_batch_handle="discard"),
        mx.io.NDArrayIter(pictures[held_out], labels[held_out], BATCH),
    )


def train(prefix):
    """Train; write the network, its parameters after each epoch, and the figures of all epochs."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    np.random.seed(0)  # the order of the samples
    mx.random.seed(0)  # the first weights, and dropout
    learn, held_out = digits()
    every_third_epoch = 3 * (learn.num_data // BATCH)
    halve = mx.lr_scheduler.FactorScheduler(step=every_third_epoch, factor=0.5)
    history = mx.mod.Module(lenet()).fit(
        learn,
        eval_data=held_out,
        eval_metric=["accuracy", "ce"],  # ce, cross-entropy, is the loss
        initializer=mx.init.Xavier(),
        optimizer="adam",
        optimizer_params={"learning_rate": 0.003, "lr_scheduler": halve},
        num_epoch=EPOCHS,
        batch_end_callback=mx.callback.Speedometer(BATCH, frequent=20),
        epoch_end_callback=mx.callback.do_checkpoint(prefix),
    )
    Path(f"{prefix}-history.json").write_text(json.dumps(history))


def evaluate(prefix):
    """Load what was trained, draw it, and return the share of the held-out digits that it reads right."""
    module = mx.mod.Module.load(prefix, EPOCHS)
    _, held_out = digits()
    module.bind(held_out.provide_data, held_out.provide_label, for_training=False)
    [(_, accuracy)] = module.score(held_out, "accuracy")

    folder = Path(prefix).parent
    history = json.loads(Path(f"{prefix}-history.json").read_text())
    mx.viz.plot_history(history, folder / "training.png", title="LeNet on handwritten digits")
    network = mx.viz.plot_network(module.symbol, title="LeNet", shape={"data": (1, 1, 8, 8)})
    network.save(folder / "network.svg")
    return accuracy


def main():
    mx.tune()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/digits"), help="folder to write to")
    parser.add_argument("--evaluate", action="store_true", help="only check what was trained before")
    options = parser.parse_args()
    prefix = str(options.out / "digits")
    if options.evaluate:
        accuracy = evaluate(prefix)
        print(f"Held-out accuracy: {accuracy:.4f} ({accuracy * HELD_OUT:.0f} of {HELD_OUT} digits)")
        return 0 if accuracy >= GOAL else f"digits.py: the accuracy is to be at least {GOAL}"

    options.out.mkdir(parents=True, exist_ok=True)
    train(prefix)
    print(f"\nA second process loads {prefix}-{EPOCHS:04d}.params", flush=True)
    status = subprocess.call([sys.executable, __file__, "--evaluate", "--out", options.out])
    if status == 0:
        print(f"Now look at {options.out / 'training.png'} and {options.out / 'network.svg'}")
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:
        sys.exit(f"digits.py: {error}")
