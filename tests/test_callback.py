"""Lines are those of MXNet 1.9.1 (read from its log)."""

import json
import logging
import os
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind import callback, checkpoint, metric
from rebind.errors import FormatError, ParameterError
from rebind.ndarray import array, save


@pytest.fixture(autouse=True)
def lines(caplog):
    caplog.set_level(logging.INFO)
    return caplog


def record(nbatch, eval_metric=None, epoch=0):
    return SimpleNamespace(epoch=epoch, nbatch=nbatch, eval_metric=eval_metric, locals={})


def measured():
    made = metric.create(["acc", "ce"])
    made.update([np.array([0, 1])], [np.array([[0.9, 0.1], [0.2, 0.8]])])
    return made


def without_speed(caplog):
    return [re.sub(r"\d+\.\d\d samples", "X samples", message) for message in caplog.messages]


def test_speedometer(lines):
    speed, made = callback.Speedometer(32, 2), measured()
    for epoch in range(2):
        for nbatch in range(5):
            made.update([np.array([0])], [np.array([[0.5, 0.5]])])
            speed(record(nbatch, made, epoch))
    assert without_speed(lines)[1:] == [
        f"Epoch[{epoch}] Batch [{first}-{first + 2}]\tSpeed: X samples/sec\taccuracy=1.000000\tcross-entropy=0.693147"
        for epoch, first in ((0, 2), (1, 0), (1, 2))
    ]
    assert np.isnan(made.get()[1][0])
    assert made.get_global()[1][0] == 1


def test_speedometer_without_reset_or_metric(lines):
    speed, made = callback.Speedometer(32, 2, auto_reset=False), measured()
    for nbatch in range(5):
        speed(record(nbatch, made, 1))
    assert without_speed(lines) == [
        f"Epoch[1] Batch [0-{last}]\tSpeed: X samples/sec\taccuracy=1.000000\tcross-entropy=0.164252"
        for last in (2, 4)
    ]
    lines.clear()
    for nbatch in range(3):
        speed(record(nbatch))
    assert without_speed(lines) == ["Iter[0] Batch [2]\tSpeed: X samples/sec"]


def test_speedometer_takes_metrics_that_know_only_reset(lines):
    class Old:
        resets = 0

        def reset(self):
            self.resets += 1

        def get_name_value(self):
            return [("old", 0.5)]

    speed, made = callback.Speedometer(1, 1), Old()
    for nbatch in range(3):
        speed(record(nbatch, made))
    assert made.resets == 2
    assert lines.messages[0].endswith("\told=0.500000")


def test_log_train_metric(lines):
    log, made = callback.log_train_metric(2, auto_reset=True), measured()
    for nbatch in range(2):
        log(record(nbatch, made, 1))
    log(record(2))
    assert lines.messages == [
        "Iter[1] Batch[0] Train-accuracy=1.000000",
        "Iter[1] Batch[0] Train-cross-entropy=0.164252",
    ]
    assert np.isnan(made.get()[1][0])


def test_log_validation_metrics(lines):
    callback.LogValidationMetricsCallback()(record(4, measured(), 1))
    callback.LogValidationMetricsCallback()(record(4, None, 1))
    assert lines.messages == [
        "Epoch[1] Validation-accuracy=1.000000",
        "Epoch[1] Validation-cross-entropy=0.164252",
    ]


def test_progress_bar(lines):
    bar = callback.ProgressBar(10, 20)
    for nbatch in (1, 5, 10):
        bar(record(nbatch))
    assert lines.messages == [
        "[==------------------] 10%\r",
        "[==========----------] 50%\r",
        "[====================] 100%\r",
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda: callback.Speedometer(1, 0),
        lambda: callback.ProgressBar(0),
        lambda: callback.log_train_metric(0),
    ],
)
def test_bad_settings(make):
    with pytest.raises(ParameterError, match="must be >= 1; got 0"):
        make()


# ---- checkpoints ------------------------------------------------------------------------------------------

SYMBOL = SimpleNamespace(tojson=lambda **_: '{"nodes": []}')
ARGS, AUX = {"w": array(np.arange(3))}, {"m": array(np.ones(2))}


def test_do_checkpoint(tmp_path, lines):
    prefix = str(tmp_path / "net")
    save_every_second = callback.do_checkpoint(prefix, 2)
    for epoch in range(4):
        save_every_second(epoch, SYMBOL, ARGS, AUX)
    assert sorted(os.listdir(tmp_path)) == ["net-0002.params", "net-0004.params", "net-symbol.json"]
    assert lines.messages == [f'Saved checkpoint to "{prefix}-000{n}.params"' for n in (2, 4)]
    assert json.loads((tmp_path / "net-symbol.json").read_text()) == {"nodes": []}
    args, aux = checkpoint.load_params(prefix, 4)
    assert (list(args), list(aux)) == (["w"], ["m"])
    np.testing.assert_array_equal(args["w"].asnumpy(), [0, 1, 2])


def test_parameters_alone(tmp_path):
    checkpoint.save_checkpoint(str(tmp_path / "net"), 3, None, ARGS, {})
    assert os.listdir(tmp_path) == ["net-0003.params"]
    assert checkpoint.load_params(str(tmp_path / "net"), 3)[1] == {}


