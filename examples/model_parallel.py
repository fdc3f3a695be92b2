"""How to divide a network between two devices: its nodes get groups, and the module is given the device of each group.

Users and films are embedded on one device, and a perceptron on the other makes ratings of both. Here the devices are
two CPU contexts; with two GPUs write `mx.gpu(0), mx.gpu(1)`. Run it with `python examples/model_parallel.py --picture
FILE.png`; the picture shows the error by epoch.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import rebind as mx

DEVICES = {"embeddings": mx.cpu(0), "perceptron": mx.cpu(1)}
USERS, FILMS, FACTORS = 300, 200, 8
RATINGS, NOISE = 12_000, 0.3
BATCH, EPOCHS = 200, 12
GOAL = 0.42  # no model comes below the noise; that of the mean of all ratings is 0.7


def ratings():
    """Users, films, and ratings: how well a user's taste fits a film, plus noise."""
    random = np.random.RandomState(0)
    users, films = random.randint(USERS, size=RATINGS), random.randint(FILMS, size=RATINGS)
    tastes, kinds = random.randn(USERS, 2), random.randn(FILMS, 2)
    scores = np.tanh((tastes[users] * kinds[films]).sum(axis=1)) + NOISE * random.randn(RATINGS)
    return {"user": users, "film": films}, scores.astype("float32")


def batches(data, scores, which):
    """Batches of some of the ratings."""
    chosen = {name: values[which].astype("float32") for name, values in data.items()}
    return mx.io.NDArrayIter(chosen, {"score_label": scores[which]}, BATCH, shuffle=True)


def network():
    """Every node that is made in a scope belongs to its group, and so do the parameters that come with it."""
    with mx.AttrScope(ctx_group="embeddings"):
        vectors = [
            mx.sym.Embedding(mx.sym.var(name), input_dim=count, output_dim=FACTORS, name=f"{name}_vectors")
            for name, count in (("user", USERS), ("film", FILMS))
        ]
        # The product is what plain matrix factorization sums up.
        both = mx.sym.Concat(*vectors, vectors[0] * vectors[1], dim=1)
    with mx.AttrScope(ctx_group="perceptron"):
        net = mx.sym.FullyConnected(both, num_hidden=32, name="fc1")
        net = mx.sym.Activation(net, act_type="relu", name="relu1")
        net = mx.sym.FullyConnected(net, num_hidden=1, name="fc2")
        return mx.sym.LinearRegressionOutput(net, mx.sym.var("score_label"), name="score")


def draw(path, history):
    """Draw the errors by epoch."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 3.2), layout="constrained")
    ax = figure.subplots()
    for part, name in (("train", "training"), ("validation", "held out")):
        ax.plot(range(1, EPOCHS + 1), history[part]["rmse"], marker="o", markersize=3, label=name)
    ax.axhline(NOISE, color="grey", linestyle="--", label="noise of the ratings")
    ax.set(xlabel="epoch", ylabel="root of the mean squared error", ylim=(0, 0.8))
    ax.legend()
    ax.grid(alpha=0.3)
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the errors into FILE")
    picture = parser.parse_args().picture
    mx.tune()
    np.random.seed(0)  # the order of the samples
    mx.random.seed(0)  # the first weights
    data, scores = ratings()
    cut = RATINGS * 9 // 10
    module = mx.mod.Module(
        network(),
        data_names=["film", "user"],
        label_names=["score_label"],
        context=DEVICES["perceptron"],  # of what belongs to no group
        group2ctxs=DEVICES,
    )
    history = module.fit(
        batches(data, scores, slice(cut)),
        eval_data=batches(data, scores, slice(cut, None)),
        eval_metric="rmse",
        initializer=mx.init.Xavier(),
        optimizer="adam",
        optimizer_params={"learning_rate": 0.01, "wd": 1e-4},
        num_epoch=EPOCHS,
    )
    for name, group in sorted(module.symbol.attr_dict().items()):
        if name.endswith("_weight"):
            print(f"{name} is on {DEVICES[group['ctx_group']]}")
    error = history["validation"]["rmse"][-1]
    print(f"Ratings held out: root of the mean squared error {error:.3f}")
    if picture:
        draw(picture, history)
    return 0 if error < GOAL else f"model_parallel.py: the error is to fall below {GOAL}"


if __name__ == "__main__":
    sys.exit(main())
