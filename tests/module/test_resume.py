"""`fit(checkpoint=...)`: a run that is killed and called again ends as one that was not."""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.checkpoint import Checkpoint, Position
from rebind.contrib.amp import init_trainer
from rebind.contrib.amp.loss_scaler import LossScaler
from rebind.errors import FormatError, MXNetError, ParameterError, StateError

from .training_script import iterator, network, train


class Kill(BaseException):
    """What no part of the program catches, as a kill."""


class KillAt:
    """A batch callback that stops everything at one batch of one epoch."""

    def __init__(self, epoch: int, nbatch: int) -> None:
        self.position = epoch, nbatch

    def __call__(self, param: Any) -> None:
        if (param.epoch, param.nbatch) == self.position:
            raise Kill


def bytes_of(mod: Any) -> dict[str, bytes]:
    args, aux = mod.get_params()
    return {name: value.asnumpy().tobytes() for name, value in {**args, **aux}.items()}


def resumed(
    prefix: str, positions: list[tuple[int, int]], every: int | None = 2, **settings: Any
) -> tuple[Any, Any]:
    """Train with a kill at each position, and let the same call resume each time."""
    for position in positions:
        with pytest.raises(Kill):
            train(Checkpoint(prefix, every_n_batches=every), batch_end_callback=KillAt(*position), **settings)
    return train(Checkpoint(prefix, every_n_batches=every), **settings)


SETTINGS: dict[str, dict[str, Any]] = {
    "adam": {},
    "momentum": {"optimizer": "sgd", "optimizer_params": {"learning_rate": 0.1, "momentum": 0.9}},
    "two devices": {"devices": 2},
    "two devices, store updates": {"devices": 2, "kvstore": "local"},
    "accumulated": {"accumulate": 3},
    "scaled losses": {"prepare": lambda mod: init_trainer(mod, LossScaler(2.0**20, scale_window=3))},
}
# Without checkpoints within epochs, the epoch of the kill is trained again.
EVERY = {
    "every two batches": (2, [(0, 1), (0, 4), (1, 0), (1, 6), (2, 3)]),
    "every epoch": (None, [(0, 3), (2, 5)]),
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(("every", "kills"), EVERY.values(), ids=EVERY)
def test_a_killed_run_ends_as_one_that_was_not(
    name: str, every: int | None, kills: list[tuple[int, int]], tmp_path: Path
) -> None:
    settings = SETTINGS[name]
    whole, history = train(None, **settings)
    again, same = resumed(str(tmp_path / "run"), kills, every, **settings)
    assert bytes_of(again) == bytes_of(whole)
    assert same == history


def plain(checkpoint: Any, devices: int, **changed: Any) -> Any:
    """Train a network that computes the same on any number of devices."""
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"), name="softmax"
    )
    mod = mx.mod.Module(net, context=[mx.cpu(i) for i in range(devices)])
    np.random.seed(4)
    mod.fit(
        iterator(),
        num_epoch=3,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.05},
        arg_params={"fc_weight": mx.nd.ones((3, 5)), "fc_bias": mx.nd.zeros((3,))},
        checkpoint=checkpoint,
        progress=False,
        **changed,
    )
    return mod


@pytest.mark.parametrize("kvstore", ["local", None])
@pytest.mark.parametrize("accumulate", [1, 3])
def test_a_run_resumes_on_another_number_of_devices(kvstore: Any, accumulate: int, tmp_path: Path) -> None:
    whole = plain(None, 1, accumulate=accumulate).get_params()[0]
    checkpoint = Checkpoint(tmp_path / "run", every_n_batches=1)
    for devices, position in ((1, (0, 3)), (2, (1, 1)), (4, (2, 0))):
        with pytest.raises(Kill):
            plain(
                checkpoint,
                devices,
                accumulate=accumulate,
                kvstore=kvstore,
                batch_end_callback=KillAt(*position),
            )
    found = plain(checkpoint, 1, accumulate=accumulate, kvstore=kvstore).get_params()[0]
    for name, value in whole.items():
        np.testing.assert_allclose(found[name].asnumpy(), value.asnumpy(), rtol=1e-4, atol=1e-6, err_msg=name)


