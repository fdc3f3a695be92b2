"""Lines are those of MXNet 1.9.1 (read from its log)."""

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


SPEED = "\tSpeed: X samples/sec"


def test_speedometer(lines):
    speed, made = callback.Speedometer(32, 2), measured()
    for epoch in range(2):
        for nbatch in range(5):
            made.update([np.array([0])], [np.array([[0.5, 0.5]])])
            speed(record(nbatch, made, epoch))
    assert without_speed(lines)[1:] == [
        f"Epoch[{epoch}] Batch [{first}-{first + 2}]{SPEED}\taccuracy=1.000000\tcross-entropy=0.693147"
        for epoch, first in ((0, 2), (1, 0), (1, 2))
    ]
    assert np.isnan(made.get()[1][0])
    assert made.get_global()[1][0] == 1


@pytest.mark.parametrize(
    ("make", "line"),
    [
        pytest.param(
            measured,
            f"Epoch[{{epoch}}] Batch [0-{{last}}]{SPEED}\taccuracy=1.000000\tcross-entropy=0.164252",
            id="a metric",
        ),
        pytest.param(lambda: None, f"Iter[{{epoch}}] Batch [{{last}}]{SPEED}", id="no metric"),
    ],
)
def test_speedometer_without_reset(lines, make, line):
    speed, made = callback.Speedometer(32, 2, auto_reset=False), make()
    for epoch in range(2):
        for nbatch in range(5):
            speed(record(nbatch, made, epoch))
    expected = [line.format(epoch=epoch, last=last) for epoch in range(2) for last in (2, 4)]
    assert without_speed(lines) == expected


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


LOGGED = ["accuracy=1.000000", "cross-entropy=0.164252"]


@pytest.mark.parametrize(
    ("make", "nbatches", "metrics", "expected"),
    [
        pytest.param(
            lambda: callback.log_train_metric(2),
            (0, 1),
            True,
            [f"Iter[1] Batch[0] Train-{each}" for each in LOGGED],
            id="log_train_metric",
        ),
        pytest.param(
            lambda: callback.log_train_metric(2), (2,), False, [], id="log_train_metric without a metric"
        ),
        pytest.param(
            callback.LogValidationMetricsCallback,
            (4,),
            True,
            [f"Epoch[1] Validation-{each}" for each in LOGGED],
            id="LogValidationMetricsCallback",
        ),
        pytest.param(
            callback.LogValidationMetricsCallback,
            (4,),
            False,
            [],
            id="LogValidationMetricsCallback without a metric",
        ),
        pytest.param(
            lambda: callback.ProgressBar(10, 20),
            (1, 5, 10),
            False,
            [
                "[==------------------] 10%\r",
                "[==========----------] 50%\r",
                "[====================] 100%\r",
            ],
            id="ProgressBar",
        ),
    ],
)
def test_lines(lines, make, nbatches, metrics, expected):
    call, made = make(), measured() if metrics else None
    for nbatch in nbatches:
        call(record(nbatch, made, 1))
    assert lines.messages == expected


@pytest.mark.parametrize("auto_reset", [True, False])
def test_log_train_metric_resets_where_asked(auto_reset):
    log, made = callback.log_train_metric(2, auto_reset=auto_reset), measured()
    log(record(0, made, 1))
    assert np.isnan(made.get()[1][0]) == auto_reset


SYMBOL = mx.sym.var("data")
ARGS, AUX = {"w": array(np.arange(3))}, {"m": array(np.ones(2))}


@pytest.mark.parametrize(("period", "saved"), [(1, (1, 2, 3, 4)), (2, (2, 4)), (3, (3,)), (5, ())])
def test_do_checkpoint(period, saved, tmp_path, lines):
    prefix = str(tmp_path / "net")
    save = callback.do_checkpoint(prefix, period)
    for epoch in range(4):
        save(epoch, SYMBOL, ARGS, AUX)
    symbol = ["net-symbol.json"] if saved else []
    assert sorted(os.listdir(tmp_path)) == [*(f"net-000{n}.params" for n in saved), *symbol]
    assert lines.messages == [f'Saved checkpoint to "{prefix}-000{n}.params"' for n in saved]


def test_what_a_checkpoint_holds(tmp_path):
    prefix = str(tmp_path / "net")
    callback.do_checkpoint(prefix)(3, SYMBOL, ARGS, AUX)
    assert (tmp_path / "net-symbol.json").read_text() == SYMBOL.tojson()
    args, aux = checkpoint.load_params(prefix, 4)
    assert (list(args), list(aux)) == (["w"], ["m"])
    np.testing.assert_array_equal(args["w"].asnumpy(), [0, 1, 2])