def test_module_checkpoint():
    saved = []
    module = SimpleNamespace(
        save_checkpoint=lambda prefix, epoch, save_optimizer_states: saved.append(
            (prefix, epoch, save_optimizer_states)
        )
    )
    every_second = callback.module_checkpoint(module, "net", 2, save_optimizer_states=True)
    for epoch in range(4):
        every_second(epoch, None, None, None)
    assert saved == [("net", 2, True), ("net", 4, True)]


def test_interrupted_checkpoint_leaves_the_old_one(tmp_path, monkeypatch):
    prefix = str(tmp_path / "net")
    checkpoint.save_checkpoint(prefix, 1, SYMBOL, ARGS, AUX)
    monkeypatch.setattr("os.fsync", lambda descriptor: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        checkpoint.save_checkpoint(prefix, 1, SYMBOL, {"other": ARGS["w"]}, AUX)
    assert list(checkpoint.load_params(prefix, 1)[0]) == ["w"]
    assert sorted(os.listdir(tmp_path)) == ["net-0001.params", "net-symbol.json"]


def test_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nope-0002\.params"):
        checkpoint.load_params(str(tmp_path / "nope"), 2)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"w": ARGS["w"]}, "names must begin with 'arg:' or 'aux:'; got 'w'"),
        ({"foo:w": ARGS["w"]}, "got 'foo:w'"),
        ([ARGS["w"]], "must have names; got a list of 1"),
    ],
)
def test_other_files_are_refused(tmp_path, content, says):
    save(str(tmp_path / "x-0001.params"), content)
    with pytest.raises(FormatError, match=says):
        checkpoint.load_params(str(tmp_path / "x"), 1)


class Record:
    """What an evaluation callback is given."""

    def __init__(self, epoch: int, module: Any = None, **values: float) -> None:
        self.epoch, self.locals = epoch, {"self": module}
        self.eval_metric = self
        self.values = values

    def get_name_value(self) -> list[tuple[str, float]]:
        return list(self.values.items())


@pytest.mark.parametrize(
    "settings, name, values, stops_after",
    [
        ({"patience": 2}, "accuracy", [0.1, 0.5, 0.4, 0.5, 0.9], 3),
        ({"patience": 2}, "cross-entropy", [0.9, 0.5, 0.6, 0.5, 0.1], 3),
        ({"patience": 2, "mode": "min"}, "accuracy", [0.5, 0.6, 0.7], 2),
        ({"patience": 2, "mode": "max"}, "loss", [0.5, 0.6, 0.7, 0.8], None),
        ({"patience": 1, "min_delta": 0.1}, "accuracy", [0.5, 0.65, 0.7], 2),
        ({"patience": 2}, "accuracy", [float("nan"), 0.1, float("nan"), float("nan")], 3),
        ({"patience": 2}, "accuracy", [float("nan"), float("nan")], 1),
    ],
)
def test_early_stopping(settings: dict, name: str, values: list[float], stops_after: int | None) -> None:
    stopping = callback.EarlyStopping(name, **settings)
    stopped = None
    for epoch, value in enumerate(values):
        stopping_again = callback.EarlyStopping(name, **settings)
        stopping_again.load_state_dict(stopping.state_dict())
        stopping = stopping_again
        try:
            stopping(Record(epoch, **{name: value}))
        except callback.StopTraining:
            stopped = epoch
            break
    assert stopped == stops_after


def test_the_best_parameters_are_kept(tmp_path: Any) -> None:
    class Module:
        symbol = mx.sym.var("x")

        def get_params(self) -> Any:
            return {"w": mx.nd.array([self.value])}, {}

    best, module = callback.BestCheckpoint(str(tmp_path / "best"), "accuracy"), Module()
    for epoch, value in enumerate([0.2, 0.7, 0.5]):
        module.value = value
        best(Record(epoch, module, accuracy=value))
    assert (best.best, best.best_epoch) == (0.7, 1)
    _, args, _ = mx.checkpoint.load_checkpoint(str(tmp_path / "best"), 0)
    assert args["w"].asscalar() == pytest.approx(0.7)


def test_an_average_follows_the_parameters() -> None:
    class Module:
        def trained_params(self) -> Any:
            return {"w": mx.nd.array([self.value])}

    for settings, expected in (({"decay": 0.9}, 1.1), ({"decay": 0.9, "warm_up": True}, 1.75)):
        average, module = callback.ExponentialMovingAverage(**settings), Module()
        for value in (1.0, 2.0):
            module.value = value
            average(Record(0, module))
        assert average.params["w"].asscalar() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: callback.ExponentialMovingAverage(1), ParameterError, r"decay must be in \[0, 1\); got 1"),
        (lambda: callback.EarlyStopping(mode="best"), ParameterError, "mode must be one of"),
        (
            lambda: callback.EarlyStopping("acc")(Record(0, accuracy=1.0)),
            ParameterError,
            "monitor must be one of 'accuracy'; got 'acc'",
        ),
    ],
)
def test_an_average_follows_the_parameters_says_what_is_wrong(call, error, says) -> None:
    with pytest.raises(error, match=says):
        call()
