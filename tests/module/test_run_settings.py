"""Resuming a run with other settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.errors import (
    ParameterError,
    StateError,
)

from .classifier import batches, fit, network


def resume(folder: Path, on_change: str = "keep", data: Any = None, **settings: Any) -> Any:
    module = mx.mod.Module(network())
    checkpoint = mx.checkpoint.Checkpoint(folder / "run", on_change=on_change)
    settings = {"num_epoch": 2, "optimizer_params": {"learning_rate": 0.5}, **settings}
    module.fit(batches() if data is None else data, checkpoint=checkpoint, **settings)
    return module


CHANGES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "learning rate": (
        {"optimizer_params": {"learning_rate": 0.25}},
        ["learning_rate  0.5    0.25   saved"],
    ),
    "weight decay": (
        {"optimizer_params": {"learning_rate": 0.5, "wd": 0.1}},
        ["wd         0.0    0.1    saved"],
    ),
    "fewer epochs": ({"num_epoch": 1}, ["num_epoch  2      1      given", "is less than the 2 epochs that"]),
    "data": (
        {"data": mx.io.NDArrayIter(np.ones((6, 4)), np.zeros(6), 2)},
        ["data (4, 4) float32, softmax_label (4,) float32  data (2, 4)", "samples     8", "6"],
    ),
    "data of the same shape": (
        {"data": mx.io.NDArrayIter(np.ones((8, 4)), np.zeros(8), 4)},
        ["content  ", "  given"],
    ),
    "metric": ({"eval_metric": "ce"}, ["eval_metric  accuracy  cross-entropy  given"]),
    "accumulate": ({"accumulate": 2}, ["accumulate  1      2      given"]),
}


@pytest.mark.parametrize(("settings", "lines"), CHANGES.values(), ids=CHANGES)
def test_a_resumed_run_shows_what_differs(
    settings: dict[str, Any], lines: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    resume(tmp_path)
    assert not caplog.messages
    resume(tmp_path, **{"num_epoch": 3, **settings})
    shown_text = "\n".join(caplog.messages)
    assert "was saved with other settings" in shown_text
    for line in lines:
        assert line in shown_text


def test_more_epochs_are_no_change(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    resume(tmp_path)
    resume(tmp_path, "error", num_epoch=3)
    assert not caplog.messages


def test_which_learning_rate_counts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    changed = {"learning_rate": 0.125, "wd": 0.25}
    resume(tmp_path)
    kept = resume(tmp_path, num_epoch=3, optimizer_params=changed).optimizers()[0]
    assert (kept.lr, kept.wd) == (0.5, 0.0) and "on_change='use new'" in caplog.text
    with pytest.raises(StateError, match=r"(?s)saved with other settings.*learning_rate  0.5    0.125"):
        resume(tmp_path, "error", num_epoch=4, optimizer_params=changed)
    new = resume(tmp_path, "use new", num_epoch=4, optimizer_params=changed).optimizers()[0]
    assert (new.lr, new.wd, new.num_update) == (0.125, 0.25, 8)
    caplog.clear()
    resume(tmp_path, num_epoch=5, optimizer_params=changed)  # the file now has what was used
    assert not caplog.messages


def test_a_new_schedule_gives_the_rates_that_it_would_have_given(tmp_path: Path, caplog: Any) -> None:
    def settings(step: int) -> dict[str, Any]:
        schedule = mx.lr_scheduler.FactorScheduler(step, 0.5, base_lr=1.0)
        return {"optimizer_params": {"learning_rate": 1.0, "lr_scheduler": schedule}}

    resume(tmp_path, **settings(100))
    resumed = resume(tmp_path, "use new", num_epoch=3, **settings(2)).optimizers()[0]
    whole = fit(mx.mod.Module(network()), num_epoch=3, **settings(2)).optimizers()[0]
    assert resumed.learning_rate == whole.learning_rate
    assert "FactorScheduler(step=100, factor=0.5, base_lr=1.0)" in caplog.text


def test_other_data_begin_the_epoch_again_at_their_own_scale(tmp_path: Path) -> None:
    resume(tmp_path)
    other = mx.io.NDArrayIter(np.ones((6, 4)), np.zeros(6), 2)
    assert resume(tmp_path, num_epoch=3, data=other).optimizers()[0].rescale_grad == 0.5


OTHER: dict[str, tuple[dict[str, Any], str]] = {
    "optimizer": ({"optimizer": "adam"}, r"run-0002-000000.run is a run with the optimizer SGD; got Adam"),
    "states": (
        {"optimizer_params": {"learning_rate": 0.5, "momentum": 0.9}, "on_change": "use new"},
        r"must fit its settings; the given ones \(momentum\) need other states",
    ),
}


@pytest.mark.parametrize(("settings", "text"), OTHER.values(), ids=OTHER)
def test_settings_that_cannot_be_changed(settings: dict[str, Any], text: str, tmp_path: Path) -> None:
    resume(tmp_path)
    with pytest.raises(StateError, match=text):
        resume(tmp_path, **{"num_epoch": 3, **settings})


def test_on_change_must_be_known() -> None:
    with pytest.raises(
        ParameterError, match="on_change must be one of 'keep', 'use new', 'error'; got 'new'"
    ):
        mx.checkpoint.Checkpoint("net", on_change="new")  # type: ignore[arg-type]


def killed(folder: Path, **settings: Any) -> None:
    """Train for an epoch and three batches, with a checkpoint after each."""

    def kill(param: Any) -> None:
        if (param.epoch, param.nbatch) == (1, 3):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        long(folder, batch_end_callback=kill, **settings)


def long(folder: Path, data: Any = None, **settings: Any) -> Any:
    """Train two epochs of six batches."""
    module = mx.mod.Module(network())
    module.fit(
        points() if data is None else data,
        num_epoch=2,
        optimizer_params={"learning_rate": 0.5},
        initializer="ones",
        checkpoint=mx.checkpoint.Checkpoint(folder / "run", every_n_batches=1),
        **settings,
    )
    return module


def points(scale: float = 1.0) -> Any:
    x = np.random.RandomState(0).rand(24, 4).astype("float32")
    return mx.io.NDArrayIter(x * scale, np.arange(24) % 3, 4)


def weights(module: Any) -> Any:
    return module.get_params()[0]["fc1_weight"].asnumpy()


def test_other_data_of_the_same_shape_begin_the_epoch_again(tmp_path: Path, caplog: Any) -> None:
    killed(tmp_path)
    seen: list[int] = []
    long(tmp_path, points(2.0), batch_end_callback=lambda param: seen.append(param.nbatch))
    assert seen == [0, 1, 2, 3, 4, 5]
    assert (
        "the data differ from those of the saved run, so epoch 1 starts over, of which 3 batches were done"
        in caplog.text
    )


@pytest.mark.parametrize(
    ("before", "after", "groups"),
    [
        # After 3 batches of the second epoch; each number is of how many batches an update is.
        (2, 3, [2, 1, 3]),
        (2, 1, [2, 1, 1, 1, 1]),
        (4, 2, [3, 2, 1]),
        (1, 2, [1, 1, 1, 2, 1]),
        (3, 2, [3, 2, 1]),
    ],
)
def test_gradients_that_wait_are_used_when_accumulate_changes(
    before: int, after: int, groups: list[int], tmp_path: Path, caplog: Any
) -> None:
    killed(tmp_path, accumulate=before)
    found = weights(long(tmp_path, accumulate=after))
    waits = 3 % before
    said = f"the gradients of the {waits} batches since the last update make one of their own"
    assert (said in caplog.text) == bool(waits)

    # The same by hand: after the first epoch, the groups of batches.
    module = mx.mod.Module(network())
    module.fit(
        points(), num_epoch=1, accumulate=before, initializer="ones", optimizer_params={"learning_rate": 0.5}
    )
    start = module.get_params()
    rows, labels = (value.asnumpy() for _, value in (*points().data, *points().label))
    begin = 0
    for count in groups:
        part = slice(begin, begin + 4 * count)
        begin += 4 * count
        step = mx.mod.Module(network())
        step.fit(
            mx.io.NDArrayIter(rows[part], labels[part], 4 * count),
            num_epoch=1,
            arg_params=start[0],
            optimizer_params={"learning_rate": 0.5},
        )
        start = step.get_params()
    assert begin == 24 and np.allclose(found, start[0]["fc1_weight"].asnumpy(), atol=1e-6)


def test_a_run_whose_accumulate_changed_resumes_exactly(tmp_path: Path) -> None:
    def kill(param: Any) -> None:
        if (param.epoch, param.nbatch) == (1, 5):
            raise KeyboardInterrupt

    for folder in "whole", "cut":
        (tmp_path / folder).mkdir()
        killed(tmp_path / folder, accumulate=2)
    expected = weights(long(tmp_path / "whole", accumulate=3))
    with pytest.raises(KeyboardInterrupt):
        long(tmp_path / "cut", accumulate=3, batch_end_callback=kill)
    assert np.array_equal(weights(long(tmp_path / "cut", accumulate=3)), expected)
