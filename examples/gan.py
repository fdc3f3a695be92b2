"""How to train two modules against each other: the generator of a GAN learns from gradients of inputs.

It makes handwritten digits from noise. Run it with `python examples/gan.py --picture FILE.png`; the picture shows
real digits, and below them those of the generator.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import rebind as mx

NOISE, BATCH, EPOCHS = 16, 64, 60
ADAM = {"learning_rate": 0.001, "beta1": 0.5, "rescale_grad": 1 / BATCH}


def generator():
    """From noise to 64 pixels between 0 and 1."""
    net = mx.sym.var("noise")
    for i, hidden in enumerate([128, 128], start=1):
        net = mx.sym.FullyConnected(net, num_hidden=hidden, name=f"g_fc{i}")
        net = mx.sym.Activation(mx.sym.BatchNorm(net, fix_gamma=False, name=f"g_bn{i}"), act_type="relu")
    return mx.sym.Activation(mx.sym.FullyConnected(net, num_hidden=64, name="g_pixels"), act_type="sigmoid")


def discriminator():
    """From 64 pixels to the probability that they are a real digit."""
    net = mx.sym.var("data")
    for i, hidden in enumerate([128, 64], start=1):
        net = mx.sym.FullyConnected(net, num_hidden=hidden, name=f"d_fc{i}")
        net = mx.sym.LeakyReLU(net, slope=0.2)
        net = mx.sym.Dropout(net, p=0.3)
    net = mx.sym.FullyConnected(net, num_hidden=1, name="d_score")
    return mx.sym.LogisticRegressionOutput(net, mx.sym.var("label"), name="real")


def modules():
    """Both modules, ready to train."""
    draw = mx.mod.Module(generator(), data_names=["noise"], label_names=None)
    draw.bind([("noise", (BATCH, NOISE))])
    judge = mx.mod.Module(discriminator(), label_names=["label"])
    # inputs_need_grad: what the generator is to change about its pictures is the gradient of this one's input.
    judge.bind([("data", (BATCH, 64))], [("label", (BATCH, 1))], inputs_need_grad=True)
    for module in (draw, judge):
        module.init_params(mx.init.Xavier())
        module.init_optimizer(optimizer="adam", optimizer_params=ADAM)
    return draw, judge


def generate(draw, is_train):
    """Let the generator draw a batch."""
    noise = mx.nd.random.normal(shape=(BATCH, NOISE))
    draw.forward(mx.io.DataBatch([noise], []), is_train=is_train)
    return draw.get_outputs()[0]


def train(draw, judge, pixels):
    """Take turns: the discriminator learns from real and drawn digits, the generator from the discriminator."""
    real_label, drawn_label = mx.nd.full((BATCH, 1), 0.9), mx.nd.zeros((BATCH, 1))
    for _ in range(EPOCHS):
        for batch in mx.io.NDArrayIter(pixels, batch_size=BATCH, shuffle=True, last_batch_handle="discard"):
            drawn = generate(draw, is_train=True)
            for data, label in ((batch.data[0], real_label), (drawn, drawn_label)):
                judge.forward_backward(mx.io.DataBatch([data], [label]))
                judge.update()
            # Which pixels would have to change, and how, for the discriminator to take them for real ones?
            judge.forward_backward(mx.io.DataBatch([drawn], [mx.nd.ones((BATCH, 1))]))
            draw.backward(judge.get_input_grads())
            draw.update()


def nearest(pictures, pixels):
    """The squared distance of each picture to the nearest real digit, and the position of that one."""
    distances = ((pictures[:, None] - pixels[None]) ** 2).sum(axis=2)
    return distances.min(axis=1), distances.argmin(axis=1)


def save(path, rows):
    """Draw lines of digits."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 2.1), layout="constrained")
    axes = figure.subplots(len(rows), 12)
    for ax, picture in zip(axes.flat, np.concatenate(rows)):
        ax.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.axis("off")
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw digits into FILE")
    picture = parser.parse_args().picture
    mx.tune()
    np.random.seed(0)  # the order of the samples
    mx.random.seed(0)  # the first weights, the noise, and dropout
    pixels, labels = load_digits(return_X_y=True)
    pixels = pixels.astype("float32") / 16
    draw, judge = modules()
    before, _ = nearest(generate(draw, is_train=True).asnumpy(), pixels)
    train(draw, judge, pixels)
    drawn = generate(draw, is_train=True).asnumpy()
    after, which = nearest(drawn, pixels)
    print(f"Squared distance to the nearest real digit: {before.mean():.2f} before, {after.mean():.2f} after")
    print(f"Kinds of digits among {BATCH} drawn ones: {len(set(labels[which]))}")
    if picture:
        save(picture, [pixels[:12], drawn[:12], drawn[12:24], drawn[24:36]])
    return 0 if after.mean() < before.mean() / 3 else "gan.py: it is to draw digits"


if __name__ == "__main__":
    sys.exit(main())