def test_a_run_that_was_killed_by_the_system(tmp_path: Path) -> None:
    """SIGKILL at random moments, until the program comes to its end."""
    whole, _ = train(None)
    out = tmp_path / "out.params"
    command = [sys.executable, "-m", "tests.module.training_script", str(tmp_path / "run"), str(out)]
    chance = random.Random(time.time_ns())
    folder = Path(__file__).parents[2]
    for _ in range(3):
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
        started = time.monotonic()
        # Once it has saved something, it is killed at any moment of what follows.
        while process.poll() is None and not list(tmp_path.glob("*.run")) and time.monotonic() - started < 60:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.1))
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    args, aux = mx.checkpoint.read_params(str(out))
    found = {name: value.asnumpy().tobytes() for name, value in {**args, **aux}.items()}
    assert found == bytes_of(whole)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_finished_run_is_not_trained_again(name: str, tmp_path: Path) -> None:
    prefix, settings = str(tmp_path / "run"), SETTINGS[name]
    whole, history = train(prefix, **settings)
    again, same = train(prefix, batch_end_callback=KillAt(0, 0), **settings)
    assert same == history
    assert bytes_of(again) == bytes_of(whole)
    longer, more = train(prefix, num_epoch=4, **settings)
    assert len(more["train"]["accuracy"]) == 4
    assert bytes_of(longer) == bytes_of(train(None, num_epoch=4, **settings)[0])


@pytest.mark.parametrize(
    ("settings", "files"),
    [
        pytest.param(
            {"every_n_batches": 3, "keep": 2}, ["run-0002-000006.run", "run-0003-000000.run"], id="two"
        ),
        pytest.param(
            {"every_n_epochs": 2, "keep": None}, ["run-0002-000000.run", "run-0003-000000.run"], id="all"
        ),
    ],
)
def test_which_files_stay(settings: dict[str, Any], files: list[str], tmp_path: Path) -> None:
    train(Checkpoint(tmp_path / "run", **settings))
    assert sorted(path.name for path in tmp_path.iterdir()) == files


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: content[: len(content) // 2], id="cut short"),
        pytest.param(lambda content: b"", id="empty"),
        pytest.param(lambda content: content[:200] + b"\0" * 50 + content[250:], id="overwritten"),
    ],
)
def test_a_damaged_file_is_passed_over(
    damage: Callable[[bytes], bytes], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prefix = str(tmp_path / "run")
    train(Checkpoint(prefix, every_n_batches=2), num_epoch=1)
    newest = Path(Checkpoint(prefix).path(Checkpoint(prefix).positions()[-1]))
    newest.write_bytes(damage(newest.read_bytes()))
    again, _ = train(Checkpoint(prefix, every_n_batches=2), num_epoch=1)
    assert "skipped a damaged file" in caplog.text
    assert bytes_of(again) == bytes_of(train(None, num_epoch=1)[0])


def test_a_run_of_another_network_is_refused(tmp_path: Path) -> None:
    prefix = str(tmp_path / "run")
    train(prefix, num_epoch=1)
    other = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3), name="softmax")
    with pytest.raises(
        StateError, match=r"run-0001-000000\.run is a run of another network\. Give checkpoint another"
    ):
        mx.mod.Module(other).fit(iterator(), num_epoch=2, checkpoint=prefix, progress=False)


class Generator:
    """An iterator that is only a generator: it cannot report its position."""

    def __init__(self) -> None:
        self.inner = iterator()
        self.provide_data, self.provide_label = self.inner.provide_data, self.inner.provide_label

    def reset(self) -> None:
        """Begin again, in an order that random numbers decide."""

    def __iter__(self) -> Any:
        order = np.random.permutation(6)
        rows = [each.asnumpy()[:48].reshape(6, 8, -1) for each in self.inner.data_list]
        for i in order:
            yield mx.io.DataBatch([mx.nd.array(rows[0][i])], [mx.nd.array(rows[1][i].ravel())])


