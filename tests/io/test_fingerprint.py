"""Whether two sources have the same content, by a hash of some samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import rebind as mx
from rebind.module.sources import BatchSource

ROWS = np.arange(300.0).reshape(100, 3)


def arrays(x: Any, **settings: Any) -> Any:
    return mx.io.NDArrayIter(x, np.zeros(100), 10, **settings)


def batches(made: Any) -> Any:
    return BatchSource(made, ["data"], ["softmax_label"])


SOURCES: dict[str, Callable[[Any], Any]] = {
    "arrays": arrays,
    "shuffled": lambda x: arrays(x, shuffle=True),
    "float16": lambda x: arrays(mx.nd.array(x, dtype="float16")),
    "resized": lambda x: mx.io.ResizeIter(arrays(x), 3),
    "read ahead": lambda x: mx.io.PrefetchingIter([arrays(x)]),
    "a loader": lambda x: batches(DataLoader(TensorDataset(torch.tensor(x), torch.zeros(100)), 10)),
    "a list": lambda x: batches([(x[i : i + 10], np.zeros(10)) for i in range(0, 100, 10)]),
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_the_same_content_has_the_same_fingerprint_and_another_another(make: Callable[[Any], Any]) -> None:
    found = make(ROWS).fingerprint()
    assert found and make(ROWS.copy()).fingerprint() == found
    assert make(ROWS + 1).fingerprint() != found


def test_an_epoch_that_was_begun_has_the_same_fingerprint() -> None:
    data = arrays(ROWS, shuffle=True)
    found = data.fingerprint()
    data.next()
    data.reset()
    assert data.fingerprint() == found


@pytest.mark.parametrize(
    "source",
    [
        batches(iter([(ROWS, np.zeros(100))])),
        batches(DataLoader([(row, 0) for row in ROWS])),
        mx.io.DataIter(),
    ],
    ids=["a generator", "a loader of what is not known", "an iterator of one's own"],
)
def test_what_cannot_be_known_has_none(source: Any) -> None:
    assert source.fingerprint() is None
