"""`fit(checkpoint=...)` over processes: one file for all; a run that is resumed ends as one that was not stopped."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tests.distributed.workers import run_job

import rebind as mx
from rebind.checkpoint import Checkpoint, Position

#: Samples in a batch of all workers.
BATCH = 12


def network(*, draws: bool) -> mx.sym.Symbol:
    """Return a network with a weight that is divided over workers; with `draws`, it is random and has statistics."""
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=256, name="one")
    if draws:
        hidden = mx.sym.Dropout(mx.sym.BatchNorm(hidden, name="norm"), p=0.5)
    output = mx.sym.FullyConnected(mx.sym.Activation(hidden, act_type="tanh"), num_hidden=2, name="two")
    return mx.sym.SoftmaxOutput(output, name="softmax")


def own_data(rank: int, workers: int, *, shuffle: bool) -> mx.io.NDArrayIter:
    """Return this worker's samples of four batches."""
    random = np.random.RandomState(0)
    samples = random.randn(4 * BATCH, 20).astype("float32")
    labels = (samples.sum(1) > 0).astype("float32")
    own = [i for i in range(4 * BATCH) if i % BATCH // (BATCH // workers) == rank]
    return mx.io.NDArrayIter(
        samples[own], labels[own], BATCH // workers, shuffle=shuffle, label_name="softmax_label"
    )


def same_values(symbol: mx.sym.Symbol) -> dict[str, mx.nd.NDArray]:
    """Return values of the parameters, the same on any number of workers."""
    first = np.random.RandomState(1)
    shapes, _, _ = symbol.infer_shape(data=(1, 20))
    given = dict(zip(symbol.list_arguments(), shapes, strict=True))
    values = {name: mx.nd.array(first.randn(*shape) / 5) for name, shape in given.items() if "_" in name}
    values.pop("softmax_label")
    return values


class KillAt:
    """A batch callback that kills worker 1 at one batch of one epoch; it counts the batches, as a run is to resume."""

    def __init__(self, epoch: int, nbatch: int) -> None:
        self.position, self.count = (epoch, nbatch), 0

    def __call__(self, param: mx.callback.BatchEndParam) -> None:
        self.count += 1
        if (param.epoch, param.nbatch) == self.position and mx.kv.create("dist_sync").rank == 1:
            os._exit(9)

    def state_dict(self) -> dict[str, object]:
        """Return how many batches there were, and which worker counted them."""
        return {"count": self.count, "rank": mx.kv.create("dist_sync").rank}

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Continue to count; each worker its own."""
        assert state["rank"] == mx.kv.create("dist_sync").rank
        self.count = state["count"]


def train(
    folder: str, epochs: int, *, draws: bool, kill: tuple[int, int] = (-1, 0), keep: int = 3
) -> tuple[dict[str, np.ndarray], object]:
    """Train as a worker, of any number; return all parameters, and figures of the run."""
    store = mx.kv.create("dist_sync")
    mx.random.seed(store.rank + 1)
    np.random.seed(store.rank)
    module = mx.mod.Module(network(draws=draws))
    data = own_data(store.rank, store.num_workers, shuffle=draws)
    module.bind(data.provide_data, data.provide_label)
    if draws:
        module.init_params(mx.init.Xavier())
    else:
        module.init_params(arg_params=same_values(module.symbol))
    counted = KillAt(*kill)
    # Only worker 0 reads and writes: the others' machines need not have the folder.
    prefix = f"{folder}/net" if store.rank == 0 else f"{folder}/nowhere/net"
    history = module.fit(
        data,
        kvstore=store,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.01},
        num_epoch=epochs,
        accumulate=2 if draws else 1,
        batch_end_callback=counted if draws else None,
        checkpoint=Checkpoint(prefix, every_n_batches=1, keep=keep),
    )
    args, aux = module.get_params()
    return {name: array.asnumpy() for name, array in {**args, **aux}.items()}, (history, counted.count)


def killed_then_torn(folder: Path, workers: int) -> None:
    """Train until worker 1 is killed within epoch 2, and cut the newest file short."""
    first, second = run_job(train_with_draws, workers, str(folder), 4, (2, 2), may_fail=True)
    assert second is None
    assert first.kind == "WorkerError"
    newest = sorted(folder.glob("*.run"))[-1]
    assert newest.name == "net-0002-000002.run"  # of before the batch in which it was killed
    newest.write_bytes(newest.read_bytes()[:-100])


def train_with_draws(folder: str, epochs: int, kill: tuple[int, int] = (-1, 0)) -> object:
    """Train what depends on random numbers, on each worker's own statistics and on gradients that wait."""
    return train(folder, epochs, draws=True, kill=kill)


def train_plainly(folder: str, epochs: int) -> object:
    """Train what does not depend on the number of workers."""
    return train(folder, epochs, draws=False, keep=1)


def test_a_run_over_processes_resumes_exactly(tmp_path):
    for name in ("whole", "halves", "killed"):
        (tmp_path / name).mkdir()
    wanted = run_job(train_with_draws, 2, str(tmp_path / "whole"), 4)
    run_job(train_with_draws, 2, str(tmp_path / "halves"), 2)
    killed_then_torn(tmp_path / "killed", 2)
    for name in ("halves", "killed"):
        for (found, run), (params, figures) in zip(
            run_job(train_with_draws, 2, str(tmp_path / name), 4), wanted, strict=True
        ):
            assert run == figures
            assert {key: array.tobytes() for key, array in found.items()} == {
                key: array.tobytes() for key, array in params.items()
            }
    assert wanted[0][0]["norm_moving_mean"].tobytes() != np.zeros(256, "float32").tobytes()


def train_on(workers: int, folder: str, epochs: int) -> list[object]:
    """Train on so many workers; on one, in this process."""
    if workers == 1:
        return [train_plainly(folder, epochs)]
    return run_job(train_plainly, workers, folder, epochs)


def test_a_run_resumes_on_another_number_of_workers(tmp_path):
    (tmp_path / "whole").mkdir()
    [(wanted, _)] = train_on(1, str(tmp_path / "whole"), 3)
    for before, after in (3, 2), (2, 1), (1, 3):
        folder = tmp_path / str(before)
        folder.mkdir()
        train_on(before, str(folder), 2)
        for found, _ in train_on(after, str(folder), 3):
            for key, array in wanted.items():
                np.testing.assert_allclose(
                    found[key], array, rtol=1e-3, atol=1e-5, err_msg=f"{before}: {key}"
                )


class StopAt:
    """A batch callback that stops all workers in the middle of an epoch, by an error."""

    def __call__(self, param: mx.callback.BatchEndParam) -> None:
        if (param.epoch, param.nbatch) == (2, 1):
            raise ZeroDivisionError


def test_within_an_epoch_another_number_of_workers_begins_it_again(tmp_path, caplog):
    run_job(train_until_an_error, 2, str(tmp_path), may_fail=True)
    assert [path.name for path in sorted(tmp_path.glob("*.run"))] == [
        "net-0002-000000.run", "net-0002-000001.run",
    ]  # fmt: skip
    found, _ = train_plainly(str(tmp_path), 3)
    assert "was saved by 2 workers within an epoch; on 1 the run resumes from" in caplog.text
    (tmp_path / "whole").mkdir()
    wanted, _ = train_plainly(str(tmp_path / "whole"), 3)
    for key, array in wanted.items():
        np.testing.assert_allclose(found[key], array, rtol=1e-3, atol=1e-5, err_msg=key)
    assert Checkpoint(str(tmp_path / "net")).newest()[0] == Position(3, 0)


def train_until_an_error(folder: str) -> None:
    """Train until a batch within epoch 2, after which all workers fail."""
    fit = mx.mod.Module.fit

    def failing(self, *args, **kwargs):
        return fit(self, *args, **{**kwargs, "batch_end_callback": StopAt()})

    mx.mod.Module.fit = failing
    train_plainly(folder, 3)


class First(mx.metric.EvalMetric):
    """A metric that does not add up over workers: the mean of the first labels that this worker has seen."""

    def __init__(self) -> None:
        super().__init__("first")

    def reset(self) -> None:
        super().reset()
        self.found: float | None = None

    def update(self, labels: object, preds: object) -> None:
        if self.found is None:
            self.found = float(labels[0].asnumpy().mean())
        self.sum_metric, self.num_inst = self.found, 1


def measure(folder: str, error_at: tuple[int, int] | None, kind: str = "dist_sync") -> dict[str, list[float]]:
    """Train three epochs, or until an error on all workers; return the training figures of each."""
    store = mx.kv.create(kind)
    module = mx.mod.Module(network(draws=False))
    data = own_data(store.rank, store.num_workers, shuffle=False)
    module.bind(data.provide_data, data.provide_label)
    module.init_params(arg_params=same_values(module.symbol))

    def fail(param: mx.callback.BatchEndParam) -> None:
        if (param.epoch, param.nbatch) == error_at:
            raise ZeroDivisionError

    history = module.fit(
        data,
        eval_metric=["acc", "ce", mx.metric.Perplexity(None), First()],
        kvstore=store,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.01},
        num_epoch=3,
        batch_end_callback=fail,
        checkpoint=Checkpoint(f"{folder}/net", every_n_batches=1, every_n_epochs=2, keep=1),
    )
    return history["train"]


