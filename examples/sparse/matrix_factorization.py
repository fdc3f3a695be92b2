"""How to factorize ratings: embeddings of which a step updates only the users and things of its batch.

A rating is the product of a user's vector and a thing's. Both tables are embeddings with `sparse_grad`, so their
gradients hold the rows of a batch, whatever the size of the table. Run it with
`python examples/sparse/matrix_factorization.py`; it takes a few seconds.
"""

import sys

import numpy as np

import rebind as mx

USERS, THINGS, FACTORS = 600, 400, 4
RATINGS, NOISE = 40_000, 0.1
BATCH, EPOCHS = 200, 12
GOAL = 0.25  # what the error of ratings held out is to fall below; that of their mean is about 1


def ratings(count=RATINGS):
    """Users, things, and ratings of rank 2 with some noise."""
    random = np.random.RandomState(0)
    users, things = random.randint(USERS, size=count), random.randint(THINGS, size=count)
    tastes, kinds = random.randn(USERS, 2), random.randn(THINGS, 2)
    scores = (tastes[users] * kinds[things]).sum(axis=1) / np.sqrt(2) + NOISE * random.randn(count)
    return users.astype("float32"), things.astype("float32"), scores.astype("float32")


def batches(users, things, scores):
    return mx.io.NDArrayIter({"user": users, "thing": things}, {"score_label": scores}, BATCH)


def network():
    def embedded(name, rows):
        weight = mx.sym.var(f"{name}_weight", stype="row_sparse")
        return mx.sym.Embedding(
            mx.sym.var(name), weight, input_dim=rows, output_dim=FACTORS, sparse_grad=True, name=name
        )

    product = embedded("user", USERS) * embedded("thing", THINGS)
    return mx.sym.LinearRegressionOutput(mx.sym.sum(product, axis=1), mx.sym.var("score_label"), name="score")


def rows_of(batch):
    """The rows of each table that a batch needs."""
    thing, user = batch.data  # by name
    return {"user_weight": user, "thing_weight": thing}


def train(data, epochs=EPOCHS, initializer=None):
    """Train; return the module."""
    module = mx.mod.Module(network(), data_names=["thing", "user"], label_names=["score_label"])
    module.fit(
        data,
        eval_metric="rmse",
        kvstore=mx.kv.create("local"),
        optimizer="adam",
        optimizer_params={"learning_rate": 0.02, "rescale_grad": 1 / BATCH},
        initializer=initializer or mx.init.Normal(0.3),
        num_epoch=epochs,
        sparse_row_id_fn=rows_of,
    )
    return module


def main():
    mx.tune()
    mx.random.seed(0)
    data = ratings()
    cut = RATINGS * 9 // 10
    module = train(batches(*(column[:cut] for column in data)))
    held_out = batches(*(column[cut:] for column in data))
    error = dict(module.score(held_out, "rmse", sparse_row_id_fn=rows_of))["rmse"]
    print(f"Ratings held out: root of the mean squared error {error:.3f}")
    return 0 if error < GOAL else f"matrix_factorization.py: the error is to fall below {GOAL}"


if __name__ == "__main__":
    sys.exit(main())
