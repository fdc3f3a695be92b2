"""What an error in the middle of a run says of the batch."""

import numpy as np
import pytest

import rebind as mx
from rebind.callback import StopTraining
from rebind.module.notes import add_note


class Grows(mx.io.NDArrayIter):
    """The third batch has another width."""

    count = 0

    def getdata(self):
        self.count += 1
        return [mx.nd.ones((2, 3 + (self.count > 2)))]


def make_module():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    return mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))


def source(kind=Grows):
    return kind(np.ones((8, 3)), np.ones(8), 2)


def bound():
    module = make_module()
    module.bind(source().provide_data, source().provide_label, for_training=False)
    module.init_params()
    return module


def fails(param):
    raise KeyError("from a callback")


@pytest.mark.parametrize(
    ("run", "note"),
    [
        (
            lambda: make_module().fit(source(), num_epoch=1),
            "In fit, epoch 0, batch 2 (counted from 0): data (2, 4) float32; softmax_label (2,) float32",
        ),
        (
            lambda: make_module().fit(source(mx.io.NDArrayIter), num_epoch=1, batch_end_callback=fails),
            "In fit, epoch 0, batch 0 (counted from 0): data (2, 3) float32; softmax_label (2,) float32",
        ),
        (
            lambda: bound().score(source(), "acc"),
            "In score, epoch 0, batch 2 (counted from 0): data (2, 4) float32; softmax_label (2,) float32",
        ),
        (
            lambda: bound().predict(source()),
            "In predict, batch 2 (counted from 0): data (2, 4) float32; softmax_label (2,) float32",
        ),
    ],
    ids=["fit", "callback", "score", "predict"],
)
def test_an_error_says_in_which_batch(run, note):
    with pytest.raises((mx.MXNetError, KeyError)) as caught:
        run()
    notes = getattr(caught.value, "__notes__", [])
    assert notes == [note]


def test_what_stops_a_run_has_no_note():
    def stop(param):
        raise stopped

    stopped = StopTraining("enough")
    make_module().fit(source(mx.io.NDArrayIter), num_epoch=1, batch_end_callback=stop)
    assert not hasattr(stopped, "__notes__")


class Old(Exception):
    """An error as Python 3.10 has it."""

    @property
    def add_note(self):
        raise AttributeError


@pytest.mark.parametrize(("arguments", "text"), [(("bad",), "bad\nhere"), ((1, 2), "(1, 2)")])
def test_python_without_notes(arguments, text):
    error = Old(*arguments)
    add_note(error, "here")
    assert error.__notes__ == ["here"] and str(error) == text
