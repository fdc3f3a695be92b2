"""The bar of commands: in a terminal that they have for themselves, and nothing elsewhere."""

from __future__ import annotations

import io
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.progress import Progress, TaskID
from tests.test_progress import run_in_terminal

import rebind as mx
import rebind_command
from rebind import tuning
from rebind.terminal import step_bar


class Terminal(io.StringIO):
    """Standard error that says it is a terminal."""

    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """Return what was drawn, without colours, as often as it was drawn."""
        return [
            line.strip()
            for line in re.split(r"[\r\n]|\x1b\[[?;0-9]*[A-Za-z]", self.getvalue())
            if line.strip()
        ]


def a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return what standard error is from now on; pytest sets it after fixtures."""
    made = Terminal()
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "120"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stderr", made)
    return made


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    params = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros((2,))}
    mx.model.save_checkpoint("net", 1, mx.sym.SoftmaxOutput(net, name="softmax"), params, {})
    np.savez("data.npz", data=np.ones((2, 3), "float32"))
    return tmp_path


def test_a_bar_with_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    with tuning.changed(bar_delay_seconds=0), step_bar() as bar:
        bar("reading")
        time.sleep(0.3)
        bar("writing", 1, 2)
        time.sleep(0.3)
    drawn = terminal.lines()
    assert any("reading" in line for line in drawn) and any("writing" in line for line in drawn)
    assert any("\u2501" in line for line in drawn) and any("0:00:00" in line for line in drawn)
    assert "\x1b[?25h" in terminal.getvalue()  # the cursor is visible again


def test_what_is_quick_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    with step_bar() as bar:
        bar("reading", 0, 2)
    assert terminal.lines() == []


def test_an_error_removes_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    with pytest.raises(KeyError), tuning.changed(bar_delay_seconds=0), step_bar() as bar:
        bar("reading")
        time.sleep(0.2)
        raise KeyError
    assert terminal.getvalue().endswith("\x1b[?25h\r\x1b[1A\x1b[2K")


#: A command, and what its bar says.
COMMANDS = {
    "export": (
        ["export", "net", "--to", "onnx"],
        ["reading the model", "writing", "running rebind and onnxruntime"],
    ),
    "import": (["import", "net.onnx", "--out", "back"], ["reading the model", "writing the checkpoint"]),
    "summary": (["summary", "net"], ["reading the model", "inferring shapes"]),
    "plot": (["plot", "net"], ["reading the model", "drawing"]),
    "predict": (["predict", "net", "data.npz"], ["reading the model", "computing"]),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_step_of_a_command_is_shown(
    name: str, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, steps = COMMANDS[name]
    if name == "import":
        assert rebind_command.main(["export", "net", "--no-check"]) == 0
    terminal, shown = a_terminal(monkeypatch), texts_of_bars(monkeypatch)
    with tuning.changed(bar_delay_seconds=0):
        assert rebind_command.main(arguments) == 0
    assert terminal.lines()
    for step in steps:
        assert any(text.startswith(step) for text in shown)


def texts_of_bars(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets the text of each step, however quick the next one follows."""
    update, shown = Progress.update, []

    def drawn(bar: Progress, task: TaskID, **given: Any) -> None:
        update(bar, task, refresh=True, **given)
        shown.append(given["description"])

    monkeypatch.setattr(Progress, "update", drawn)
    return shown


@pytest.mark.parametrize("name", ["export", "summary"])
def test_nothing_is_written_where_there_is_no_terminal(
    name: str, checkpoint: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with tuning.changed(bar_delay_seconds=0):
        assert rebind_command.main(COMMANDS[name][0]) == 0
    written = capfd.readouterr()
    assert written.err == ("The parameters are those of epoch 1.\n" if name == "summary" else "")
    assert "\x1b" not in written.out and "reading" not in written.out


TRAIN = """
import shlex, numpy as np, rebind as mx, rebind_command
from rebind import tuning
with tuning.changed(bar_delay_seconds=0):
    line = "train --model lenet --data a.rec --shape 3,28,28 --classes 2 --epochs 1 --batch-size 4"
    rebind_command.main(shlex.split(line))
print("done")
"""


@pytest.mark.slow
def test_train_shows_its_steps_and_the_bar_of_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    writer = mx.recordio.MXIndexedRecordIO("a.idx", "a.rec", "w")
    for i in range(64):
        header = mx.recordio.IRHeader(0, float(i % 2), i, 0)
        writer.write_idx(i, mx.recordio.pack_img(header, np.full((28, 28, 3), i, np.uint8), img_fmt=".png"))
    writer.close()
    shown = run_in_terminal(TRAIN)
    assert "epoch 1/1" in shown and shown.rstrip().endswith("done")
