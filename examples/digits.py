"""Learn to read handwritten digits: build a LeNet, train it, then load it in a second process and check it.

Everything that it writes goes into one folder: python examples/digits.py [--out FOLDER]
"""

import argparse
import json
import logging
import subprocess
import sys
from pathlib import Path

import numpy as np

import rebind as mx

try:
    import matplotlib  # noqa: F401  (draws the curves at the end; better missed now)
    from sklearn.datasets import load_digits
except ImportError as error:
    sys.exit(f"digits.py needs {error.name}, which rebind itself does not: pip install scikit-learn matplotlib")

BATCH, EPOCHS, HELD_OUT = 32, 10, 360
GOAL = 0.98  # of the held-out digits, right


def lenet():
    """Two convolutions and two full layers, for pictures of 8x8."""
    net = mx.sym.var("data")
    for i, filters in enumerate([32, 64], start=1):
        net = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{i}")
        net = mx.sym.BatchNorm(net, fix_gamma=False, name=f"bn{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
        net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{i}")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=128, name="fc1")
    net = mx.sym.Dropout(mx.sym.Activation(net, act_type="relu", name="relu3"), p=0.5, name="dropout")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def digits():
    """Return iterators over 1,437 digits to learn from, and 360 that are held out."""
    pictures, labels = load_digits(return_X_y=True)
    pictures = pictures.reshape(-1, 1, 8, 8) / 16  # 16 shades of grey
    order = np.random.RandomState(0).permutation(len(labels))
    held_out, learn = order[:HELD_OUT], order[HELD_OUT:]
    train = mx.io.NDArrayIter(pictures[learn], labels[learn], BATCH, shuffle=True, last_batch_handle="discard")
    return train, mx.io.NDArrayIter(pictures[held_out], labels[held_out], BATCH)


def train(prefix):
    """Train; write the network, its parameters after each epoch, and the figures of all epochs."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    np.random.seed(0)  # order of the samples
    mx.random.seed(0)  # first weights, dropout
    learn, held_out = digits()
    history = mx.mod.Module(lenet()).fit(
        learn,
        eval_data=held_out,
        eval_metric=["accuracy", "ce"],  # ce: cross-entropy, the loss
        optimizer="adam",
        optimizer_params={"learning_rate": 0.002},
        initializer=mx.init.Xavier(),
        batch_end_callback=mx.callback.Speedometer(BATCH, frequent=20),
        epoch_end_callback=mx.callback.do_checkpoint(prefix),
        num_epoch=EPOCHS,
    )
    Path(f"{prefix}-history.json").write_text(json.dumps(history))


def evaluate(prefix):
    """Load what was trained, draw it, and return the share of held-out digits that it reads right."""
    module = mx.mod.Module.load(prefix, EPOCHS)
    _, held_out = digits()
    module.bind(held_out.provide_data, held_out.provide_label, for_training=False)
    [(_, accuracy)] = module.score(held_out, "accuracy")

    folder = Path(prefix).parent
    history = json.loads(Path(f"{prefix}-history.json").read_text())
    mx.viz.plot_history(history, folder / "training.png", title="LeNet on handwritten digits")
    mx.viz.plot_network(module.symbol, title="LeNet", shape={"data": (1, 1, 8, 8)}).save(folder / "network.svg")
    return accuracy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/digits"), help="folder to write to (%(default)s)")
    parser.add_argument("--evaluate", action="store_true", help="only load and check what was trained before")
    options = parser.parse_args()
    prefix = str(options.out / "digits")
    if options.evaluate:
        accuracy = evaluate(prefix)
        print(f"Held-out accuracy: {accuracy:.4f} ({HELD_OUT} digits, {GOAL} wanted)")
        return 0 if accuracy >= GOAL else 1
    options.out.mkdir(parents=True, exist_ok=True)
    train(prefix)
    print(f"\nLoading {prefix}-{EPOCHS:04d}.params in a second process", flush=True)
    status = subprocess.call([sys.executable, __file__, "--evaluate", "--out", options.out])
    print("In", options.out, "now:", ", ".join(sorted(path.name for path in options.out.iterdir())))
    return status


if __name__ == "__main__":
    sys.exit(main())
