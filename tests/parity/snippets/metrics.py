"""Metrics where scores tie."""

from __future__ import annotations

from typing import Any

import numpy as np


def _tied(dtype: str, classes: int) -> Any:
    """Return a snippet of the share of labels among the best, for numbers of equal scores and of best ones."""

    def run(mx: Any) -> Any:
        random = np.random.RandomState(0)
        found = []
        for levels in (1, 2, 3, 50):
            for top_k in (2, 3, 5, 12):
                if top_k < classes:
                    scores = random.randint(0, levels, (40, classes)).astype(dtype)
                    labels = random.randint(0, classes, 40)
                    metric = mx.metric.TopKAccuracy(top_k=top_k)
                    metric.update([mx.nd.array(labels)], [mx.nd.array(scores, dtype=dtype)])
                    found.append(float(metric.get()[1]))
        return found

    return run


def _tied_in_float32(mx: Any) -> Any:
    metric = mx.metric.TopKAccuracy(top_k=3)
    scores = 1 + np.random.RandomState(0).uniform(0, 1e-9, (40, 9))
    metric.update([mx.nd.array(np.arange(40) % 9)], [mx.nd.array(scores, dtype="float64")])
    return float(metric.get()[1])


SNIPPETS = {
    **{
        f"tied_{dtype}_{classes}": _tied(dtype, classes)
        for dtype, classes in (
            ("float32", 4),
            ("float32", 10),
            ("float32", 300),
            ("float64", 17),
            ("float16", 40),
        )
    },
    "tied_int32_17": _tied("int32", 17),
    "tied_in_float32": _tied_in_float32,
}