CHANGES = [(2, 2, (1, 2)), (2, 2, (0, 3)), (3, 2, (0, 2)), (1, 2, (0, 2)), (2, 3, (1, 1))]


@pytest.mark.parametrize(("before", "after", "error_at"), CHANGES)
def test_a_resumed_run_reports_for_an_epoch_what_it_would_have_reported(tmp_path, before, after, error_at):
    (tmp_path / "whole").mkdir()
    wanted = run_job(measure, after, str(tmp_path / "whole"), None)
    failed = run_job(measure, before, str(tmp_path), error_at, may_fail=True)
    assert [each.kind for each in failed] == ["ZeroDivisionError"] * before
    assert sorted(tmp_path.glob("*.run"))[-1].name == "net-{:04d}-{:06d}.run".format(*error_at)
    found = run_job(measure, after, str(tmp_path), None)
    if before == after:
        assert found == wanted
    for each, as_wanted in zip(found, wanted, strict=True):
        assert list(each) == ["accuracy", "cross-entropy", "perplexity", "first"]
        for name, figures in each.items():
            np.testing.assert_allclose(figures, as_wanted[name], rtol=1e-4, err_msg=name)
    assert found[0]["first"] != found[1]["first"]  # which is each worker's own


@pytest.mark.parametrize("error_at", [(0, 2), (1, 1)])
def test_a_run_with_servers_resumes_exactly_on_one_worker(tmp_path, error_at):
    # On several, the order in which their updates arrive is another one in each run.
    (tmp_path / "whole").mkdir()
    wanted = run_job(measure, 1, str(tmp_path / "whole"), None, "dist_async", servers=1)
    run_job(measure, 1, str(tmp_path), error_at, "dist_async", servers=1, may_fail=True)
    assert run_job(measure, 1, str(tmp_path), None, "dist_async", servers=1) == wanted


@pytest.mark.parametrize("error_at", [(0, 2), (1, 1)])
def test_a_run_with_servers_resumes_where_it_was(tmp_path, error_at):
    run_job(measure, 2, str(tmp_path), error_at, "dist_async", may_fail=True)
    position, state = Checkpoint(str(tmp_path / "net")).newest()
    assert position == error_at
    for each in run_job(measure, 2, str(tmp_path), None, "dist_async"):
        kept = state["history"]["train"].get("accuracy", [])
        assert len(each["accuracy"]) == 3 and len(kept) == error_at[0]
        assert each["accuracy"][: len(kept)] == kept
    assert Checkpoint(str(tmp_path / "net")).newest()[0] == Position(3, 0)
