"""The benchmarks over processes: their engines train the same network, and their table says what was measured."""

import doctest
import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.distributed import main
from benchmarks.distributed_table import distributed_lines, distributed_section
from benchmarks.distributed_worker import ENGINES
from benchmarks.networks import DISTRIBUTED
from benchmarks.peers_torch import TorchDriver, named_values
from tests.distributed.workers import run_job

from rebind.distributed import current_job


@pytest.mark.parametrize("name", ["distributed_table"])
def test_the_examples_of_a_module_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"benchmarks.{name}")).failed == 0


def weights_after_two_steps(engine: str) -> dict[str, np.ndarray]:
    """Return the parameters of the LSTM's row, as one worker has them."""
    job = current_job()
    driver = ENGINES[engine](DISTRIBUTED["lstm"], job.size)
    driver.run(2)
    if not isinstance(driver, TorchDriver):
        return {name: value for name, value in driver.results().items() if name != "output"}
    # FSDP2's are divided over the workers, and DDP's are those of an inner module.
    whole = {
        name: getattr(value, "full_tensor", lambda v=value: v)() for name, value in named_values(driver.model)
    }
    return {name.removeprefix("module_"): value.detach().numpy() for name, value in whole.items()}


@pytest.mark.slow
def test_the_engines_train_the_same_network() -> None:
    found = {engine: run_job(weights_after_two_steps, 2, engine) for engine in ENGINES}
    expected = found["DDP"][0]
    assert len(expected) == 11
    for of_workers in found.values():
        for weights in of_workers:
            assert weights.keys() == expected.keys()
            for name, value in weights.items():
                np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.slow
def test_the_command_writes_what_each_engine_took(tmp_path: Path) -> None:
    file = tmp_path / "samples.json"
    assert (
        main(
            [
                "--rows",
                "lstm",
                "--engines",
                "rebind,FSDP2",
                "--workers",
                "2",
                "--rounds",
                "1",
                "--json",
                str(file),
            ]
        )
        == 0
    )
    rounds = json.loads(file.read_text())["rows"]["lstm"]["workers"]["2"]
    assert list(rounds) == ["rebind", "FSDP2", "rebind alone", "PyTorch alone"]
    for [measured] in rounds.values():
        assert len(measured["seconds"]) == 3 and measured["memory"] > 2**20
    assert "| LSTM" in distributed_section([file])


def test_the_better_of_the_others_is_the_one_to_beat() -> None:
    def rounds(*seconds: float) -> list[dict]:
        return [{"seconds": [each], "bytes": 1e6, "memory": 2**20} for each in seconds]

    measured = {
        "rebind": rounds(1.0, 9.0, 1.0),
        "DDP": rounds(1.25, 9.0, 1.25),
        "FSDP2": rounds(2.0, 18.0, 2.0),
    }
    [_, _, line] = distributed_lines({"mlp": {"title": "MLP", "workers": {"1": {}, "2": measured}}})
    assert line.startswith("| MLP | 2 | 1000 | 1250 | 2000 | 0.80 | – |")
