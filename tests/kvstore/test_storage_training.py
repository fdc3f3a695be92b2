"""A storage type that is made up is trained through each store, and never turned dense on the way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.distributed.workers import run_job
from tests.kvstore import rotated
from tests.kvstore.rotated import Rotated, module, train

import rebind as mx
from rebind.distributed import current_job


def parameters(of: mx.mod.Module) -> dict[str, np.ndarray]:
    return {name: array.asnumpy() for name, array in of.get_params()[0].items()}


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "ftrl"])
@pytest.mark.parametrize(
    ("kvstore", "devices"), [(None, 1), ("local", 1), ("local", 2), ("device", 1), ("device", 2)]
)
def test_training(kvstore: str | None, devices: int, optimizer: str) -> None:
    of, dense = module(devices=devices), module("default", devices)
    Rotated.turned_dense = 0
    train(of, kvstore, optimizer=optimizer)
    assert Rotated.turned_dense == 0
    train(dense, kvstore, optimizer=optimizer)
    for executor in of._exec_group.execs:
        assert executor.arg_dict["w"].stype == executor.grad_dict["w"].stype == "rotated"
    expected = parameters(dense)
    for name, found in parameters(of).items():
        np.testing.assert_allclose(found, expected[name], rtol=1e-5, atol=1e-6, err_msg=name)
    assert not np.allclose(expected["w"], rotated.first_values()["w"].asnumpy(), atol=0.01)


#: Stores, and on how many devices a process trains.
STORES = [(None, 1), ("local", 1), ("local", 2), ("device", 2), ("dist_sync", 1), ("dist_async", 1)]


@pytest.mark.parametrize(("kvstore", "devices"), STORES)
def test_files_and_resuming(kvstore: str | None, devices: int, tmp_path: Path) -> None:
    prefix, whole = str(tmp_path / "net"), module(devices=devices)
    train(whole, kvstore, epochs=2)
    Rotated.turned_dense = 0
    first = module(devices=devices)
    train(first, kvstore, epochs=1)
    first.save_checkpoint(prefix, 1, save_optimizer_states=True)
    _, arguments, _ = mx.model.load_checkpoint(prefix, 1)
    assert arguments["w"].stype == "rotated"
    context = [mx.cpu(i) for i in range(devices)]
    resumed = mx.mod.Module.load(prefix, 1, load_optimizer_states=True, context=context)
    train(resumed, kvstore, begin=1, epochs=2, arguments={})
    # By itself, from what `fit` saves.
    folder = str(tmp_path / "run")
    for epochs in (1, 2):
        train(stopped := module(devices=devices), kvstore, epochs=epochs, checkpoint=folder)
    assert Rotated.turned_dense == 0
    expected = parameters(whole)
    for found in (resumed, stopped):
        for name, value in parameters(found).items():
            np.testing.assert_array_equal(value, expected[name], err_msg=name)


def one_worker(kvstore: str, workers: int, rank: int, stype: str) -> tuple[dict[str, np.ndarray], int]:
    """Train as one of several workers."""
    Rotated.turned_dense = 0
    of = module(stype)
    train(of, kvstore, rank, workers)
    turned_dense = Rotated.turned_dense
    return parameters(of), turned_dense


def worker(kvstore: str, stype: str) -> tuple[dict[str, np.ndarray], int]:
    job = current_job()
    return one_worker(kvstore, job.size, job.rank, stype)


def test_training_over_workers() -> None:
    expected, _ = one_worker("local", 1, 0, "default")
    for found, turned_dense in run_job(worker, 2, "dist_sync", "rotated"):
        assert turned_dense == 0
        for name, value in found.items():
            np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("workers", [1, 2])
def test_training_with_servers(workers: int) -> None:
    expected, _ = one_worker("local", 1, 0, "default")
    for found, turned_dense in run_job(worker, workers, "dist_async", "rotated"):
        assert turned_dense == 0
        for name, value in found.items():
            if workers == 1:  # of several each gradient is an update of its own
                np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-5, err_msg=name)
            assert np.isfinite(value).all()
            assert not np.allclose(value, rotated.first_values()[name].asnumpy(), atol=0.01)


def resumed_worker(folder: str, epochs: int) -> tuple[dict[str, np.ndarray], int]:
    job = current_job()
    Rotated.turned_dense = 0
    of = module()
    train(of, "dist_sync", job.rank, job.size, epochs, checkpoint=folder)
    turned_dense = Rotated.turned_dense
    return parameters(of), turned_dense


def test_resuming_over_workers(tmp_path: Path) -> None:
    whole = run_job(resumed_worker, 2, str(tmp_path / "whole"), 2)
    folder = str(tmp_path / "run")
    run_job(resumed_worker, 2, folder, 1)
    resumed = run_job(resumed_worker, 2, folder, 2)
    for (found, turned_dense), (expected, _) in zip(resumed, whole, strict=True):
        assert turned_dense == 0
        for name, value in found.items():
            np.testing.assert_array_equal(value, expected[name], err_msg=name)


def test_predicting_and_other_shapes() -> None:
    values, labels = rotated.samples()
    of, dense = module(), module("default")
    Rotated.turned_dense = 0
    for each in (of, dense):
        train(each, "local")
        each.reshape([("data", (4, 4))], [("softmax_label", (4,))])
        each.forward_backward(mx.io.DataBatch([mx.nd.array(values[:4])], [mx.nd.array(labels[:4])]))
        each.update()
    found = [each.predict(mx.io.NDArrayIter(values, None, 4)).asnumpy() for each in (of, dense)]
    assert Rotated.turned_dense == 0
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-6)


def test_what_is_dense_is_compiled() -> None:
    of = mx.mod.Module(module().symbol, backend="aot_eager")
    Rotated.turned_dense = 0
    train(of, "local")
    assert Rotated.turned_dense == 0
    [executor] = of._exec_group.execs
    assert "code: compiled by 'aot_eager'\n  not compiled: " in executor.describe()
    expected = module()
    train(expected, "local")
    for name, value in parameters(expected).items():
        np.testing.assert_allclose(parameters(of)[name], value, rtol=1e-5, atol=1e-6)