def test_parameters_alone(tmp_path):
    checkpoint.save_checkpoint(str(tmp_path / "net"), 3, None, ARGS, {})
    assert os.listdir(tmp_path) == ["net-0003.params"]
    assert checkpoint.load_params(str(tmp_path / "net"), 3)[1] == {}


@pytest.mark.parametrize(("period", "epochs"), [(1, [1, 2, 3, 4]), (2, [2, 4]), (3, [3])])
@pytest.mark.parametrize("states", [True, False])
def test_module_checkpoint(period, epochs, states):
    saved = []
    module = SimpleNamespace(
        save_checkpoint=lambda prefix, epoch, save_optimizer_states: saved.append(
            (prefix, epoch, save_optimizer_states)
        )
    )
    save = callback.module_checkpoint(module, "net", period, save_optimizer_states=states)
    for epoch in range(4):
        save(epoch, None, None, None)
    assert saved == [("net", epoch, states) for epoch in epochs]


def test_interrupted_checkpoint_leaves_the_old_one(tmp_path, monkeypatch):
    prefix = str(tmp_path / "net")
    checkpoint.save_checkpoint(prefix, 1, SYMBOL, ARGS, AUX)
    monkeypatch.setattr("os.fsync", lambda descriptor: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        checkpoint.save_checkpoint(prefix, 1, SYMBOL, {"other": ARGS["w"]}, AUX)
    assert list(checkpoint.load_params(prefix, 1)[0]) == ["w"]
    assert sorted(os.listdir(tmp_path)) == ["net-0001.params", "net-symbol.json"]


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        (None, FileNotFoundError, r"x-0001\.params"),
        ({"w": ARGS["w"]}, FormatError, "names must begin with 'arg:' or 'aux:'; got 'w'"),
        ({"foo:w": ARGS["w"]}, FormatError, "got 'foo:w'"),
        ([ARGS["w"]], FormatError, "must have names; got a list of 1"),
    ],
    ids=["no file", "a name without a kind", "another kind", "a list"],
)
def test_other_files_are_refused(tmp_path, content, error, says):
    if content is not None:
        save(str(tmp_path / "x-0001.params"), content)
    with pytest.raises(error, match=says):
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


@pytest.mark.parametrize(
    ("monitor", "values", "best_epoch"),
    [
        ("accuracy", [0.2, 0.7, 0.5], 1),
        ("accuracy", [0.7, 0.7, 0.5], 0),
        ("cross-entropy", [0.9, 0.7, 0.5], 2),
    ],
    ids=["the largest", "the first of two", "the smallest of a loss"],
)
def test_the_best_parameters_are_saved(
    monitor: str, values: list[float], best_epoch: int, tmp_path: Any
) -> None:
    class Module:
        symbol = mx.sym.var("x")

        def get_params(self) -> Any:
            return {"w": mx.nd.array([self.value])}, {}

    best, module = callback.BestCheckpoint(str(tmp_path / "best"), monitor), Module()
    for epoch, value in enumerate(values):
        module.value = value
        best(Record(epoch, module, **{monitor: value}))
    assert (best.best, best.best_epoch) == (values[best_epoch], best_epoch)
    _, args, _ = mx.checkpoint.load_checkpoint(str(tmp_path / "best"), 0)
    assert args["w"].asscalar() == pytest.approx(values[best_epoch])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({"decay": 0.9}, 1.1), ({"decay": 0.9, "warm_up": True}, 1.75)],
    ids=["from the start", "with a warm-up"],
)
def test_an_average_follows_the_parameters(settings: dict, expected: float) -> None:
    class Module:
        def trained_params(self) -> Any:
            return {"w": mx.nd.array([self.value])}

    average, module = callback.ExponentialMovingAverage(**settings), Module()
    for value in (1.0, 2.0):
        module.value = value
        average(Record(0, module))
    assert average.params["w"].asscalar() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: callback.Speedometer(1, 0), "must be >= 1; got 0"),
        (lambda: callback.ProgressBar(0), "must be >= 1; got 0"),
        (lambda: callback.log_train_metric(0), "must be >= 1; got 0"),
        (lambda: callback.ExponentialMovingAverage(1), r"decay must be in \[0, 1\); got 1"),
        (lambda: callback.EarlyStopping(mode="best"), "mode must be one of"),
        (
            lambda: callback.EarlyStopping("acc")(Record(0, accuracy=1.0)),
            "monitor must be one of 'accuracy'; got 'acc'",
        ),
    ],
)
def test_bad_settings(call, says) -> None:
    with pytest.raises(ParameterError, match=says):
        call()
