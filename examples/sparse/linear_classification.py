"""How to classify texts as they are stored: csr batches from a file, and steps that touch only their words.

Each text is a line of a LibSVM file: its class, then the words that it has. The weight is row_sparse, in a store; `fit`
pulls the rows of a batch's words before the batch, and only they are updated. Run it with
`python examples/sparse/linear_classification.py`; it takes a few seconds.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import rebind as mx

WORDS, LENGTH = 20_000, 12  # the vocabulary, and the words of a text
BATCH, EPOCHS = 50, 4
GOAL = 0.9  # the share of texts held out whose class it is to find


def write_texts(path, texts, seed):
    """Write texts of two classes; half of the words are those of its class, the others are of both."""
    random = np.random.RandomState(seed)
    with open(path, "w", encoding="ascii") as file:
        for _ in range(texts):
            label = random.randint(2)
            # Frequent words have low numbers, as in a language; even words are those of class 0.
            words = (WORDS ** random.rand(LENGTH)).astype(int)
            of_class = random.rand(LENGTH) < 0.5
            words[of_class] = words[of_class] // 2 * 2 + label
            counted = zip(*np.unique(words % WORDS, return_counts=True))
            file.write(f"{label} " + " ".join(f"{word}:{count}" for word, count in counted) + "\n")


def batches(path):
    return mx.io.LibSVMIter(data_libsvm=str(path), data_shape=(WORDS,), batch_size=BATCH)


def network():
    """Scores of two classes: a product of a csr matrix and a row_sparse one, whose gradient is row_sparse too."""
    data = mx.sym.var("data", stype="csr")
    weight = mx.sym.var("weight", shape=(WORDS, 2), stype="row_sparse")
    bias = mx.sym.var("bias", shape=(2,))
    scores = mx.sym.broadcast_add(mx.sym.sparse.dot(data, weight), bias)
    return mx.sym.SoftmaxOutput(scores, mx.sym.var("softmax_label"), name="softmax")


def rows_of(batch):
    """The rows of each row_sparse parameter that a batch needs."""
    return {"weight": batch.data[0].indices}


def train(path, epochs=EPOCHS, optimizer="adagrad", initializer=None):
    """Train on a file; return the module."""
    module = mx.mod.Module(network())
    module.fit(
        batches(path),
        kvstore=mx.kv.create("local"),
        optimizer=optimizer,
        optimizer_params={"learning_rate": 0.1},
        initializer=initializer or mx.init.Zero(),
        num_epoch=epochs,
        sparse_row_id_fn=rows_of,
    )
    return module


def main():
    mx.tune()
    with tempfile.TemporaryDirectory() as folder:
        learn, held_out = Path(folder, "learn.libsvm"), Path(folder, "held_out.libsvm")
        write_texts(learn, 5000, seed=0)
        write_texts(held_out, 1000, seed=1)
        module = train(learn)
        accuracy = dict(module.score(batches(held_out), "acc", sparse_row_id_fn=rows_of))["accuracy"]
    print(f"Texts held out: {accuracy:.1%} are right")
    return 0 if accuracy >= GOAL else f"linear_classification.py: {GOAL:.0%} are to be right"


if __name__ == "__main__":
    sys.exit(main())
