"""How to train a factorization machine: it learns which two of many features go together, though each pair is rare.

The score of a sample x is a linear one, and for each pair of its features the product of two vectors:

    score = x·w + ½ Σ_f ((x·V)_f² − (x²·V²)_f)

The data are csr, w and V row_sparse, and Adam updates the rows of a batch's features only. Run it with
`python examples/sparse/factorization_machine.py`; it takes a few seconds.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import rebind as mx

USERS, THINGS, FACTORS = 150, 100, 8
FEATURES = USERS + THINGS
BATCH, EPOCHS = 100, 12
GOAL = 0.85  # the share of likes held out that it is to find; the linear part alone finds about half


def write_likes(learn, held_out):
    """Write who likes what, by tastes that are in no feature: a user, a thing, and whether they fit."""
    random = np.random.RandomState(0)
    users, things = random.randn(USERS, 3), random.randn(THINGS, 3)
    pairs = random.permutation(USERS * THINGS)
    cut = len(pairs) * 9 // 10 // BATCH * BATCH
    for path, numbers in ((learn, pairs[:cut]), (held_out, pairs[cut:])):
        with open(path, "w", encoding="ascii") as file:
            for user, thing in zip(numbers // THINGS, numbers % THINGS):
                file.write(f"{int(users[user] @ things[thing] > 0)} {user}:1 {USERS + thing}:1\n")


def batches(path):
    return mx.io.LibSVMIter(
        data_libsvm=str(path), data_shape=(FEATURES,), batch_size=BATCH, label_name="like_label"
    )


def network():
    """Chances of the label 1."""
    data = mx.sym.var("data", stype="csr")
    weight = mx.sym.var("weight", shape=(FEATURES, 1), stype="row_sparse")
    factors = mx.sym.var("factors_weight", shape=(FEATURES, FACTORS), stype="row_sparse")
    linear = mx.sym.broadcast_add(mx.sym.sparse.dot(data, weight), mx.sym.var("bias", shape=(1,)))
    of_sums = mx.sym.sum(mx.sym.square(mx.sym.sparse.dot(data, factors)), axis=1, keepdims=True)
    squares = mx.sym._internal._square_sum(factors, axis=1, keepdims=True)  # row_sparse, as the factors are
    sums_of = mx.sym.sparse.dot(mx.sym.sparse.square(data), squares)
    score = linear + 0.5 * (of_sums - sums_of)
    return mx.sym.LogisticRegressionOutput(score, mx.sym.var("like_label"), name="like")


def rows_of(batch):
    """The rows of each row_sparse parameter that a batch needs."""
    features = batch.data[0].indices
    return {"weight": features, "factors_weight": features}


def right(label, chance):
    """The share of chances on the right side of one half."""
    return float(np.mean((chance.ravel() > 0.5) == (label.ravel() > 0.5)))


def train(path, epochs=EPOCHS, initializer=None):
    """Train on a file; return the module."""
    module = mx.mod.Module(network(), label_names=["like_label"])
    module.fit(
        batches(path),
        eval_metric=mx.metric.np(right),
        kvstore=mx.kv.create("local"),
        optimizer="adam",
        optimizer_params={"learning_rate": 0.02, "rescale_grad": 1 / BATCH},
        initializer=initializer or mx.init.Normal(0.1),
        num_epoch=epochs,
        sparse_row_id_fn=rows_of,
    )
    return module


def main():
    mx.tune()
    mx.random.seed(0)
    with tempfile.TemporaryDirectory() as folder:
        learn, held_out = Path(folder, "learn.libsvm"), Path(folder, "held_out.libsvm")
        write_likes(learn, held_out)
        module = train(learn)
        found = dict(module.score(batches(held_out), mx.metric.np(right), sparse_row_id_fn=rows_of))["right"]
    print(f"Pairs held out: {found:.1%} are right")
    return 0 if found >= GOAL else f"factorization_machine.py: {GOAL:.0%} are to be right"


if __name__ == "__main__":
    sys.exit(main())
