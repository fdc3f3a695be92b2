"""The bar: what it shows in a terminal, and that nothing is written elsewhere."""

import logging
import os
import subprocess
import sys

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind.io import DataBatch, DataDesc, NDArrayIter
from rebind.progress import Progress, _batch_axis, _num_samples, _number_of_batches

SCRIPT = """
import logging, sys, time
import numpy as np, rebind as mx
logging.basicConfig(level=logging.INFO, format="%(message)s")
net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
net = mx.sym.SoftmaxOutput(net, name="softmax")
data = mx.io.NDArrayIter(np.ones((40, 3)), np.ones(40), 10)
mx.mod.Module(net).fit(
    data, num_epoch=2, eval_metric=["acc", "ce"], batch_end_callback=lambda param: time.sleep(0.11)
)
print("done")
"""


def run_in_terminal(script, columns=140, **environment):
    """Return all that a program writes to a terminal that it has for itself."""
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "30", **environment}
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=slave, stdout=slave, stderr=slave, env=env
    )
    os.close(slave)
    text = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        text += piece
    os.close(master)
    assert process.wait() == 0, text.decode()
    return text.decode()


@pytest.fixture(scope="module")
def shown():
    return run_in_terminal(SCRIPT)


@pytest.mark.parametrize(
    "piece", ["Epoch 0", "Epoch 1", "4/4", "accuracy", "cross-entropy", "samples/s", "left", "━"]
)
def test_in_a_terminal_there_is_a_bar(shown, piece):
    assert piece in shown


def test_in_a_terminal_the_bar_is_below_the_log(shown):
    lines = shown.split("\x1b[2K")  # what is left after each clearing of the line
    assert any("Epoch[0] Train-accuracy=" in line for line in lines)
    assert shown.rstrip().endswith("done") and "\x1b[?25h" in shown  # the cursor is visible again


@pytest.mark.parametrize(
    ("option", "terminal", "wanted", "active"),
    [
        ("auto", True, None, True),
        ("auto", False, None, False),
        ("on", False, None, True),
        ("off", True, None, False),
        ("off", False, True, True),
        ("on", True, False, False),
    ],
)
def test_when_it_is_drawn(monkeypatch, option, terminal, wanted, active):
    monkeypatch.setenv("REBIND_PROGRESS", option)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    assert Progress(1, wanted)._active is active


def test_away_from_a_terminal_nothing_is_written():
    result = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert result.stdout == "done\n"
    assert all(line.startswith("Epoch[") for line in result.stderr.splitlines())


def test_an_option_that_is_none(monkeypatch):
    monkeypatch.setenv("REBIND_PROGRESS", "maybe")
    with pytest.raises(ValueError, match="REBIND_PROGRESS: must be auto, on or off; got 'maybe'"):
        Progress(1, None)
    Progress(1, False)


class Generator:
    def __iter__(self):
        return iter(())


@pytest.mark.parametrize(
    ("data", "batches"),
    [
        (NDArrayIter(np.ones((10, 2)), batch_size=4), 3),
        (NDArrayIter(np.ones((10, 2)), batch_size=4, last_batch_handle="discard"), 2),
        ([1, 2], 2),
        (Generator(), None),
    ],
)
def test_number_of_batches(data, batches):
    assert _number_of_batches(data) == batches


@pytest.mark.parametrize(
    ("batch", "axis", "samples"),
    [
        (DataBatch([nd.ones((4, 2))], pad=1), 0, 3),
        (DataBatch([nd.ones((4, 2))]), 1, 2),
        (DataBatch([]), 0, 0),
        (DataBatch([nd.ones((4,))]), 1, 0),
    ],
)
def test_samples(batch, axis, samples):
    assert _num_samples(batch, axis) == samples


class Steps:
    provide_data = [DataDesc("data", (5, 8), layout="TN")]


@pytest.mark.parametrize(("data", "axis"), [(Steps(), 1), (Generator(), 0)], ids=["TN", "no-layout"])
def test_samples_are_counted_along_the_batch_axis(data, axis):
    assert _batch_axis(data) == axis


def test_an_error_gives_the_log_its_stream_back(monkeypatch):
    monkeypatch.setattr(sys, "__stderr__", sys.stderr)
    handler = logging.StreamHandler(sys.stderr)
    logger = logging.getLogger("rebind.test_progress")
    logger.addHandler(handler)
    try:
        with pytest.raises(KeyError), Progress(1, True):
            raise KeyError
        assert handler.stream is sys.stderr
    finally:
        logger.removeHandler(handler)


def test_a_bar_that_is_wanted_anyway_counts(capsys):
    metric = mx.metric.create("acc")
    with Progress(2, True) as bar:
        for epoch in range(2):
            bar.begin_epoch(epoch, Generator())
            for _ in range(3):
                bar.advance([DataBatch([nd.ones((2, 2))])] * 2, metric)
            bar.end_epoch()
        assert (bar._seen, bar._samples, bar._finished, bar._batches) == (3, 12, 2, 3)