def test_an_iterator_without_a_state_is_read_up_to_its_position(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole, _ = train(None, train_data=Generator())
    prefix = str(tmp_path / "run")
    for position in ((0, 3), (1, 4)):
        with pytest.raises(Kill):
            train(
                Checkpoint(prefix, every_n_batches=2),
                train_data=Generator(),
                batch_end_callback=KillAt(*position),
            )
    again, _ = train(Checkpoint(prefix, every_n_batches=2), train_data=Generator())
    assert "Generator has no state_dict, so the run resumes by reading" in caplog.text
    assert bytes_of(again) == bytes_of(whole)


def test_callbacks_resume_from_what_they_saw(tmp_path: Path) -> None:
    averages = []
    for killed in (False, True):
        average = mx.callback.ExponentialMovingAverage(0.9)
        checkpoint = Checkpoint(tmp_path / "run", every_n_batches=2) if killed else None
        if killed:
            with pytest.raises(Kill):
                train(
                    checkpoint, batch_end_callback=[mx.callback.ExponentialMovingAverage(0.9), KillAt(1, 3)]
                )
        train(checkpoint, batch_end_callback=[average])
        averages.append(average)
    for name, value in averages[0].params.items():
        assert value.asnumpy().tobytes() == averages[1].params[name].asnumpy().tobytes()
    assert averages[0].num_update == averages[1].num_update == 21


def test_a_run_that_was_stopped_early_stays_stopped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    stopping = mx.callback.EarlyStopping("accuracy", patience=1, min_delta=10.0)
    _, history = train(str(tmp_path / "run"), num_epoch=9, eval_end_callback=stopping)
    assert len(history["validation"]["accuracy"]) == 2
    assert "Training ends early, after 2 epochs" in caplog.text
    stopping = mx.callback.EarlyStopping("accuracy", patience=1, min_delta=10.0)
    _, again = train(str(tmp_path / "run"), num_epoch=9, eval_end_callback=stopping)
    assert again == history


RNG = np.random.RandomState(0)
X, Y = RNG.randn(32, 5).astype("float32"), RNG.randint(0, 3, 32).astype("float32")
FC = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"), name="softmax")
START = {"fc_weight": mx.nd.array(RNG.randn(3, 5)), "fc_bias": mx.nd.zeros((3,))}


def accumulated(batch_size: int, accumulate: int, epochs: int = 2, momentum: float = 0.9) -> np.ndarray:
    """Return the weight after training that adds up gradients."""
    mod = mx.mod.Module(FC)
    mod.fit(
        mx.io.NDArrayIter(X, Y, batch_size, last_batch_handle="discard"),
        num_epoch=epochs,
        arg_params=START,
        optimizer_params={"learning_rate": 0.5, "momentum": momentum},
        accumulate=accumulate,
        progress=False,
    )
    return mod.get_params()[0]["fc_weight"].asnumpy()


@pytest.mark.parametrize(("batch_size", "accumulate"), [(4, 4), (8, 2), (2, 8)])
def test_gradients_added_up_over_batches_are_those_of_one_large_batch(
    batch_size: int, accumulate: int
) -> None:
    np.testing.assert_allclose(accumulated(batch_size, accumulate), accumulated(16, 1), rtol=1e-5)


def test_an_epoch_of_one_update_is_not_one_of_two() -> None:
    assert not np.allclose(accumulated(4, 8), accumulated(16, 1))


def test_what_is_left_over_at_the_end_of_an_epoch_is_an_update() -> None:
    """32 samples in batches of 4, three at a time."""
    mod = mx.mod.Module(FC)
    mod.bind([("data", (12, 5))], [("softmax_label", (12,))])
    mod.init_params(arg_params=START)
    mod.init_optimizer(optimizer_params={"learning_rate": 0.5})
    for a, b in ((0, 12), (12, 24), (24, 32)):
        mod._optimizer.rescale_grad = 1 / (b - a)
        mod.forward_backward(mx.io.DataBatch([mx.nd.array(X[a:b])], [mx.nd.array(Y[a:b])]))
        mod.update()
    by_hand = mod.get_params()[0]["fc_weight"].asnumpy()
    np.testing.assert_allclose(accumulated(4, 3, epochs=1, momentum=0.0), by_hand, rtol=1e-5)


def a_damaged_file(folder: Path) -> None:
    path = folder / "x.run"
    path.write_bytes(b"nothing")
    mx.checkpoint.run.read_tree(str(path))


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda _: Checkpoint("x", every_n_batches=0),
            ParameterError,
            "Checkpoint: every_n_batches must be an int >= 1 or None",
        ),
        (
            lambda _: Checkpoint("x", every_n_epochs=-1),
            ParameterError,
            "Checkpoint: every_n_epochs must be an int >= 1 or None",
        ),
        (
            lambda _: Checkpoint("x", keep=1.5),
            ParameterError,
            "Checkpoint: keep must be an int >= 1 or None",
        ),
        (lambda _: train(3), MXNetError, "checkpoint must be a path's prefix or a Checkpoint; got 3"),
        (lambda _: train(None, accumulate=0), ParameterError, "accumulate must be >= 1; got 0"),
        (a_damaged_file, FormatError, "must be the whole file of a training run"),
    ],
)
def test_mistakes_are_named(
    call: Callable[[Path], object], error: type[Exception], says: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=says):
        call(tmp_path)


def test_positions_of_a_checkpoint(tmp_path: Path) -> None:
    assert Checkpoint(tmp_path / "run").newest() is None
    assert Checkpoint("run").path(Position(1, 2)) == "run-0001-000002.run"
    assert network().list_arguments()[0] == "data"
