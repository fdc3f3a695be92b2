"""Mistakes in the data of `fit` that MXNet trains through without a word."""

from __future__ import annotations

import _thread
import re
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from torch.utils._pytree import tree_map

import rebind as mx
from rebind.errors import ShapeError
from rebind.module.label_checks import check_classes

from .classifier import batches, fit, network

ONE_HOT = np.eye(3, dtype="float32")[[0, 1, 2, 0, 1, 2, 0, 1]]


def regression(loss: str, count: int = 1) -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=count, name="fc1")
    return mx.mod.Module(getattr(mx.sym, loss)(net, mx.sym.var("softmax_label"), name="lro"))


def with_nan(kind: str, sample: int, stype: str = "default") -> Any:
    """Return batches of four of which a sample of the data, or a label, is NaN."""
    data, label = np.ones((12, 4), "float32"), np.zeros(12, "float32")
    (data if kind == "data" else label)[sample] = np.nan
    return mx.io.NDArrayIter(mx.nd.array(data).tostype(stype), label, 4)


class Plain(mx.io.DataIter):
    """An iterator of which nothing is known but its batches."""

    def __init__(self, source: Any, fails_at: int = -1, error: BaseException | None = None) -> None:
        super().__init__(4)
        self.source, self.fails_at, self.error, self.count = source, fails_at, error, 0
        self.provide_data, self.provide_label = source.provide_data, source.provide_label

    def reset(self) -> None:
        self.source.reset()

    def next(self) -> Any:
        self.count += 1
        if self.error is not None and self.count - 1 == self.fails_at:
            raise self.error
        return self.source.next()


def images(shape: tuple[int, ...], **settings: Any) -> object:
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=2, name="conv0", **settings)
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3), name="softmax")
    return fit(mx.mod.Module(net), mx.io.NDArrayIter(np.ones((8, *shape)), np.zeros(8), 4))


CASES: dict[str, tuple[Callable[[], object], str | None]] = {
    "one-hot labels": (
        lambda: fit(data=batches(labels=ONE_HOT)),
        "fit: eval_metric 'accuracy' compares classes; got labels 'softmax_label' of shape (4, 3) and predictions of "
        "SoftmaxOutput of shape (4, 3), which are not classes. Give labels that are numbers of classes, "
        "labels.argmax(axis=1), or eval_metric='mse'.",
    ),
    "one-hot labels and several metrics": (
        lambda: fit(data=batches(labels=ONE_HOT), eval_metric=["mse", "acc"]),
        "fit: eval_metric 'accuracy' compares classes; got labels 'softmax_label' of shape (4, 3)",
    ),
    "one-hot labels with another metric": (
        lambda: fit(data=batches(labels=ONE_HOT), eval_metric="mse"),
        None,
    ),
    "a regression": (
        lambda: fit(regression("LinearRegressionOutput")),
        "got labels 'softmax_label' of shape (4,) and predictions of LinearRegressionOutput of shape (4, 1), which "
        "are not classes. Give "
        "eval_metric='mse'.",
    ),
    "a regression of absolute values": (
        lambda: fit(regression("MAERegressionOutput")),
        "of MAERegressionOutput of shape (4, 1), which are not classes. Give eval_metric='mae'.",
    ),
    "a regression with its own metric": (
        lambda: fit(regression("LinearRegressionOutput"), eval_metric="mse"),
        None,
    ),
    "NaN in the first batch": (
        lambda: fit(data=with_nan("data", 2)),
        "fit: data must be numbers; got NaN in 'data', sample 2 of epoch 0, batch 0 (counted from 0). The weights "
        "can become NaN, too.",
    ),
    "NaN in a label of the first batch": (
        lambda: fit(regression("LinearRegressionOutput"), with_nan("label", 1), eval_metric="mse"),
        "got NaN in 'softmax_label', sample 1 of epoch 0, batch 0",
    ),
    "NaN in a later batch": (
        lambda: fit(data=with_nan("data", 9), num_epoch=2),
        "got NaN in 'data', sample 9, which is in batch 2 (counted from 0). The weights can become NaN, too.",
    ),
    "NaN in csr data": (
        lambda: fit(data=with_nan("data", 9, "csr"), num_epoch=2),
        "got NaN in 'data', sample 9, which is in batch 2 (counted from 0). The weights can become NaN, too.",
    ),
    "NaN in a later batch of an iterator": (
        lambda: fit(data=Plain(with_nan("data", 9)), num_epoch=3),
        "got NaN in 'data', sample 1 of epoch 1, batch 2 (counted from 0)",
    ),
    "NaN of FeedForward": (
        lambda: mx.model.FeedForward(network(), num_epoch=1).fit(Plain(with_nan("data", 0)), verbosity=0),
        "got NaN in 'data', sample 0 of epoch 0, batch 0",
    ),
    "no NaN": (lambda: fit(num_epoch=2), None),
    "infinities": (lambda: fit(data=mx.io.NDArrayIter(infinite(), np.zeros(8), 4), eval_metric="acc"), None),
    "channels last": (
        lambda: images((8, 8, 3)),
        "fit: 'data' must be images in layout NCHW for 'conv0'; got shape (4, 8, 8, 3), which looks like NHWC. Give "
        "x.transpose((0, 3, 1, 2)).",
    ),
    "grey images with their channel last": (
        lambda: images((8, 8, 1), pad=(1, 1)),
        "(4, 8, 8, 1), which looks like NHWC",
    ),
    "channels first": (lambda: images((3, 8, 8)), None),
    "a sequence of one column": (lambda: images((9, 20, 1), pad=(1, 1)), None),
}


