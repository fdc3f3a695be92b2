"""Sources of batches are iterated, reset and read as often as by MXNet 1.9.1, and trained on batch by batch."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rebind as mx

from .counting import calls, cases, iterator, network, restarting
from .golden import DATA

RECORDED = {
    case: entry["calls"]
    for entry in json.loads((DATA / "counting.json").read_text())["recorded"]
    for case in entry["cases"]
}


def test_every_case_is_recorded() -> None:
    assert set(RECORDED) == set(cases())


@pytest.mark.parametrize("case", cases())
@pytest.mark.filterwarnings("ignore:Module|fit|BucketingModule|FeedForward")
def test_calls_of_a_source(case: str) -> None:
    assert ", ".join(calls(mx, case)) == RECORDED[case]


def test_a_run_that_resumes_does_not_start_over(tmp_path: object) -> None:
    """A restarting source without a state is read up to where the run was, once."""

    class Killed(Exception):
        pass

    def kill(param: mx.callback.BatchEndParam) -> None:
        if param.nbatch == 1:
            raise Killed

    def run(callback: object) -> list[str]:
        log: list[str] = []
        checkpoint = mx.checkpoint.Checkpoint(f"{tmp_path}/net", every_n_batches=1)
        module, source = mx.mod.Module(network(mx)), restarting(mx, log, "train")
        module.fit(source, num_epoch=1, checkpoint=checkpoint, batch_end_callback=callback)
        return log

    with pytest.raises(Killed):
        run(kill)
    trained: list[float] = []
    log = run(lambda param: trained.append(param.locals["data_batch"].data[0].asnumpy()[0, 0]))
    assert trained == [1, 2] and log.count("train iter") == 1


def test_score_over_the_rest_of_an_epoch() -> None:
    """``num_batch`` batches are measured, and one more is lost, as in MXNet."""
    log: list[str] = []
    module, source = mx.mod.Module(network(mx)), iterator(mx, log, "train")
    module.bind(source.provide_data, source.provide_label)
    module.init_params()
    assert np.isfinite(module.score(source, "acc", num_batch=1, reset=False)[0][1])
    assert log == ["train iter", "train 0", "train 1"]
