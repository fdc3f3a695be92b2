"""`fit(..., callbacks=[...])`: hooks, what reduces the learning rate, and what writes tables."""

import csv
import json
import re

import numpy as np
import pytest

import rebind as mx
from rebind import callback
from rebind.errors import ArgumentError, ParameterError

X, Y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 4.0, 9.0, 16.0])


def data():
    return mx.io.NDArrayIter(X, Y, 2, label_name="label")


def make_module():
    net = mx.sym.broadcast_mul(mx.sym.var("data"), mx.sym.var("w_weight", shape=(1,)))
    net = mx.sym.LinearRegressionOutput(mx.sym.reshape(net, (-1,)), mx.sym.var("label"), name="lro")
    return mx.mod.Module(net, label_names=["label"])


def fit(callbacks, epochs=2, eval_data=True, module=None, **settings):
    return (module or make_module()).fit(
        mx.io.NDArrayIter(X[:, None], Y, 2, label_name="label"),
        mx.io.NDArrayIter(X[:, None], Y, 2, label_name="label") if eval_data else None,
        eval_metric="mse",
        num_epoch=epochs,
        callbacks=callbacks,
        **settings,
    )


class Recorder:
    """Records its hooks; it need not derive from `Callback`."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        if not name.startswith("on_"):
            raise AttributeError(name)
        return lambda *arguments: self.calls.append(name)


def test_hooks_are_called_in_the_order_of_events():
    recorder = Recorder()
    fit([recorder], epochs=1)
    assert recorder.calls == [
        "on_train_begin", "on_epoch_begin", "on_batch_end", "on_batch_end", "on_eval_batch_end",
        "on_eval_batch_end", "on_eval_end", "on_epoch_end", "on_train_end",
    ]  # fmt: skip


def test_slots_come_before_members():
    seen = []

    class Member(callback.Callback):
        def on_batch_end(self, param):
            seen.append("member")

    fit([Member()], epochs=1, batch_end_callback=lambda param: seen.append("slot"))
    assert seen == ["slot", "member"] * 2


@pytest.mark.parametrize("hook", ["on_batch_end", "on_eval_end", "on_epoch_end"])
def test_a_hook_can_stop_the_run(hook):
    class Stops(callback.Callback):
        pass

    def stop(self, argument):
        raise callback.StopTraining("enough")

    setattr(Stops, hook, stop)
    recorder = Recorder()
    history = fit([Stops(), recorder], epochs=5)
    assert len(history["train"].get("mse", [])) == (0 if hook == "on_batch_end" else 1)
    # The end of the epoch in which the run is stopped is reported to all.
    assert recorder.calls.count("on_epoch_end") == (0 if hook == "on_batch_end" else 1)
    assert recorder.calls[-1] == "on_train_end"


@pytest.mark.parametrize(
    ("members", "eval_data", "error", "says"),
    [
        ([print], True, ArgumentError, "hooks .*got <built-in function print>. Functions are for batch_end"),
        (
            [callback.EarlyStopping],
            True,
            ArgumentError,
            r"must be an instance; got the class EarlyStopping. Call it",
        ),
        ([type("Typo", (), {"on_bacth_end": print})()], True, ArgumentError, "did you mean 'on_batch_end'"),
        (
            [callback.EarlyStopping()],
            False,
            ParameterError,
            "EarlyStopping needs a validation set; give eval_data",
        ),
    ],
)
def test_members_that_cannot_be_used(members, eval_data, error, says):
    with pytest.raises(error, match=says):
        fit(members, eval_data=eval_data)


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: callback.Speedometer(2, 1),
        lambda folder: callback.ProgressBar(2),
        lambda folder: callback.log_train_metric(1),
        lambda folder: callback.LogValidationMetricsCallback(),
        lambda folder: callback.EarlyStopping(),
        lambda folder: callback.ExponentialMovingAverage(),
        lambda folder: callback.BestCheckpoint(f"{folder}/best"),
        lambda folder: callback.do_checkpoint(f"{folder}/net"),
    ],
)
def test_every_callback_can_be_a_member(make, tmp_path):
    assert fit([make(tmp_path)])["train"]["mse"]


def test_the_learning_rate_falls_on_a_plateau():
    module, rates = make_module(), []

    class Rates(callback.Callback):
        def on_epoch_end(self, record):
            rates.append(record.module.optimizers()[0].learning_rate)

    # No epoch is better than the first by this much.
    reduce = callback.ReduceLROnPlateau(factor=0.5, patience=1, min_delta=1e9, cooldown=1, min_lr=0.03)
    fit([reduce, Rates()], epochs=7, module=module, optimizer_params={"learning_rate": 0.1})
    assert rates == [0.1, 0.05, 0.05, 0.03, 0.03, 0.03, 0.03]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"factor": 1}, "between 0 and 1; got 1"),
        ({"patience": 0}, ">= 1"),
        ({"min_lr": -1}, "min_lr must be"),
    ],
)
def test_settings_of_reduce_lr(settings, says):
    with pytest.raises(ParameterError, match=says):
        callback.ReduceLROnPlateau(**settings)


def test_tables(tmp_path):
    history = fit(
        [callback.CSVLogger(tmp_path / "a.csv"), callback.JSONLogger(tmp_path / "a.jsonl")], epochs=3
    )
    with open(tmp_path / "a.csv") as file:
        rows = list(csv.DictReader(file))
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert (
        list(rows[0])
        == ["epoch", "seconds", "learning_rate", "train_mse", "validation_mse"]
        == list(lines[0])
    )
    for rows_of in rows, lines:
        assert [float(row["train_mse"]) for row in rows_of] == history["train"]["mse"]
        assert [float(row["validation_mse"]) for row in rows_of] == history["validation"]["mse"]
        assert [int(row["epoch"]) for row in rows_of] == [0, 1, 2]
        assert {float(row["learning_rate"]) for row in rows_of} == {0.01}


@pytest.mark.parametrize(("append", "count"), [(False, 2), (True, 4)])
def test_a_second_run_writes_a_new_table_or_appends(append, count, tmp_path):
    for _ in range(2):
        fit([callback.CSVLogger(tmp_path / "a.csv", append=append)])
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert len(lines) == 1 + count and lines[0].startswith("epoch,")


def test_a_run_that_resumes_continues_its_table_and_its_plateau(tmp_path):
    def run(folder, stop_in=None):
        class Killed(callback.Callback):
            def on_epoch_begin(self, epoch):
                if epoch == stop_in:
                    raise KeyboardInterrupt

        table = callback.CSVLogger(folder / "a.csv")
        reduce = callback.ReduceLROnPlateau(factor=0.5, patience=2, min_delta=1e9)
        fit(
            [table, reduce, Killed()],
            epochs=6,
            checkpoint=mx.checkpoint.Checkpoint(folder / "net", every_n_epochs=2),
            initializer=mx.init.One(),
        )

    for name in "whole", "killed":
        (tmp_path / name).mkdir()
    run(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "killed", stop_in=5)  # the checkpoint is of epoch 4: a row must go
    run(tmp_path / "killed")
    whole, killed = (
        re.sub(r"^(\d),[^,]*", r"\1", (tmp_path / name / "a.csv").read_text(), flags=re.M)  # without the time
        for name in ("whole", "killed")
    )
    assert whole == killed


def test_json_has_no_nan(tmp_path):
    lines = callback.JSONLogger(tmp_path / "a.jsonl")
    lines.on_train_begin(make_module())
    lines.on_epoch_end(callback.EpochRecord(0, mx.mod.PythonLossModule(), 1.0, {"mse": float("nan")}))
    assert json.loads((tmp_path / "a.jsonl").read_text())["train_mse"] is None


def test_feedforward_takes_members_too():
    recorder = Recorder()
    net = mx.sym.LinearRegressionOutput(mx.sym.var("data"), mx.sym.var("label"))
    mx.model.FeedForward(net, num_epoch=1).fit(X, Y, eval_metric="mse", verbosity=0, callbacks=[recorder])
    assert recorder.calls[-1] == "on_train_end" and "on_batch_end" in recorder.calls
