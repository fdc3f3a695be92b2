"""The bar: what it shows in a terminal, and that nothing is written elsewhere."""

import logging
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind.io import DataBatch, DataDesc, NDArrayIter
from rebind.progress import Progress, is_logged
from rebind.progress.counting import batch_axis_of, num_batches, num_samples

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
    "piece", ["epoch 1/2", "epoch 2/2", "4/4", "accuracy", "cross-entropy", "samples/s", "left", "━"]
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
    assert num_batches(data) == batches


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
    assert num_samples(batch, axis) == samples


class Steps:
    provide_data = [DataDesc("data", (5, 8), layout="TN")]


@pytest.mark.parametrize(("data", "axis"), [(Steps(), 1), (Generator(), 0)], ids=["TN", "no-layout"])
def test_samples_are_counted_along_the_batch_axis(data, axis):
    assert batch_axis_of(data) == axis


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
        assert (bar._state.done, bar._samples, bar._finished, bar._batches) == (3, 12, 2, 3)


UNLOGGED = SCRIPT.replace('logging.basicConfig(level=logging.INFO, format="%(message)s")', "").replace(
    "data, num_epoch", "data, data, num_epoch"
)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_without_logging_each_epoch_leaves_a_line(columns):
    text = run_in_terminal(UNLOGGED, columns)
    assert "Epoch[" not in text
    for epoch in 1, 2:
        (line,) = re.findall(
            rf"epoch {epoch}/2  accuracy [^\r]*?samples/s|epoch {epoch}/2  accuracy.*?/s", text, re.S
        )
        for what in "(val ", "cross-entropy", " s  ":
            assert what in line
        assert f"epoch {epoch}/2  " in text
    bars = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", each) for each in re.split(r"\x1b\[2K|\r\n?", text)]
    bars = [bar for bar in bars if "━" in bar or "─" in bar]
    assert bars and all(re.match(r"epoch [12]/2  [━─]+  \d/4", bar) and len(bar) <= columns for bar in bars)


def test_with_logging_there_are_no_such_lines(shown):
    assert "Epoch[1] Validation" in run_in_terminal(
        SCRIPT.replace("data, num_epoch", "data, data, num_epoch")
    )
    assert "(val" not in shown and " s  " not in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)


def test_a_run_that_is_stopped_says_so():
    script = UNLOGGED.replace("lambda param: time.sleep(0.11)", "stop").replace(
        "net = mx.sym.Fully",
        "def stop(param):\n    raise mx.callback.StopTraining('enough')\nnet = mx.sym.Fully",
        1,
    )
    assert "Training ends early, after 0 epochs and 1 batches. enough" in run_in_terminal(script)


@pytest.mark.parametrize(
    ("setting", "logged"),
    [
        (lambda logger: None, False),
        (lambda logger: logger.setLevel(logging.INFO), False),  # no handler
        (lambda logger: (logger.setLevel(logging.INFO), logger.addHandler(logging.NullHandler())), True),
        (lambda logger: logger.addHandler(logging.NullHandler()), False),
        (lambda logger: logger.setLevel(logging.CRITICAL + 1), True),  # silenced
        (lambda logger: setattr(logger, "disabled", True), True),
    ],
)
def test_whether_logging_is_set_up(setting, logged):
    logger = logging.Logger("alone", level=logging.WARNING)
    setting(logger)
    assert is_logged(logger) is logged


def test_a_notebook_gets_a_table(monkeypatch):
    shown = []

    class Handle:
        def update(self, what):
            shown.append(what)

    display = SimpleNamespace(display=lambda what, display_id: Handle())
    monkeypatch.setitem(
        sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1))
    )
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    metric = mx.metric.create("loss")
    metric.update(None, [nd.array([2])])
    with Progress(2, None) as bar:
        for epoch in range(2):
            bar.begin_epoch(epoch, [0])
            bar.advance(DataBatch([nd.ones((2, 2))]), metric)
            bar.end_epoch()
            bar.report("train", "loss", 2.0)
            bar.report("validation", "loss", 3.0)
            bar.finish_epoch()
    assert "epoch 1/2" in str(shown[0]) and "0/1" in str(shown[0])
    assert str(shown[-2]).count("loss 2.0000 (val 3.0000)") == 2
    assert [column.header for column in shown[-1].columns] == [
        "epoch",
        "loss",
        "val loss",
        "time",
        "samples/s",
    ]
    assert list(shown[-1].columns[0].cells) == ["1/2", "2/2"]
