"""The data file of operators beside MXNet's, and its summary: there is a reason for each slow call."""

from pathlib import Path

import pytest
from benchmarks.operator_reasons import REASONS
from benchmarks.operator_samples import samples
from benchmarks.operators_mxnet import Timed, as_text
from benchmarks.operators_table import operators_data, operators_summary, read
from benchmarks.page import RESULTS, as_csv

#: They were several times slower than MXNet's once.
SLOW_ONCE = (
    "_contrib_ROIAlign", "_contrib_PSROIPooling", "ROIPooling", "_contrib_MultiProposal", "_contrib_box_nms",
    "Correlation", "CTCLoss", "Embedding", "pick", "softmax_cross_entropy",
)  # fmt: skip

ABOUT = {
    "started": "2026-01-02T03:04:05+00:00",
    "machine": {"processor": "p", "cores": 2, "load_average": [0.5, 0, 0]},
    "threads": 1,
    "clock": "processor",
}


def files(tmp_path: Path, *contents: list[Timed]) -> list[Path]:
    """Return files of some calls."""
    paths = [tmp_path / f"{number}.json" for number in range(len(contents))]
    for path, timed in zip(paths, contents, strict=True):
        path.write_text(as_text(ABOUT, timed))
    return paths


def test_a_slow_call_has_its_reason(tmp_path: Path) -> None:
    made = files(tmp_path, [Timed("large", "LRN-2-", "forward", [4.0, 3.0], [2.5, 1.5])])
    reason = f'"{REASONS["LRN"]}"'
    assert f"large,LRN-2,forward,1,3.0,1.5,2.00,{reason}\n" in as_csv(operators_data(made))
    summary = operators_summary(made)
    assert f"`LRN` 2.0 ({REASONS['LRN']})" in summary
    assert "| large | 1 | 1 | 2.00 | 2.00 | 2.00 | 0 | 0 | 1 | 0 |" in summary
    assert "Measured: 2026-01-02, p, 2 cores; 1 thread, by the time of the processor" in summary


def test_a_slow_call_without_a_reason_is_refused(tmp_path: Path) -> None:
    made = files(tmp_path, [Timed("large", "relu-2-", "forward", [3.0], [1.0])])
    for make in (operators_summary, lambda made: as_csv(operators_data(made))):
        with pytest.raises(ValueError, match=r"relu-2-: a call that takes 3\.00 times .* must have a reason"):
            make(made)


def test_small_calls_are_summed_up(tmp_path: Path) -> None:
    calls = [Timed("small", f"relu-{size}-", "backward", [size], [1.0]) for size in (1.0, 2.0, 4.0)]
    summary = operators_summary(files(tmp_path, calls))
    assert "1 operators have a call" in summary
    assert "(the worst of an operator's calls): `relu` 4.0." in summary


def test_the_last_file_counts(tmp_path: Path) -> None:
    calls = [[Timed("large", "pick-2-", "forward", [value], [2.0])] for value in (9.0, 1.0)]
    assert "large,pick-2,forward,1,1.0,2.0,0.50,\n" in as_csv(operators_data(files(tmp_path, *calls)))


def test_reasons_are_of_operators_that_are_slow() -> None:
    calls, _ = read(sorted((RESULTS / "operators").glob("*.json")))
    slow = {call.operator for call in calls if call.size == "large" and call.worst > 1.5}
    assert set(REASONS) == slow


def test_operators_that_were_slow_are_timed() -> None:
    assert set(SLOW_ONCE) <= {sample.name for sample in samples("large")}
