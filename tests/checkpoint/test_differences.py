"""What trees of two workers differ in."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.checkpoint.differences import difference, digests, patched, shared_part
from rebind.checkpoint.tree import read_tree, write_tree


def tree(**changed: object) -> dict[str, object]:
    """Return a tree with everything that a file can hold."""
    return {
        "array": mx.nd.array([[1, 2], [3, 4]]),
        "tensor": torch.zeros(2, dtype=torch.bfloat16),
        "numpy": np.arange(3, dtype="uint32"),
        "bytes": b"abc",
        "numbers": (3, [1, 2, 3], None),
        "by number": {1: {"deep": [mx.nd.ones((1,)), None]}},
        "text": "abc",
    } | changed


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"array": mx.nd.array([[1, 2], [3, 5]])},
        {"array": mx.nd.array([1, 2, 3, 4])},
        {"array": None},
        {"tensor": torch.ones(2, dtype=torch.bfloat16)},
        {"numpy": np.arange(3, dtype="int64")},
        {"bytes": b"abd"},
        {"numbers": (3, [1, 2, 4], None)},
        {"numbers": (3, [1, 2, 3], None, None)},
        {"numbers": [3, [1, 2, 3], None]},
        {"by number": {1: {"deep": [mx.nd.ones((1,)), 0.5]}}},
        {"by number": {2: {"deep": [mx.nd.ones((1,)), None]}}},
        {"by number": {1: {"deep": [mx.nd.ones((1,)), None]}, 2: "more"}},
        {"text": 3},
        {"one more": 3},
    ],
)
def test_a_tree_is_another_one_and_their_difference(changed):
    first, second = tree(), tree(**changed)
    change = difference(second, digests(first))
    assert (change is None) == (not changed)
    # As it comes from a file, and with only what both have alike.
    common = through_a_file(shared_part(first, [change]))
    found = patched(common, through_a_file(change))
    assert digests(found) == digests(through_a_file(second))


def through_a_file(value: object) -> object:
    """Return a tree that was written and read."""
    file = io.BytesIO()
    write_tree(file, value)
    return read_tree(io.BytesIO(file.getvalue()))


def test_what_differs_in_one_tree_only_stays_in_what_all_share():
    first, second, third = tree(), tree(text="abd"), tree(text="abe", bytes=b"abd")
    changes = [difference(each, digests(first)) for each in (second, third)]
    shared = shared_part(first, changes)
    assert shared["text"] is None
    assert shared["bytes"] == b"abc"
    assert shared_part(first, []) is first
