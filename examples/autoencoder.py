"""How to train without labels: the target of a denoising autoencoder is its own input, without noise.

It restores digits through a code of eight numbers, and is compared with the best linear code of eight numbers, by
principal components. Run it with `python examples/autoencoder.py --picture FILE.png`; the picture shows digits, the
same with noise, and what both make of them.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import rebind as mx

CODE, NOISE = 8, 0.25
BATCH, EPOCHS = 40, 60
HELD_OUT = 360


def network():
    """Down to the code, and back to 64 pixels."""
    net = mx.sym.var("data")
    for i, hidden in enumerate([128, 64], start=1):
        net = mx.sym.FullyConnected(net, num_hidden=hidden, name=f"encoder{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"encoder{i}_relu")
    net = mx.sym.FullyConnected(net, num_hidden=CODE, name="code")
    for i, hidden in enumerate([64, 128], start=1):
        net = mx.sym.FullyConnected(net, num_hidden=hidden, name=f"decoder{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"decoder{i}_relu")
    net = mx.sym.FullyConnected(net, num_hidden=64, name="pixels")
    return mx.sym.LinearRegressionOutput(net, mx.sym.var("clean"), name="restored")


class NoisyDigits(mx.io.NDArrayIter):
    """Batches of clean digits as labels, with other noise in every epoch as data."""

    def __init__(self, pixels):
        super().__init__(pixels, {"clean": pixels}, BATCH, shuffle=True, last_batch_handle="discard")

    def next(self):
        batch = super().next()
        batch.data = [batch.data[0] + mx.nd.random.normal(0, NOISE, batch.data[0].shape)]
        return batch


def principal_components(learn, noisy):
    """The best linear code: noisy digits projected onto the directions in which clean ones vary most."""
    mean = learn.mean(axis=0)
    directions = np.linalg.svd(learn - mean, full_matrices=False)[2][:CODE]
    return (noisy - mean) @ directions.T @ directions + mean


def draw(path, named):
    """Draw a line of digits for each kind."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 2.8), layout="constrained")
    axes = figure.subplots(len(named), 10)
    for line, (name, pixels) in zip(axes, named.items()):
        for ax, picture in zip(line, pixels):
            ax.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw digits into FILE")
    picture = parser.parse_args().picture
    mx.tune()
    np.random.seed(0)  # the order of the samples
    mx.random.seed(0)  # the first weights, and the noise
    pixels = np.random.RandomState(0).permutation(load_digits().data).astype("float32") / 16
    learn, clean = pixels[HELD_OUT:], pixels[:HELD_OUT]
    module = mx.mod.Module(network(), label_names=["clean"])
    module.fit(
        NoisyDigits(learn),
        eval_metric="mse",
        initializer=mx.init.Xavier(),
        optimizer="adam",
        optimizer_params={"learning_rate": 0.002},
        num_epoch=EPOCHS,
    )
    noisy = clean + np.random.normal(0, NOISE, clean.shape).astype("float32")
    test = mx.io.NDArrayIter(noisy, batch_size=BATCH)
    restored = module.predict(test).asnumpy()

    # The encoder alone: the network up to an inner output, with the same parameters.
    encoder = mx.mod.Module(module.symbol.get_internals()["code_output"], label_names=None)
    encoder.bind(test.provide_data, for_training=False)
    encoder.set_params(*module.get_params(), allow_extra=True)
    print("Codes:", encoder.predict(test).shape)

    linear = principal_components(learn, noisy)
    errors = {
        name: ((found - clean) ** 2).mean() for name, found in (("linear", linear), ("network", restored))
    }
    print("Mean squared error of digits held out: " + ", ".join(f"{k} {v:.4f}" for k, v in errors.items()))
    if picture:
        draw(picture, {"clean": clean, "noisy": noisy, "linear": linear, "network": restored})
    return (
        0 if errors["network"] < errors["linear"] else "autoencoder.py: it is to be better than a linear code"
    )


if __name__ == "__main__":
    sys.exit(main())
