"""What a batch costs besides its arithmetic, in counts that are the same on every machine: copies, waits, calls.

A count below its bound is an improvement: lower the bound.
"""

from __future__ import annotations

import collections
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from benchmarks.networks import ROWS
from torch.utils._python_dispatch import TorchDispatchMode

import rebind as mx

#: Operators of PyTorch that copy memory, or convert it.
COPIES = {"copy_", "_to_copy", "clone"}
#: Those that wait for a value, to be read in Python.
WAITS = {"_local_scalar_dense", "item", "is_nonzero"}
PACKAGE = str(Path(mx.__file__).parent)


class Operators(TorchDispatchMode):
    """Counts the operators of PyTorch that run, those of autograd too."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: collections.Counter[str] = collections.Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen[func.overloadpacket.__name__] += 1
        return func(*args, **(kwargs or {}))


@contextmanager
def python_calls() -> Iterator[collections.Counter[str]]:
    """Count calls of this package's functions; comprehensions are left out, which are none from Python 3.12 on."""
    seen: collections.Counter[str] = collections.Counter()

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<"):
            seen[code.co_name] += 1

    sys.setprofile(profile)
    try:
        yield seen
    finally:
        sys.setprofile(None)


def one_batch(row: str, count: Callable[[], Any]) -> collections.Counter[str]:
    """Return what is counted in one batch of `fit`, with a metric and a `Speedometer`, from callback to callback."""
    shape, classes = ROWS[row].data_shape, ROWS[row].classes
    data = np.zeros((6 * shape[0], *shape[1:]), np.float32)
    batches = mx.io.NDArrayIter(data, np.arange(len(data)) % classes, shape[0])
    found: list[collections.Counter[str]] = []
    entered: list[Any] = []

    def begin_and_end(param: Any) -> None:
        if param.nbatch == 3:  # what the first batches set up is there by now
            entered.append(count())
            counter = entered[0].__enter__()
            found.append(getattr(counter, "seen", counter))
        elif param.nbatch == 4:
            entered[0].__exit__(None, None, None)

    mx.mod.Module(ROWS[row].network(mx)).fit(
        batches,
        num_epoch=1,
        optimizer_params={"learning_rate": 0.01, "momentum": 0.9},
        batch_end_callback=[mx.callback.Speedometer(shape[0], 50), begin_and_end],
    )
    return found[0]


@pytest.mark.parametrize(
    ("row", "allowed"),
    [
        # The batch and its labels into the executor's arrays; labels as whole numbers for the gradient (for the metric
        # NumPy makes them). The gradient of the loss is written in place.
        ("mlp", {"copy_": 3, "_to_copy": 1}),
        # And from channels last to rows of features, in both directions.
        ("lenet", {"copy_": 3, "_to_copy": 1, "clone": 1}),
    ],
)
def test_a_batch_of_fit_copies_nothing_without_need_and_waits_for_nothing(
    row: str, allowed: dict[str, int]
) -> None:
    found = one_batch(row, Operators)
    assert {name: n for name, n in found.items() if name in COPIES} == allowed
    assert not WAITS & found.keys()


@pytest.mark.parametrize(("row", "bound"), [("mlp", 34), ("lenet", 73)])
def test_a_batch_of_fit_calls_few_operators(row: str, bound: int) -> None:
    assert sum(one_batch(row, Operators).values()) <= bound


@pytest.mark.parametrize(("row", "bound"), [("mlp", 228), ("lenet", 402)])
def test_a_batch_of_fit_calls_few_functions(row: str, bound: int) -> None:
    found = one_batch(row, python_calls)
    assert sum(found.values()) <= bound, found.most_common()


@pytest.mark.parametrize(
    ("call", "bound"),
    [
        (lambda x: mx.nd.relu(x), 10),
        (lambda x: x + x, 10),
        (lambda x: x + 1.0, 12),
        (lambda x: mx.nd.dot(x, x), 11),
        (lambda x: mx.nd.sum(x, axis=1), 12),
        (lambda x: mx.nd.FullyConnected(x, x, num_hidden=2, no_bias=True), 11),
    ],
    ids=["relu", "add", "add_number", "dot", "sum", "FullyConnected"],
)
def test_an_imperative_call_makes_few_others(call: Callable[[Any], object], bound: int) -> None:
    x = mx.nd.ones((2, 2))
    call(x)  # reads the operator's signature and the arguments
    with python_calls() as found:
        call(x)
    assert sum(found.values()) <= bound, found.most_common()