def infinite() -> np.ndarray:
    found = np.ones((8, 4), "float32")
    found[0, :2] = np.inf, -np.inf
    return found


@pytest.mark.parametrize(("call", "text"), CASES.values(), ids=CASES)
def test_what_is_said(call: Callable[[], object], text: str | None) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    said = [str(each.message) for each in caught]
    if text is None:
        assert not said
    else:
        assert len(said) == 1 and text in said[0], said


def test_an_iterators_own_error_has_a_note() -> None:
    source = Plain(
        batches(), fails_at=4, error=OSError("disk is gone")
    )  # 2 batches and the end, then one more
    with pytest.raises(OSError, match="disk is gone") as caught:
        fit(data=source, num_epoch=3)
    assert caught.value.__notes__ == ["In fit, epoch 1, while batch 1 (counted from 0) was read."]
    module = fit()
    for call, what in (
        (lambda source: module.score(source, "acc", epoch=7), "score, epoch 7"),
        (lambda source: module.predict(source), "predict"),
    ):
        with pytest.raises(OSError, match="disk is gone") as caught:
            call(Plain(batches(), fails_at=1, error=OSError("disk is gone")))
        assert caught.value.__notes__ == [f"In {what}, while batch 1 (counted from 0) was read."]


def test_a_generators_own_error_has_a_note() -> None:
    def pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        yield np.ones((2, 4)), np.zeros(2)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no") as caught:
        mx.mod.Module(network()).fit(pairs(), num_epoch=1)
    assert caught.value.__notes__ == ["In fit, epoch 0, while batch 1 (counted from 0) was read."]


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def interruptible() -> Iterator[None]:
    """An interrupt is Python's own exception, also where a shell that started the tests ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_says_where_and_shows_no_inside_of_libraries() -> None:
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        fit(num_epoch=10**9)
    (note,) = caught.value.__notes__
    assert re.fullmatch(r"In fit, epoch \d+, batch \d \(counted from 0\)\.", note)
    shown = traceback.extract_tb(caught.value.__traceback__)
    assert (
        shown[-1].filename.endswith("training_loop.py") and len(shown) <= 5
    )  # where `fit` was called, and its loop


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_within_pytorch_ends_at_the_programs_own_line() -> None:
    class Slow(Plain):
        def next(self) -> Any:
            if self.source.cursor >= 0:
                tree_map(signal.raise_signal, [signal.SIGINT])
            return super().next()

    with pytest.raises(KeyboardInterrupt) as caught:
        fit(data=Slow(batches()))
    assert caught.value.__notes__ == ["In fit, epoch 0, batch 1 (counted from 0)."]
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "next"


def test_an_interrupt_in_a_programs_own_code_shows_it() -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        fit(batch_end_callback=interrupt)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "interrupt"
    with pytest.raises(KeyboardInterrupt) as caught:
        fit(data=Plain(batches(), fails_at=1, error=KeyboardInterrupt()))
    assert caught.value.__notes__ == ["In fit, epoch 0, batch 1 (counted from 0)."]
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "next"


@pytest.mark.parametrize("settings", [{}, {"force_rebind": True}], ids=["bound", "force_rebind"])
def test_data_of_another_width_in_a_second_fit_are_named(settings: dict[str, Any]) -> None:
    with pytest.raises(
        ShapeError, match=r"data must fit the weights, which are for 'data' .*; got 'data' \(4, 6\)"
    ):
        fit(fit(), batches(width=6), **settings)


def test_labels_of_csr_are_not_made_dense() -> None:
    module = regression("LinearRegressionOutput")
    module.bind([("data", (8, 4))], [("softmax_label", (8, 1))])
    x = mx.nd.ones((8, 1)).tostype("csr").storage
    wide = mx.nd.sparse.CSRNDArray(type(x)(x.data, x.indptr, x.indices, (8, 10**12)))
    check_classes(module, mx.metric.create("mse"), [wide])
