"""How to train a language model at the same cost for any vocabulary: sparse embeddings, and a sampled softmax.

A softmax over all words computes a score for each of them. Here a step scores the words that follow, and some that it
draws; the frequent ones more often, by their rank, which the scores are corrected for. Both tables of words are
row_sparse: of them a step pulls and updates the rows of its batch and of its draw. Run it with
`python examples/sparse/sampled_softmax.py`; it takes about ten seconds.
"""

import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np

import rebind as mx

TEXT = Path(__file__).resolve().parents[1] / "data" / "sonnets.txt"
LENGTH, HIDDEN, DRAWN = 12, 48, 8  # words are drawn for each piece, and shared by the batch
BATCH, EPOCHS = 32, 4
GOAL = 190  # what the perplexity of words held out is to fall below; each word's frequency alone gives 231


def read_words():
    """The text as numbers, frequent words first, and the size of the vocabulary; 0 is a word that comes once."""
    words = re.findall(r"[a-z]+(?:['-][a-z]+)*|[.,:;?!]", TEXT.read_text(encoding="ascii").lower())
    frequent = [word for word, count in Counter(words).most_common() if count > 1]
    numbers = {word: number for number, word in enumerate(frequent, start=1)}
    return np.array([numbers.get(word, 0) for word in words]), len(frequent) + 1


def pieces(words):
    """Pieces of the text, and the words that follow each of theirs, as many as fill batches."""
    count = (len(words) - 1) // (LENGTH * BATCH) * BATCH * LENGTH
    return [words[shift : shift + count].reshape(-1, LENGTH) for shift in (0, 1)]


def batches(words, vocabulary, seed=0):
    """Batches of words, the words that follow, and a draw in which the chance of a word falls as its rank grows."""
    random = np.random.RandomState(seed)
    all_data, all_following = pieces(words)
    for chosen in random.permutation(len(all_data)).reshape(-1, BATCH):
        drawn = np.floor((vocabulary + 1.0) ** random.rand(BATCH, DRAWN)) - 1
        arrays = all_data[chosen], all_following[chosen], drawn.clip(0, vocabulary - 1)
        yield mx.io.DataBatch([mx.nd.array(array) for array in arrays], [])


def expected(words, vocabulary):
    """The logarithm of how often a draw has each of some words."""
    chance = mx.sym.log((words + 2) / (words + 1)) / np.log(vocabulary + 1)
    return mx.sym.log(BATCH * DRAWN * chance)


def features(vocabulary):
    """What the words so far say of the next one: (BATCH * LENGTH, HIDDEN)."""
    weight = mx.sym.var("words_weight", stype="row_sparse")
    words = mx.sym.Embedding(
        mx.sym.var("data"), weight, input_dim=vocabulary, output_dim=HIDDEN, sparse_grad=True, name="words"
    )
    outputs, _ = mx.rnn.GRUCell(HIDDEN, prefix="gru_").unroll(LENGTH, words, merge_outputs=True)
    return mx.sym.Reshape(outputs, shape=(-1, HIDDEN))


def sampled(vocabulary):
    """The loss by scores of the words that follow, and of those that were drawn."""
    hidden, count = features(vocabulary), BATCH * LENGTH
    following, drawn = (mx.sym.Reshape(mx.sym.var(name), shape=(-1,)) for name in ("following", "drawn"))
    scored = mx.sym.concat(following, drawn, dim=0)
    weight = mx.sym.var("scores_weight", stype="row_sparse")
    vectors = mx.sym.Embedding(
        scored, weight, input_dim=vocabulary, output_dim=HIDDEN, sparse_grad=True, name="scores"
    )
    of_following = mx.sym.slice_axis(vectors, axis=0, begin=0, end=count)
    of_drawn = mx.sym.slice_axis(vectors, axis=0, begin=count, end=None)
    right = mx.sym.sum(hidden * of_following, axis=1) - expected(following, vocabulary)
    others = mx.sym.broadcast_sub(
        mx.sym.dot(hidden, of_drawn, transpose_b=True),
        mx.sym.expand_dims(expected(drawn, vocabulary), axis=0),
    )
    same = mx.sym.broadcast_equal(mx.sym.expand_dims(following, axis=1), mx.sym.expand_dims(drawn, axis=0))
    others = others - 1e6 * same  # a word that was drawn though it follows counts once
    scores = mx.sym.concat(mx.sym.expand_dims(right, axis=1), others, dim=1)
    chances = mx.sym.log_softmax(scores)
    return mx.sym.MakeLoss(
        -mx.sym.slice_axis(chances, axis=1, begin=0, end=1), normalization="batch", name="loss"
    )


def rows_of(batch):
    """The rows of each table that a batch needs."""
    data, following, drawn = batch.data
    scored = mx.nd.concat(following.reshape(-1), drawn.reshape(-1), dim=0)
    return {"words_weight": data, "scores_weight": scored}


def train(words, vocabulary, epochs=EPOCHS, initializer=None):
    """Train; return the module."""
    module = mx.mod.Module(sampled(vocabulary), ["data", "following", "drawn"], label_names=[])
    module.bind([("data", (BATCH, LENGTH)), ("following", (BATCH, LENGTH)), ("drawn", (BATCH, DRAWN))])
    module.init_params(initializer or mx.init.Xavier())
    # Lazy Adam corrects by the number of all steps, so that the first steps of a rare word would be too long.
    settings = {"learning_rate": 0.05, "rescale_grad": 1.0}
    module.init_optimizer(mx.kv.create("local"), "adagrad", settings)
    for epoch in range(epochs):
        for batch in batches(words, vocabulary, seed=epoch):
            module.prepare(batch, sparse_row_id_fn=rows_of)
            module.forward_backward(batch)
            module.update()
    return module


def perplexity(params, words, vocabulary):
    """Of all words, by a softmax over the vocabulary."""
    weight = mx.sym.var("scores_weight")
    scores = mx.sym.FullyConnected(features(vocabulary), weight, num_hidden=vocabulary, no_bias=True)
    executor = mx.sym.log_softmax(scores).simple_bind(mx.cpu(), grad_req="null", data=(BATCH, LENGTH))
    executor.copy_params_from(params)
    found = []
    for data, following in zip(*(part.reshape(-1, BATCH, LENGTH) for part in pieces(words))):
        chances = executor.forward(data=mx.nd.array(data))[0].asnumpy()
        found.append(chances[np.arange(len(chances)), following.ravel()])
    return float(np.exp(-np.mean(found)))


def main():
    mx.tune()
    mx.random.seed(0)
    words, vocabulary = read_words()
    cut = len(words) * 9 // 10
    module = train(words[:cut], vocabulary)
    found = perplexity(module.get_params()[0], words[cut:], vocabulary)
    print(f"Words held out: perplexity {found:.1f}")
    return 0 if found < GOAL else f"sampled_softmax.py: the perplexity is to fall below {GOAL}"


if __name__ == "__main__":
    sys.exit(main())
