"""`fit` and `score` over real processes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.distributed.workers import run_job
from tests.module.joint_runs import (
    BATCH,
    KINDS,
    METRICS,
    RATE,
    WIDTH,
    Largest,
    classified,
    differ,
    fail_on_one,
    fit_feedforward,
    fit_kind,
    fit_kinds,
    fit_uneven,
    fit_with_reports,
    metrics_of_all,
    overflow_on_one,
    read_parts,
    samples,
    statistics,
    stop_by_figures,
    stop_on_one,
    write_files,
)

import rebind as mx
from rebind.module.shared_metrics import SharedMetrics


def expected(counts: list[int], epochs: int, accumulate: int) -> tuple[np.ndarray, list[float]]:
    """Return the weights, and the mean squared error of each epoch, computed with NumPy."""
    x, y = samples(sum(counts))
    starts = np.cumsum([0, *counts])
    weight, velocity = np.zeros((1, WIDTH)), np.zeros((1, WIDTH))
    errors = []
    steps = max(counts) // BATCH
    for _ in range(epochs):
        squares, gradient, waiting = [], np.zeros((1, WIDTH)), 0
        for step in range(steps):
            for start, end in itertools.pairwise(starts):
                rows = slice(start + step * BATCH, min(start + step * BATCH + BATCH, end))
                away = x[rows] @ weight.T - y[rows]
                gradient += away.T @ x[rows]
                squares += list(away.ravel() ** 2)
            waiting += 1
            if waiting == accumulate or step == steps - 1:
                velocity = 0.5 * velocity - RATE * gradient / (BATCH * len(counts) * waiting)
                weight = weight + velocity
                gradient, waiting = np.zeros((1, WIDTH)), 0
        errors.append(float(np.mean(squares)))
    return weight, errors


@pytest.mark.parametrize(("counts", "accumulate"), [([10, 6], 1), ([4, 10], 1), ([10, 6], 2), ([2, 6, 4], 3)])
def test_an_epoch_ends_for_all_together_and_no_batch_is_left_out(counts, accumulate):
    weight, errors = expected(counts, epochs=2, accumulate=accumulate)
    steps = max(counts) // BATCH
    found = run_job(fit_uneven, len(counts), counts, accumulate)
    for rank, each in enumerate(found):
        np.testing.assert_allclose(each["weight"], weight, rtol=1e-5)
        np.testing.assert_allclose(each["history"]["train"]["mse"], errors, rtol=1e-5)
        absent = steps - counts[rank] // BATCH
        one_epoch = [False] * (steps - absent) + [True] * absent
        assert each["seen"] == [(epoch, i, one_epoch[i]) for epoch in range(2) for i in range(steps)]
    lines = found[0]["lines"]
    short = ", ".join(
        f"worker {rank} in {steps - count // BATCH}"
        for rank, count in enumerate(counts)
        if count // BATCH < steps
    )
    assert (
        f"Epoch[0] In some of {steps} steps a worker had no batch, and its gradients counted as zero: {short}"
        in lines
    )
    assert f"Epoch[1] Train-mse={errors[1]:f}" in lines
    for other in found[1:]:
        assert not [line for line in other["lines"] if "Train-" in line or "Epoch" in line]


def test_metrics_of_all_are_those_of_all_samples():
    labels, scores = (np.concatenate(arrays) for arrays in zip(*map(classified, range(3)), strict=True))
    of_workers = run_job(metrics_of_all, 3)
    for rank, found in enumerate(of_workers):
        for source, (pairs, apart) in zip(METRICS, found, strict=False):
            whole = mx.metric.create(source)
            whole.update([mx.nd.array(labels)], [mx.nd.array(scores)])
            assert apart == []
            for (name, value), (same_name, expected) in zip(pairs, whole.get_name_value(), strict=True):
                assert name == same_name
                assert value == pytest.approx(expected, rel=1e-6), source
        assert found[-2] == ([("largest", classified(rank)[0].max())], ["largest"])  # by itself
        assert found[-1] == ([("twice the rank", 2.0)], [])  # of 2 batches each: (0 + 2 + 4) / 3


def test_a_metric_that_was_seen_not_to_add_up_stays_apart():
    shared, metric = SharedMetrics(mx.distributed.current_job()), Largest()
    shared.begin(metric)
    metric.update([mx.nd.ones((1,))], [])
    for _ in range(2):
        with shared.total(metric, "a test") as apart:
            assert apart == ["largest"]
        metric.reset_local()  # after which its attributes are as they were at first


def figures(lines: list[str], what: str) -> list[float]:
    """Return the figures that were logged under a name."""
    return [float(line.split("=")[1]) for line in lines if line.startswith(f"{what}=")]


def test_worker_0_shows_the_figures_of_all_and_the_others_are_quiet():
    lines, others = run_job(fit_with_reports, 2, True)
    _, y = samples(16)
    squares = (y**2).ravel()  # the weights stay zero
    for i in (1, 2, 3):
        rows = [8 * rank + k for rank in (0, 1) for k in range(BATCH * (i - (i == 1)), BATCH * (i + 1))]
        [line] = [line for line in lines if f"Batch [{i - 1}-{i}]" in line]
        assert line.endswith(f"\tmse={squares[rows].mean():f}")
    assert figures(lines, "Iter[0] Batch[0] Train-mse") == [
        pytest.approx(squares[[0, 1, 8, 9]].mean(), abs=2e-6)
    ]
    assert figures(lines, "Epoch[0] Train-mse") == [pytest.approx(squares.mean(), abs=2e-6)]
    # The callback's, and that of fit.
    assert figures(lines, "Epoch[0] Validation-mse") == [pytest.approx(squares.mean(), abs=2e-6)] * 2
    assert [line for line in others if "mse" in line or "Speed" in line or "Time" in line] == []


def test_callbacks_of_one_worker_show_its_own_figures_and_say_so():
    lines, others = run_job(fit_with_reports, 2, False)
    squares = (samples(16)[1] ** 2).ravel()
    said = "Speedometer shows the values of this worker only, since not all workers have it"
    assert lines.count(said) == 1
    [line] = [line for line in lines if "Batch [2-3]" in line]
    assert line.endswith(f"\tmse={squares[6:8].mean():f}")
    assert figures(lines, "Epoch[0] Train-mse") == [pytest.approx(squares.mean(), abs=2e-6)]  # of all
    # There is no validation elsewhere.
    assert figures(lines, "Epoch[0] Validation-mse") == [pytest.approx(squares[:8].mean(), abs=2e-6)] * 2
    assert others[-1] == "the end"
    assert [line for line in others if "mse" in line] == []


STOPS = [
    (("on_batch_end", 1, 1), 4 + 3),  # all take one step more, in which they hear of it
    (("on_batch_end", 0, 3), 4),  # in the last step, which worker 1 takes without a batch
    (("on_eval_batch_end", 1, 1), 8),
    (("on_eval_end", 0, -1), 4),
    (("on_epoch_end", 1, -1), 8),
]


def test_a_callback_of_one_worker_ends_the_run_of_all():
    first, second = run_job(stop_on_one, 2, [stop for stop, _ in STOPS])
    for (_, steps), one, other in zip(STOPS, first, second, strict=True):
        assert one[0] == other[0] == steps
        assert one[1] == other[1]
        assert [line.split(". ", 1)[1] for line in one[2]] == ["Worker 1: That is enough."]
        assert other[2] == []
        assert (one[3] == other[3]).all()


def test_early_stopping_and_plateaus_go_by_the_figures_of_all():
    (first, first_rate), (second, second_rate) = run_job(stop_by_figures, 2)
    assert first == second
    assert len(first) < 12
    assert first_rate == second_rate < 0.1


def test_files_at_the_same_path_are_written_by_one_worker(tmp_path):
    first, second = run_job(write_files, 2, str(tmp_path))
    own = ["1.jsonl", "own-1-0001.params", "own-1-0002.params", "own-1-symbol.json"]
    assert [name for name in second if not name.startswith(".") and "tmp" not in name] == own
    names = {name.split("-")[0].split(".")[0] for name in first}
    assert {"same", "own", "module", "best", "log", "member", "0"} <= names
    assert len((tmp_path / "log.csv").read_text().splitlines()) == 3
    assert (tmp_path / "member-0002.params").exists()


@pytest.mark.parametrize("accumulate", [1, 2])
def test_workers_train_every_kind_of_module_as_one_does_on_all_their_batches(accumulate):
    kinds = list(KINDS)
    first, second = run_job(fit_kinds, 2, kinds, accumulate)
    for kind, one, other in zip(kinds, first, second, strict=True):
        alone = fit_kind(kind, 2, accumulate, None)
        assert one["rescale"] == other["rescale"] == alone["rescale"]
        assert set(one["rescale"]) <= {1 / (BATCH * accumulate * 2)}, kind
        for name, value in alone["args"].items():
            np.testing.assert_allclose(
                one["args"][name], value, rtol=2e-4, atol=1e-6, err_msg=f"{kind}: {name}"
            )
            assert (one["args"][name] == other["args"][name]).all()
        np.testing.assert_allclose(one["history"], alone["history"], rtol=1e-4, err_msg=kind)
        assert one["history"] == other["history"]
        for name in alone["aux"]:
            assert (one["aux"][name] == other["aux"][name]).all()


def test_feedforward_trains_and_reports_over_workers():
    (first, lines), (second, others) = run_job(fit_feedforward, 2)
    weight = np.zeros((1, WIDTH))
    x, y = samples(24)
    for _ in range(2):
        for i in range(0, 24, 2 * BATCH):
            rows = slice(i, i + 2 * BATCH)
            weight = weight - RATE / (2 * BATCH) * (x[rows] @ weight.T - y[rows]).T @ x[rows]
    np.testing.assert_allclose(first, weight, rtol=1e-5)
    assert (first == second).all()
    assert len(lines) == 2 * 3
    assert others == []


def test_iterators_read_the_part_of_their_worker_and_score_adds_up(tmp_path):
    count = 11
    x, y = samples(count)
    path = tmp_path / "data.txt"
    rows = [f"{y[i, 0]:.6f} 0:{i} 1:{x[i, 1]:.6f}" for i in range(count)]
    path.write_text("\n".join(rows) + "\n")
    found = run_job(read_parts, 2, str(path), count)
    assert sorted(found[0]["read"] + found[1]["read"]) == list(range(count))
    squares = float((np.round(y, 6) ** 2).mean())
    for rank, each in enumerate(found):
        assert each["parts"] == [(rank, 2), (0, 1), (0, 1)]
        assert each["said"] == [
            f"LibSVMIter: reads part {rank} of 2, as this is worker {rank} of 2. To read all: num_parts=1."
        ]
        cut, whole, by_hand, resized = each["scores"]
        assert cut["counts"] == whole["counts"] == by_hand["counts"] == count
        for one in (cut, whole, by_hand):
            assert one["squares"] == pytest.approx(squares, rel=1e-4)
        assert resized["counts"] == 2 * 2 * BATCH
        assert each["alone"]["counts"] == each["predicted"] == len(each["read"])
    assert found[0]["of_one"] is not None  # no other worker took part


def test_gradients_that_overflow_on_one_worker_are_used_by_none():
    first, second = run_job(overflow_on_one, 2)
    assert first == second
    assert first[:2] == [4.0, 1]
    assert np.isfinite(first[2]).all()


def test_auxiliary_states_become_their_mean_and_the_bar_is_that_of_all():
    (one, mean, bar), (other, same, nothing) = run_job(statistics, 2)
    assert not np.allclose(one, other)
    np.testing.assert_allclose(mean, (one + other) / 2, rtol=1e-6)
    assert (mean == same).all()
    assert "4/4" in bar
    assert nothing == ""


@pytest.mark.parametrize(
    ("setting", "shown"),
    [
        ("num_epoch", ("num_epoch: 2", "num_epoch: 1")),
        ("begin_epoch", ("position (epoch, batch): [2, 0]", "position (epoch, batch): [1, 0]")),
        ("eval_metric", ("eval_metric: ['mae']", "eval_metric: ['mse']")),
    ],
)
def test_workers_with_other_settings_are_refused(setting, shown):
    _, failed = run_job(differ, 2, setting, may_fail=True)
    assert failed.kind == "WorkerError"
    assert failed.message == (
        f"fit: all workers must have the same settings; worker 1 has {shown[0]}, and worker 0 has {shown[1]}"
    )


def test_an_error_in_the_data_of_one_worker_ends_the_others():
    first, second = run_job(fail_on_one, 2, may_fail=True)
    assert second.kind == "OSError"
    assert first.kind == "WorkerError"
    assert "OSError: no such record" in first.message
