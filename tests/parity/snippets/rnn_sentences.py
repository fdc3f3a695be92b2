"""Sentences as numbers, and the order in which buckets and sentences come."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

Snippet = Callable[[Any], Any]

WORDS = [["a", "b", "c"], ["b", "d"], ["a"]]
# Forty sentences of one to six words, of a vocabulary of eight.
SENTENCES = [[1 + (7 * i + 3 * j * j) % 8 for j in range(1 + (i * i + i // 3) % 6)] for i in range(40)]


def _encoded(sentences: Any = WORDS, **settings: Any) -> Snippet:
    def snippet(mx: Any) -> Any:
        vocab = dict(settings.pop("vocab")) if "vocab" in settings else None
        encoded, numbers = mx.rnn.encode_sentences(sentences, vocab=vocab, **settings)
        return [encoded, list(numbers.items()), numbers is vocab]

    return snippet


def _ordered(batch_size: int, seed: int = 0, epochs: int = 2, **settings: Any) -> Snippet:
    """All batches of some epochs, from seeds of both generators."""

    def snippet(mx: Any) -> Any:
        random.seed(seed)
        np.random.seed(seed)
        batches = mx.rnn.BucketSentenceIter(SENTENCES, batch_size, **settings)
        described = [batches.buckets, batches.default_bucket_key, batches.batch_size, batches.layout]
        seen = []
        for _ in range(epochs):
            seen.append([_look(batch) for batch in batches])
            batches.reset()
        return [described, _descs(batches), seen]

    return snippet


def _descs(found: Any) -> str:
    return " ".join(
        f"{desc.name} {desc.shape} {np.dtype(desc.dtype).name} {desc.layout}"
        for desc in [*found.provide_data, *found.provide_label]
    )


def _look(batch: Any) -> str:
    arrays = [f"{each.dtype.__name__} {each.asnumpy().tolist()}" for each in (batch.data[0], batch.label[0])]
    return f"{batch.bucket_key} {_descs(batch)} {arrays} {batch.pad} {batch.index}"


SNIPPETS = {
    "encoded": _encoded(),
    "encoded_from": _encoded(start_label=5, invalid_label=0, invalid_key="<pad>"),
    "encoded_around": _encoded(start_label=-2),
    "encoded_past": _encoded(invalid_label=2),
    "encoded_invalid_key": _encoded([["\n", "a", "\n"]]),
    "encoded_known": _encoded([["a", "b"]], vocab={"a": 3, "b": 4}),
    "encoded_unknown": _encoded([["a", "q"]], vocab={"a": 3, "b": 4}),
    "encoded_one_unknown": _encoded([["a", "q"]], vocab={"a": 3}, unknown_token="<unk>"),
    "encoded_one_unknown_from": _encoded([["a", "q"]], vocab={"a": 3}, unknown_token="<unk>", start_label=7),
    "encoded_letters": _encoded(["abc", "ab"]),
    "encoded_nothing": _encoded([]),
    "ordered": _ordered(4),
    "ordered_another_seed": _ordered(4, seed=7),
    "ordered_buckets": _ordered(3, buckets=[6, 3], invalid_label=0),
    "ordered_empty_bucket": _ordered(3, buckets=[3, 6, 100], epochs=1),
    "ordered_too_long": _ordered(3, buckets=[4], epochs=1),
    "ordered_time_first": _ordered(4, buckets=[3, 6], layout="TN", data_name="words", label_name="next"),
    "ordered_int32": _ordered(4, buckets=[3, 6], dtype="int32", epochs=1),
    "ordered_float16": _ordered(4, buckets=[6], dtype="float16", epochs=1),
    "ordered_large_batches": _ordered(500),
    "ordered_layout": _ordered(4, layout="CTN"),
}
