"""How to train on sequences of several lengths: lines of Shakespeare in buckets, an LSTM unrolled for each length.

It is a language model of the sonnets. Run it with `python examples/language_model.py --out FOLDER --picture FILE.png`;
it takes about half a minute on two cores.
"""

import argparse
import logging
import random
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np

import rebind as mx

TEXT = Path(__file__).parent / "data" / "sonnets.txt"
BUCKETS = [8, 10, 12, 16]
BATCH, EPOCHS = 32, 8
HIDDEN = EMBEDDED = 64
PADDING, UNKNOWN = 0, "<unknown>"
GOAL = 125  # of the perplexity of lines held out; the frequency of each word alone gives 153


def lines():
    """The lines of the sonnets as lists of words and punctuation: those to learn from, and those held out."""
    sonnets = re.split(r"^[CLXVI]+$", TEXT.read_text(encoding="ascii"), flags=re.MULTILINE)[1:]
    split = [
        [re.findall(r"[a-z]+(?:['-][a-z]+)*|[.,:;?!]", line.lower()) for line in sonnet.split("\n") if line]
        for sonnet in sonnets
    ]
    learn = [line for i, sonnet in enumerate(split) if i % 10 for line in sonnet]
    held_out = [line for sonnet in split[::10] for line in sonnet]
    return learn, held_out


def batches():
    """Batches of both kinds of lines, and the number of each word that comes more than once."""
    learn, held_out = lines()
    counts = Counter(word for line in learn for word in line)
    words = [UNKNOWN, *(word for word, count in counts.most_common() if count > 1)]
    vocab = {word: number for number, word in enumerate(words, start=PADDING + 1)}
    iterators = []
    for kind in (learn, held_out):
        encoded, _ = mx.rnn.encode_sentences(kind, vocab=vocab, unknown_token=UNKNOWN)
        iterators.append(mx.rnn.BucketSentenceIter(encoded, BATCH, buckets=BUCKETS, invalid_label=PADDING))
    return *iterators, vocab


def network(vocab_size):
    """The cells, and a function that unrolls them to a length."""
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.LSTMCell(HIDDEN, prefix="lstm_l0_"))
    stack.add(mx.rnn.DropoutCell(0.2))
    stack.add(mx.rnn.LSTMCell(HIDDEN, prefix="lstm_l1_"))

    def unrolled(length):
        data, label = mx.sym.var("data"), mx.sym.var("softmax_label")
        embedded = mx.sym.Embedding(data, input_dim=vocab_size, output_dim=EMBEDDED, name="embed")
        outputs, _ = stack.unroll(length, embedded, merge_outputs=True)
        flat = mx.sym.Reshape(outputs, shape=(-1, HIDDEN))
        scores = mx.sym.FullyConnected(flat, num_hidden=vocab_size, name="scores")
        net = mx.sym.SoftmaxOutput(
            scores, mx.sym.Reshape(label, shape=(-1,)), use_ignore=True, ignore_label=PADDING,
            normalization="valid", name="softmax",
        )  # fmt: skip
        return net, ("data",), ("softmax_label",)

    return stack, unrolled


def train(prefix, epochs=EPOCHS):
    """Train, with a checkpoint after each epoch; return the figures of all epochs."""
    random.seed(0)  # the order of the batches
    np.random.seed(0)  # the order of the lines
    mx.random.seed(0)  # the first weights, and dropout
    learn, held_out, vocab = batches()
    stack, unrolled = network(PADDING + 1 + len(vocab))
    module = mx.mod.BucketingModule(unrolled, default_bucket_key=learn.default_bucket_key)
    return module.fit(
        learn,
        eval_data=held_out,
        eval_metric=mx.metric.Perplexity(ignore_label=PADDING),
        initializer=mx.init.Xavier(),
        optimizer="adam",
        optimizer_params={"learning_rate": 0.01},
        num_epoch=epochs,
        epoch_end_callback=mx.rnn.do_rnn_checkpoint(stack, prefix),
    )


def main():
    mx.tune()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/language_model"), help="folder to write to")
    parser.add_argument("--picture", metavar="FILE", help="draw the perplexities into FILE")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    history = train(str(options.out / "sonnets"))
    perplexity = {part: history[part]["perplexity"] for part in ("train", "validation")}
    for epoch, figures in enumerate(zip(perplexity["train"], perplexity["validation"], strict=True), start=1):
        print("Epoch {}: perplexity {:.1f}, of lines held out {:.1f}".format(epoch, *figures))
    if options.picture:
        mx.viz.plot_history(history, title="Lines of sonnets").figure.savefig(options.picture, dpi=80)
    best = min(perplexity["validation"])
    return 0 if best < GOAL else f"language_model.py: the perplexity is to fall below {GOAL}; got {best:.1f}"


if __name__ == "__main__":
    sys.exit(main())
