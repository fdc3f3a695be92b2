"""How to write an operator in NumPy: a softmax with its loss as a `CustomOp`, which trains as the built-in one does.

Both networks start from the same weights and see the same batches. Run it with `python examples/custom_softmax.py
--picture FILE.png`; the picture shows both curves, one on the other.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import rebind as mx

BATCH, EPOCHS = 40, 10
HELD_OUT = 360


class Softmax(mx.operator.CustomOp):
    """What it computes: probabilities, and the gradient of their cross-entropy."""

    def forward(self, is_train, req, in_data, out_data, aux):
        scores = in_data[0].asnumpy()
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        self.assign(out_data[0], req[0], mx.nd.array(powers / powers.sum(axis=1, keepdims=True)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        gradient = out_data[0].asnumpy()
        right = in_data[1].asnumpy().astype(int)
        gradient[np.arange(len(right)), right] -= 1
        self.assign(in_grad[0], req[0], mx.nd.array(gradient))


@mx.operator.register("numpy_softmax")
class SoftmaxProp(mx.operator.CustomOpProp):
    """What a network needs to know of it: names, shapes, and how to make one."""

    def __init__(self):
        super().__init__(need_top_grad=False)  # a loss: no gradient comes from above

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        data = in_shape[0]
        return [data, data[:1]], [data], []

    def create_operator(self, ctx, shapes, dtypes):
        return Softmax()


def network(loss):
    """A perceptron with the given loss."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=32, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    return loss(mx.sym.FullyConnected(net, num_hidden=10, name="fc2"))


def train(net):
    """Train from the same start, in the same order; return the accuracies by epoch, and the weights."""
    np.random.seed(0)  # the order of the samples
    mx.random.seed(0)  # the first weights
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(labels))
    pixels, labels = pixels[order].astype("float32") / 16, labels[order].astype("float32")
    module = mx.mod.Module(net)
    history = module.fit(
        mx.io.NDArrayIter(
            pixels[HELD_OUT:], labels[HELD_OUT:], BATCH, shuffle=True, last_batch_handle="discard"
        ),
        eval_data=mx.io.NDArrayIter(pixels[:HELD_OUT], labels[:HELD_OUT], BATCH),
        eval_metric="accuracy",
        initializer=mx.init.Xavier(),
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9},
        num_epoch=EPOCHS,
    )
    return history["validation"]["accuracy"], module.get_params()[0]


def draw(path, curves):
    """Draw the accuracies."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 3.2), layout="constrained")
    ax = figure.subplots()
    for (name, accuracies), width in zip(curves.items(), (7, 2)):
        ax.plot(range(1, EPOCHS + 1), accuracies, label=name, linewidth=width)
    ax.set(xlabel="epoch", ylabel="held-out accuracy")
    ax.legend(loc="lower right")
    ax.grid(alpha=0.3)
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the accuracies into FILE")
    picture = parser.parse_args().picture
    mx.tune()
    built_in, expected = train(network(lambda scores: mx.sym.SoftmaxOutput(scores, name="softmax")))
    own, weights = train(
        network(lambda scores: mx.sym.Custom(scores, op_type="numpy_softmax", name="softmax"))
    )
    difference = max(abs(weights[name] - expected[name]).max().asscalar() for name in weights)
    print(f"Largest difference of a weight after {EPOCHS} epochs: {difference:.1e}")
    print(f"Held-out accuracy: {own[-1]:.4f}")
    if picture:
        draw(picture, {"SoftmaxOutput": built_in, "in NumPy": own})
    return 0 if difference < 1e-3 else "custom_softmax.py: both networks are to have the same weights"


if __name__ == "__main__":
    sys.exit(main())
