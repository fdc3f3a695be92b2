"""Sentences as numbers, and batches of them in buckets. The order of MXNet's is compared in tests/parity."""

from __future__ import annotations

import random

import numpy as np
import pytest

from rebind import rnn
from rebind.checkpoint.tree import read_tree, write_tree

SENTENCES = [[1 + (i + j) % 7 for j in range(1 + i % 5)] for i in range(30)]


@pytest.mark.parametrize(
    ("sentences", "settings", "encoded", "vocab"),
    [
        ([["a", "b"], ["b"]], {}, [[0, 1], [1]], {"\n": -1, "a": 0, "b": 1}),
        ([["a", "b"]], {"invalid_label": 0}, [[1, 2]], {"\n": 0, "a": 1, "b": 2}),
        ([["a", "q", "z"]], {"vocab": {"a": 3}, "unknown_token": "?"}, [[3, 0, 0]], {"a": 3, "?": 0}),
        ([["q", "z"]], {"vocab": {"a": 0, "?": 1}, "unknown_token": "?"}, [[1, 1]], {"a": 0, "?": 1}),
        # The number that the unknown word would get is taken.
        ([["q"]], {"vocab": {"a": 0, "b": 1}, "unknown_token": "?"}, [[2]], {"a": 0, "b": 1, "?": 2}),
        # Without a vocabulary every word is new, none unknown.
        ([["a", "b"]], {"unknown_token": "?"}, [[0, 1]], {"\n": -1, "a": 0, "b": 1}),
    ],
)
def test_encode_sentences(sentences, settings, encoded, vocab):
    assert rnn.encode_sentences(sentences, **settings) == (encoded, vocab)


def test_unknown_words_without_a_token():
    with pytest.raises(ValueError, match=r"words must be in vocab; got 'q'\. Set unknown_token"):
        rnn.encode_sentences([["q"]], vocab={"a": 0})


def taken(batches, count=None):
    found = []
    for batch in batches:
        found.append((batch.bucket_key, batch.data[0].asnumpy().tolist(), batch.label[0].asnumpy().tolist()))
        if len(found) == count:
            break
    return found


def seeded(seed=0, **settings):
    random.seed(seed)
    np.random.seed(seed)
    return rnn.BucketSentenceIter(SENTENCES, 3, **{"buckets": [2, 5], "invalid_label": 0, **settings})


def test_labels_are_the_next_words_and_padding_is_invalid():
    for length, data, label in taken(seeded()):
        for row, following in zip(data, label, strict=True):
            assert len(row) == length and following == [*row[1:], 0]


def test_time_first_is_transposed():
    first, second = taken(seeded()), taken(seeded(layout="TN"))
    assert [np.transpose(data).tolist() for _, data, _ in second] == [data for _, data, _ in first]
    assert seeded(layout="TN").provide_data[0].shape == (5, 3)


def test_a_position_continues_exactly():
    running = seeded()
    taken(running, 2)
    position = running.state_dict()
    rest = taken(running)
    other = seeded(seed=5)
    other.load_state_dict(position)
    assert taken(other) == rest
    # The next epoch too, from the same generators.
    for batches in (running, other):
        random.seed(1)
        np.random.seed(1)
        batches.reset()
    assert taken(running) == taken(other)


def test_a_position_of_other_sentences():
    position = seeded().state_dict()
    with pytest.raises(ValueError, match=r"buckets must be as in the saved position, \[2, 5\]; got \[5\]"):
        seeded(buckets=[5]).load_state_dict(position)


def test_a_checkpoint_holds_the_position(tmp_path):
    """What it returns is what a checkpoint of a run can write."""
    running = seeded()
    taken(running, 1)
    with open(tmp_path / "state", "wb") as file:
        write_tree(file, running.state_dict())
    other = seeded(seed=9)
    other.load_state_dict(read_tree(str(tmp_path / "state")))
    assert taken(other) == taken(running)


def test_longer_sentences_are_left_out_with_a_warning():
    with pytest.warns(UserWarning, match="12 sentences longer than the largest bucket are left out"):
        batches = seeded(buckets=(3,))
    assert batches.buckets == [3] and len(batches.data[0]) == 18


def test_the_callers_buckets_stay_as_they_are():
    buckets = [5, 2, 9]
    batches = seeded(buckets=buckets)
    assert buckets == [5, 2, 9]
    assert batches.buckets == [2, 5] and batches.default_bucket_key == 5  # none is as long as 9


def test_the_getters_show_the_current_batch():
    batches = seeded()
    assert batches.iter_next()
    assert batches.getdata()[0].shape == batches.getlabel()[0].shape and batches.getpad() == 0


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"layout": "CTN"}, "layout must be 'NT' or 'TN'; got 'CTN'"),
        ({"batch_size": 0}, "batch_size must be >= 1; got 0"),
        ({"sentences": []}, "at least one bucket must have sentences; got 0 sentences"),
        ({"batch_size": 100}, r"batch_size=100 and buckets \[\]\. Give buckets, or a smaller batch_size"),
    ],
)
def test_mistakes(settings, says):
    with pytest.raises(ValueError, match=f"BucketSentenceIter: .*{says}"):
        rnn.BucketSentenceIter(**{"sentences": SENTENCES, "batch_size": 3, **settings})
